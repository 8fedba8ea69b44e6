r"""Quadratic programs as the user states them, and the standard form that the solver works on.

The standard form has no fixed variables, no infinite or empty rows, rows of unit length, independent equalities, and
variables in comparable units. Bounds are not turned into rows: they cost n, not n², in every product. `restore` maps a
solution and its multipliers back.

Ruiz (2001), A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from didact.core.typing import Array
from didact.engines.constrained.kkt import KKTResidual, Multipliers, residual
from didact.engines.constrained.saddle import add_gram
from didact.engines.loop.line_search import largest

INFINITE = 1e20  # bounds of this size and above count as infinite
DEPENDENT_ROW = 1e-11  # a unit row nearer than this to the span of the others depends on them
CONSISTENT = 1e-9  # relative residual up to which redundant rows are consistent
UNEVEN = 100.0  # ratio of column sizes above which columns are scaled
SCALING_ROUNDS = 10


class Program(NamedTuple):
    """min ½xᵀPx + qᵀx subject to Ax = b, Gx ≤ h, lower ≤ x ≤ upper; P symmetric, infinite bounds allowed."""

    P: Array
    q: Array
    A: Array
    b: Array
    G: Array
    h: Array
    lower: Array
    upper: Array

    def value(self, x: Array) -> float:
        """The objective."""
        return float(x @ (0.5 * (self.P @ x) + self.q))

    def residual(self, x: Array, multipliers: Multipliers) -> KKTResidual:
        """The KKT residual."""
        pairs = (self.A @ x - self.b, self.A), (self.G @ x - self.h, self.G)
        return residual(x, self.P @ x + self.q, multipliers, *pairs, self.lower, self.upper)


class Standard(NamedTuple):
    """min ½xᵀPx + qᵀx, Ax = b, Rx ≤ r with R = [G; I[above]; −I[below]], and how it was derived from the program."""

    P: Array
    q: Array
    A: Array
    b: Array
    G: Array
    above: Array
    below: Array
    r: Array
    units: Array  # x of the program is units times x of the standard form
    free: Array  # the variables that are not fixed
    fixed: Array  # the values of all variables where they are fixed, 0 elsewhere
    kept: tuple[Array, Array]  # numbers of the equalities and inequalities of the program that remain
    lengths: tuple[Array, Array]  # the lengths by which these were divided
    scale: float  # P and q were divided by this, so that their entries are at most 1

    def value(self, x: Array) -> float:
        """The objective."""
        return float(x @ (0.5 * (self.P @ x) + self.q))

    def rows(self, x: Array) -> Array:
        """Rx."""
        return np.concatenate([self.G @ x, x[self.above], -x[self.below]])

    def pull(self, z: Array) -> Array:
        """Rᵀz."""
        m, a = len(self.G), len(self.G) + len(self.above)
        out = self.G.T @ z[:m]
        out[self.above] += z[m:a]
        out[self.below] -= z[a:]
        return np.asarray(out)

    def only(self, index: Array) -> "Standard":
        """The program with only the rows of R that have these (sorted) numbers."""
        m, a = len(self.G), len(self.G) + len(self.above)
        plain, high, low = index[index < m], index[(m <= index) & (index < a)] - m, index[index >= a] - a
        return self._replace(G=self.G.take(plain, 0), above=self.above[high], below=self.below[low], r=self.r[index])

    def dense(self) -> Array:
        """R."""
        if not len(self.above) + len(self.below):
            return self.G
        bounds = np.zeros((len(self.above) + len(self.below), len(self.q)))
        bounds[np.arange(len(self.above)), self.above] = 1.0
        bounds[len(self.above) + np.arange(len(self.below)), self.below] = -1.0
        return np.concatenate([self.G, bounds])

    def add_gram(self, H: Array, G: Array, d: Array) -> Array:
        """H + Rᵀ diag(d) R; H and G are given in the precision of the result."""
        m, a = len(self.G), len(self.G) + len(self.above)
        out = add_gram(H, G, d[:m])
        diagonal = np.zeros(len(H))
        diagonal[self.above] += d[m:a]
        diagonal[self.below] += d[a:]
        out.flat[:: len(H) + 1] += diagonal.astype(G.dtype)
        return out

    def restore(self, program: Program, x: Array, y: Array, z: Array) -> tuple[Array, Multipliers]:
        """The solution of the program and the multipliers of all of its constraints."""
        full = self.fixed.copy()
        full[self.free] = self.units * x
        y, z = self.scale * y, self.scale * z
        lam, mu = np.zeros(len(program.b)), np.zeros(len(program.h))
        lam[self.kept[0]] = y / self.lengths[0]
        m, a = len(self.G), len(self.G) + len(self.above)
        mu[self.kept[1]] = z[:m] / self.lengths[1]
        lower, upper = np.zeros_like(full), np.zeros_like(full)
        upper[self.free[self.above]] = z[m:a] / self.units[self.above]
        lower[self.free[self.below]] = z[a:] / self.units[self.below]
        pinned = np.setdiff1d(np.arange(len(full)), self.free)
        slope = (program.P @ full + program.q + program.A.T @ lam + program.G.T @ mu)[pinned]
        lower[pinned], upper[pinned] = np.maximum(slope, 0.0), np.maximum(-slope, 0.0)
        return full, Multipliers(lam, mu, lower, upper)


def standard(program: Program) -> Standard | None:
    """The standard form, or None if single rows or the equalities alone are already infeasible."""
    P, q, A, b, G, h, lower, upper = program
    if (lower > upper).any() or (h <= -INFINITE).any() or (lower >= INFINITE).any() or (upper <= -INFINITE).any():
        return None
    # Fixed variables are eliminated; size_a and size_g remember how large the terms of each row were, for rounding.
    pinned = lower == upper
    free = np.flatnonzero(~pinned)
    fixed = np.where(pinned, lower, 0.0)
    size_a, size_g = np.abs(b), np.abs(h)
    if len(free) < len(P):
        size_a, size_g = size_a + np.abs(A) @ np.abs(fixed), size_g + np.abs(G) @ np.abs(fixed)
        q, b, h = (q + P @ fixed)[free], b - A @ fixed, h - G @ fixed
        P, A, G, lower, upper = P[np.ix_(free, free)], A[:, free], G[:, free], lower[free], upper[free]
    above, below = np.flatnonzero(upper < INFINITE), np.flatnonzero(lower > -INFINITE)
    units = _units(P, A, G)
    if units is not None:
        P, q, A, G = units[:, None] * P * units, units * q, A * units, G * units
        lower, upper = lower / units, upper / units
    equalities, rows = _independent(A, b, size_a), _unit_rows(G, h, size_g)
    if equalities is None or rows is None:
        return None
    A, b, kept_a, lengths_a = equalities
    G, h, kept_g, lengths_g = rows
    r = np.concatenate([h, upper[above], -lower[below]])
    size = _size(P, q, np.concatenate([r, b]))
    kept, lengths = (kept_a, kept_g), (size * lengths_a, size * lengths_g)
    units = size * (np.ones(len(q)) if units is None else units)
    scale = max(size**2 * largest(P), size * largest(q)) or 1.0
    P, q, b, r = (size**2 / scale) * P, (size / scale) * q, b / size, r / size
    return Standard(
        P=P,
        q=q,
        A=A,
        b=b,
        G=G,
        above=above,
        below=below,
        r=r,
        units=units,
        free=free,
        fixed=fixed,
        kept=kept,
        lengths=lengths,
        scale=scale,
    )


def _size(P: Array, q: Array, sides: Array) -> float:
    """A typical size of the variables: that of the right-hand sides, or without any that of the free minimum."""
    sides = np.abs(sides[sides != 0])
    size = float(np.median(sides)) if len(sides) else largest(q) / (largest(P) or 1.0)
    return size or 1.0


def _units(P: Array, A: Array, G: Array) -> Array | None:
    """Factors that equilibrate the columns of [P; A; G], or None if their sizes are comparable."""
    lengths = np.sqrt(np.einsum("ij,ij->j", A, A) + np.einsum("ij,ij->j", G, G))
    if all(largest(v) <= UNEVEN * np.min(v[v > 0], initial=np.inf) for v in (lengths, np.sqrt(np.diag(P)))):
        return None
    units = np.ones(len(P))
    rows, curvature = np.abs(np.concatenate([A, G])), np.abs(P) / (largest(P) or 1.0)
    for _ in range(SCALING_ROUNDS):
        even = rows * units
        even /= np.maximum(even.max(axis=1, initial=0.0), np.finfo(float).tiny)[:, None]
        bent = (curvature * units).max(axis=1, initial=0.0) * units
        size = np.maximum(even.max(axis=0, initial=0.0), bent / (np.mean(bent) or 1.0))
        units /= np.sqrt(np.where(size > 0, size, 1.0))
    return units


def _unit_rows(G: Array, h: Array, size: Array) -> tuple[Array, Array, Array, Array] | None:
    """The rows that constrain something, divided by their lengths; None if an empty row asks for 0 ≤ h with h < 0."""
    lengths = np.sqrt(np.einsum("ij,ij->i", G, G))
    if (h < -CONSISTENT * (1.0 + size))[lengths == 0].any():
        return None
    kept = np.flatnonzero((lengths > 0) & (h < INFINITE))
    if len(kept) < len(G):
        G, h, lengths = G[kept], h[kept], lengths[kept]
    return np.ascontiguousarray(G / lengths[:, None]), h / lengths, kept, lengths


def _independent(A: Array, b: Array, size: Array) -> tuple[Array, Array, Array, Array] | None:
    """Unit equality rows of full rank; None if dependent ones contradict each other."""
    lengths = np.sqrt(np.einsum("ij,ij->i", A, A))
    if (np.abs(b) > CONSISTENT * (1.0 + size))[lengths == 0].any():
        return None
    kept = np.flatnonzero(lengths)
    A, b, lengths = A[kept] / lengths[kept, None], b[kept] / lengths[kept], lengths[kept]
    if not len(kept):
        return A, b, kept, lengths
    Q, R, order = linalg.qr(A.T, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(R)) > DEPENDENT_ROW).sum())
    if rank < len(kept):
        point = Q[:, :rank] @ linalg.solve_triangular(R[:rank, :rank], b[order[:rank]], trans=1)
        if (np.abs(A @ point - b) > CONSISTENT * (np.abs(b) + largest(point))).any():
            return None
        chosen = np.sort(order[:rank])
        A, b, kept, lengths = A[chosen], b[chosen], kept[chosen], lengths[chosen]
    return np.ascontiguousarray(A), b, kept, lengths
