"""Search of a tree of boxes or balls, in parallel over groups of nearby queries, which visit the same nodes."""

from itertools import pairwise
from typing import Any

import numpy as np

from didact.core.backend import read_only
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.neighbors.partitions.balls import Balls
from didact.engines.neighbors.partitions.balls_loops import nearest_balls, within_balls
from didact.engines.neighbors.partitions.boxes import Boxes, boxes
from didact.engines.neighbors.partitions.walk_loops import nearest_boxes, within_boxes
from didact.engines.neighbors.tuning import LONG_WALK, SHORT_WALK, UNSORTED_QUERIES, WALK_PIECES


def walk_nearest(tree: Boxes | Balls, noun: Any, Q: Array, skip: Array, best: Array, found: Array) -> None:
    """Fill in the k nearest rows of each query and their distances."""
    m = len(Q)
    turn = np.arange(m) if m <= UNSORTED_QUERIES else tree.order if skip[0] >= 0 else boxes(Q, SHORT_WALK).order
    search: Any = nearest_boxes if isinstance(tree, Boxes) else nearest_balls
    Q = Q if isinstance(tree, Boxes) else Q.astype(np.float64, copy=False)

    nodes, turn = _for_loops(tree), read_only(turn)

    def piece(edges: tuple[int, int]) -> None:
        search(noun, Q, skip, turn[slice(*edges)], *nodes, best, found)

    parallel_map(piece, pieces(m))


def walk_within(
    tree: Boxes | Balls, noun: Any, Q: Array, skip: Array, radius: float
) -> list[tuple[Array, Array, Array]]:
    """For each block of queries: the number of rows within the radius, their numbers (ascending) and distances."""
    search: Any = within_boxes if isinstance(tree, Boxes) else within_balls
    Q = Q if isinstance(tree, Boxes) else Q.astype(np.float64, copy=False)

    nodes = _for_loops(tree)

    def piece(edges: tuple[int, int]) -> tuple[Array, Array, Array]:
        here = slice(*edges)
        counts, parts, done = np.zeros(edges[1] - edges[0], np.int64), [], 0
        room = max(4096, 4 * (len(tree.order) >> tree.levels))
        while done < len(counts):  # a search stops when its arrays are full, and continues with larger ones
            rows, distances = np.empty(room, np.int64), np.empty(room)
            start, done = done, search(
                noun, Q[here], skip[here], radius, done, *nodes, counts, rows, distances
            )  # fmt: skip
            used = int(counts[start:done].sum())
            parts.append((rows[:used], distances[:used]))
            room *= 2
        rows, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((rows, np.repeat(np.arange(len(counts)), counts)))
        return counts, rows[order], distances[order]

    return parallel_map(piece, pieces(len(Q)))


def _for_loops(tree: Boxes | Balls) -> tuple[Any, ...]:
    """The fields of a tree, which may have been built or read from a file: loops have one variant for both."""
    return *map(read_only, tree[:4]), tree.levels


def pieces(m: int) -> list[tuple[int, int]]:
    """The edges of the pieces into which m queries are cut."""
    size = int(np.clip(-(-m // WALK_PIECES), SHORT_WALK, LONG_WALK))
    return list(pairwise([*range(0, m, size), m])) if m else []
