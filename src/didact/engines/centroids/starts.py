r"""Where k-means begins: k-means++, random rows, a random partition.

k-means++ draws a row as the next centre with probability proportional to its squared distance from the nearest centre
so far; the greedy form takes the best of several draws, 2 + ln K by default. Its cost is expected to be within
8 (2 + ln K) of the optimum. Rows are drawn in an order that follows from their values alone, so that neither the order
of the rows nor repeating rows instead of weighting them changes the draws. Rows that are not in memory, or on a device,
lend a sample: those whose values have the least hashes, all of them if they are few.

Arthur, Vassilvitskii (2007), k-means++: the advantages of careful seeding, SODA; Grunau, Özüdoğru, Rozhoň, Tětek
(2023), A nearly tight analysis of greedy k-means++, doi:10.1137/1.9781611977554.ch39.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.backend import is_sparse, to_numpy
from didact.core.errors import InputError
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.rows.memory import block_by_block, compiled_pass, pass_edges
from didact.core.threads import parallel_map, share_pieces, stable_order
from didact.core.typing import Array
from didact.engines.centroids.passes import NO_VALUES
from didact.engines.centroids.starts_loops import gain_pass, hash_pass, win_pass
from didact.engines.centroids.tuning import MOST_LLOYD_PIECES, PIECE_ROWS, SAMPLE_EACH, SAMPLE_ROWS
from didact.engines.linear.pass_loops import TILE, flat_view, number_column, whole_vectors
from didact.parts.statistics.moment_loops import NEAR, aligned_zeros

FEW_OF = 4  # times as many rows as a sample has: of more, only those whose hashes are low are sorted


def hashes(X: Any) -> Array:
    """A number for each row that follows from its values, uint64; dense and sparse rows have the same."""
    odd = np.random.default_rng(18).integers(0, 2**63, X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if is_sparse(X):
        products = np.append(_mixed(X.data) * odd[X.indices], np.uint64(0))
        total = np.add.reduceat(products, np.minimum(X.indptr[:-1], len(products) - 1))
        total[np.diff(X.indptr) == 0] = 0
        return mixed_bits(total)
    found, rows, edges = np.empty(len(X), np.uint64), flat_view(X), pass_edges(X, 2)
    share_pieces(len(edges) - 1, lambda turn: hash_pass(turn, edges, *rows, odd, found))
    return found


def _mixed(values: Array) -> Array:
    """Bits of numbers, every one of which follows from all of theirs; 0 stays 0, and so does −0."""
    return mixed_bits((values.astype(np.float64) + 0.0).view(np.uint64))


def mixed_bits(bits: Array) -> Array:
    """Bits every one of which follows from all of those given; 0 stays 0."""
    bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return bits ^ (bits >> np.uint64(29))


class RowSample(NamedTuple):
    """Rows with the least hashes, and their weights; equal rows are one."""

    hashes: Array
    rows: Array
    weights: Array
    most: int

    def merge(self, other: "RowSample") -> "RowSample":
        """The least of both."""
        keys, rows = np.concatenate([self.hashes, other.hashes]), np.concatenate([self.rows, other.rows])
        return _least(keys, rows, np.concatenate([self.weights, other.weights]), self.most)


def _least(keys: Array, rows: Array, weights: Array, most: int) -> RowSample:
    known, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    total = np.bincount(inverse, weights, len(known))
    return RowSample(known[:most], rows[first[:most]], total[:most], most)


@compiled_pass
def sample_of(block: Block, most: int) -> RowSample:
    """The sample of one block."""
    if not isinstance(block.X, np.ndarray):
        return block_by_block(_sample_of, block, most)
    return _sample_of(block, most)


def _sample_of(block: Block, most: int) -> RowSample:
    X = block.X if is_sparse(block.X) else to_numpy(block.X)
    keys = hashes(X)
    weights = np.ones(len(keys)) if block.weight is None else to_numpy(block.weight).astype(np.float64)
    there = weights > 0
    if len(keys) > FEW_OF * most:  # hashes are uniform: most of the least ones are below some limit
        low = np.flatnonzero(there & (keys < np.uint64(2.0**64 / len(keys) * (0.5 * FEW_OF * most))))
        found = _chosen(X, keys[low], weights[low], low, most)
        if len(found.rows) == most:
            return found
    low = np.flatnonzero(there)
    return _chosen(X, keys[low], weights[low], low, most)


def _chosen(X: Any, keys: Array, weights: Array, numbers: Array, most: int) -> RowSample:
    known, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    total, chosen = np.bincount(inverse, weights, len(known)), numbers[first[:most]]
    rows = X[chosen].toarray() if is_sparse(X) else X[chosen]
    return RowSample(known[:most], np.asarray(rows), total[:most], most)


def rows_to_draw(rows: Rows, count: int) -> tuple[Any, Array | None]:
    """Rows and weights from which a start is drawn: those in memory, or a sample."""
    if isinstance(rows, MemoryRows) and not rows.on_device:
        return rows.X, rows.columns.weight
    found = rows.reduce(sample_of, max(SAMPLE_ROWS, SAMPLE_EACH * count))
    return found.rows, found.weights


def enough_rows(X: Any, w: Array | None, count: int) -> Array:
    """The weights, if at least so many rows have one."""
    w = np.ones(X.shape[0]) if w is None else np.asarray(w, np.float64)
    if np.count_nonzero(w) < count:
        raise InputError(f"There are {np.count_nonzero(w)} rows with weight: too few for {count} clusters.")
    return w


def by_place(X: Any) -> tuple[Array, Array]:
    """The rows in the order of their projections on a fixed direction, in which equal rows are neighbours; and these.

    A constant column, or a number added to one, does not change the order.
    """
    direction, found = np.random.default_rng(0).normal(size=X.shape[1]), np.zeros(X.shape[0])
    with np.errstate(all="ignore"):
        if is_sparse(X):
            found[:] = X @ direction
        else:
            step = 8 * PIECE_ROWS
            parallel_map(
                lambda a: np.copyto(found[a : a + step], X[a : a + step] @ direction), range(0, X.shape[0], step)
            )
    order = stable_order(found)
    return order, found[order]


def distinct(X: Any, w: Array, count: int) -> tuple[Array, Array, Array]:
    """The rows with weight in order, where runs of equal ones begin, and the weights of these runs."""
    order, place = by_place(X)
    if not w.all():
        order, place = order[w[order] > 0], place[w[order] > 0]
    size = np.abs(place).max(initial=0.0)
    first = np.flatnonzero(np.append(True, np.diff(place) > 1e-14 * size))
    if len(first) < count:  # as many as asked for, though some are equal
        first = np.arange(len(order))
    return order, first, np.add.reduceat(w[order], first)


def random_rows(X: Any, w: Array | None, count: int, rng: np.random.Generator) -> Array:
    """Distinct rows drawn with probabilities proportional to their weights, (count, p), float64."""
    order, first, total = distinct(X, enough_rows(X, w, count), count)
    keys = rng.exponential(size=len(first)) / total
    least = np.argpartition(keys, count - 1)[:count]
    least = least[np.argsort(keys[least], kind="stable")]
    return np.stack([_row(X, i) for i in order[first[least]]])


def random_partition(X: Any, w: Array | None, count: int, rng: np.random.Generator) -> Array:
    """Means of a partition at random, (count, p), float64: every row goes to any part with the same probability."""
    w = enough_rows(X, w, count)
    order, first, _ = distinct(X, w, count)
    parts = rng.permutation(np.arange(len(first)) % count)  # no part is empty
    labels = np.repeat(parts, np.diff(np.append(first, len(order))))
    share = sp.csr_array((w[order], order, np.arange(len(order) + 1)), shape=(len(order), X.shape[0]))
    member = sp.csr_array((np.ones(len(order)), labels, np.arange(len(order) + 1)), shape=(len(order), count))
    sums = member.T @ share @ X
    return np.asarray(sums.toarray() if is_sparse(sums) else sums) / np.bincount(labels, w[order], count)[:, None]


def plus_plus(X: Any, w: Array | None, count: int, rng: np.random.Generator, trials: int | None = None) -> Array:
    """Initial centres (count, p), float64, drawn from the rows of X by greedy k-means++."""
    chosen = plus_plus_rows(X, w, count, rng, trials)
    return np.stack([_row(X, i) for i in chosen])


def plus_plus_rows(X: Any, w: Array | None, count: int, rng: np.random.Generator, trials: int | None = None) -> Array:
    """The numbers of the rows that k-means++ draws, the best of so many trials each (None: 2 + ln K)."""
    weights = enough_rows(X, w, count)
    trials = 2 + int(np.log(count)) if trials is None else trials
    order, _ = by_place(X)
    chosen = [_drawn(weights, order, 1, rng)[0]]
    if is_sparse(X):
        return _sparse_rows(X, weights, count, rng, trials, order, chosen)
    run = _Draw(X, weights, order)
    run.win(chosen, 0)
    for k in range(1, count):
        candidates = run.drawn(trials, rng)
        chosen.append(candidates[run.win(candidates, k)])
    return np.array(chosen)


def _win(arguments: list[Any], turn: Array) -> None:
    win_pass(turn, *arguments)


class _Draw:
    """The distances of dense rows from the nearest centre so far, and draws in proportion to them."""

    def __init__(self, X: Array, w: Array, order: Array) -> None:
        n, p = X.shape
        self.rows, self.X, self.w, self.order = X, flat_view(X), number_column(w), order
        self.near, self.owner = np.full(n, np.inf), np.zeros(n, np.int32)
        self.edges = np.linspace(0, n, int(np.clip(n // PIECE_ROWS, 1, MOST_LLOYD_PIECES)) + 1).astype(np.int64)
        self.masses, self.centers = np.zeros(len(self.edges) - 1), np.empty((0, p))
        with np.errstate(all="ignore"):
            self.origin = np.asarray(w @ X / w.sum(), np.float64)

    def win(self, candidates: Any, number: int) -> int:
        """Make the candidate that lowers the cost most the centre of this number; which one it was."""
        C = self.rows[candidates].astype(np.float64)
        won, how, counts, gains = self._gains(C)
        best = int(np.argmax(gains.sum(axis=0)))
        lists = won[best], how[best], np.ascontiguousarray(counts[:, best])
        known: list[Any] = [self.edges, self.w, self.order, *lists, number, self.near, self.owner]
        for masses in (NO_VALUES, self.masses):
            arguments: list[Any] = [*known, masses]
            share_pieces(len(self.masses), partial(_win, arguments))
        self.centers = np.vstack([self.centers, C[best]])
        return best

    def _gains(self, C: Array) -> tuple[Array, Array, Array, Array]:
        (T, p), n, pieces = C.shape, len(self.near), len(self.masses)
        near, wide = C - self.origin, whole_vectors(T)
        squares = np.einsum("ij,ij->i", near, near)
        table = aligned_zeros(p + 1, wide)
        table[:p, :T], table[p, :T] = near.T, -0.5 * squares
        between = self.centers[:, None] - C[None]
        apart = np.einsum("ktj,ktj->kt", between, between).min(axis=1, initial=np.inf) * (1.0 - 1e-12)
        apart = apart if len(apart) else np.full(1, -1.0)  # before the first centre all rows are looked at
        out = np.empty((T, n), np.int64), np.empty((T, n)), np.zeros((pieces, T), np.int64), np.zeros((pieces, T))
        tile = min(max(NEAR // max(p + 1, wide) // 4 * 4, 16), TILE)

        def loop(turn: Array) -> None:
            room = aligned_zeros(tile, whole_vectors(p + 1)), aligned_zeros(wide, tile), np.zeros(tile)
            known: list[Any] = [self.w, self.near, self.owner, C, self.origin, table, apart]
            known += [1.1 * (p + 8) * 2.0**-53, float(squares.max()), *room, np.zeros(tile, np.int64), *out]
            gain_pass(turn, self.edges, *self.X, *known)

        share_pieces(pieces, loop)
        return out

    def drawn(self, count: int, rng: np.random.Generator) -> Array:
        """Rows drawn with probabilities proportional to weight times squared distance, in the order of the rows."""
        upto, uniforms = np.cumsum(self.masses), rng.uniform(size=count)
        if not upto[-1] > 0:  # all rows are at centres
            return _drawn(self.w, self.order, count, rng)
        found = np.empty(count, np.int64)
        for t, target in enumerate(uniforms * upto[-1]):
            piece = min(int(np.searchsorted(upto, target, side="right")), int(np.searchsorted(upto, upto[-1])))
            part = self.order[self.edges[piece] : self.edges[piece + 1]]
            rest = target - (upto[piece - 1] if piece else 0.0)
            found[t] = part[_place(np.cumsum(self.w[part] * self.near[part]), rest)]
        return found


def _place(upto: Array, target: Any) -> Any:
    return np.minimum(np.searchsorted(upto, target, side="right"), np.searchsorted(upto, upto[-1]))


def _drawn(chance: Array, order: Array, count: int, rng: np.random.Generator) -> Array:
    """Rows drawn with these relative probabilities, accumulated in the given order."""
    upto = np.cumsum(chance[order])
    return np.asarray(order[_place(upto, rng.uniform(size=count) * upto[-1])])


def _row(X: Any, i: int) -> Array:
    return np.asarray(X[[i]].toarray()[0] if is_sparse(X) else X[i], np.float64)


def _sparse_rows(
    X: Any, w: Array, count: int, rng: np.random.Generator, trials: int, order: Array, chosen: list[Any]
) -> Array:
    squares = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()

    def distances(candidates: Any) -> Array:
        found = squares[:, None] - 2 * (X @ X[candidates].T).toarray() + squares[candidates]
        found[found <= 1e-14 * (squares[:, None] + squares[candidates])] = 0.0
        return np.asarray(found)

    nearest = distances(chosen)[:, 0]
    for _ in range(1, count):
        chance = w * nearest
        candidates = _drawn(chance if chance.any() else w, order, trials, rng)
        found = np.minimum(nearest[:, None], distances(candidates))
        best = int(np.argmin(w @ found))
        chosen.append(candidates[best])
        nearest = found[:, best]
    return np.array(chosen)
