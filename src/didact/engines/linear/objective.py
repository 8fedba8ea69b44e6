r"""The smooth objective of a linear model, one pass over the rows per evaluation.

.. math:: f(\theta) = \frac1W \sum_i w_i\,\ell(y_i, x_i^Tb + b_0 + o_i) + \frac{\alpha}{2}\|b\|^2,\quad W = \sum_i w_i

Inside, the parameters of K outputs are always a table (K, p + 1), a row (b, b₀) for each, also for K = 1 and without an
intercept, where b₀ = 0. θ is the table in a row, less what is not fitted. Solvers see only `value_gradient(θ)` and
`value_gradient_hessian(θ)`. The curvature is the loss's own (exact or Fisher), never negative. Outputs that have no
coefficients of their own (the reference class of K−1 softmax vectors) have the linear predictor 0.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, like, namespace, small_product, to_host
from didact.core.rows import Block, Rows
from didact.core.rows.memory import block_by_block, compiled_pass
from didact.core.typing import Array
from didact.engines.linear.pass_loops import linear_sums
from didact.engines.linear.softmax_loops import softmax_curvature, softmax_sums
from didact.engines.loop.line_search import NOISE
from didact.parts.losses.classification import ClassLoss, Softmax
from didact.parts.statistics.column_loops import sparse_column_sums
from didact.parts.statistics.moments import NARROW, Sums, gram


def has_scores(loss: Any) -> bool:
    """Whether a loss is one of several scores, with predictors (n, K) and not (n,)."""
    return isinstance(loss, ClassLoss)


def rounding(rows: Rows) -> float:
    """The relative rounding error of a loss: that of float32 on a device, where it is not summed in float64."""
    return 1e-8 if rows.on_device and str(rows.dtype).endswith("float32") else NOISE


class LinearObjective(NamedTuple):
    """A loss on rows of (X, y, w, offset), with an L2 penalty."""

    rows: Rows
    loss: Any
    weight: float
    alpha: Any = 0.0  # a number, or one per feature
    fit_intercept: bool = True
    outputs: int = 1  # the number of coefficient vectors
    reference: bool = False  # whether one more output comes last, whose linear predictor is 0
    constant_l2: float = 0.0  # the L2 strength of intercepts, which most models leave free
    constant_l1: float = 0.0  # and their L1 strength, where there is an L1 part

    @property
    def size(self) -> int:
        """The number of parameters."""
        return self.outputs * self._width

    @property
    def several(self) -> bool:
        """Whether the loss is one of several scores."""
        return has_scores(self.loss)

    @property
    def noise(self) -> float:
        """The relative rounding error of a value: tensors of float32 have losses of float32, summed in float64."""
        return rounding(self.rows)

    @property
    def _width(self) -> int:
        return self.rows.n_features + self.fit_intercept

    def table(self, theta: Array) -> Array:
        """Coefficients and, last, the intercept of each output (K, p + 1)."""
        table = np.zeros((self.outputs, self.rows.n_features + 1))
        table[:, : self._width] = theta.reshape(self.outputs, self._width)
        return table

    def vector(self, table: Array) -> Array:
        """The inverse of `table`."""
        return table[:, : self._width].ravel()

    def identified(self, theta: Array, centred: bool) -> Array:
        """The table of all outputs. One row added to all classes changes no probability: their rows sum to zero.

        The coefficients at an L2 penalty's optimum do so by themselves, those of an L1 penalty must not be moved.
        """
        table = self.table(theta)
        if self.reference:
            return np.vstack([table, np.zeros_like(table[:1])])
        if not self.several:
            return table
        return table - table.mean(axis=0) * np.append(np.full(table.shape[1] - 1, float(centred)), 1.0)

    def _sums(self, theta: Array, arrays: Any, compiled: Any, narrow: bool = False) -> tuple[Any, ...]:
        """One pass, compiled where there is a loop for the loss and, if it has to be narrow, BLAS is not quicker."""
        codes = isinstance(self.loss, Softmax) and self.rows.y_ndim == 1
        fused = codes if self.several else self.loss.scalar is not None
        fn = compiled if fused and not (narrow and self.rows.n_features > NARROW) else arrays
        return self.rows.reduce(fn, self.loss, self.table(theta), self.reference).parts

    def value_gradient(self, theta: Array) -> tuple[float, Array]:
        """f and its gradient."""
        return self._penalised(theta, *self._sums(theta, _gradient, _compiled_gradient))

    def value_gradient_hessian(self, theta: Array) -> tuple[float, Array, Array]:
        """f, its gradient and its curvature matrix."""
        value, slopes, H = self._sums(theta, _hessian, _compiled_hessian, True)
        H = H[:, : self._width, :, : self._width].reshape(self.size, self.size) / self.weight
        H[np.diag_indices(self.size)] += self.penalties()
        return *self._penalised(theta, value, slopes), H

    def column_moments(self) -> tuple[Array, Array]:
        """Means and mean squares of the features."""
        sums, squares = self.rows.reduce(column_sums).parts
        return sums / self.weight, squares / self.weight

    def block_curvature(self, theta: Array) -> Array:
        """The curvature within each output's parameters, (K, width, width)."""
        if not self.several:
            return self.value_gradient_hessian(theta)[2][None]
        (H,) = self._sums(theta, _block_curvature, _compiled_blocks, True)
        H = H[:, : self._width, : self._width] / self.weight
        each = np.arange(self._width)
        H[:, each, each] += self.penalties()[: self._width]
        return H

    def penalties(self) -> Array:
        """The L2 strength of every parameter."""
        return self.per_parameter(self.alpha, self.constant_l2)

    def per_parameter(self, values: Any, constant: float) -> Array:
        """A number for every parameter from one (or one for each feature), and that of intercepts."""
        each = np.empty((self.outputs, self.rows.n_features + 1))
        each[:, :-1], each[:, -1] = values, constant
        return each[:, : self._width].ravel()

    def on_columns(self, columns: Array) -> "LinearObjective":
        """The objective of these features alone."""
        alpha = np.asarray(self.alpha)
        return self._replace(rows=self.rows.on_columns(columns), alpha=alpha[columns] if alpha.ndim else self.alpha)

    def _penalised(self, theta: Array, value: float, slopes: Array) -> tuple[float, Array]:
        pull = self.penalties() * theta
        return value / self.weight + 0.5 * float(np.sum(pull * theta)), self.vector(slopes) / self.weight + pull


def table_of(coef: Any, intercept: Any) -> Array:
    """The table (K, p + 1) of a model's coefficients, (p,) or (K, p), and intercepts."""
    coef = np.atleast_2d(np.asarray(coef, np.float64))
    return np.column_stack([coef, np.broadcast_to(intercept, len(coef))])


def parted(table: Array, dtype: Any) -> tuple[Array, Array]:
    """Coefficients (K, p) and intercepts (K,) as models store them, in their type."""
    return table[:, :-1].astype(dtype), table[:, -1].astype(dtype)


def linear_predictor(X: Any, table: Array, offset: Any, loss: Any, reference: bool = False) -> Any:
    """Xb + b₀ + o for a block: (n,) or, for a loss of several scores, (n, K), and 0 last for a reference."""
    if isinstance(X, np.ndarray):  # column order: the losses work along columns
        z = (table[:, :-1] @ X.T + table[:, -1:]).T
    else:
        z = X @ like(table[:, :-1].T, X) + like(table[:, -1], X)
    if not has_scores(loss):
        z = z[:, 0]
    z = z if offset is None else z + offset
    if not reference:
        return z
    xp = namespace(z)
    return xp.concat([z.T, xp.zeros_like(z.T[:1])]).T


def double(X: Any) -> Any:
    """A block in the type it is summed up in: float64 on the CPU."""
    return X.astype(np.float64) if isinstance(X, np.ndarray) and X.dtype != np.float64 else X


def _sum(values: Any, axis: int | None = None) -> Any:
    """The sum, in float64."""
    xp = namespace(values)
    return xp.sum(values, axis=axis, dtype=xp.float64)


def _slopes(X: Any, w: Any, value: Any, R: Any, outputs: int) -> tuple[Any, Array]:
    """The weighted sum of losses, and that of their derivatives R in the scores times (x, 1): (K, p + 1)."""
    R = R[:, :outputs] if R.ndim == 2 else R[:, None]
    if w is not None:
        value, R = w * value, w[:, None] * R
    total, slopes, constants = to_host(_sum(value), small_product(X.T, R), _sum(R, axis=0))
    return total, np.column_stack([slopes.T, constants])


def _gradient(block: Block, loss: Any, table: Array, reference: bool) -> Sums:
    X = double(block.X)
    value, R = loss.value_grad(block.y, linear_predictor(X, table, block.offset, loss, reference))
    return Sums(_slopes(X, block.weight, value, R, len(table)))


def _hessian(block: Block, loss: Any, table: Array, reference: bool) -> Sums:
    X, w, (K, width) = double(block.X), block.weight, table.shape
    z = linear_predictor(X, table, block.offset, loss, reference)
    H = np.empty((K, width, K, width))
    if not has_scores(loss):
        value, R, h = loss.value_grad_hess(block.y, z)
        H[0, :, 0] = bordered(X, h if w is None else w * h)
        return Sums((*_slopes(X, w, value, R, K), H))
    P = loss.probabilities(z)
    for k in range(K):
        for m in range(k + 1):
            h = loss.pair_curvature(P, k, m)
            H[k, :, m] = bordered(X, h if w is None else w * h, signed=k != m)
            H[m, :, k] = H[k, :, m].T
    value, R = loss.value_grad(block.y, z)
    return Sums((*_slopes(X, w, value, R, K), H))


def _block_curvature(block: Block, loss: Any, table: Array, reference: bool) -> Sums:
    """[X 1]ᵀ diag(w hₖ) [X 1] for every output k, hₖ the curvature of the loss in that output's predictor."""
    X, w = double(block.X), block.weight
    P = loss.probabilities(linear_predictor(X, table, block.offset, loss, reference))
    curvatures = (loss.pair_curvature(P, k, k) for k in range(len(table)))
    return Sums((np.stack([bordered(X, h if w is None else w * h) for h in curvatures]),))


def bordered(X: Any, h: Any, signed: bool = False) -> Array:
    """[X 1]ᵀ diag(h) [X 1] of a block; h may be negative if that is said."""
    G = small_product(X.T, h[:, None] * X) if signed and not is_sparse(X) else gram(X, h)
    H = np.empty((len(G) + 1, len(G) + 1))
    H[:-1, :-1], H[-1, :-1], H[-1, -1] = to_host(G, small_product(X.T, h), _sum(h))
    H[:-1, -1] = H[-1, :-1]
    return H


def _has_loop(block: Block, loss: Any) -> bool:
    """Whether the compiled passes take a block; those of several scores have no offsets."""
    return isinstance(block.X, np.ndarray) and (block.offset is None or not has_scores(loss))


@compiled_pass
def _compiled_gradient(block: Block, loss: Any, table: Array, reference: bool) -> Sums:
    """`_gradient` as one compiled loop."""
    several = has_scores(loss)
    if not (_has_loop(block, loss) or (is_sparse(block.X) and not several)):
        return block_by_block(_gradient, block, loss, table, reference)
    if several:
        return Sums(softmax_sums(block.X, block.y, block.weight, table, reference))
    value, slopes = linear_sums(block.X, block.y, block.weight, block.offset, loss.scalar, table[0], False)
    return Sums((value, slopes[None]))


@compiled_pass
def _compiled_hessian(block: Block, loss: Any, table: Array, reference: bool) -> Sums:
    """`_hessian` as compiled loops, for up to a few hundred features."""
    if not _has_loop(block, loss):
        return block_by_block(_hessian, block, loss, table, reference)
    if has_scores(loss):
        H = softmax_curvature(block.X, block.weight, table, reference, True)
        return Sums((*softmax_sums(block.X, block.y, block.weight, table, reference), H))
    value, slopes, H = linear_sums(block.X, block.y, block.weight, block.offset, loss.scalar, table[0], True)
    return Sums((value, slopes[None], H[None, :, None]))


@compiled_pass
def _compiled_blocks(block: Block, loss: Any, table: Array, reference: bool) -> Sums:
    """`_block_curvature` as one compiled loop."""
    if not _has_loop(block, loss):
        return block_by_block(_block_curvature, block, loss, table, reference)
    return Sums((softmax_curvature(block.X, block.weight, table, reference, False),))


def column_sums(block: Block) -> Sums:
    """Σ w x and Σ w x² per feature."""
    X, w = block.X, block.weight
    if is_sparse(X):
        return Sums(sparse_column_sums(X, w))
    first = X if w is None else w[:, None] * X
    return Sums(to_host(_sum(first, axis=0), _sum(first * X, axis=0)))
