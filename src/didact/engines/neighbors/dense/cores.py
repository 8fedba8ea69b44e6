r"""Clusters of dense rows: cores have enough weight within a radius, and hang together where they are that near.

.. math:: \text{core}(i) \iff \sum_{j:\,d(x_i,x_j)\le r} w_j \ge m,\qquad
    i\sim j \iff d(x_i,x_j)\le r\ \text{ for cores } i, j

A cluster is a connected component of the cores, with the other rows within the radius of one of them, its border; of
several clusters a border row belongs to the first one. Clusters are numbered by their lowest row number of a core. With
m ≤ w every row is a core, and the clusters are the components of the graph of all pairs within the radius.

Distances that are summed column by column go over a k-d tree (`boxes_loops`), all others through the index: in two
passes over blocks of rows, whose neighbours are forgotten when the next block is asked for.

Ester, Kriegel, Sander, Xu (1996), KDD-96, 226-231; Patwary, Palsetia, Agrawal, Liao, Manne, Choudhary (2012), A new
scalable parallel DBSCAN algorithm using the disjoint-set data structure, doi:10.1109/SC.2012.9.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.backend import read_only
from didact.core.threads import parallel_take, share_pieces
from didact.core.typing import Array
from didact.engines.neighbors import far
from didact.engines.neighbors.dense import boxes_loops
from didact.engines.neighbors.dense.union_loops import set_roots, unite_pairs
from didact.engines.neighbors.index import Index, build_index
from didact.engines.neighbors.partitions.boxes import boxes
from didact.engines.neighbors.tables import compiled
from didact.engines.neighbors.tuning import BLOCK_PAIRS, CROWD_LEAF, CROWD_PIECES
from didact.parts.distances import Distance, resized

MOST_QUERIES = 4096  # rows of a block


class DenseClusters(NamedTuple):
    """Which rows are cores, and the number of each row's cluster, -1 for those of none."""

    core: Array
    labels: Array


def dense_clusters(
    X: Any, distance: Distance, radius: float, need: float, weight: Array | None = None, method: str = "auto",
    leaf_size: int = CROWD_LEAF,
) -> DenseClusters:  # fmt: skip
    """The clusters of the rows X; without weights each row counts one.

    >>> from didact.parts.distances import Euclidean
    >>> dense_clusters(np.array([[0.0], [1.0], [2.0], [9.0]]), Euclidean(), 1.0, 3)
    DenseClusters(core=array([False,  True, False, False]), labels=array([ 0,  0,  0, -1]))
    """
    distance = resized(distance, X)
    noun, reach = distance.inner, distance.start(radius)
    w = np.empty(0) if weight is None else np.ascontiguousarray(weight, np.float64)
    rows = distance.rows(X)
    if (
        getattr(noun, "coordinatewise", False) and compiled(noun) and not sp.issparse(rows) and rows.dtype != object
        and method in ("auto", "kd_tree") and not far.reaches(noun, reach)
    ):  # fmt: skip
        core, found = _over_boxes(np.ascontiguousarray(rows, np.float64), noun, reach, need, w, leaf_size)
    else:
        core, found = _over_index(build_index(X, distance, method), radius, need, w)
    return DenseClusters(core, numbered(found))


def numbered(found: Array) -> Array:
    """Clusters 0, 1, … in the order of what they are found by, the lowest row number of a core; -1 stays."""
    there = np.zeros(len(found) + 1, np.bool_)
    there[found] = True
    firsts = np.flatnonzero(there[:-1])
    number = np.empty(len(found) + 1, np.int64)  # entries of other rows are never read
    number[firsts], number[-1] = np.arange(len(firsts)), -1
    return parallel_take(number, found)


def _over_boxes(rows: Array, noun: Any, radius: float, need: float, w: Array, leaf_size: int) -> tuple[Array, Array]:
    n, tree = len(rows), boxes(rows, leaf_size)
    nodes = len(tree.low)
    start, stop = tree.ranges()
    crowd = boxes_loops.Crowd(
        rows=rows,
        order=read_only(tree.order),  # as in searches of the tree: loops have one variant for both
        points=read_only(tree.points),
        low=read_only(tree.low),
        high=read_only(tree.high),
        start=start,
        stop=stop,
        whole=np.zeros(nodes, np.int8),
        lead=np.empty(nodes, np.int64),
        weight=w[tree.order] if len(w) else w,
        core=np.zeros(n, np.int8),
        parent=np.arange(n),
        claims=np.zeros(n, np.int64),
        found=np.empty(n, np.int64),
    )
    pieces = 1 << min(tree.levels, CROWD_PIECES)
    for kind in range(boxes_loops.LABEL_ROWS + 1):
        share_pieces(pieces, partial(boxes_loops.crowd_pass, noun, crowd, float(radius), float(need), kind, pieces))
        if kind == boxes_loops.MARK_CORES:
            boxes_loops.lead_nodes(crowd)
    core = np.empty(n, bool)
    core[tree.order] = crowd.core
    return core, crowd.found


def _over_index(index: Index, radius: float, need: float, w: Array) -> tuple[Array, Array]:
    n, kept, pairs = index.n_rows, [], 0
    own = w if len(w) else np.ones(n)
    total = own.copy()
    for first, edges, rows in _blocks(index, radius):
        near = first + np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        total[first : first + len(edges) - 1] += np.bincount(near - first, own[rows], len(edges) - 1)
        pairs += len(rows)
        if pairs <= BLOCK_PAIRS:  # few enough to keep: functions of two rows are dear
            kept.append((first, edges, rows))
    core = total >= need
    parent, claims, rank, border = np.arange(n), np.zeros(n, np.int64), read_only(np.arange(n)), []
    for first, edges, rows in kept if pairs <= BLOCK_PAIRS else _blocks(index, radius):
        near = first + np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        inside, edge = core[near] & core[rows], core[near] & ~core[rows]
        unite_pairs(parent, claims, rank, near[inside], rows[inside])
        border.append((near[edge], rows[edge]))
    set_roots(parent)
    found = np.where(core, parent, n)
    for cores, rows in border:
        np.minimum.at(found, rows, parent[cores])
    return core, np.where(found < n, found, -1)


def _blocks(index: Index, radius: float) -> Iterator[tuple[int, Array, Array]]:
    """The neighbours of some rows at a time: the number of the first, edges and neighbours; few where they are many."""
    first, size = 0, 256
    while first < index.n_rows:
        edges, rows = index.within_own(first, min(first + size, index.n_rows), radius)
        yield first, edges, rows
        first += len(edges) - 1
        size = int(np.clip(BLOCK_PAIRS * (len(edges) - 1) // max(len(rows), 1), 64, MOST_QUERIES))
