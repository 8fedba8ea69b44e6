"""Rows of a Gram matrix on demand: computed in tiles on all threads, and kept in a bounded cache.

A Gaussian kernel is one product and one exponential: with x' = (−|x|²/2, 1, x) and z' = (1, −|z|²/2, z) in widths,
about a centre, log k(x, z) = x'·z'; where both lie far from it, differences. Up to a hundred columns that is a compiled
loop (`gaussian_loops`), beyond a product of BLAS. Other kernels go through `Kernel.gram`. Tensors are computed on their
device, and only what the solver reads (the block of a working set, products with a vector) comes to the host.
"""

import time
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from didact.core.backend import is_sparse, is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.rows import MemoryRows, Rows
from didact.core.threads import one_blas_thread, parallel_map
from didact.core.typing import AnyArray, Array
from didact.engines.gram.smo_loops import KeptRows, WorkingSet
from didact.engines.gram.tuning import (
    CLOSE_PRODUCTS,
    COLUMNS_PER_NUMBER,
    DENSE_ENTRIES,
    GRAM_TILE,
    LEAST_PIECES,
    LOOPED_COLUMNS,
    LOOPED_SUMS,
    MIRRORED,
    TILED_COLUMNS,
)
from didact.kernels.base import Kernel
from didact.kernels.cosines import Cosines
from didact.kernels.distances import Centred, lossless, middle, restore
from didact.kernels.foreign import checked_values
from didact.kernels.gaussian_loops import EVERY, gaussian_sums
from didact.kernels.radial import RBF, in_widths
from didact.kernels.strings import as_strings

MOST_RANK, FACTOR_ENTRIES = 800, 50_000_000  # of a factor of a Gram matrix: 400 MB
LEFT_OVER = 1e-15  # of the trace: what is left of a Gram matrix that is factored
NO_NOISE = 1e-12  # of k(x, x): a difference of two ways to compute it that is rounding
NEARLY = 1e-6  # of the trace: what may be left when the factor has the largest rank


class GivenGram:
    """A given Gram matrix, in the place of a kernel and rows."""

    def __init__(self, K: AnyArray):
        self.K = K


def is_text(X: Any) -> bool:
    """Whether rows are strings, in one column."""
    return isinstance(X, np.ndarray) and X.dtype.kind == "U"


def reads_strings(kernel: Any, X: Any) -> bool:
    """Whether rows are strings: those of a kernel of strings, or what is brought to a function of the user's."""
    if isinstance(kernel, Kernel):
        return not kernel.takes_vectors()
    return callable(kernel) and isinstance(X, (list, tuple, np.ndarray)) and len(X) > 0 and isinstance(X[0], str)


def rows_or_strings(model: Any, X: Any, y: Any = None, sample_weight: Any = None, **how: Any) -> Rows:
    """The data of a kernel model; for a kernel of strings a column of them."""
    if not reads_strings(model.kernel, X):
        return Estimator._rows(model, X, y, sample_weight, **how)
    texts = np.asarray(as_strings(X), str).reshape(-1, 1)
    rows = Estimator._rows(model, np.zeros(texts.shape), y, sample_weight, **how).whole()
    return MemoryRows(texts, *rows[1:], missing=True)


def kernel_block(kernel: Any, A: AnyArray, X: AnyArray) -> AnyArray:
    """k(a_i, x_j) of two sets of rows; a function of the user's is checked, and its values come to where A is."""
    if isinstance(kernel, Kernel):
        return kernel.gram(A, X)
    found = checked_values(kernel(*(M[:, 0] if is_text(M) else M for M in (A, X))), A.shape[0], X.shape[0])
    return found if is_tensor(found) else like(found, A)


def not_finite(rows: Array) -> InputError:
    """What to say of a kernel that gave NaN or infinity for some of these rows."""
    return InputError(
        f"The kernel gave NaN or infinity for row {int(rows[0])} or one of the {len(rows)} rows evaluated with it: "
        "check the kernel function and the scale of X."
    )


def kernel_diagonal(kernel: Any, X: AnyArray) -> Array:
    """k(x, x) of each row, on the host; of a function of the user's from blocks."""
    if isinstance(kernel, GivenGram):
        return np.diag(kernel.K).copy()
    if isinstance(kernel, Kernel):
        return np.array(to_numpy(kernel.diagonal(X)), np.float64)
    blocks = (X[a : a + GRAM_TILE] for a in range(0, X.shape[0], GRAM_TILE))
    return np.concatenate([np.diag(to_numpy(kernel_block(kernel, B, B))) for B in blocks])


def own_noise(kernel: Any, X: AnyArray) -> Array | None:
    """What k(x, x) of each row has beyond k of two equal rows, as white noise gives it; None if it has nothing."""
    if not isinstance(kernel, Kernel):
        return None
    with_noise, without = (to_numpy(kernel.diagonal(X, same)).astype(np.float64) for same in (True, False))
    found = with_noise - without
    return found if (np.abs(found) > NO_NOISE * np.abs(with_noise)).any() else None


def add_noise(K: AnyArray, noise: Array | None, rows: Array, others: Array) -> AnyArray:
    """Values of two sets of rows by number, with the noise that a row has with itself; changes K."""
    if noise is not None:
        i, j = np.nonzero(rows[:, None] == others)
        K[i.tolist(), j.tolist()] += like(noise[rows[i]], K)
    return K


def low_rank_features(kernel: Any, X: AnyArray, variables: int, deadline: float) -> Array | None:
    """Φᵀ (rank, n) with ΦΦᵀ = K by Cholesky steps, each on the row of which most is left; None if the rank is high."""
    left = kernel_diagonal(kernel, X)
    n, least = len(left), LEFT_OVER * left.sum()
    most = min(n, MOST_RANK, FACTOR_ENTRIES // max(variables, 1))
    kept, rank, own, noise, every = np.empty((most, n)), 0, left.copy(), own_noise(kernel, X), np.arange(n)
    while left.sum() > least:
        i = int(left.argmax())
        if rank == most or time.monotonic() > deadline:
            return kept if rank == most and left.sum() <= NEARLY * own.sum() else None
        values = kernel.K[i] if isinstance(kernel, GivenGram) else to_numpy(kernel_block(kernel, X[i : i + 1], X))[0]
        values = add_noise(values[None], noise, every[i : i + 1], every)[0]
        row = values - kept[:rank, i] @ kept[:rank]
        if row[i] > LEFT_OVER * own[i]:
            kept[rank] = row / np.sqrt(row[i])
            left = np.maximum(left - kept[rank] ** 2, 0.0)
            rank += 1
        left[i] = 0.0
    return kept[:rank]


def gram_of(kernel: Any, A: AnyArray, X: AnyArray) -> AnyArray:
    """The Gram matrix of two sets of rows, in tiles on all threads."""
    if is_tensor(A) or not takes_vectors(kernel) or A.shape[0] <= GRAM_TILE:
        return kernel_block(kernel, A, X)
    out = np.empty((A.shape[0], X.shape[0]), A.dtype)
    tiled(lambda a, b: out.__setitem__(slice(a, b), kernel.gram(A[a:b], X)), A.shape[0])
    return out


def square_gram(kernel: Any, X: AnyArray) -> AnyArray:
    """The Gram matrix of rows with themselves: with what depends on being the same row, such as white noise."""
    K, noise, each = gram_of(kernel, X, X), own_noise(kernel, X), list(range(X.shape[0]))
    if noise is not None:
        K[each, each] += like(noise, K)
    return K


def tiled(work: Any, n: int, size: int = GRAM_TILE) -> None:
    """work(begin, end) for pieces of n rows, on all threads; cut by n alone, as products round by the rows in them."""
    pieces = max(-(-n // size), min(LEAST_PIECES, -(-n // 64)))
    edges = np.linspace(0, n, pieces + 1).astype(int).tolist()
    with one_blas_thread:  # also of a single piece: its bits must not depend on what other threads do
        parallel_map(lambda k: work(edges[k], edges[k + 1]), range(pieces))


def images(
    kernel: Any, A: AnyArray, X: AnyArray, coef: Array, dtype: Any = np.float64, own: Array | None = None
) -> Array:
    """K(A, X)·coef on the host, without the whole matrix: tiles of A are multiplied as they are made.

    `own` are the numbers of the rows X in A, if they are there: white noise is of these.
    """
    columns = A.shape[-1] + isinstance(kernel, Cosines)  # a phase stands behind each frequency
    if len(coef) != X.shape[0] or (isinstance(kernel, Kernel) and X.shape[-1] != columns):
        raise InputError(
            f"Rows of {A.shape[1:]} columns are compared with {X.shape[0]} rows of {X.shape[1:]} that have {len(coef)} "
            "coefficients: these do not belong together. Fit the model anew."
        )
    A, X = readable(kernel, dtype, A, X)
    weights = like(coef, A) if is_tensor(A) else coef
    if isinstance(kernel, RBF) and isinstance(A, np.ndarray) and A.size * len(X) <= CLOSE_PRODUCTS:
        return np.asarray(close_values(kernel, A, X) @ coef)
    fast = exponents(kernel, A, X, dtype) if isinstance(kernel, RBF) and isinstance(A, np.ndarray) else None
    looped = looped_rows(*fast) if fast is not None and coef.size <= LOOPED_SUMS * len(coef) else None
    if looped is not None:
        if own is not None and MIRRORED[0] <= len(own) <= MIRRORED[1]:
            return mirrored_sums(*looped, coef, own)
        return gaussian_sums(*looped, coef)
    out = np.empty((A.shape[0], *coef.shape[1:]))

    def piece(a: int, b: int) -> None:
        K = kernel_block(kernel, A[a:b], X) if fast is None else gaussian_values(fast[0][a:b], fast[1])
        out[a:b] = to_numpy(K @ weights)

    if not isinstance(kernel, Kernel):
        piece(0, A.shape[0])
    else:
        tiled(piece, A.shape[0], max(64, min(4 * GRAM_TILE, (1 << 19) // max(X.shape[0], 1))))
    if own is not None and (noise := own_noise(kernel, X)) is not None:
        out[own] += noise * coef
    return out


def mirrored_sums(left: Array, places: Array, right: Array, coef: Array, own: Array) -> Array:
    """`gaussian_sums` where the columns are some of the rows: what two of these have in common is computed once."""
    u, others = np.empty(len(left)), np.delete(np.arange(len(left)), own)
    for rows, same in ((own, True), (others, False)):
        u[rows] = gaussian_sums(left[rows], places[rows] if len(places) else places, right, coef, same)
    return u


def readable(kernel: Any, dtype: Any, *sets: AnyArray) -> list[AnyArray]:
    """Sets of rows, as arrays if they are sparse and few, and float32 arrays in the precision that is asked for.

    A function of the user's gets what the user brought.
    """
    if not isinstance(kernel, Kernel):
        return list(sets)
    few = all(is_sparse(X) and X.shape[0] * X.shape[1] <= DENSE_ENTRIES for X in sets)
    dense = [X.toarray() if few else X for X in sets]
    return [X.astype(dtype) if isinstance(X, np.ndarray) and X.dtype == np.float32 else X for X in dense]


def exponents(kernel: RBF, A: Array, X: Array, dtype: Any = np.float64) -> tuple[Array, Array]:
    """Rows a' and x' whose inner products are the logarithms of a Gaussian kernel, about a centre as `centred` has."""
    A, X = (in_widths(np.asarray(M, np.float64), kernel.width) for M in (A, X))
    # What is zero in most rows stays so: its products are left out.
    centre = np.where(2 * np.count_nonzero(X, axis=0) > len(X), X.mean(axis=0), 0.0)
    about, halves = _halves(A, X, centre)
    if not lossless(*(-2.0 * half for half in halves)):
        about, halves = _halves(A, X, middle(X))
    A, X = about
    left = np.column_stack([halves[0], np.ones(len(A)), A])
    right = np.column_stack([np.ones(len(X)), halves[1], X])
    return left.astype(dtype, copy=False), right.astype(dtype, copy=False)


def _halves(A: Array, X: Array, centre: Array) -> tuple[tuple[Array, Array], list[Array]]:
    """Rows about a centre, and −½ of their squared lengths."""
    A, X = A - centre, X - centre
    return (A, X), [-0.5 * np.einsum("ij,ij->i", M, M) for M in (A, X)]


def looped_rows(left: Array, right: Array) -> tuple[Array, Array, Array] | None:
    """Such rows as loops take them, and places, the second turned; None if they are wide, or products overflow."""
    if not len(left) or not len(right):
        return None
    columns = left.shape[1]
    counts = np.count_nonzero(left, axis=1)
    few = -(-int(counts.max()) // 4) * 4
    sparse = COLUMNS_PER_NUMBER * few <= columns <= TILED_COLUMNS
    sparse = sparse and lossless(-2.0 * left[:, 0], -2.0 * right[:, 1])  # differences need all numbers
    wide = few if sparse else -(-columns // 4) * 4
    largest = max(float(np.abs(M[:, 2:]).max(initial=0.0)) for M in (left, right))
    if wide > LOOPED_COLUMNS or not largest < np.sqrt(float(np.finfo(left.dtype).max) / 4 / wide):
        return None
    rows, turned = np.zeros((len(left), wide), left.dtype), np.zeros((max(wide, columns), len(right)), left.dtype)
    turned[:columns] = right.T
    if not sparse:
        rows[:, :columns] = left
        return rows, EVERY, turned
    which, where = np.nonzero(left)
    there = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.zeros(rows.shape, np.int32)
    rows[which, there], places[which, there] = left[which, where], where
    return rows, places, turned


def gaussian_values(left: Array, right: Array) -> Array:
    """The values of a Gaussian kernel from such rows."""
    found = left @ right.T
    np.minimum(found, 0.0, out=found)
    A, X, a, x = left[:, 2:], right[:, 2:], -2.0 * left[:, 0], -2.0 * right[:, 1]
    restore(found, Centred(X=A, Z=X, x=a, z=x, given=(A, X), lossless=lossless(a, x)), -0.5)
    return np.exp(found, out=found)


def close_values(kernel: RBF, A: Array, X: Array) -> Array:
    """The values of a Gaussian kernel for few rows."""
    if isinstance(kernel.width, tuple):
        return np.exp(-0.5 * cdist(in_widths(A, kernel.width), in_widths(X, kernel.width), "sqeuclidean"))
    return np.exp(cdist(A, X, "sqeuclidean") * (-0.5 / kernel.width / kernel.width))


class GramRows:
    """Rows k(x_i, ·) for all active x, in the slots of a cache that `smo_loops` hands out."""

    def __init__(
        self, kernel: Any, X: Any, dtype: Any, megabytes: float, working: int, memory: Any = None, pair: Any = None
    ):  # fmt: skip
        (X,) = readable(kernel, dtype, X)
        self.kernel, self.X, self.n = kernel, X, X.shape[0]
        gaussian = pair is None and isinstance(kernel, RBF) and isinstance(X, np.ndarray)
        self.pair = exponents(kernel, X, X, dtype) if gaussian else pair
        self.on_device, self.noise = is_tensor(X), None if self.pair is not None else own_noise(kernel, X)
        size = int(megabytes * 2**20 / np.dtype(dtype).itemsize) if memory is None else memory.size
        capacity = int(min(self.n, max(size // max(self.n, 1), 2 * working if memory is None else 0)))
        looped = None if self.pair is None else looped_rows(*self.pair)
        none = np.empty((0, 0), dtype)
        left, places, right = (none, EVERY, none) if looped is None else looped
        shape = (capacity, self.n)
        if self.on_device:
            self.table: Any = namespace(X).empty(shape, dtype=X.dtype, device=X.device)
        else:
            memory = np.empty(capacity * self.n, dtype) if memory is None else memory.reshape(-1)
            self.table = memory[: capacity * self.n].reshape(shape)
        self.kept = KeptRows(
            table=np.empty((0, 0), dtype) if self.on_device else self.table,
            row_of=np.full(capacity, -1),
            slot_of=np.full(self.n, -1),
            again=np.zeros(capacity, np.int8),
            left=left,
            places=places,
            right=right,
        )

    def opened(self, working: int, touched: int) -> int:
        """Slots to begin with where so many numbers of the memory are in use: all, if no loop makes rows quickly."""
        capacity = len(self.kept.row_of)
        return min(capacity, max(2 * working, touched // self.n)) if len(self.kept.left) else capacity

    def fill(self, rows: Array, slots: Array) -> None:
        """Compute rows into slots of the cache, where no loop does it."""
        finite = []
        given, chosen = isinstance(self.kernel, GivenGram), rows.tolist() if self.on_device else rows

        def values(a: int, b: int) -> None:
            if self.pair is not None:
                tile = gaussian_values(self.pair[0][rows], self.pair[1][a:b])
            elif given:
                tile = self.kernel.K[rows, a:b]
            else:
                tile = kernel_block(self.kernel, self.X[chosen], self.X[a:b])
                tile = add_noise(tile, self.noise, rows, np.arange(a, b))
            self.table[slots.tolist() if self.on_device else slots, a:b] = tile
            finite.append(bool(np.isfinite(float(tile.sum()))))

        if not self.on_device and (given or self.pair is not None or takes_vectors(self.kernel)):
            tiled(values, self.n, 4 * GRAM_TILE)
        else:
            values(0, self.n)
        if not all(finite):
            raise not_finite(rows)

    def collect(self, chosen: WorkingSet, size: int) -> None:
        """Bring the matrix of a working set from a device."""
        slots, rows = chosen.slots[:size].tolist(), chosen.rows[:size].tolist()
        chosen.K[:size, :size] = to_numpy(self.table[slots][:, rows])

    def add(self, slots: Array, weights: Array, u: Array) -> None:
        """u += weights · rows, on a device."""
        u += to_numpy(like(weights, self.X) @ self.table[slots.tolist()])

    def some(self, keep: Array, megabytes: float, working: int) -> "GramRows":
        """The rows of fewer active x, of which none are known yet; in the memory that is there."""
        X, kernel = self.X[keep.tolist()] if self.on_device else self.X[keep], self.kernel
        if isinstance(kernel, GivenGram):
            X = kernel.K[np.ix_(keep, keep)]
            kernel = GivenGram(X)
        memory = None if self.on_device else self.table
        pair = None if self.pair is None else tuple(M[keep] for M in self.pair)
        return GramRows(kernel, X, self.kept.table.dtype, megabytes, working, memory, pair)


def takes_vectors(kernel: Any) -> bool:
    """Whether a kernel is one of the library's that is evaluated on parts of the rows."""
    return isinstance(kernel, Kernel) and kernel.takes_vectors()
