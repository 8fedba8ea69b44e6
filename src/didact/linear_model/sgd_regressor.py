"""Regression by (stochastic) gradient descent; the method is in `sgd_base`."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from didact.core.backend import float_type
from didact.core.parameters import attr, one_of, param
from didact.core.rows import Rows
from didact.core.sparse.coefficients import SparseCoefficients
from didact.core.threads import parallel_values
from didact.engines.linear.objective import parted
from didact.engines.stochastic.sgd import Weights
from didact.linear_model.linear_regression import predict as linear_scores
from didact.linear_model.sgd_base import (
    _SGD,
    ORDER_MATTERS,
    RATES,
    RATES_IN_WORDS,
    learn_once,
    resume,
    seen,
    start,
    state_of,
    train,
)
from didact.parts.noun import Loss

NAMES = ("squared_error", "absolute_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
ONE = np.array([-1])  # one output, whose targets are numbers


def values(X: Any, coef: Any, intercept: Any, loss: Any) -> Any:
    """Predicted targets; coefficients that are kept in a sparse matrix are a row of it."""
    scores = linear_scores(X, coef, intercept)
    return parallel_values(loss.mean, scores if scores.ndim == 1 else scores[:, 0])


class SGDRegressor(SparseCoefficients, RegressorMixin, _SGD):
    r"""Linear regression learnt by stochastic gradients, batch by batch or by plain gradient descent.

    .. math:: \min_{w, b}\; \frac1n\sum_i s_i\,\ell(y_i, x_i^Tw + b) + \alpha R(w)

    Notes
    -----
    The order of rows matters. Rows in memory are shuffled before each pass; more than 16,384 of them in runs of
    neighbours (32 kB), drawn from all parts of the table and mixed within pools of half a megabyte, so that memory is
    read in line. `Batches` and Dask collections are taken block after block, in order, each shuffled by itself.
    ``batch_size="full"`` is gradient descent on all rows, where order, blocks and threads make no difference. Columns
    should have similar scales.

    Sample weights multiply the losses and are measured by their mean; in `partial_fit` they count as they are. The
    squared and Huber losses are half the squared error near 0. Cost: two multiply-adds per entry and pass, for sparse
    rows per stored entry (L1 and p-norm penalties are settled when a weight is next read; the p-norm costs two powers
    per entry). In sparse rows that fill less than a tenth of the columns the intercept, which every row moves,
    takes shorter steps than the weights: a hundredth of theirs, but at least 1/(1 + t/100). Differs from scikit-learn:
    `early_stopping` watches the loss on held-out rows. Shape of computation: stream.

    References
    ----------
    Widrow, Hoff (1960), doi:10.21236/AD0241531; Robbins, Monro (1951), doi:10.1214/aoms/1177729586; Polyak, Juditsky
    (1992), doi:10.1137/0330046; Tsuruoka, Tsujii, Ananiadou (2009), doi:10.3115/1687878.1687946.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import SGDRegressor
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> model = SGDRegressor(penalty=None, learning_rate="constant", eta0=0.1, random_state=0).fit(X, 3 * X[:, 0] + 1)
    >>> model.predict([[0.5]]).round(2)
    array([2.5])
    """

    _test_params = [
        {"learning_rate": "constant", "eta0": 0.02, "shuffle": False},
        {"loss": "huber", "epsilon": 1.0, "penalty": "l1", "learning_rate": "constant", "eta0": 0.02, "shuffle": False},
    ]
    _test_skips = ORDER_MATTERS

    loss: Any = param(
        "squared_error",
        [one_of(*NAMES), Loss],
        "Loss ℓ: a name, or a loss of didact.parts; absolute, Huber and ε-insensitive ones resist outliers.",
    )
    learning_rate: str = param(
        "invscaling",
        one_of(*RATES),
        RATES_IN_WORDS,
    )
    power_t: float = param(0.25, Real, "Exponent of the rate 'invscaling'; below 0 it is deprecated.")

    _attrs = [
        attr("coef_", "(n_features,)", "Weights, or their average over the steps."),
        attr("intercept_", "(1,)", "Constant term."),
    ]
    _hidden = state_of("1")

    def fit(
        self, X: Any, y: Any = None, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> "SGDRegressor":
        """Learn from rows X with targets y, pass after pass, beginning at zero or at the weights given."""
        rows, training = self._rows(X, y, sample_weight), self._training()
        weights = start(self, ONE, rows.n_features, training, coef_init, intercept_init)
        total = rows.reduce(seen, False, training.loss)
        result = train(self, rows, total, weights, training, X, y, lambda x: self._fitted(x, rows))
        self._store(weights, rows)
        self._report(result)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SGDRegressor":
        """Make one pass over more rows, from where the last one ended."""
        rows, training = self._rows(X, y, sample_weight, reset=not hasattr(self, "coef_")), self._training()
        weights = resume(self, ONE, rows.n_features, training)
        learn_once(self, rows, weights, training)
        self._store(weights, rows)
        self.n_iter_ = 1
        return self

    def _fitted(self, weights: Weights, rows: Rows) -> dict[str, Any]:
        coef, intercept = parted(weights.table(), float_type(rows))
        return {"coef_": coef[0], "intercept_": intercept}

    def predict(self, X: Any) -> Any:
        """Predicted targets for rows X."""
        return self._after_fit()._map_rows(X, values, self.coef_, self.intercept_, self._loss)
