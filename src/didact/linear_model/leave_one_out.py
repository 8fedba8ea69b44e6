r"""Ridge regression for a whole grid of penalties, with leave-one-out errors in closed form.

Centre the data at their weighted means, with total weight W (no centring and :math:`1/W=0` without an intercept). With
:math:`X^TWX = V\,\mathrm{diag}(s)\,V^T` and :math:`z_i = V^Tx_i` all penalties share one decomposition:

.. math:: b(\alpha) = V\frac{V^TX^TWy}{s+\alpha},\qquad
          h_i(\alpha) = w_i\Big(\frac1W + \sum_j\frac{z_{ij}^2}{s_j+\alpha}\Big),\qquad
          e_i = \frac{y_i-\hat y_i}{1-h_i}

where :math:`e_i` is the error on row i of the fit to all other rows. Two passes: cross-products, then errors.
For no more rows than columns the same follows from :math:`K = \sqrt W XX^T\sqrt W = Q\,\mathrm{diag}(\lambda)\,Q^T`,
where :math:`1-h_i = \sum_j q_{ij}^2\,\alpha/(\lambda_j+\alpha)` has no cancellation.

Golub, Heath, Wahba (1979), Generalized cross-validation as a method for choosing a good ridge parameter,
doi:10.1080/00401706.1979.10489751.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.backend import is_sparse, like, namespace, to_numpy
from didact.core.overflow import all_finite, refuse_overflow
from didact.core.rows import Block, Rows
from didact.core.rows.gather import Pieces
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.linear.least_squares import SAFE, graded_svd, triangle
from didact.linear_model.ridge import gram_trace
from didact.parts.statistics.moments import Moments, Sums, moments

EPS = np.finfo(np.float64).eps


class Grid(NamedTuple):
    """The ridge solutions of a grid of A penalties, and what leave-one-out errors need beside them."""

    coef: Array  # (p, A, k)
    mean_x: Array  # (p,), zero without an intercept
    mean_y: Array  # (k,)
    rotation: Any = None  # (p, p): V
    inverse: Any = None  # (p, A): 1/(s+α)
    share: float = 0.0  # 1/W, zero without an intercept

    @property
    def intercept(self) -> Array:
        """Constant terms (A, k)."""
        return self.mean_y - np.tensordot(self.mean_x, self.coef, 1)


def few_rows(rows: Rows) -> bool:
    """Whether the n × n form is the smaller one, and all rows are at hand for it."""
    return rows.n_rows is not None and not rows.on_device and rows.n_rows <= rows.n_features


def solve_grid(rows: Rows, alphas: Array, fit_intercept: bool) -> Grid:
    """Ridge for every α of a grid from one pass over the rows, or two where the condition is poor."""
    S = rows.reduce(moments)
    refuse_overflow(rows, S)
    return solve_moments(S, alphas, fit_intercept) or _solve_triangle(rows, S, alphas, fit_intercept)


def solve_moments(S: Moments, alphas: Array, fit_intercept: bool) -> Grid | None:
    """Ridge for every α from cross-products; None if their condition does not allow it."""
    S = S if fit_intercept else S.about_zero()
    if not all_finite(S):
        return None
    with blas_for(len(S.xx)):
        s, V = linalg.eigh(S.xx, check_finite=False)
    if s[0] + alphas.min() <= SAFE * (s[-1] + alphas.min()):
        return None
    return _grid(S, s, V, V.T @ S.xy, alphas, fit_intercept)


def _solve_triangle(rows: Rows, S: Moments, alphas: Array, fit_intercept: bool) -> Grid:
    """Ridge for every α from the singular values of the rows' triangular factor, whatever their rank."""
    S = S if fit_intercept else S.about_zero()
    p = rows.n_features
    R = rows.reduce(triangle, S.mean_x, S.mean_y).R
    U, root, Vt = graded_svd(R[:p, :p], np.sqrt(S.weight) * np.abs(S.mean_x))
    return _grid(S, root**2, Vt.T, root[:, None] * (U.T @ R[:p, p:]), alphas, fit_intercept)


def _grid(S: Moments, s: Array, V: Array, target: Array, alphas: Array, fit_intercept: bool) -> Grid:
    inverse = _inverse(s[:, None] + alphas)
    share = 1.0 / S.weight if fit_intercept and S.weight > 0 else 0.0
    return Grid(
        coef=_combine(V, inverse, target), mean_x=S.mean_x, mean_y=S.mean_y, rotation=V, inverse=inverse, share=share
    )


def _inverse(values: Array) -> Array:
    """1/values, and 0 where a value is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def _combine(V: Array, inverse: Array, target: Array) -> Array:
    """V·diag(inverse[:, a])·target for every a: (p, A, k)."""
    return np.tensordot(V, inverse[:, :, None] * target[:, None, :], 1)


def held_out_errors(block: Block, grid: Grid, map_: Array, shift: Array) -> Any:
    """e (n, A, k) of a block; map_ is [V, b(α) …] and shift what it makes of the means: one product does it all."""
    X, y, w = block.X, block.y, block.weight
    xp = namespace(X)
    p, A = grid.inverse.shape
    Y = (y if y.ndim == 2 else y[:, None]) - like(grid.mean_y, X)
    if is_sparse(X):
        Z = X @ map_ - shift
    else:
        Z = (X - like(grid.mean_x, X)) @ like(map_, X)
    errors = Y[:, None, :] - xp.reshape(Z[:, p:], (Z.shape[0], A, -1))
    squares = Z[:, :p]
    squares *= squares
    leverage = squares @ like(grid.inverse, X) + grid.share
    kept = 1.0 - (leverage if w is None else w[:, None] * leverage)
    kept = xp.clip(kept, float(xp.finfo(kept.dtype).eps), None)
    errors /= kept[:, :, None]
    return errors


def squared_errors(block: Block, *grid: Any) -> Sums:
    """Σ w e² of a block, (A, k), and the number of rows."""
    xp, w = namespace(block.X), block.weight
    errors = held_out_errors(block, *grid)
    errors *= errors
    table = xp.reshape(errors, (errors.shape[0], -1))
    total = xp.sum(table, axis=0) if w is None else w @ table
    return Sums((to_numpy(total).astype(np.float64).reshape(errors.shape[1:]), errors.shape[0]))


def stacked_errors(block: Block, *grid: Any) -> Pieces:
    """e, y and w of every row."""
    columns = held_out_errors(block, *grid), block.y, block.weight
    return Pieces((tuple(None if c is None else to_numpy(c) for c in columns),))


def with_map(grid: Grid) -> tuple[Grid, Array, Array]:
    """The grid with the one matrix that turns a centred row into its z and all its predictions."""
    map_ = np.concatenate([grid.rotation, grid.coef.reshape(len(grid.coef), -1)], axis=1)
    return grid, map_, grid.mean_x @ map_


def solve_few_rows(rows: Rows, alphas: Array, fit_intercept: bool) -> tuple[Grid, Array]:
    """The grid and the leave-one-out errors (n, A, k) from the n × n form."""
    refuse_overflow(rows, rows.reduce(gram_trace))  # NaN is refused by name
    X, y, w, *_ = rows.whole()
    X = X.astype(np.float64)
    Y = y if y.ndim == 2 else y[:, None]
    w = np.ones(len(Y)) if w is None else w
    total = w.sum() if fit_intercept else np.inf
    mean_x, mean_y = (w @ X) / total, (w @ Y) / total
    root = np.sqrt(w)
    K = _kernel(X, mean_x) * root[:, None] * root
    if fit_intercept:  # √w is a null vector; lifted to the top it can be left out exactly
        lift = 2 * np.abs(K).sum(axis=0).max() or 1.0
        K += lift * np.outer(root, root / total)
    s, Q = linalg.eigh(K, check_finite=False)
    s, Q = (s[:-1], Q[:, :-1]) if fit_intercept else (s, Q)
    s = np.where(s > s[-1:] * EPS * len(Y), s, 0.0)
    inverse = _inverse(s[:, None] + alphas)
    dual = _combine(Q, inverse, Q.T @ (root[:, None] * (Y - mean_y)))
    weighted = root[:, None] * dual.reshape(len(Y), -1)
    coef = (X.T @ weighted - np.outer(mean_x, weighted.sum(axis=0))).reshape(X.shape[1], *dual.shape[1:])
    kept = (Q * Q) @ (alphas * inverse)
    dual *= alphas[:, None]
    dual /= np.maximum(kept, np.finfo(float).tiny)[:, :, None]
    grid = Grid(coef, mean_x, mean_y)
    return grid, _unweighted(dual, root, X, Y, grid)


def _kernel(X: Any, mean: Array) -> Array:
    """Inner products of the centred rows; sparse rows are centred in the products."""
    if not is_sparse(X):
        X = X - mean
        return X @ X.T
    along = X @ mean
    return np.asarray((X @ X.T).todense()) - along[:, None] - along + mean @ mean


def _unweighted(errors: Array, root: Array, X: Any, Y: Array, grid: Grid) -> Array:
    """Errors √w·e divided by √w; a row without weight is never in the fit, so its error is the residual."""
    out = np.flatnonzero(root == 0)
    errors /= np.where(root > 0, root, 1.0)[:, None, None]
    fitted = (X[out] @ grid.coef.reshape(len(grid.coef), -1)).reshape(len(out), *errors.shape[1:])
    errors[out] = Y[out][:, None, :] - fitted - grid.intercept
    return errors
