r"""Mixtures of Bernoulli components, for rows of zeros and ones: which answers, words or pixels go together.

Juan, Vidal (2002), On the use of Bernoulli mixture models for text classification, doi:10.1016/S0031-3203(01)00242-4.
"""

from numbers import Real
from typing import Any

import numpy as np

from didact.core.backend import namespace, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import warn_convergence
from didact.core.parameters import at_least, attr, none, param
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.engines.centroids.starts import rows_to_draw, too_few_distinct
from didact.engines.components.mixture import BernoulliFamily, Bernoullis, zeros_and_ones
from didact.mixture.base import _Mixture


class BernoulliMixture(_Mixture):
    r"""A mixture of components with independent columns of zeros and ones, by EM (latent classes).

    .. math:: p(x) = \sum_{k=1}^K \pi_k\prod_j\mu_{kj}^{x_j}(1-\mu_{kj})^{1-x_j},\qquad
        \mu_{kj} = \frac{\sum_ir_{ik}x_{ij} + \alpha}{\sum_ir_{ik} + 2\alpha}

    Notes
    -----
    Missing values (NaN) leave the sums of their column: given the component, columns are independent. `alpha` is the
    count of a conjugate prior, which the log-likelihood then includes. Values above `binarize` count as 1, others as 0.
    Cost: one pass a step, 5 n K p multiply-adds. Shape of computation: iterate.

    References
    ----------
    Juan, Vidal (2002), doi:10.1016/S0031-3203(01)00242-4.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.mixture import BernoulliMixture
    >>> X = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
    >>> labels = BernoulliMixture(2, random_state=0).fit_predict(X)
    >>> len(set(labels[:3])), len(set(labels[3:]))
    (1, 1)
    """

    _tensors = True
    _test_skips = {
        "constant_columns/constant:alpha": "a column of ones counts by its prior",
        "constant_columns/zeros:alpha": "a column of zeros counts by its prior",
        "constant_columns/shift": "values are compared with a threshold",
        "weight_scale:alpha": "alpha is a number of rows",
    }
    _test_params = [{}, {"n_components": 3, "random_state": 0, "alpha": 1.0, "max_iter": 2000}]

    alpha: float = param(0.0, at_least(0), "Ones and zeros that are added to each column of each component.")
    binarize: Any = param(
        0.0,
        [Real, none],
        "Values above count as 1, others as 0; None: X holds zeros and ones.",
    )

    _attrs = [attr("means_", "(n_components, n_features)", "Probabilities of a one.")]

    @property
    def _family(self) -> BernoulliFamily:
        return BernoulliFamily(self.alpha)

    def _scores(self) -> tuple[Any, ...]:
        threshold = np.nan if self.binarize is None else float(self.binarize)  # a fit has compared its rows already
        fn, args = BernoulliFamily(self.alpha, threshold).scores(self._parameters())
        return fn, *args

    def _coded_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        return super()._coded_rows(X, y, sample_weight).prepared(_binary, self.binarize)

    def _overview(self, rows: Rows) -> tuple[float, Array]:
        found = super()._overview(rows)
        if few := too_few_distinct(*rows_to_draw(rows, self.n_components), self.n_components):
            warn_convergence(
                self,
                f"X has only {few} distinct row(s) of zeros and ones, fewer than n_components={self.n_components}: "
                "some components coincide or have no rows. Take fewer components.",
            )
        return found

    def _attributes(self, theta: Bernoullis, dtype: Any) -> dict[str, Any]:
        return {"weights_": theta.weights.astype(dtype), "means_": theta.means.astype(dtype)}

    def _parameters(self) -> Bernoullis:
        weights, means = np.asarray(self.weights_, np.float64), np.asarray(self.means_, np.float64)
        if means.shape != (len(weights), self.n_features_in_):  # compiled code reads as many numbers
            raise InputError(f"means_ {means.shape} and weights_ {weights.shape} do not belong together: fit it anew.")
        return BernoulliFamily().clipped(Bernoullis(weights, means))

    def _n_parameters(self) -> int:
        K, p = self.means_.shape
        return int(K * p + K - 1)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Rows of zeros and ones drawn from the mixture, component by component, and the numbers of components."""
        rng, counts = self._drawn(n_samples, random_state)
        codes = np.repeat(np.arange(len(counts)), counts)
        return (rng.uniform(size=(len(codes), self.n_features_in_)) < self.means_[codes]).astype(np.float64), codes


def _binary(block: Block, threshold: float | None) -> Block:
    """Rows as zeros and ones, once for all steps; NaN stays."""
    X = block.X
    if threshold is not None:
        return block._replace(X=zeros_and_ones(X, threshold))
    xp = namespace(X)
    wrong = ~((X == 0) | (X == 1) | xp.isnan(X))
    if bool(xp.any(wrong)):
        row, column = (int(i[0]) for i in np.nonzero(to_numpy(wrong)))
        raise InputError(
            f"With binarize=None, X must hold zeros and ones; row {row} has {float(X[row, column]):g} in column "
            f"{column}."
        )
    return block
