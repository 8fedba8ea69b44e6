r"""Points with given distances: minimise the stress :math:`\sum_{i<j}(d_{ij}-\delta_{ij})^2` over all places.

Majorisation (SMACOF): a convex quadratic lies above the stress and touches it at the present places Z; its minimum, the
Guttman transform :math:`z_i \leftarrow \tfrac1n\sum_j\frac{\delta_{ij}}{d_{ij}}(z_i - z_j)`, never has more stress. In
the non-metric form only the order of the distances counts: each δ is replaced by the value of a monotone function of it
that is nearest to d (isotonic regression), and these targets are scaled to a mean square of 1.

The S-stress :math:`\sum_{i<j}(d_{ij}^2-\delta_{ij}^2)^2` is smooth, and minimised by L-BFGS.

de Leeuw, Heiser (1980); Kruskal (1964), doi:10.1007/BF02289694; Borg, Groenen (2005), doi:10.1007/0-387-28981-X.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.result import Result
from didact.engines.smooth.lbfgs import lbfgs
from didact.engines.spectral.stress_loops import pair_pass, stress_pass
from didact.engines.spectral.tuning import STRESS_PAIRS, STRESS_POINTS, STRESS_TILE

TIE = 1e-13  # of the largest distance: two that differ by less count as equal
LATER = 1e300  # the first step does not end the iterations: a start may have any scale


def moves(D: Array, Z: Array, squared: bool) -> tuple[float, Array]:
    """The stress (or S-stress) of the points Z (n, k), and the move of each (n, k), on all threads."""
    n, k = Z.shape
    columns, move = np.ascontiguousarray(Z.T, np.float64), np.empty((k, n))
    sums = np.empty(-(-n // STRESS_POINTS))
    share_pieces(
        len(sums), lambda turn: stress_pass(turn, STRESS_POINTS, D, columns, squared, move, sums, np.empty(STRESS_TILE))
    )
    return 0.5 * float(sums.sum()), move.T


def total_spread(Z: Array) -> float:
    """The sum of the squared distances of all pairs."""
    return float(len(Z) * np.sum((Z - Z.mean(axis=0)) ** 2))


class PairOrder(NamedTuple):
    """Pairs in the order of the distances that they should have; pairs of distance 0 are left out, and stay at 0."""

    i: Array
    j: Array
    ties: Array  # first of each group of equal ones
    n: int

    @classmethod
    def of(cls, D: Array) -> "PairOrder":
        """The pairs of a table of distances."""
        i, j = np.triu_indices(len(D), 1)
        values = D[i, j]
        order = np.argsort(values, kind="stable")
        order = order[values[order] != 0]
        first = np.append(True, np.diff(values[order]) > TIE * values.max()) if len(order) else np.zeros(0, bool)
        return cls(i[order], j[order], np.flatnonzero(first), len(D))

    def targets(self, Z: Array) -> Array:
        """The monotone function of the ranks that is nearest to the distances of Z, as a table of mean square 1."""
        d, columns = np.empty(len(self.i)), np.ascontiguousarray(Z.T, np.float64)
        share_pieces(-(-len(d) // STRESS_PAIRS), lambda turn: pair_pass(turn, STRESS_PAIRS, columns, self.i, self.j, d))
        counts = np.diff(np.append(self.ties, len(d)))
        means = np.add.reduceat(d, self.ties) / counts if len(d) else d
        fitted = isotonic_regression(means, weights=counts).x if len(d) else d
        return self.table(np.repeat(fitted, counts) if len(d) else d)

    def table(self, values: Array) -> Array:
        """The table (n, n) of values of the pairs, scaled to a mean square of 1 over all pairs."""
        out, total = np.zeros((self.n, self.n)), float(values @ values)
        scaled = values * np.sqrt(0.5 * self.n * (self.n - 1) / (total if total > 0 else 1.0))
        out[self.i, self.j] = scaled
        out[self.j, self.i] = scaled
        return out


class Places(NamedTuple):
    """Points, their stress, how much the last step lowered it, and where the next one leads."""

    x: Array
    value: float
    optimality: float
    following: Array
    goal: Array


def majorise(
    D: Array, start: Array, metric: bool = True, tol: float = 1e-6, max_iter: int = 300, report: Report | None = None
) -> Result:
    """Points of least stress from a start (n, k); ends when a step lowers it by less than tol of the spread."""
    ranked = None if metric else PairOrder.of(D)
    goal = D if ranked is None else ranked.table(D[ranked.i, ranked.j])
    value, move = moves(goal, start, False)

    def step(s: Places) -> Places:
        x = s.following
        value, move = moves(s.goal, x, False)
        fall, goal = (s.value - value) / max(total_spread(x), 1e-300), s.goal
        if ranked is not None:
            goal = ranked.targets(x)
            move = moves(goal, x, False)[1]
        fall = fall if s.optimality < np.inf else LATER
        return Places(x=x, value=value, optimality=fall, following=move / len(x), goal=goal)

    begin = Places(x=start, value=value, optimality=np.inf, following=move / len(start), goal=goal)
    return iterate(begin, step, tol, max_iter, report)


def least_squares_of_squares(
    D: Array, start: Array, tol: float = 1e-6, max_iter: int = 300, report: Report | None = None
) -> Result:
    """Points of least S-stress from a start (n, k), by L-BFGS; `value` is in the units of the distances."""
    unit = float(np.sqrt(np.mean(D * D))) or 1.0
    S = D / unit
    shape, objective = start.shape, smooth_stress(S, True)

    def flat(x: Array) -> tuple[float, Array]:
        value, gradient = objective(x.reshape(shape))
        return value, gradient.ravel()

    def told(iteration: int, value: float, x: Array) -> bool:
        return report is not None and report(iteration, value * len(D) * unit**4, x.reshape(shape) * unit)

    result = lbfgs(flat, (start / unit).ravel(), tol, max_iter, told)
    result.x, result.value = result.x.reshape(shape) * unit, result.value * len(D) * unit**4
    return result


def smooth_stress(D: Array, squared: bool) -> Callable[[Array], tuple[float, Array]]:
    """The (S-)stress over the number of points as a function of the places, with its gradient."""
    n = len(D)

    def objective(Z: Array) -> tuple[float, Array]:
        value, move = moves(D, Z, squared)
        gradient = 4.0 * move if squared else 2.0 * (n * (Z - Z.mean(axis=0)) - move)
        return value / n, gradient / n

    return objective
