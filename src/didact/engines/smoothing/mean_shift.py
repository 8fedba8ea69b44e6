r"""Mean shift: from each start to a mode of the density by moving to the weighted mean around it, on all threads.

.. math:: x \leftarrow \frac{\sum_i w_i K(\|x-x_i\|/h)\,x_i}{\sum_i w_i K(\|x-x_i\|/h)}

No move lowers the density whose window has K for its derivative: the Gaussian one itself, and for the flat K the
density of the Epanechnikov window. A start needs some ten moves, in each of which it meets the rows near it.

Fukunaga, Hostetler (1975), doi:10.1109/TIT.1975.1055330; Cheng (1995), doi:10.1109/34.400568.
"""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from didact.core.backend import read_only
from didact.core.errors import InputError
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.neighbors.partitions.boxes import boxes
from didact.engines.smoothing import mean_shift_loops
from didact.engines.smoothing.tuning import SHIFT_LEAF

KERNELS = {"flat": mean_shift_loops.FLAT_WINDOW, "gaussian": mean_shift_loops.GAUSSIAN_WINDOW}


class Climbs(NamedTuple):
    """Where the starts ended, how many moves each made, Σ w K at the last of them, and their ways if asked for."""

    ends: Array
    steps: Array  # after the first; max_iter + 1 if it had not come to rest
    height: Array
    paths: list[Array]


def hills_of(X: Array, w: Array) -> mean_shift_loops.Hills:
    """Rows and their weights, prepared for mean shifts."""
    tree = boxes(np.ascontiguousarray(X, np.float64), SHIFT_LEAF)
    start, stop = tree.ranges()
    hills = mean_shift_loops.Hills(
        points=read_only(tree.points),  # as in searches of the tree: loops have one variant for both
        low=read_only(tree.low),
        high=read_only(tree.high),
        start=start,
        stop=stop,
        weight=np.ascontiguousarray(w, np.float64)[tree.order],
        mass=np.empty(len(tree.low)),
        sums=np.empty_like(tree.low),
    )
    mean_shift_loops.sum_nodes(hills)
    return hills


def climb_from(
    seeds: Array, hills: mean_shift_loops.Hills, kernel: str, h: float, tol: float, max_iter: int, paths: bool = False
) -> Climbs:
    """The climbs from all seeds, with bandwidth h, until a move is no longer than tol.

    >>> hills = hills_of(np.array([[0.0], [2.0], [9.0]]), np.ones(3))
    >>> climb_from(np.array([[0.5], [8.0]]), hills, "flat", 2.0, 1e-3, 100).ends
    array([[1.],
           [9.]])
    """
    x = np.array(seeds, np.float64, order="C")
    if x.shape[1] != hills.low.shape[1]:
        raise InputError(f"The fitted rows have {hills.low.shape[1]} columns, and these {x.shape[1]}: fit it anew.")
    steps, height = np.zeros(len(x), np.int64), np.zeros(len(x))
    order = boxes(x, SHIFT_LEAF).order  # neighbours climb through the same rows
    ways, rows = np.zeros(len(x) + 1, np.int64), np.empty((0, x.shape[1]))

    def climb(ends: Array, ways: Array, rows: Array) -> None:
        how = hills, KERNELS[kernel], float(h), float(tol), int(max_iter)
        pieces = -(-len(x) // mean_shift_loops.SEEDS_AT_ONCE)
        share_pieces(pieces, partial(mean_shift_loops.climb_all, *how, order, ends, steps, height, ways, rows))

    climb(x, ways, rows)
    if paths:  # once more, now that it is known how long they are
        moves = np.minimum(steps, max_iter) + 2
        ways = np.append(0, np.cumsum(moves))
        rows = np.empty((ways[-1], x.shape[1]))
        rows[ways[1:] - 1] = x
        climb(np.array(seeds, np.float64, order="C"), ways, rows)
    return Climbs(x, steps, height, [rows[a:b] for a, b in pairwise(ways)] if paths else [])
