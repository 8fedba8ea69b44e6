r"""Independent sources by greatest likelihood, with logistic sources or a density of the user's.

.. math:: \ell(W) = \sum_i\Big(\log|\det W| + \sum_j\log p(w_j^Tx_i)\Big)

1. Rows are centred and made white; with more columns than sources, only the directions of greatest variance stay.
2. Stochastic ascent, a row at a time: :math:`W \leftarrow W + \alpha\big((1 - 2g(Wx))x^T + (W^T)^{-1}\big)` for the
   logistic density p = g', or steps of all rows by the natural gradient or with approximate curvature.

Bell, Sejnowski (1995), An information-maximization approach to blind separation, doi:10.1162/neco.1995.7.6.1129.
"""

from typing import Any

import numpy as np

from didact.core.backend import float_type, is_tensor, like, to_numpy
from didact.core.estimator import report_convergence
from didact.core.parameters import (
    above,
    array_like,
    at_least,
    attr,
    is_callable,
    none,
    one_of,
    param,
    random_state,
    whole,
)
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.typing import Array
from didact.core.validation import require_table
from didact.decomposition.sources import White, _Sources, apart, first_matrix, matrices, whitened, with_signs
from didact.engines.factors.ascent import stochastic_ascent
from didact.engines.factors.sources import Contrast, greatest_likelihood, log_densities_of, quasi_newton
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result

RATES = {"quasi-newton": 1.0, "natural-gradient": 1.0, "stochastic": 0.01}
TOLERANCES = {"quasi-newton": 1e-6, "natural-gradient": 1e-6, "stochastic": 1e-2}


class MaximumLikelihoodICA(_Sources):
    r"""Independent sources of a given density behind mixed columns, by greatest likelihood.

    .. math:: x = \mu + As,\quad s_j \sim p,\qquad
        \max_W\ \log|\det W| + E\Big[\sum_j\log p(w_j^Tz)\Big]

    The logistic density, p = g' with g the sigmoid, does well for sources with heavier tails than the Gaussian, as
    speech has; for lighter tails give a density of one's own: a function of projections (k, m) that returns log p and
    its derivative and, if it likes, the second derivative, arrays of that shape.

    Notes
    -----
    Cost: 2nk² multiply-adds and nk densities an iteration, in one pass on all threads; the stochastic rule k³ for each
    row, one after the other, so that it depends on the order of rows, which are shuffled: its answer, a mean of
    iterates, is good to about the error that a sample has, and so is its tolerance. Of the steps on all rows none
    lowers the likelihood. More columns than sources are projected first (`n_components`); fewer cannot be separated.
    Order and signs of sources are not determined, their scale is that of p. Shape of computation: iterate.

    References
    ----------
    Bell, Sejnowski (1995), doi:10.1162/neco.1995.7.6.1129; Amari (1998), doi:10.1162/089976698300017746; Pham, Garat
    (1997), doi:10.1109/78.599941.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.decomposition import MaximumLikelihoodICA
    >>> S = np.random.default_rng(0).laplace(size=(2000, 2))
    >>> model = MaximumLikelihoodICA(random_state=0).fit(S @ np.array([[1.0, 0.5], [1.0, 2.0]]))
    >>> found = model.transform(S @ np.array([[1.0, 0.5], [1.0, 2.0]]))
    >>> np.abs(np.corrcoef(S.T, found.T)[:2, 2:]).max(axis=1).round(2)
    array([1., 1.])
    """

    n_components: Any = param(None, [whole(1), none], "Number k of sources; None: as many as columns.")
    solver: str = param(
        "quasi-newton", one_of(*RATES), "Steps of all rows, with curvature or without, or of one row at a time."
    )
    density: Any = param(
        "logistic", [one_of("logistic"), is_callable], "The density p of a source, by name or as a function."
    )
    learning_rate: Any = param(None, [above(0), none], "Length α of a step; None: 1, of the stochastic rule 0.01.")
    max_iter: int = param(200, whole(1), "Most iterations, or passes of the stochastic rule.")
    tol: Any = param(
        None,
        [at_least(0), none],
        "Largest slope of the mean log-likelihood at which a fit ends; None: 1e-6, of the stochastic rule 0.01.",
    )
    w_init: Any = param(None, [array_like, none], "W to begin with, (k, k), for white rows; None: the identity matrix.")
    random_state: Any = param(None, random_state, "Seed of the order of rows in the stochastic rule.")

    _test_params = [{"max_iter": 2000}]

    _attrs = [
        attr("mean_", "(n_features,)", "Means of the columns."),
        attr("whitening_", "(n_components, n_features)", "The matrix that makes rows white, divided by √n."),
        attr("log_likelihood_", "float", "Mean log-likelihood of a white row."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MaximumLikelihoodICA":
        """Find the sources of rows X; sample_weight counts rows, y is not used."""
        rows = self._rows(X, None, sample_weight, target="none")
        white, dtype = whitened(rows, self.n_components), float_type(rows)
        scale = np.sqrt(white.cases)
        k = len(white.matrix)
        start = np.eye(k) if self.w_init is None else first_matrix(self.w_init, k, None)
        attributes = lambda W: matrices(scale * with_signs(W @ white.matrix), white, dtype)  # noqa: E731
        with FitProgress(self, self.max_iter, X=X, attributes=attributes) as progress:
            result = self._solved(white, start, progress.report)
        self.__dict__.update(attributes(result.x))
        self.log_likelihood_ = -float(result.value)
        report_convergence(self, result)
        return self

    def _solved(self, white: White, W: Array, report: Report) -> Result:
        rate = RATES[self.solver] if self.learning_rate is None else self.learning_rate
        tol = TOLERANCES[self.solver] if self.tol is None else self.tol
        contrast, limits = Contrast(self.density, density=True), (tol, self.max_iter, report)
        if self.solver == "stochastic":
            rng = streams(self.random_state, 1)[0]
            return stochastic_ascent(white.rows, W, contrast, rate, rng, *limits)
        direction = quasi_newton if self.solver == "quasi-newton" else (lambda state: state.slopes)
        return greatest_likelihood(white.rows, W, contrast, direction, rate, *limits)

    def score_samples(self, X: Any) -> Any:
        """The log density of each row, with fewer sources than columns of its projection on the space they span."""
        B = np.asarray(self._after_fit().components_, np.float64)
        return self._map_rows(X, row_densities, np.asarray(self.mean_, np.float64), B, self.density)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of rows X in memory."""
        require_table(X, "score")
        return float(to_numpy(self.score_samples(X)).mean())


def row_densities(X: Any, mean: Array, B: Array, density: Any) -> Any:
    """½ log det BBᵀ + Σ log p(b_jᵀ(x − μ)) of each row."""
    y = np.asarray(to_numpy(apart(X, mean, B)), np.float64)
    found = 0.5 * np.linalg.slogdet(B @ B.T)[1] + log_densities_of(Contrast(density, density=True), y.T).sum(axis=0)
    return like(found, X) if is_tensor(X) else found.astype(float_type(X), copy=False)
