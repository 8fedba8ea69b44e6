r"""Sums of Gaussian windows over many points in one or two columns: :math:`\sum_i w_i\,e^{-\|q-x_i\|^2/2h^2}`.

Each axis is cut into cells of at most 2.4 bandwidths with M = 24 Chebyshev nodes each. A window is a product over the
axes, and along each axis it is nearly a polynomial of degree M − 1 within a cell, so the sums are
:math:`L_q\,G_x W G_y^T L_q^T`: weights are transferred from the points to the nodes (L), summed from nodes to nodes
(G), and interpolated at the queries. Cost: M² per point and per query in two columns, M in one, and products of
matrices of the size of the number of nodes; nothing grows with the number of pairs.

Interpolation at M Chebyshev nodes in cells of side s·h errs by at most
:math:`2\cdot1.09\,(s/4)^M/\sqrt{M!}` (the derivatives of the window are bounded by Cramér's inequality), here 2e-17,
and four interpolations by less than 1e-15; with rounding, a few 1e-15 of the sum of all |weights|.

Greengard, Strain (1991), The fast Gauss transform, doi:10.1137/0912004; Fong, Darve (2009), The black-box fast
multipole method, doi:10.1016/j.jcp.2009.08.031.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from didact.core.typing import Array

M = 24  # nodes of a cell along an axis
SIDE = 2.4  # bandwidths
MOST_NODES = 5000  # along an axis
MOST_NUMBERS = 60_000_000  # in the tables of a set of points
PAIR, SPREAD, MULTIPLY_ADD, EXP, CELL = 0.8, 1.0, 0.15, 6.0, 5e4  # ns for a pair, an entry, a multiply-add, exp, a cell
REACH = 7.0  # bandwidths within which windows are summed pair by pair
ANGLES = (np.arange(M) + 0.5) * (np.pi / M)
TO_LAGRANGE = np.cos(np.outer(np.arange(M), ANGLES)) * (np.where(np.arange(M) > 0, 2.0, 1.0) / M)[:, None]


class Axis(NamedTuple):
    """Equal cells along a column; a column that does not vary has one cell with one node."""

    low: float
    side: float
    cells: int
    size: int  # nodes of a cell

    @classmethod
    def of(cls, low: float, high: float, h: float) -> "Axis":
        """The cells of values from low to high for a bandwidth."""
        if not high > low:
            return cls(low, 1.0, 1, 1)
        cells = max(1, int(np.ceil((high - low) / (SIDE * h))))
        return cls(low, (high - low) / cells, cells, M)

    def nodes(self) -> Array:
        """The coordinates of all nodes."""
        inside = 0.5 * (1.0 + np.cos(ANGLES)) if self.size > 1 else np.zeros(1)
        return self.low + self.side * (np.arange(self.cells)[:, None] + inside).ravel()

    def basis(self, x: Array) -> tuple[Array, Array]:
        """The cell of each value, and the values (n, size) of the cell's Lagrange polynomials there."""
        if self.size == 1:
            return np.zeros(len(x), np.int64), np.ones((len(x), 1))
        place = (x - self.low) / self.side
        cell = np.clip(place.astype(np.int64), 0, self.cells - 1)
        angle = np.arccos(np.clip(2.0 * (place - cell) - 1.0, -1.0, 1.0))
        return cell, np.cos(angle[:, None] * np.arange(M)) @ TO_LAGRANGE


class Spread(NamedTuple):
    """Points sorted by cell, with their Lagrange bases along both axes."""

    order: Array
    edges: list[tuple[int, int]]
    cells: list[tuple[slice, slice]]
    left: Array
    right: Array

    @classmethod
    def of(cls, places: Array, axes: list[Axis]) -> "Spread":
        """From rows of two columns."""
        (i, left), (j, right) = (axis.basis(x) for axis, x in zip(axes, places.T, strict=True))
        number = i * axes[1].cells + j
        order = np.argsort(number, kind="stable")
        found, begins = np.unique(number[order], return_index=True)
        rows, columns = np.divmod(found, axes[1].cells)
        a, b = axes[0].size, axes[1].size
        cells = [(slice(r * a, r * a + a), slice(c * b, c * b + b)) for r, c in zip(rows, columns, strict=True)]
        edges = list(pairwise([*begins.tolist(), len(order)]))
        return cls(order, edges, cells, left[order], right[order])


def axes_of(low: Array, high: Array, h: float) -> list[Axis]:
    """Two axes; for one column the second is a single node."""
    axes = [Axis.of(float(a), float(b), h) for a, b in zip(low, high, strict=True)]
    return axes if len(axes) == 2 else [*axes, Axis(0.0, 1.0, 1, 1)]


def pays(low: Array, high: Array, h: float, points: int, queries: int, columns: int) -> bool:
    """Whether sums over nodes are estimated to be faster than over pairs, and their tables fit in memory."""
    if len(low) > 2 or max(points, queries) * M > MOST_NUMBERS:
        return False
    span = (high - low)[high > low]
    if (span > MOST_NODES / M * SIDE * h).any():
        return False
    axes = axes_of(low, high, h)
    (a, s), (b, t) = ((axis.cells * axis.size, axis.size) for axis in axes)
    share = float(np.minimum(1.0, 2.0 * REACH * h / span).prod())
    nodes = columns * (SPREAD * s * t * (points + queries) + MULTIPLY_ADD * a * b * (a + b)) + EXP * (a * a + b * b)
    nodes += CELL * min(points, axes[0].cells * axes[1].cells)
    return bool(nodes < PAIR * share * points * queries)


def gauss_sums(points: Array, columns: Array, places: Array | None, low: Array, high: Array, h: float) -> Array:
    """Σ_i c_i exp(−‖q−x_i‖²/2h²) for each of the columns c (k, n), at the places or, if None, at the points themselves.

    Points and places lie between low and high. Returns (queries, k).
    """
    axes = axes_of(low, high, h)
    source = Spread.of(_two(points), axes)
    target = source if places is None else Spread.of(_two(places), axes)
    G, H = (np.exp(-0.5 * (np.subtract.outer(x, x) / h) ** 2) for x in (axis.nodes() for axis in axes))
    values = columns[:, source.order]
    weights = np.zeros((len(columns), len(G), len(H)))
    for (a, b), (r, c) in zip(source.edges, source.cells, strict=True):
        weights[:, r, c] = np.matmul(source.left[a:b].T * values[:, None, a:b], source.right[a:b])
    table = np.matmul(G, np.matmul(weights, H))
    out = np.empty((len(target.order), len(columns)))
    for (a, b), (r, c) in zip(target.edges, target.cells, strict=True):
        here = np.matmul(target.left[a:b], table[:, r, c])
        out[target.order[a:b]] = np.einsum("kij,ij->ik", here, target.right[a:b])
    return out


def _two(places: Array) -> Array:
    return places if places.shape[1] == 2 else np.column_stack([places, np.zeros(len(places))])
