r"""New points among fixed ones: each by itself minimises :math:`\sum_j p_j\log(p_j/q_j)`, :math:`q_j = k_j/\sum_j k_j`.

.. math:: \frac{\partial C}{\partial y} = \frac{\nu+1}{\nu}\Big(\sum_j p_jt_j(y-y_j)
    - \frac{\sum_j k_jt_j(y-y_j)}{\sum_j k_j}\Big)

It begins at the mean of its neighbours, weighted by p, and moves with momentum; a point goes through the tree alone, so
that its place depends on no other new point.

Layout, for m new points among n fixed ones, whose places are Y (n, d) and whose tree is that of `tree_loops`::

    point i   rows[i] [ j   | j'   | … ]   k neighbours: lines of Y
              P[i]    [ p_j | p_j' | … ]   and affinities to them
              out[i]  [ y_0 … y_{d−1}  ]   its place
    F         [ sums of the point | velocity | … ]   columns 0 and 1 of a thread's list; its box[0] holds the gradient
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.typing import Array
from didact.engines.embedding.tree_loops import Division, Lists, divide_below, measure_below, repel

PLACE_STEPS, PLACE_MOMENTUM, PLACE_RATE = 100, 0.5, 0.25  # the attraction alone would take steps of up to 1


@jit_unmanaged
def build_division(Y: Array, tree: Division) -> None:
    """Divide and measure fixed points."""
    divide_below(Y, tree, 0, 0)
    measure_below(Y, tree, 0, 0)


@jit_unmanaged
def place_pass(
    turn: Array, edges: Array, Y: Array, tree: Division, rows: Array, P: Array, angle: float, freedom: int,
    lists: Lists, out: Array,
) -> None:  # fmt: skip
    """Take pieces of the new points until there are no more."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece + 1 >= edges.shape[0]:
            return
        for i in range(edges[piece], edges[piece + 1]):
            place_one(Y, tree, rows[i], P[i], angle, freedom, lists, out[i])


@jit_unmanaged
def place_one(
    Y: Array, tree: Division, rows: Array, p: Array, angle: float, freedom: int, lists: Lists, y: Array
) -> None:  # fmt: skip
    """Move one new point from the mean of its neighbours to its place y."""
    d = Y.shape[1]
    for c in range(d):
        y[c] = 0.0
        lists.F[c, 1] = 0.0
        for k in range(rows.shape[0]):
            y[c] += p[k] * Y[rows[k], c]
    for _ in range(PLACE_STEPS):
        for c in range(d):
            lists.box[0, c], lists.box[1, c], lists.box[2, c], lists.Q[c, 0] = y[c], y[c], y[c], 0.0
        repel(tree, -1, 0, 1, angle, freedom, lists)
        for c in range(d):
            lists.box[0, c] = -lists.F[c, 0] / lists.F[d, 0]
        for k in range(rows.shape[0]):
            s = 0.0
            for c in range(d):
                s += (y[c] - Y[rows[k], c]) ** 2
            w = p[k] / (1.0 + s / freedom)
            for c in range(d):
                lists.box[0, c] += w * (y[c] - Y[rows[k], c])
        for c in range(d):
            lists.F[c, 1] = PLACE_MOMENTUM * lists.F[c, 1] - PLACE_RATE * lists.box[0, c]
            y[c] += lists.F[c, 1]


def warm() -> None:
    """Compile."""
    from didact.engines.embedding.new_points import place_new

    place_new(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0]]), np.array([[1.0]]), 0.5, 1)
