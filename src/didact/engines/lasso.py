r"""Least squares with an L1 (and L2) penalty, on working sets.

.. math:: P(b) = \tfrac12\sum_i w_i(y_i - x_i^Tb)^2 + \lambda_1\|b\|_1 + \tfrac12\lambda_2\|b\|_2^2,\qquad \sum_i w_i = 1

1. One product of the residual with all columns gives the duality gap and the columns that violate optimality.
2. The working set is the support and the worst of them, twice as many as the support.
3. On the working set: dense columns by coordinate descent on their Gram matrix, k² a sweep, in turns with an exact
   solve for the present signs (Cholesky of the support); sparse columns by coordinate descent on the residual, two
   passes over their entries a sweep, with Anderson extrapolation.
4. Repeat until the gap is within tolerance. Gram matrices are kept and extended along a path of penalties.

Massias, Vaiter, Gramfort, Salmon (2020), Dual extrapolation for sparse generalized linear models, jmlr.org/papers/v21/19-587;
Bertrand, Massias (2021), Anderson acceleration of coordinate descent, doi:10.48550/arXiv.2011.10065.
"""

from typing import Any

import numpy as np
from scipy import linalg

from didact.core.backend import is_sparse
from didact.core.threads import one_blas_thread
from didact.engines.coordinate_descent_loops import descend, descend_sparse
from didact.engines.design import Design
from didact.engines.proximal_newton import violations
from didact.engines.result import Result

Array = np.ndarray[Any, Any]

FIRST_SET = 100
MEMORY = 5  # iterates combined by Anderson's extrapolation
SWEEPS = 10


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

    def correlations(self, residual: Array) -> Array:
        """Σ w x r of every column: minus the gradient of the squared error."""
        return self.design.rmatvec(residual) / self.total

    def strongest(self) -> float:
        """The smallest λ₁ at which all coefficients are zero."""
        c = self.correlations(self.y)
        return float(np.max(c if self.positive else np.abs(c), initial=0.0))

    def solve(self, l1: float, l2: float, start: Array, tol: float, max_rounds: int) -> Result:
        """Coefficients with a duality gap of at most tol · Σ w y² (half of that relative to ½ Σ w y²)."""
        b, status, gap = start.copy(), "iteration limit", np.inf
        goal = tol * self.square_y
        history: list[float] = []
        for rounds in range(1, max_rounds + 1):
            residual = self._residual(b)
            c = self.correlations(residual)
            value, gap = self._gap(b, residual, c, l1, l2)
            history.append(value)
            if not np.isfinite(value):
                status = "not finite"
                break
            if gap <= goal:
                status = "converged"
                break
            with one_blas_thread:
                self._choose(b, c - l2 * b, l1)
                u = self._inner(b[self.chosen], l1, l2, 0.3 * goal)
            b = np.zeros_like(b)
            b[self.chosen] = u
        return Result(b, value, rounds, status, gap, history)

    def _gap(self, b: Array, residual: Array, c: Array, l1: float, l2: float) -> tuple[float, float]:
        """The objective at b, and its distance to the dual value of the scaled residual."""
        squares = float(self.w @ (residual * residual)) + l2 * float(b @ b)
        inner = c - l2 * b
        worst = float(np.max(inner if self.positive else np.abs(inner), initial=0.0))
        s = 1.0 if worst <= l1 else l1 / worst
        length = l1 * float(np.abs(b).sum())
        gap = 0.5 * (1.0 + s * s) * squares + length - s * float(self.w @ (residual * self.y))
        return 0.5 * squares + length, gap

    def _choose(self, b: Array, inner: Array, l1: float) -> None:
        """Add the worst violators to the working set."""
        support = int(np.count_nonzero(b))
        badness = inner if self.positive else np.abs(inner)
        badness = np.where(b != 0, np.inf, badness)
        badness[self.chosen] = -np.inf
        room = max(FIRST_SET, support)
        new = np.argpartition(-badness, min(room, len(b) - 1))[:room] if len(b) > room else np.arange(len(b))
        new = new[badness[new] > l1]
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
        from scipy import sparse

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
        return solve_gram(self.gram, self.product, l1, l2, u, self.positive, goal)

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


def extrapolate(iterates: list[Array]) -> Array | None:
    """Anderson's combination of iterates: the weights that make the combined step shortest."""
    steps = np.diff(np.stack(iterates), axis=0)
    M = steps @ steps.T
    try:
        weights = linalg.solve(M + 1e-12 * np.trace(M) * np.eye(len(M)), np.ones(len(M)), assume_a="pos")
    except (linalg.LinAlgError, ValueError):
        return None
    total = weights.sum()
    if not np.isfinite(total) or total == 0:
        return None
    return np.asarray((weights / total) @ np.stack(iterates[1:]))


def solve_gram(
    G: Array, c: Array, l1: float, l2: float, u: Array, positive: bool, goal: float, max_rounds: int = 200
) -> Array:
    """Minimise ½uᵀGu − cᵀu + l1‖u‖₁ + ½l2‖u‖² to within `goal`, by sweeps in turns with exact solves for the signs."""
    H = G if l2 == 0 else G + l2 * np.eye(len(G))
    u = u.copy()
    q = H @ u - c
    bounds = np.full(len(u), l1)
    for _ in range(max_rounds):
        descend(H, u, q, bounds, positive, 0.0, SWEEPS)
        if _excess(u, q, l1, positive) <= goal:
            break
        u = polish(H, c, l1, u)
        q = H @ u - c
        if _excess(u, q, l1, positive) <= goal:
            break
    return u


def _excess(u: Array, q: Array, l1: float, positive: bool) -> float:
    """A bound on the distance to the optimum: how far moving each coordinate could still go, times the violation."""
    wrong = violations(u, q, np.full(len(u), l1))
    if positive:
        wrong = np.where((u == 0) & (q > -l1), 0.0, wrong)
    return float(np.max(wrong, initial=0.0)) * float(np.abs(u).sum() + 1e-300)


def polish(H: Array, c: Array, l1: float, u: Array) -> Array:
    """The exact minimum for the present signs, or the point on the way to it where the first sign would change."""
    support = np.flatnonzero(u)
    if not len(support):
        return u
    try:
        factor = linalg.cho_factor(H[np.ix_(support, support)], lower=True, check_finite=False)
    except linalg.LinAlgError:
        return u
    here = u[support]
    target = linalg.cho_solve(factor, c[support] - l1 * np.sign(here), check_finite=False)
    if not np.isfinite(target).all():
        return u
    step = target - here
    crossing = target * here < 0
    length = float(np.min(here[crossing] / -step[crossing], initial=1.0))
    out = u.copy()
    out[support] = here + length * step
    if length < 1.0:
        out[support[crossing & np.isclose(here + length * step, 0.0, atol=1e-12 * np.abs(here))]] = 0.0
    return out
