r"""Least squares with an L1 (and L2) penalty, on working sets.

.. math:: P(b) = \tfrac12\sum_i w_i(y_i - x_i^Tb)^2 + \lambda_1\|b\|_1 + \tfrac12\lambda_2\|b\|_2^2,\quad \sum_i w_i = 1

1. One product of the residual with all columns gives the duality gap and the columns that violate optimality.
2. The working set is the support and the worst of them, twice as many as the support.
3. On the working set: dense columns by coordinate descent on their Gram matrix, k² a sweep, in turns with an exact
   solve for the present signs (Cholesky of the support); sparse columns by coordinate descent on the residual, two
   passes over their entries a sweep, with Anderson extrapolation.
4. Repeat until the gap is within tolerance. Gram matrices are kept and extended along a path of penalties.

Massias, Vaiter, Gramfort, Salmon (2020), Dual extrapolation for sparse generalized linear models,
doi:10.48550/arXiv.1907.05830;
Bertrand, Massias (2021), Anderson acceleration of coordinate descent, doi:10.48550/arXiv.2011.10065.
"""

from typing import Any

import numpy as np
from scipy import sparse

from didact.core.backend import is_sparse
from didact.core.threads import one_blas_thread
from didact.engines.coordinate_descent_loops import descend_sparse
from didact.engines.design import Design
from didact.engines.lasso_gram import MEMORY, duality_gap, extrapolate, how_it_ended, solve_gram
from didact.engines.loop import Report
from didact.engines.result import Result

Array = np.ndarray[Any, Any]

FIRST_SET = 100


class LassoSolver:
    """Solves for one or many penalties on the same data; what it knows of the columns is kept between calls."""

    def __init__(self, design: Design, y: Array, positive: bool = False):
        total = float(len(y)) if design.w is None else float(design.w.sum())
        self.design, self.y, self.positive = design, y, positive
        self.w = np.full(len(y), 1.0 / total) if design.w is None else design.w / total
        self.total = total
        self.square_y = float(self.w @ (y * y))
        self.chosen = np.zeros(0, np.intp)
        self.block: Any = None
        self.gram = np.zeros((0, 0))
        self.product = np.zeros(0)
        self.last: tuple[Array, Array, float] | None = None  # the last solution with its correlations and λ₁

    def correlations(self, residual: Array) -> Array:
        """Σ w x r of every column: minus the gradient of the squared error."""
        return self.design.rmatvec(residual) / self.total

    def strongest(self) -> float:
        """The smallest λ₁ at which all coefficients are zero."""
        c = self.correlations(self.y)
        return float(np.max(c if self.positive else np.abs(c), initial=0.0))

    def solve(
        self, l1: float, l2: float, start: Array, tol: float, max_rounds: int, report: Report | None = None
    ) -> Result:
        """Coefficients with a duality gap of at most tol · Σ w y² (half of that relative to ½ Σ w y²)."""
        b, status, gap = start.copy(), "iteration limit", np.inf
        goal = tol * self.square_y
        known, before = self._remembered(b)
        history: list[float] = []
        for _ in range(max_rounds):
            residual = self._residual(b)
            c = self.correlations(residual) if known is None else known
            known = None
            value, gap = self._gap(b, residual, c, l1, l2)
            history.append(value)
            if (ended := how_it_ended(value, gap <= goal, len(history), b, report)) is not None:
                status = ended
                break
            with one_blas_thread:
                # From one penalty to the next, correlations rise by no more than the penalty falls (strong rule).
                self._choose(b, c - l2 * b, min(l1, max(2 * l1 - before, 0.5 * l1)))
                u = self._inner(b[self.chosen], l1, l2, 0.3 * goal)
            b = np.zeros_like(b)
            b[self.chosen] = u
        self.last = (b, c, l1)
        return Result(b, value, len(history), status, gap, history)

    def _remembered(self, start: Array) -> tuple[Array | None, float]:
        """The correlations at the start and the λ₁ they belong to, if it is the last solution."""
        if self.last is not None and np.array_equal(self.last[0], start):
            return self.last[1], self.last[2]
        return None, 0.0

    def _gap(self, b: Array, residual: Array, c: Array, l1: float, l2: float) -> tuple[float, float]:
        weighted = self.w * residual
        return duality_gap(b, float(weighted @ residual), float(weighted @ self.y), c, l1, l2, self.positive)

    def _choose(self, b: Array, inner: Array, threshold: float) -> None:
        """Add the columns with the largest correlations above the threshold to the working set."""
        support = int(np.count_nonzero(b))
        badness = inner if self.positive else np.abs(inner)
        badness = np.where(b != 0, np.inf, badness)
        badness[self.chosen] = -np.inf
        room = max(FIRST_SET, support)
        new = np.argpartition(-badness, min(room, len(b) - 1))[:room] if len(b) > room else np.arange(len(b))
        new = new[badness[new] > threshold]
        missing = np.flatnonzero((b != 0) & (badness == np.inf))
        new = np.union1d(new, missing)
        if len(new):
            self._extend(new)

    def _extend(self, new: Array) -> None:
        columns = self.design.columns(new)
        self.chosen = np.concatenate([self.chosen, new])
        if is_sparse(columns):
            self._extend_sparse(columns, new)
            return
        weighted = self.w[:, None] * columns
        corner = columns.T @ weighted
        if self.block is None:
            self.block, self.gram = columns, corner
        else:
            side = self.block.T @ weighted
            self.block = np.asfortranarray(np.hstack([self.block, columns]))
            self.gram = np.block([[self.gram, side], [side.T, corner]])
        self.product = np.concatenate([self.product, weighted.T @ self.y])

    def _extend_sparse(self, columns: Any, new: Array) -> None:
        self.block = columns if self.block is None else sparse.hstack([self.block, columns], format="csc")
        squares = np.asarray(columns.multiply(columns).T @ self.w) - self.design.mean[new] ** 2
        self.product = np.concatenate([self.product, np.maximum(squares, 0.0)])  # sparse: the squared lengths

    def _residual(self, b: Array) -> Array:
        support = np.flatnonzero(b)
        if not len(support):
            return self.y
        if np.isin(support, self.chosen).all():
            u = b[self.chosen]
            image = self.block @ u
            return self.y - (image - self.design.mean[self.chosen] @ u if is_sparse(self.block) else image)
        return self.y - self.design.matvec(b)

    def _inner(self, u: Array, l1: float, l2: float, goal: float) -> Array:
        if is_sparse(self.block):
            return self._inner_sparse(u, l1, l2, goal)
        return solve_gram(self.gram, self.product, l1, l2, u, self.positive, self.square_y, goal)

    def _inner_sparse(self, u: Array, l1: float, l2: float, goal: float) -> Array:
        """Coordinate descent on the residual of the sparse working set, extrapolated every few sweeps."""
        A, mean = self.block, self.design.mean[self.chosen]
        u = u.copy()

        def residual(v: Array) -> tuple[Array, float]:
            return self.y - A @ v, -float(mean @ v)

        def value_gap(v: Array, r: Array, shift: float) -> tuple[float, float]:
            actual = r - shift
            weighted = self.w * actual
            return self._gap(v, actual, A.T @ weighted - mean * weighted.sum(), l1, l2)

        r, shift = residual(u)
        for _ in range(1000):
            iterates = [u.copy()]
            for _ in range(MEMORY):
                shift = descend_sparse(
                    A.data, A.indices, A.indptr, mean, self.product, self.w, u, r, shift, l1, l2, self.positive, 2
                )
                iterates.append(u.copy())
            value, gap = value_gap(u, r, shift)
            if gap <= goal:
                break
            guess = extrapolate(iterates)
            if guess is not None and not (self.positive and (guess < 0).any()):
                new_r, new_shift = residual(guess)
                if value_gap(guess, new_r, new_shift)[0] < value:
                    u, r, shift = guess, new_r, new_shift
        return u
