"""An index of rows: the k nearest of a query, or all within a radius, by the method that suits the distance.

Neighbours are sorted by distance, ties by row number, which also decides which of several tied rows are among the k
nearest. Every method computes the final distances from differences in float64, and all give the same answer.

=============================  ==========================================================================
way                            for
=============================  ==========================================================================
boxes                          a k-d tree: distances accumulated column by column (Minkowski, …)
balls                          a ball tree: other metrics (haversine, Jaccard, Numba functions)
products                       Euclidean distance by blocked matrix products, with many columns or sparse
graph                          given distances of some pairs, a sparse table
tables                         all others: whole tables, block by block
=============================  ==========================================================================
"""

import weakref
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.backend import of_types
from didact.core.errors import InputError, ParameterError
from didact.core.typing import Array
from didact.engines.neighbors import far, graphs, products, sparse_products, tables
from didact.engines.neighbors.partitions import walk
from didact.engines.neighbors.partitions.balls import balls
from didact.engines.neighbors.partitions.boxes import Boxes, boxes
from didact.engines.neighbors.tuning import (
    BALL_LEAF,
    BOX_LEAF,
    BRUTE_QUERIES,
    PRODUCT_ROWS,
    SAMPLED_NEIGHBORS,
    SAMPLED_ROWS,
    SORT_FROM,
    TREE_COLUMNS,
    TREE_ROWS,
    VISITED_SHARE,
)
from didact.engines.neighbors.words.distances import EditDistance
from didact.engines.neighbors.words.edit_index import index_words
from didact.parts.distances import Distance, Euclidean, Precomputed, resized

METHODS = ("auto", "brute", "kd_tree", "ball_tree")


WAYS = ("boxes", "balls", "products", "tables", "graph")  # the last three also for sparse rows


class Index(NamedTuple):
    """Rows as the distance transforms them, and what finds neighbours among them (a tree, centred rows, or nothing)."""

    distance: Any
    rows: Any
    way: str
    plan: Any = None

    @property
    def n_rows(self) -> int:
        """The number of indexed rows."""
        return int(self.rows.shape[0])

    def check(self) -> None:
        """Raise an InputError if the parts do not fit together (in a forged file): loops do not check indices."""
        n, p = self.rows.shape
        sparse = sp.issparse(self.rows)
        parts: list[tuple[Any, Any]] = [(self.way in WAYS[2 * sparse :], True)]
        if self.way in ("boxes", "balls", "products"):
            parts.append((self.rows.dtype in (np.float32, np.float64), True))
        parts += [(field.shape, (p,)) for field in self.distance.inner if isinstance(field, np.ndarray) and field.ndim]
        if self.way in ("boxes", "balls"):
            low = self.plan.low if self.way == "boxes" else self.plan.centres
            parts += [(self.plan.order.shape, (n,)), (low.shape[1], p), (type(self.plan).__name__.lower(), self.way)]
        elif self.way == "products" and not sparse:
            kinds = of_types([self.plan.centre, *self.plan[2:]], (np.float64, np.float32, np.float32, np.float64))
            parts += [(kinds, True)]
            parts += [(self.plan.rows.shape, (n, p)), (self.plan.half.shape, (n,))]
            parts += [(len(self.plan.size), -(-n // PRODUCT_ROWS)), (self.plan.centre.shape, (p,))]
        parts.append((self.way == "graph", isinstance(self.distance, Precomputed) and sp.issparse(self.rows)))
        if any(found != wanted for found, wanted in parts):
            raise InputError("The index of neighbours makes no sense.")

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        """Distances (m, k) and numbers (m, k) of the k nearest rows of each query.

        Q of None asks for the neighbours of the indexed rows themselves, each without itself.
        """
        most = self.n_rows - (Q is None)
        if not 1 <= k <= most:
            raise InputError(
                f"Expected n_neighbors <= n_samples_fit, but {k} neighbours were asked for and there are {most} rows."
            )
        Q, skip = self._queries(Q)
        if self.way == "graph":
            return graphs.graph_nearest(Q, skip, k)
        if k > SORT_FROM:
            return self._finished(Q, skip, *tables.nearest_sorted(self.distance.inner, self.rows, Q, skip, k))
        # Empty slots of the lists have the row number n_rows; any left at the end come from distances that are NaN.
        best, found = np.full((Q.shape[0], k), np.inf), np.full((Q.shape[0], k), self.n_rows, np.int64)
        noun = self.distance.inner
        if self.way in ("boxes", "balls"):
            walk.walk_nearest(self.plan, noun, Q, skip, best, found)
        elif self.way == "tables":
            tables.table_nearest(noun, self.rows, Q, skip, best, found)
        elif sp.issparse(self.rows):
            _again(self, Q, skip, best, found, sparse_products.sparse_nearest(self.rows, Q, skip, best, found))
        else:
            _again(self, Q, skip, best, found, products.product_nearest(self.rows, self.plan, Q, skip, best, found))
        if found.max(initial=0) >= self.n_rows:
            raise InputError(tables.NOT_A_NUMBER)
        return self._finished(Q, skip, best, found)

    def _finished(self, Q: Any, skip: Array, best: Array, found: Array) -> tuple[Array, Array]:
        """The final distances and row numbers from the lists of the k best; those that overflowed are recomputed."""
        noun = self.distance.inner
        if not np.isinf(best[:, -1]).any():
            return self.distance.finish(best), found
        far.mend_nearest(noun, self.rows, Q, skip, best, found)
        with np.errstate(over="ignore"):
            distances = self.distance.finish(best)
        far.refuse_infinite_distances(noun, distances, np.repeat(np.arange(len(best)), best.shape[1]))
        return distances, found

    def most(self, Q: Any) -> int:
        """The largest k that `nearest` accepts for these queries."""
        if self.way != "graph":
            return self.n_rows - (Q is None)
        return graphs.fewest(*self._queries(Q))

    def within(self, Q: Any, radius: float) -> tuple[Array, Array, Array]:
        """All rows at most `radius` away: edges (m + 1,) of the queries, row numbers (ascending) and distances.

        Q of None asks for the neighbours of the indexed rows themselves, each without itself.
        """
        return self._within(*self._queries(Q), radius)

    def within_own(self, start: int, stop: int, radius: float) -> tuple[Array, Array]:
        """Edges and numbers of the rows at most `radius` away from the indexed rows start … stop - 1, without these."""
        return self._within(self.rows[start:stop], np.arange(start, stop), radius)[:2]

    def _within(self, Q: Any, skip: Array, radius: float) -> tuple[Array, Array, Array]:
        if self.way == "graph":
            return graphs.graph_within(Q, skip, radius)
        noun, reach, tree = self.distance.inner, self.distance.start(radius), self.plan
        if self.way == "products":
            tree = _grown(self.rows) if Q.shape[0] >= BRUTE_QUERIES and not sp.issparse(self.rows) else None
        if far.reaches(noun, reach):
            parts = far.far_within(noun, self.rows, Q, skip, reach)
        elif self.way == "tables" or tree is None:
            parts = tables.table_within(noun, self.rows, Q, skip, reach)
        else:
            parts = walk.walk_within(tree, noun, Q, skip, reach)
        if not parts:
            return np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0)
        counts, rows, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
        distances = self.distance.finish(distances)
        far.refuse_infinite_distances(noun, distances, np.repeat(np.arange(len(counts)), counts))
        return np.append(0, np.cumsum(counts)), rows.astype(np.int64), distances

    def _queries(self, Q: Any) -> tuple[Any, Array]:
        """The transformed queries, and for each the number of the indexed row that it is itself, or −1."""
        if Q is None:
            return self.rows, np.arange(self.n_rows)
        Q = _plain(self.distance.rows(Q))
        if Q.ndim != 2 or Q.shape[1] != self.rows.shape[1]:
            raise InputError(f"Queries have {Q.shape[-1]} columns, the indexed rows {self.rows.shape[1]}.")
        if sp.issparse(Q) and not sp.issparse(self.rows):
            Q = Q.toarray()
        elif sp.issparse(self.rows) and not sp.issparse(Q):
            Q = sp.csr_array(Q)
        return Q, np.full(Q.shape[0], -1)


def build_index(
    X: Any, distance: Distance, method: str = "auto", leaf_size: int = BOX_LEAF, k: int = SAMPLED_NEIGHBORS
) -> Index:
    """An index of the rows X (an array, CSR, or for precomputed distances the square table), for about k nearest.

    >>> from didact.parts.distances import Euclidean
    >>> index = build_index(np.array([[0.0], [1.0], [5.0]]), Euclidean())
    >>> index.nearest(np.array([[0.9]]), 2)[1]
    array([[1, 0]])
    """
    if method not in METHODS:
        raise ParameterError(f"method is one of {', '.join(METHODS)}, not {method!r}.")
    distance = resized(distance, X) if isinstance(distance, Distance) else distance
    rows, noun = _plain(distance.rows(X)), distance.inner
    euclidean, coordinatewise = isinstance(noun, Euclidean), getattr(noun, "coordinatewise", False)
    if method == "kd_tree" and not coordinatewise:
        raise ParameterError(f"A k-d tree cannot serve the distance {type(distance).__name__}; use 'auto'.")
    if isinstance(distance, EditDistance):
        words: Any = index_words(X, distance.costs)  # answers as an Index does
        return words
    if method == "ball_tree" and isinstance(noun, Distance) and noun.compiled and not noun.metric:
        raise ParameterError(f"A ball tree cannot serve {type(distance).__name__}, which is no metric; use 'auto'.")
    if isinstance(noun, Precomputed) and sp.issparse(rows):
        return Index(distance, rows, "graph")
    if not tables.compiled(noun) or sp.issparse(rows):
        return Index(distance, rows, "products" if euclidean and sp.issparse(rows) else "tables")
    if method == "ball_tree" or (method == "auto" and not coordinatewise and getattr(noun, "metric", False)):
        return Index(
            distance, rows, "balls", balls(rows.astype(np.float64, copy=False), noun, min(leaf_size, BALL_LEAF))
        )
    # For Euclidean distances a tree is kept only if a trial search shows that it beats products.
    if method == "kd_tree" or (method == "auto" and coordinatewise):
        tree = boxes(rows, leaf_size) if method == "kd_tree" or _hopeful(rows, euclidean) else None
        if tree is not None and (method == "kd_tree" or not euclidean or _pays(rows, tree, k)):
            return Index(distance, rows, "boxes", tree)
    if euclidean:
        return Index(distance, rows, "products", products.centred(rows, np.float32))
    return Index(distance, rows, "tables")


def _hopeful(rows: Array, euclidean: bool) -> bool:
    return not euclidean or rows.shape[1] <= TREE_COLUMNS


def _pays(rows: Array, tree: Boxes, k: int) -> bool:
    """Whether a trial search for some rows visits few leaves, so that the tree is faster than products."""
    n = len(rows)
    if n <= max(TREE_ROWS, k):
        return True
    some = np.linspace(0, n - 1, SAMPLED_ROWS).astype(np.int64)
    best, found = np.full((SAMPLED_ROWS, k), np.inf), np.full((SAMPLED_ROWS, k), n, np.int64)
    walk.walk_nearest(tree, Euclidean(), rows[some], some, best, found)
    low, high = tree.low[-(1 << tree.levels) :], tree.high[-(1 << tree.levels) :]
    visited = sum(
        int((((np.clip(q, low, high) - q) ** 2).sum(axis=1) <= d * d).sum()) for q, d in zip(rows[some], best[:, -1])
    )
    return visited <= VISITED_SHARE * SAMPLED_ROWS * len(low)


def _again(index: Index, Q: Any, skip: Array, best: Array, found: Array, left: Array) -> None:
    """Repeat queries with too many candidates in float32: by products in float64, then by a tree or tables."""
    if not len(left):
        return
    q, s, b, f = Q[left], skip[left], np.full((len(left), best.shape[1]), np.inf), found[left]
    f[:] = index.n_rows
    if not sp.issparse(index.rows):
        open_ = products.product_nearest(index.rows, products.centred(index.rows, np.float64), q, s, b, f)
    else:
        open_ = np.arange(len(left))
    if len(open_):
        b[open_], f[open_] = np.inf, index.n_rows
        lists = b[open_], f[open_]
        if len(open_) < BRUTE_QUERIES or sp.issparse(index.rows):
            tables.table_nearest(Euclidean(), index.rows, q[open_], s[open_], *lists)
        else:
            walk.walk_nearest(_grown(index.rows), Euclidean(), q[open_], s[open_], *lists)
        b[open_], f[open_] = lists
    best[left], found[left] = b, f


_TREES: dict[int, tuple[Any, Boxes]] = {}  # of rows that are still there


def _grown(rows: Array) -> Boxes:
    """A k-d tree of rows whose nearest are found by products, for radii and ties; grown once for all calls."""
    key = id(rows)
    if key not in _TREES:
        _TREES[key] = weakref.ref(rows, lambda _: _TREES.pop(key, None)), boxes(rows, BOX_LEAF)
    return _TREES[key][1]


def _plain(X: Any) -> Any:
    """Rows as the loops take them: C order, float32 or float64, writable; or CSR without duplicates."""
    if sp.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    X = np.asarray(X)
    if X.dtype == object:
        return X
    return np.require(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float64, ["C", "W"])
