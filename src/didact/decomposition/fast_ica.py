r"""FastICA: independent sources as the projections that are least Gaussian, by fixed-point iterations.

1. Rows are centred and made white.
2. :math:`w_j \leftarrow E[g(w_j^Tz)z] - E[g'(w_j^Tz)]w_j` for all rows of W, which are then made orthonormal, until
   they no longer turn.

Hyvärinen, Oja (2000), Independent component analysis: algorithms and applications, doi:10.1016/S0893-6080(00)00026-5.
"""

import warnings
from typing import Any

import numpy as np

from didact.core.backend import float_type
from didact.core.errors import ParameterError, users_level
from didact.core.estimator import remember, warn_convergence
from didact.core.parameters import array_like, at_least, attr, is_callable, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.decomposition.sources import White, _Sources, first_matrix, matrices, whitened, with_signs
from didact.engines.factors.sources import Contrast, deflation, fixed_point

NOT_AT_REST = "FastICA did not converge. Consider increasing tolerance or the maximum number of iterations. (max_iter)"


class FastICA(_Sources):
    r"""Independent sources behind mixed columns, found as the least Gaussian projections.

    .. math:: x = \mu + As,\qquad s = W K(x-\mu)

    Sums of independent sources are closer to Gaussian than the sources, so rows of W are local maxima of how far
    E[G(wᵀz)] is from that of a Gaussian variable, with G' = g = `fun`. Order and signs of the sources are not
    determined, and at most one may be Gaussian.

    Notes
    -----
    Cost of an iteration: 2nk² multiply-adds and nk evaluations of g, in one pass on all threads. The covariance gives
    the white rows, whatever `whiten_solver` says; directions without variance are left out. Rows may be batches, a Dask
    collection, or a tensor on its device. A function of one's own gets projections (k, m) of some rows and returns g
    and the mean of g' along the last axis. Shape of computation: iterate.

    References
    ----------
    Hyvärinen (1999), doi:10.1109/72.761722; Hyvärinen, Oja (2000), doi:10.1016/S0893-6080(00)00026-5.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.decomposition import FastICA
    >>> t = np.linspace(0, 8, 2000)
    >>> S = np.column_stack([np.sin(2 * t), np.sign(np.sin(3 * t))])
    >>> found = FastICA(random_state=0).fit_transform(S @ np.array([[1.0, 0.5], [1.0, 2.0]]))
    >>> np.abs(np.corrcoef(S.T, found.T)[:2, 2:]).max(axis=1).round(2)
    array([1., 1.])
    """

    n_components: Any = param(None, [whole(1), none], "Number k of sources; None: as many as columns.")
    algorithm: str = param("parallel", one_of("parallel", "deflation"), "All sources at once, or one after the other.")
    whiten: Any = param(
        "unit-variance",
        [one_of("arbitrary-variance", "unit-variance"), "boolean"],
        "Whether sources get variance 1; False: rows are white already.",
    )
    fun: Any = param("logcosh", [one_of("logcosh", "exp", "cube"), is_callable], "The function g.")
    fun_args: Any = param(None, [dict, none], "Arguments of g: alpha from 1 to 2 for 'logcosh', tanh(αy).")
    max_iter: int = param(200, whole(1), "Most iterations.")
    tol: float = param(1e-4, at_least(0), "How far a row of W may still turn, 1 less the absolute cosine.")
    w_init: Any = param(None, [array_like, none], "W to begin with, (k, k); None: normal numbers.")
    whiten_solver: str = param("svd", one_of("eigh", "svd"), "No effect: white rows come from the covariance.")
    random_state: Any = param(None, random_state, "Seed of W to begin with.")

    _attrs = [
        attr("mean_", "(n_features,)", "Means of the columns.", when="whiten"),
        attr("whitening_", "(n_components, n_features)", "The matrix K.", when="whiten"),
    ]

    _test_params = [{"random_state": 0, "max_iter": 2000}]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FastICA":
        """Find the sources of rows X; sample_weight counts rows, y is not used."""
        rows = self._rows(X, None, sample_weight, target="none")
        contrast, white, dtype = self._contrast(), self._white(rows), float_type(rows)
        inner, k = (rows, rows.n_features) if white is None else (white.rows, len(white.matrix))
        attributes = lambda W: matrices(self._scaled(W, white), white, dtype)  # noqa: E731
        with FitProgress(self, self.max_iter, X=X, attributes=attributes) as progress, blas_for(k):
            solver = fixed_point if self.algorithm == "parallel" else deflation
            start = self._start(white, k)
            result = solver(inner, start, contrast, self.tol, self.max_iter, progress.report)
            self.__dict__.update(attributes(result.x))
        self.n_iter_ = max(1, result.n_iter)
        remember(self, result)
        if not result.converged and result.status != "stopped":
            warn_convergence(self, NOT_AT_REST)
        return self

    def _start(self, white: White | None, k: int) -> Array:
        """W to begin with; a given one is for white rows with the signs that scikit-learn gives them."""
        W = first_matrix(self.w_init, k, self.random_state)
        turned = self.w_init is not None and white is not None
        return W * np.where(white.matrix[:, 0] < 0, -1.0, 1.0) if turned else W  # type: ignore[union-attr]

    def _contrast(self) -> Contrast:
        arguments = self.fun_args or {}
        if callable(self.fun):
            return Contrast(self.fun, arguments=tuple(arguments.items()))
        alpha = arguments.get("alpha", 1.0)
        if not 1 <= alpha <= 2:
            raise ParameterError("alpha must be in [1,2]")
        return Contrast(self.fun, float(alpha))

    def _white(self, rows: Rows) -> White | None:
        if self.whiten is True:
            raise ParameterError("whiten=True says not how: take 'unit-variance' or 'arbitrary-variance'.")
        if self.whiten is not False:
            return whitened(rows, self.n_components, say=self.whiten_solver == "eigh")
        if self.n_components is not None:
            warnings.warn("Ignoring n_components with whiten=False.", UserWarning, stacklevel=users_level())
        return None

    def _scaled(self, W: Array, white: White | None) -> Array:
        """The matrix from rows to sources; white rows have variance 1, and so have their rotations."""
        if white is None:
            return W
        unit = np.sqrt(white.cases) if self.whiten == "unit-variance" else 1.0
        return unit * with_signs(W @ white.matrix)


@entrance()
def fastica(
    X: Any, n_components: Any = None, *, algorithm: str = "parallel", whiten: Any = "unit-variance",
    fun: Any = "logcosh", fun_args: Any = None, max_iter: int = 200, tol: float = 1e-4, w_init: Any = None,
    whiten_solver: str = "svd", random_state: Any = None, return_X_mean: bool = False, compute_sources: bool = True,
    return_n_iter: bool = False,
) -> Any:  # fmt: skip
    """K, W and the sources of `FastICA`, so that s = W K (x − μ); then the mean and the iterations, if asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.decomposition import fastica
    >>> S = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> X = S @ np.array([[1.0, 1.0], [0.0, 2.0]])
    >>> K, W, sources = fastica(X, random_state=0)
    >>> np.allclose(sources, (X - X.mean(axis=0)) @ (W @ K).T)
    True
    """
    model = FastICA(
        n_components=n_components, algorithm=algorithm, whiten=whiten, fun=fun, fun_args=fun_args, max_iter=max_iter,
        tol=tol, w_init=w_init, whiten_solver=whiten_solver, random_state=random_state,
    ).fit(X)  # fmt: skip
    K, W = None, model.components_
    if whiten is not False:
        K = model.whitening_
        W = (W @ K.T / (K * K).sum(axis=1)).astype(W.dtype)  # rows of K are orthogonal
    found = [K, W, model.transform(X) if compute_sources else None]
    found += [getattr(model, "mean_", None)] if return_X_mean else []
    return found + ([model.n_iter_] if return_n_iter else [])
