r"""Least squares with an L1 (and L2) penalty, on working sets.

.. math:: P(b) = \tfrac12\sum_i w_i(y_i - x_i^Tb)^2 + \lambda_1\|b\|_1 + \tfrac12\lambda_2\|b\|_2^2,\quad \sum_i w_i = 1

1. One product of the residual with all columns gives the duality gap and the columns that violate optimality.
2. The working set is the support and the worst of them.
3. On the working set: dense columns by coordinate descent on their Gram matrix, k² a sweep, in turns with Newton steps
   on the support; sparse columns by coordinate descent on the residual, two passes over their entries a sweep, with
   Anderson extrapolation.
4. Repeat until the gap is within tolerance. The working set grows for one penalty and begins with the support for the
   next one; columns and their cross-products stay, so that each is computed once on a path.

Several targets Y (n, T) that share their features have :math:`\lambda_1\sum_j\|b_j\|_2` for rows :math:`b_j` of T
coefficients (the group lasso): the same steps, on the Gram matrix of the working set for sparse columns, too.

Massias, Vaiter, Gramfort, Salmon (2020), Dual extrapolation for sparse generalized linear models,
doi:10.48550/arXiv.1907.05830; Yuan, Lin (2006), Model selection and estimation in regression with grouped variables,
doi:10.1111/j.1467-9868.2005.00532.x;
Bertrand, Massias (2021), Anderson acceleration of coordinate descent, doi:10.48550/arXiv.2011.10065.
"""

from typing import Any

import numpy as np
from scipy import sparse

from didact.core.backend import is_sparse
from didact.core.threads import one_blas_thread
from didact.core.typing import Array
from didact.engines.linear.coordinate_descent_loops import combine, descend_sparse, submatrix
from didact.engines.linear.design import Design
from didact.engines.linear.lasso_gram import (
    EXTRAPOLATED,
    Ending,
    duality_gap,
    extrapolate,
    magnitude,
    solve_gram,
    unmoved,
)
from didact.engines.linear.tuning import FIRST_COLUMNS
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result

INNER_TOL = 0.3  # of the tolerance has to hold on a working set
INNER_TOL_L2 = 0.03  # the same with an L2 penalty: sweeps converge fast then, and exactness is cheap
AT_START = 0.01  # of the tolerance has to hold at the start, or penalties near one another would share a solution


class LassoSolver:
    """Solves for one or many penalties on the same data; what it knows of the columns is kept between calls."""

    def __init__(self, design: Design, y: Array, positive: bool = False):
        total = float(len(y)) if design.w is None else float(design.w.sum())
        self.design, self.y, self.positive = design, y, positive
        self.w = np.full(len(y), 1.0 / total) if design.w is None else design.w / total
        self.total = total
        self.square_y = float(np.sum(self.w @ (y * y)))
        self.columns: SparseColumns | SparseGram | DenseColumns
        if not is_sparse(design.X):
            self.columns = DenseColumns(design, self.w, y, positive)
        else:
            self.columns = (SparseColumns if y.ndim == 1 else SparseGram)(design, self.w, y, positive)
        self.curvature = np.zeros(0)  # squared lengths of the columns, once a fit without a penalty asks for them
        self.last: tuple[Array, Array, Array] | None = None  # the last solution with its residual and correlations

    def correlations(self, residual: Array) -> Array:
        """Σ w x r of every column: minus the gradient of the squared error."""
        return self.design.rmatvec(residual) / self.total

    def strongest(self) -> float:
        """The smallest λ₁ at which all coefficients are zero."""
        c = self.correlations(self.y)
        return float(np.max(c if self.positive else magnitude(c), initial=0.0))

    def value_gap(self, b: Array, l1: float, l2: float) -> tuple[float, float]:
        """The objective at b, and its distance to the minimum at most."""
        residual, c = self._look(b)
        if l1 == l2 == 0 and not len(self.curvature):
            self.curvature = self.design.square_norms() / self.total
        weighted = (self.w * residual.T).T
        squares, inner_y = float(np.vdot(weighted, residual)), float(np.vdot(weighted, self.y))
        return duality_gap(b, squares, inner_y, c, l1, l2, self.positive, self.curvature)

    def solve(
        self, l1: float, l2: float, start: Array, tol: float, max_rounds: int, report: Report | None = None
    ) -> Result:
        """Coefficients with a duality gap of at most tol · Σ w y² (half of that relative to ½ Σ w y²)."""
        b, status, gap, ending = start.copy(), "iteration limit", np.inf, Ending(report)
        goal = tol * self.square_y
        working = np.zeros(len(b), bool)
        history: list[float] = []
        for _ in range(max_rounds):
            value, gap = self.value_gap(b, l1, l2)
            history.append(value)
            within = gap <= (goal if len(history) > 1 else AT_START * goal)
            if (ended := ending(value, gap, within, len(history), b)) is not None:
                status = ended
                break
            self._widen(working, b, self._look(b)[1] - l2 * b, l1)
            at = np.flatnonzero(working)
            with one_blas_thread:
                u = self.columns.solve(at, b[at], l1, l2, (INNER_TOL if l2 == 0 else INNER_TOL_L2) * goal)
            b = np.zeros_like(b)
            b[at] = u
        return Result(b, value, len(history), status, gap, history)

    def _look(self, b: Array) -> tuple[Array, Array]:
        """The residual at b and its correlations with all columns, which the next penalty of a path starts with."""
        if self.last is None or not np.array_equal(self.last[0], b):
            residual = self.y - self.columns.image(b)
            self.last = (b, residual, self.correlations(residual))
        return self.last[1:]

    def _widen(self, working: Array, b: Array, inner: Array, l1: float) -> None:
        """Put the support and the columns that violate optimality most into the working set."""
        working |= magnitude(b) != 0
        excess = (inner if self.positive else magnitude(inner)) - l1
        excess[working] = 0.0
        new = np.flatnonzero(excess > 0)
        room = max(FIRST_COLUMNS, int(self.columns.growth * np.count_nonzero(working)))
        if len(new) > room:
            new = new[np.argpartition(-excess[new], room)[:room]]
        working[new] = True


def refuse_overflowing_products(products: Array) -> None:
    """Raise an error if products of columns leave the range of numbers: no step could be computed from them."""
    if not np.isfinite(products).all():
        raise FloatingPointError("Products of columns overflow.")


class DenseColumns:
    """The columns that ever were in a working set, with their Gram matrix, in arrays that double when they are full."""

    growth = 0.2  # a sweep costs the square of the working set

    def __init__(self, design: Design, w: Array, y: Array, positive: bool):
        self.design, self.w, self.y, self.positive = design, w, y, positive
        self.square_y = float(np.sum(w @ (y * y)))
        self.place = np.full(design.shape[1], -1)  # of each column in the arrays
        self.count = 0
        self.block, self.gram, self.product = np.empty((0, len(y))), np.empty((0, 0)), np.empty((0, *y.shape[1:]))

    def image(self, b: Array) -> Array:
        """The matrix times b."""
        at = np.flatnonzero(magnitude(b))
        place = self.place[at]
        if not (place >= 0).all():
            return self.design.matvec(b)
        return combine(self.block, place, b[at]) if b.ndim == 1 else self.block[place].T @ b[at]

    def solve(self, at: Array, u: Array, l1: float, l2: float, goal: float) -> Array:
        """The solution on the columns `at`, from u, to a duality gap of `goal` among them."""
        self._add(at[self.place[at] < 0])
        place = self.place[at]
        H = submatrix(self.gram, place)
        H.flat[:: len(H) + 1] += l2
        return solve_gram(H, self.product[place], l1, l2, u, self.positive, self.square_y, goal)

    def _add(self, new: Array) -> None:
        first, last = self.count, self.count + len(new)
        if last > len(self.block):
            self._grow(max(last, min(2 * first, len(self.place))))
        self.block[first:last] = self.design.columns(new).T
        weighted = self.w * self.block[first:last]
        products = self.block[:last] @ weighted.T
        refuse_overflowing_products(products)
        self.gram[:last, first:last] = products
        self.gram[first:last, :last] = products.T
        self.product[first:last] = weighted @ self.y
        self.place[new], self.count = np.arange(first, last), last

    def _grow(self, size: int) -> None:
        k = self.count
        block, gram = np.empty((size, len(self.y))), np.empty((size, size))
        product = np.empty((size, *self.y.shape[1:]))
        block[:k], gram[:k, :k], product[:k] = self.block[:k], self.gram[:k, :k], self.product[:k]
        self.block, self.gram, self.product = block, gram, product


class SparseGram:
    """Sparse columns for several targets: their Gram matrix is made for each working set."""

    growth = 0.2

    def __init__(self, design: Design, w: Array, y: Array, positive: bool):
        self.design, self.positive = design, positive
        self.total = float(len(y)) if design.w is None else float(design.w.sum())
        self.square_y = float(np.sum(w @ (y * y)))
        self.product = design.rmatvec(y) / self.total

    def image(self, b: Array) -> Array:
        """The matrix times b."""
        return self.design.matvec(b)

    def solve(self, at: Array, u: Array, l1: float, l2: float, goal: float) -> Array:
        """The solution on the columns `at`, from u, to a duality gap of `goal` among them."""
        H = self.design.gram(at) / self.total
        refuse_overflowing_products(H)
        H.flat[:: len(H) + 1] += l2
        return solve_gram(H, self.product[at], l1, l2, u, self.positive, self.square_y, goal)


class SparseColumns:
    """The sparse columns that ever were in a working set, with their squared lengths."""

    growth = 1.0  # a sweep costs in proportion to the working set

    def __init__(self, design: Design, w: Array, y: Array, positive: bool):
        self.design, self.w, self.y, self.positive = design, w, y, positive
        self.place = np.full(design.shape[1], -1)
        self.block: Any = None
        self.square = np.zeros(0)

    def image(self, b: Array) -> Array:
        """The matrix times b."""
        at = np.flatnonzero(b)
        place = self.place[at]
        if not len(at) or not (place >= 0).all():
            return self.design.matvec(b) if len(at) else np.zeros(len(self.y))
        u = np.zeros(len(self.square))
        u[place] = b[at]
        return np.asarray(self.block @ u - self.design.mean[at] @ b[at])

    def solve(self, at: Array, u: Array, l1: float, l2: float, goal: float) -> Array:
        """Coordinate descent on the residual of the columns `at`, from u, extrapolated every few sweeps."""
        self._add(at[self.place[at] < 0])
        place = self.place[at]
        A, square, mean = self.block[:, place], self.square[place], self.design.mean[at]
        u = u.copy()

        def residual(v: Array) -> tuple[Array, float]:
            return self.y - A @ v, -float(mean @ v)

        def value_gap(v: Array, r: Array, shift: float) -> tuple[float, float]:
            actual = r - shift
            weighted = self.w * actual
            c = A.T @ weighted - mean * weighted.sum()
            squares, inner_y = float(weighted @ actual), float(weighted @ self.y)
            return duality_gap(v, squares, inner_y, c, l1, l2, self.positive, square)

        square_y = float(self.w @ (self.y * self.y))
        r, shift = residual(u)
        for _ in range(1000):
            iterates = [u.copy()]
            for _ in range(EXTRAPOLATED):
                shift = descend_sparse(
                    A.data, A.indices, A.indptr, mean, square, self.w, u, r, shift, l1, l2, self.positive, 2
                )
                iterates.append(u.copy())
            value, gap = value_gap(u, r, shift)
            if gap <= goal or unmoved(iterates[0], u, square, square_y):
                break
            guess = extrapolate(iterates)
            if guess is not None and not (self.positive and (guess < 0).any()):
                new_r, new_shift = residual(guess)
                if value_gap(guess, new_r, new_shift)[0] < value:
                    u, r, shift = guess, new_r, new_shift
        return u

    def _add(self, new: Array) -> None:
        if not len(new):
            return
        columns = self.design.columns(new)
        self.place[new] = len(self.square) + np.arange(len(new))
        self.block = columns if self.block is None else sparse.hstack([self.block, columns], format="csc")
        square = np.asarray(columns.multiply(columns).T @ self.w) - self.design.mean[new] ** 2
        refuse_overflowing_products(square)
        self.square = np.concatenate([self.square, np.maximum(square, 0.0)])
