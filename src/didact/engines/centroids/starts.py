r"""Where k-means begins: k-means++, random rows, a random partition.

k-means++ draws a row as the next centre with probability proportional to its squared distance from the nearest centre
so far; the greedy form takes the best of several draws, 2 + ln K by default. Its cost is expected to be within
8 (2 + ln K) of the optimum. Rows are drawn in an order that follows from their values alone, so that neither the order
of the rows nor repeating rows instead of weighting them changes the draws. Rows that are not in memory, or on a device,
lend a sample: those whose values have the least hashes, all of them if they are few.

Arthur, Vassilvitskii (2007), k-means++: the advantages of careful seeding, SODA; Grunau, Özüdoğru, Rozhoň, Tětek
(2023), A nearly tight analysis of greedy k-means++, doi:10.1137/1.9781611977554.ch39.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.backend import is_sparse, to_numpy
from didact.core.errors import InputError
from didact.core.jit.atomics import new_board
from didact.core.rows import Block, Rows
from didact.core.rows.memory import block_by_block, compiled_pass, pass_edges
from didact.core.threads import parallel_map, parallel_take, share_pieces, stable_order, thread_count
from didact.core.typing import Array
from didact.engines.centroids.starts_loops import DRAW, SEEDING, Seeding, hash_pass, seed_off
from didact.engines.centroids.tuning import PIECE_ROWS, SAMPLE_EACH, SAMPLE_ROWS, SEED_PIECE, SEED_TILE, SEED_WORK
from didact.engines.linear.pass_loops import flat_view
from didact.kernels.gaussian_loops import Products

COMPARED_ROWS = 4096  # that are looked at together when distinct rows are counted
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
    if rows.memory and not rows.on_device:
        return rows.memory.X, rows.memory.columns.weight
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
    return order, parallel_take(found, order)


def distinct(X: Any, w: Array, count: int) -> tuple[Array, Array, Array]:
    """The rows with weight in order, where runs of equal ones begin, and the weights of these runs."""
    order, place = by_place(X)
    if not w.all():
        order, place = order[w[order] > 0], place[w[order] > 0]
    least = 1e-14 * np.abs(place[[0, -1]]).max() if len(place) else 0.0
    apart, step = np.ones(len(place), np.bool_), 8 * PIECE_ROWS
    parallel_map(
        lambda a: np.greater(np.diff(place[a - 1 : a + step - 1]), least, out=apart[a : a + step - 1]),
        range(1, len(place), step - 1),
    )
    first = np.flatnonzero(apart)
    if len(first) < count:  # as many as asked for, though some are equal
        first = np.arange(len(order))
    weights = parallel_take(w, order)
    return order, first, weights if len(first) == len(order) else np.add.reduceat(weights, first)


def too_few_distinct(X: Any, w: Array | None, count: int) -> int:
    """The number of distinct rows with weight if that is below `count`, otherwise 0; NaN counts as a value."""
    known: list[Array] = []
    step = max(COMPARED_ROWS, 2 * count)  # most rows show by the first of them that they are not too few
    for a in range(0, X.shape[0], step):
        some = X[a : a + step] if w is None else X[a : a + step][np.asarray(w[a : a + step]) > 0]
        known.append(hashes(some.tocsr()) if is_sparse(X) else np.nan_to_num(some, nan=-np.pi) + 0.0)
        known = [np.unique(np.concatenate(known), axis=0)]
        if len(known[0]) >= count:
            return 0
    return len(known[0])


def random_rows(X: Any, w: Array | None, count: int, rng: np.random.Generator) -> Array:
    """Distinct rows drawn with probabilities proportional to their weights, (count, p), float64."""
    order, first, total = distinct(X, enough_rows(X, w, count), count)
    keys = rng.exponential(size=len(first)) / total
    step = max(8 * PIECE_ROWS, 2 * count)  # the least of all are among the least of each part
    some = np.concatenate(
        parallel_map(lambda a: a + np.argpartition(keys[a : a + step], min(count, len(keys) - a) - 1)[:count],
                     range(0, len(keys), step))
    )  # fmt: skip
    least = some[np.argsort(keys[some], kind="stable")][:count]
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
    return _Seeds(X, weights, order, count, trials, rng).drawn(int(np.flatnonzero(order == chosen[0])[0]))


class _Seeds:
    """k-means++ on dense rows, by threads that stay in compiled code for some centres."""

    def __init__(self, X: Array, w: Array, order: Array, count: int, trials: int, rng: np.random.Generator) -> None:
        (n, p), self.rng, wide = X.shape, rng, -(-(X.shape[1] + 1) // 4) * 4
        self.X, even = flat_view(X), trials + trials % 2
        self.edges = np.append(np.arange(0, n, SEED_TILE), n)
        with np.errstate(all="ignore"):
            pieces = [slice(a, a + SEED_PIECE) for a in range(0, n, SEED_PIECE)]
            origin = np.asarray(sum(parallel_map(lambda part: w[part] @ X[part], pieces)) / w.sum(), np.float64)
            scale = max(parallel_map(lambda part: float(np.abs(X[part] - origin).max(initial=0.0)), pieces))
        self.now, tiles = np.zeros(1, SEEDING), len(self.edges) - 1
        right = np.zeros((tiles, wide, SEED_TILE), np.float32)
        self.now["unit"], self.now["scale"] = 1.1 * (p + 8) * 2.0**-24, scale if 0 < scale < np.inf else 1.0
        self.rows = Seeding(
            X=self.X[0], order=order, right=right, flat=right.reshape(-1), half=np.empty(n),
            near=np.full(n, np.inf), w=w[order], origin=origin, left=np.zeros((even, wide), np.float32),
            centers=np.empty((trials, p)),
            won=np.empty((trials, n), np.int64), how=np.empty((trials, n)), counts=np.zeros((tiles, trials), np.int64),
            gains=np.zeros((tiles, trials)), masses=np.zeros(tiles), places=np.zeros(trials, np.int64),
            chosen=np.zeros(count, np.int64), uniforms=np.empty((count, trials)),
        )  # fmt: skip
        self.soon = 1 + SEED_WORK // (n * wide * even)

        def place(part: slice) -> None:
            away = (X[order[part]] - origin) / self.now["scale"][0]
            self.rows.half[part] = 0.5 * np.einsum("ij,ij->i", away, away)
            away = np.pad(away, ((0, -len(away) % SEED_TILE), (0, 1)), constant_values=1.0)
            blocks = away.reshape(-1, SEED_TILE, p + 1).transpose(0, 2, 1)
            self.rows.right[part.start // SEED_TILE :][: len(blocks), : p + 1] = blocks

        with np.errstate(all="ignore"):
            parallel_map(place, pieces)

    def drawn(self, first: int) -> Array:
        """The numbers of the rows drawn, from one at this place of the order on."""
        s, state, tiles = self.rows, self.now, len(self.edges) - 1
        threads, claims = min(thread_count(), tiles), np.zeros(tiles, np.int64)
        s.places[0], state["phase"], state["candidates"] = first, DRAW, 1
        s.uniforms[1:] = self.rng.uniform(size=s.uniforms[1:].shape)
        while state["number"][0] < len(s.chosen):
            if state["phase"][0] == DRAW and state["number"][0]:  # all rows are at centres
                upto, state["candidates"] = np.cumsum(s.w), len(s.places)
                s.places[:] = _place(upto, self.rng.uniform(size=len(s.places)) * upto[-1])
            state["centres"] = self.soon
            board = new_board(1 if state["phase"][0] == DRAW else tiles)
            parallel_map(lambda i: self._work(board, claims, i * tiles // threads), range(threads))  # noqa: B023
        return s.chosen

    def _work(self, board: Array, claims: Array, own: int) -> None:
        Z, spare = np.empty((len(self.rows.left), SEED_TILE), np.float32), np.empty((2, SEED_TILE), np.float32)
        room = Z, spare, np.empty(SEED_TILE, np.int64)
        seed_off(board, claims, own, self.now, self.edges, *self.X[1:], self.rows, Products(), *room)


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
