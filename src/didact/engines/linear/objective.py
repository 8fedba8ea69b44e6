r"""The smooth objective of a linear model, one pass over the rows per evaluation.

.. math:: f(\theta) = \frac1W \sum_i w_i\,\ell(y_i, x_i^Tb + b_0 + o_i) + \frac{\alpha}{2}\|b\|^2,\quad W = \sum_i w_i

θ holds b and then b₀; for K outputs, one such vector per output, in a row. Solvers see only `value_gradient(θ)` and
`value_gradient_hessian(θ)`. The curvature is the loss's own (exact or Fisher), never negative. Outputs that have no
coefficients of their own (the reference class of K−1 softmax vectors) have the linear predictor 0.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, like, namespace, to_host, to_numpy
from didact.core.rows import Block, Rows
from didact.core.rows.memory import block_by_block, compiled_pass
from didact.core.typing import Array
from didact.engines.linear.pass_loops import linear_sums
from didact.engines.linear.softmax_loops import softmax_curvature, softmax_sums
from didact.engines.loop.line_search import NOISE
from didact.parts.losses.classification import Softmax
from didact.parts.statistics.column_loops import sparse_column_sums
from didact.parts.statistics.moments import NARROW, Sums, gram


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
    outputs: int = 0  # 0: one output, y of shape (n,); else the number of coefficient vectors
    reference: bool = False  # whether one more output comes last, whose linear predictor is 0
    constant_l2: float = 0.0  # the L2 strength of intercepts, which most models leave free
    constant_l1: float = 0.0  # and their L1 strength, where there is an L1 part

    @property
    def size(self) -> int:
        """The number of parameters."""
        return max(self.outputs, 1) * self._width

    @property
    def noise(self) -> float:
        """The relative rounding error of a value: tensors of float32 have losses of float32, summed in float64."""
        return rounding(self.rows)

    @property
    def _fused(self) -> bool:
        """Whether there is a compiled pass for the loss."""
        if self.outputs:
            return isinstance(self.loss, Softmax) and self.rows.y_ndim == 1
        return self.loss.scalar is not None

    @property
    def _narrow(self) -> bool:
        """Whether its curvature is quicker than BLAS's."""
        return self.rows.n_features <= NARROW

    @property
    def _width(self) -> int:
        return self.rows.n_features + self.fit_intercept

    def split(self, theta: Array) -> tuple[Array, Any]:
        """Coefficients (p,) or (K, p), and the intercept(s)."""
        p = self.rows.n_features
        if not self.outputs:
            return theta[:p], (theta[p] if self.fit_intercept else 0.0)
        table = theta.reshape(self.outputs, self._width)
        return table[:, :p], (table[:, p] if self.fit_intercept else np.zeros(self.outputs))

    def join(self, coef: Array, intercept: Any) -> Array:
        """The inverse of split."""
        if not self.fit_intercept:
            return np.ravel(coef)
        return np.concatenate([coef, np.reshape(intercept, (*coef.shape[:-1], 1))], axis=-1).ravel()

    def value_gradient(self, theta: Array) -> tuple[float, Array]:
        """f and its gradient."""
        coef, intercept = self.split(theta)
        if self.outputs:
            several = _softmax_gradient if self._fused else _multi_gradient
            S = self.rows.reduce(several, self.loss, coef, intercept, self.reference)
        else:
            one = _fused_gradient if self._fused else _gradient
            S = self.rows.reduce(one, self.loss, coef, intercept)
        value, grad, grad0 = S.parts
        return self._penalised(coef, intercept, value, self.join(grad, grad0))

    def value_gradient_hessian(self, theta: Array) -> tuple[float, Array, Array]:
        """f, its gradient and its curvature matrix."""
        coef, intercept = self.split(theta)
        if self.outputs:
            hessian = _softmax_hessian if self._fused and self._narrow else _multi_hessian
            S = self.rows.reduce(hessian, self.loss, coef, intercept, self.reference)
        else:
            S = self.rows.reduce(
                _fused_hessian if self._fused and self._narrow else _hessian, self.loss, coef, intercept
            )
        value, grad, grad0, H = S.parts
        width, p = self._width, self.rows.n_features
        blocks = max(self.outputs, 1)
        H = H.reshape(blocks, p + 1, blocks, p + 1)[:, :width, :, :width].reshape(self.size, self.size) / self.weight
        H[np.diag_indices(self.size)] += self.penalties()
        return *self._penalised(coef, intercept, value, self.join(grad, grad0)), H

    def column_moments(self) -> tuple[Array, Array]:
        """Means and mean squares of the features."""
        sums, squares = self.rows.reduce(_column_sums).parts
        return sums / self.weight, squares / self.weight

    def block_curvature(self, theta: Array) -> Array:
        """The curvature within each output's parameters, (outputs, width, width)."""
        if not self.outputs:
            return self.value_gradient_hessian(theta)[2][None]
        coef, intercept = self.split(theta)
        curvature = _softmax_blocks if self._fused and self._narrow else _block_curvature
        (H,) = self.rows.reduce(curvature, self.loss, coef, intercept, self.reference).parts
        H = H[:, : self._width, : self._width] / self.weight
        each = np.arange(self._width)
        H[:, each, each] += self.penalties()[: self._width]
        return H

    def penalties(self) -> Array:
        """The L2 strength of every parameter."""
        return self.per_parameter(self.alpha, self.constant_l2)

    def per_parameter(self, values: Any, constant: float) -> Array:
        """A number for every parameter from one (or one for each feature), and that of intercepts."""
        each = np.broadcast_to(np.asarray(values, np.float64), (self.rows.n_features,))
        each = np.append(each, constant) if self.fit_intercept else each
        return np.tile(each, max(self.outputs, 1))

    def on_columns(self, columns: Array) -> "LinearObjective":
        """The objective of these features alone."""
        alpha = np.asarray(self.alpha)
        return self._replace(rows=self.rows.on_columns(columns), alpha=alpha[columns] if alpha.ndim else self.alpha)

    def _penalised(self, coef: Array, intercept: Any, value: float, gradient: Array) -> tuple[float, Array]:
        pull = self.constant_l2 * np.asarray(intercept)
        penalty = 0.5 * float(np.sum(self.alpha * coef * coef) + np.sum(pull * intercept))
        return value / self.weight + penalty, gradient / self.weight + self.join(self.alpha * coef, pull)


def linear_predictor(X: Any, coef: Array, intercept: Any, offset: Any) -> Any:
    """Xb + b₀ + o for a block."""
    z = X @ like(coef.T, X) + (like(intercept, X) if np.ndim(intercept) else float(intercept))
    return z if offset is None else z + offset


def _rows_of(X: Any, *columns: Any) -> tuple[Any, ...]:
    """A block in the type it is summed up in: float64 on the CPU."""
    if isinstance(X, np.ndarray) and X.dtype != np.float64:
        X = X.astype(np.float64)
    return (X, *columns)


def _sum(values: Any, axis: int | None = None) -> Any:
    """The sum, in float64."""
    xp = namespace(values)
    return xp.sum(values, axis=axis, dtype=xp.float64)


def _gradient(block: Block, loss: Any, coef: Array, intercept: Any) -> Sums:
    X, w = block.X, block.weight
    (X,) = _rows_of(X)
    value, r = loss.value_grad(block.y, linear_predictor(X, coef, intercept, block.offset))
    if w is not None:
        value, r = w * value, w * r
    return Sums(to_host(_sum(value), X.T @ r, _sum(r)))


def _hessian(block: Block, loss: Any, coef: Array, intercept: Any) -> Sums:
    X, w = block.X, block.weight
    (X,) = _rows_of(X)
    value, r, h = loss.value_grad_hess(block.y, linear_predictor(X, coef, intercept, block.offset))
    if w is not None:
        value, r, h = w * value, w * r, w * h
    total, grad, grad0, G, edge, corner = to_host(_sum(value), X.T @ r, _sum(r), gram(X, h), X.T @ h, _sum(h))
    return Sums((total, grad, grad0, np.block([[G, edge[:, None]], [edge, corner]])))


@compiled_pass
def _fused_gradient(block: Block, loss: Any, coef: Array, intercept: Any) -> Sums:
    """`_gradient` as one compiled loop."""
    if not (isinstance(block.X, np.ndarray) or is_sparse(block.X)):
        return block_by_block(_gradient, block, loss, coef, intercept)
    theta = np.append(coef, intercept)
    value, grad = linear_sums(block.X, block.y, block.weight, block.offset, loss.scalar, theta, False)
    return Sums((value, grad[:-1], grad[-1]))


@compiled_pass
def _fused_hessian(block: Block, loss: Any, coef: Array, intercept: Any) -> Sums:
    """`_hessian` as one compiled loop, for up to a few hundred features."""
    if not isinstance(block.X, np.ndarray):
        return block_by_block(_hessian, block, loss, coef, intercept)
    theta = np.append(coef, intercept)
    value, grad, H = linear_sums(block.X, block.y, block.weight, block.offset, loss.scalar, theta, True)
    return Sums((value, grad[:-1], grad[-1], H))


@compiled_pass
def _softmax_gradient(block: Block, loss: Any, coef: Array, intercept: Any, reference: bool) -> Sums:
    """`_multi_gradient` as one compiled loop."""
    if block.offset is not None or not isinstance(block.X, np.ndarray):
        return block_by_block(_multi_gradient, block, loss, coef, intercept, reference)
    value, grad = softmax_sums(block.X, block.y, block.weight, np.column_stack([coef, intercept]), reference)
    return Sums((value, grad[:, :-1], grad[:, -1]))


@compiled_pass
def _softmax_hessian(block: Block, loss: Any, coef: Array, intercept: Any, reference: bool) -> Sums:
    """`_multi_hessian` as two compiled loops."""
    if block.offset is not None or not isinstance(block.X, np.ndarray):
        return block_by_block(_multi_hessian, block, loss, coef, intercept, reference)
    H = softmax_curvature(block.X, block.weight, np.column_stack([coef, intercept]), reference, True)
    return Sums((*_softmax_gradient(block, loss, coef, intercept, reference).parts, H))


@compiled_pass
def _softmax_blocks(block: Block, loss: Any, coef: Array, intercept: Any, reference: bool) -> Sums:
    """`_block_curvature` as one compiled loop."""
    if block.offset is not None or not isinstance(block.X, np.ndarray):
        return block_by_block(_block_curvature, block, loss, coef, intercept, reference)
    return Sums((softmax_curvature(block.X, block.weight, np.column_stack([coef, intercept]), reference, False),))


def _scores(X: Any, offset: Any, coef: Array, intercept: Any, reference: bool) -> Any:
    """The linear predictors of all outputs; those of a reference output are 0."""
    if isinstance(X, np.ndarray):  # column order: the losses work along columns
        z = (coef @ X.T + intercept[:, None]).T
        z = z if offset is None else z + offset
        return np.concatenate([z.T, np.zeros((1, len(z)))]).T if reference else z
    z = linear_predictor(X, coef, intercept, offset)
    xp = namespace(z)
    return xp.concat([z, xp.zeros_like(z[:, :1])], axis=1) if reference else z


def _multi_gradient(block: Block, loss: Any, coef: Array, intercept: Any, reference: bool) -> Sums:
    X, w = block.X, block.weight
    (X,) = _rows_of(X)
    value, R = loss.value_grad(block.y, _scores(X, block.offset, coef, intercept, reference))
    if w is not None:
        value, R = w * value, w[:, None] * R
    R = R[:, : len(coef)]
    total, grad, grad0 = to_host(_sum(value), X.T @ R, _sum(R, axis=0))
    return Sums((total, grad.T, grad0))


def _multi_hessian(block: Block, loss: Any, coef: Array, intercept: Any, reference: bool) -> Sums:
    X, w, offset = block.X, block.weight, block.offset
    (X,) = _rows_of(X)
    z = _scores(X, offset, coef, intercept, reference)
    P = loss.probabilities(z)
    K, p = coef.shape
    Z = X if is_sparse(X) else _with_ones(X)
    H = np.empty((K, p + 1, K, p + 1))
    for k in range(K):
        for m in range(k + 1):
            h = loss.pair_curvature(P, k, m)
            h = h if w is None else w * h
            H[k, :, m, :] = to_numpy(_bordered(Z, h) if is_sparse(X) else Z.T @ (h[:, None] * Z))
            H[m, :, k, :] = H[k, :, m, :].T
    gradient = _multi_gradient(block, loss, coef, intercept, reference)
    return Sums((*gradient.parts, H))


def _with_ones(X: Any) -> Any:
    """[X 1] for dense X."""
    xp = namespace(X)
    return xp.concat([X, xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)], axis=1)


def _bordered(X: Any, h: Array) -> Array:
    """[X 1]ᵀ diag(h) [X 1] for sparse X."""
    p = X.shape[1]
    H = np.empty((p + 1, p + 1))
    H[:p, :p] = gram(X, h)
    H[p, :p] = H[:p, p] = X.T @ h
    H[p, p] = h.sum()
    return H


def _column_sums(block: Block) -> Sums:
    """Σ w x and Σ w x² per feature."""
    X, w = block.X, block.weight
    if is_sparse(X):
        return Sums(sparse_column_sums(X, w))
    first = X if w is None else w[:, None] * X
    return Sums(to_host(_sum(first, axis=0), _sum(first * X, axis=0)))


def _block_curvature(block: Block, loss: Any, coef: Array, intercept: Any, reference: bool) -> Sums:
    """[X 1]ᵀ diag(w hₖ) [X 1] for every output k, hₖ the curvature of the loss in that output's predictor."""
    X, w = block.X, block.weight
    (X,) = _rows_of(X)
    Z = _with_ones(X)
    P = loss.probabilities(_scores(X, block.offset, coef, intercept, reference))
    curvatures = (loss.pair_curvature(P, k, k) for k in range(len(coef)))
    grams = [to_numpy(gram(Z, h if w is None else w * h)) for h in curvatures]
    return Sums((np.stack(grams).astype(np.float64),))
