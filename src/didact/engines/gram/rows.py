"""Rows of a Gram matrix on demand: computed by matrix products in tiles on all threads, and kept in a bounded cache.

A Gaussian kernel is one product and one exponential: with x' = ((x − mean)/w, −|x|²/2, 1) and z' = (z/w, 1, −|z|²/2),
log k(x, z) = x'·z'. Others go through `Kernel.gram`. Tensors are computed on their device, and only what the solver
reads (the block of a working set, products with a vector) comes to the host.
"""

from typing import Any

import numpy as np

from didact.core.backend import is_sparse, is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError
from didact.core.threads import parallel_map, thread_count
from didact.core.typing import AnyArray, Array
from didact.engines.gram.smo_loops import add_rows
from didact.engines.gram.tuning import DENSE_ENTRIES, GRAM_TILE, UPDATE_PIECE
from didact.kernels.base import Kernel
from didact.kernels.radial import RBF, in_widths


class GivenGram:
    """A given Gram matrix, in the place of a kernel and rows."""

    def __init__(self, K: AnyArray):
        self.K = K


def is_text(X: Any) -> bool:
    """Whether rows are strings, in one column."""
    return isinstance(X, np.ndarray) and X.dtype.kind == "U"


def kernel_block(kernel: Any, A: AnyArray, X: AnyArray) -> AnyArray:
    """k(a_i, x_j) of two sets of rows; a function of the user's is checked."""
    if isinstance(kernel, Kernel):
        return kernel.gram(A, X)
    found = kernel(*(M[:, 0] if is_text(M) else M for M in (A, X)))
    if is_sparse(found):
        found = found.toarray()
    found = found if is_tensor(found) else np.asarray(found, np.float64)
    if found.shape != (A.shape[0], X.shape[0]):
        raise InputError(
            f"The kernel function returned shape {tuple(found.shape)} for {A.shape[0]} and {X.shape[0]} rows: it has "
            f"to return ({A.shape[0]}, {X.shape[0]})."
        )
    return found


def gram_of(kernel: Any, A: AnyArray, X: AnyArray) -> AnyArray:
    """The Gram matrix of two sets of rows, in tiles on all threads."""
    if is_tensor(A) or not isinstance(kernel, Kernel) or not kernel.takes_vectors() or A.shape[0] <= GRAM_TILE:
        return kernel_block(kernel, A, X)
    out = np.empty((A.shape[0], X.shape[0]), A.dtype)
    tiled(lambda a, b: out.__setitem__(slice(a, b), kernel.gram(A[a:b], X)), A.shape[0])
    return out


def tiled(work: Any, n: int, size: int = GRAM_TILE) -> None:
    """work(begin, end) for pieces of n rows, on all threads."""
    pieces = max(-(-n // size), min(thread_count(), -(-n // 64)))
    edges = np.linspace(0, n, pieces + 1).astype(int).tolist()
    parallel_map(lambda k: work(edges[k], edges[k + 1]), range(pieces))


def images(kernel: Any, A: AnyArray, X: AnyArray, coef: Array) -> Array:
    """K(A, X)·coef on the host, without the whole matrix: tiles of A are multiplied as they are made."""
    A, X = few_as_dense(kernel, A, X)
    weights = like(coef, A) if is_tensor(A) else coef
    out = np.empty((A.shape[0], *coef.shape[1:]))
    fast = exponents(kernel, A, X) if isinstance(kernel, RBF) and isinstance(A, np.ndarray) else None

    def piece(a: int, b: int) -> None:
        K = kernel_block(kernel, A[a:b], X) if fast is None else gaussian_values(fast[0][a:b], fast[1])
        out[a:b] = to_numpy(K @ weights)

    if not isinstance(kernel, Kernel):
        piece(0, A.shape[0])
    else:
        tiled(piece, A.shape[0], max(64, min(4 * GRAM_TILE, (1 << 19) // max(X.shape[0], 1))))
    return out


def few_as_dense(kernel: Any, *sets: AnyArray) -> list[AnyArray]:
    """Sets of rows, as arrays if they are sparse and few; a function of the user's gets what the user brought."""
    few = isinstance(kernel, Kernel) and all(is_sparse(X) and X.shape[0] * X.shape[1] <= DENSE_ENTRIES for X in sets)
    return [X.toarray() if few else X for X in sets]


def exponents(kernel: RBF, A: Array, X: Array, dtype: Any = np.float64) -> tuple[Array, Array]:
    """Rows a' and x' whose inner products are the logarithms of a Gaussian kernel."""
    A, X = (in_widths(np.asarray(M, np.float64), kernel.width) for M in (A, X))
    centre = X.mean(axis=0)
    A, X = A - centre, X - centre
    halves = [-0.5 * np.einsum("ij,ij->i", M, M) for M in (A, X)]
    left = np.column_stack([A, halves[0], np.ones(len(A))])
    right = np.column_stack([X, np.ones(len(X)), halves[1]])
    return left.astype(dtype, copy=False), right.astype(dtype, copy=False)


def gaussian_values(left: Array, right: Array) -> Array:
    """The values of a Gaussian kernel from such rows."""
    found = left @ right.T
    np.minimum(found, 0.0, out=found)
    return np.exp(found, out=found)


class GramRows:
    """Rows k(x_i, ·) for all active x, by number, kept until the cache is full: the oldest go first."""

    def __init__(self, kernel: Any, X: Any, dtype: Any, megabytes: float, working: int):
        self.kernel, self.dtype = kernel, dtype
        self.n = X.shape[0]
        (self.X,) = (X,) = few_as_dense(kernel, X)
        self.left: Any = None
        self.right: Any = None
        if isinstance(kernel, RBF) and not is_sparse(X) and not is_tensor(X):
            self.left, self.right = exponents(kernel, X, X, dtype)
        size = int(megabytes * 2**20 / (np.dtype(dtype).itemsize * max(self.n, 1)))
        self.capacity = int(min(self.n, max(size, 2 * working)))
        self.cache: Any = None
        self.row_of = np.empty(0, np.int64)  # slot -> row
        self.slot_of = np.full(self.n, -1)  # row -> slot
        self.used = np.empty(0, np.int64)
        self.clock = 0

    def slots(self, rows: Array) -> Array:
        """Where the cache holds these rows, after those that are missing are computed."""
        self.clock += 1
        if self.cache is None:
            self._allocate()
        missing = rows[self.slot_of[rows] < 0]
        if len(missing):
            self.used[self.slot_of[rows[self.slot_of[rows] >= 0]]] = self.clock
            free = np.argpartition(self.used, len(missing) - 1)[: len(missing)]
            gone = self.row_of[free]
            self.slot_of[gone[gone >= 0]] = -1
            self._fill(missing, free)
            self.row_of[free], self.slot_of[missing] = missing, free
        found = self.slot_of[rows]
        self.used[found] = self.clock
        return found

    def _allocate(self) -> None:
        shape = (self.capacity, self.n)
        if is_tensor(self.X):
            self.cache = namespace(self.X).empty(shape, dtype=self.X.dtype, device=self.X.device)
        else:
            self.cache = np.empty(shape, self.dtype)
        self.row_of, self.used = np.full(self.capacity, -1), np.full(self.capacity, -1)

    def _fill(self, rows: Array, slots: Array) -> None:
        """Compute rows into slots of the cache."""
        if isinstance(self.kernel, GivenGram):
            self.cache[slots] = self.kernel.K[rows]
        elif is_tensor(self.X):
            self.cache[slots.tolist()] = kernel_block(self.kernel, self.X[rows.tolist()], self.X)
        elif self.left is not None:
            left = self.left[rows]

            def gaussian(a: int, b: int) -> None:
                self.cache[slots, a:b] = gaussian_values(left, self.right[a:b])

            tiled(gaussian, self.n, 4 * GRAM_TILE)
        elif isinstance(self.kernel, Kernel) and self.kernel.takes_vectors():
            chosen = self.X[rows]

            def values(a: int, b: int) -> None:
                self.cache[slots, a:b] = self.kernel.gram(chosen, self.X[a:b])

            tiled(values, self.n, 4 * GRAM_TILE)
        else:
            self.cache[slots] = kernel_block(self.kernel, self.X[rows], self.X)
        self._check(rows, slots)

    def _check(self, rows: Array, slots: Array) -> None:
        totals = [self.cache[k].sum() for k in slots.tolist()]
        if not all(np.isfinite(float(total)) for total in totals):
            raise InputError(
                f"The kernel gave NaN or infinity for row {int(rows[0])} or one of the {len(rows)} rows evaluated with "
                "it: check the kernel function and the scale of X."
            )

    def square(self, slots: Array, rows: Array) -> Array:
        """The Gram matrix of cached rows with each other, on the host."""
        if is_tensor(self.cache):
            return np.ascontiguousarray(to_numpy(self.cache[slots.tolist()][:, rows.tolist()]).astype(np.float64))
        return self.cache[np.ix_(slots, rows)].astype(np.float64)

    def add(self, slots: Array, weights: Array, u: Array) -> None:
        """u += weights · rows."""
        if is_tensor(self.cache):
            u += to_numpy(like(weights, self.X) @ self.cache[slots.tolist()])
        elif len(slots) * self.n < UPDATE_PIECE:
            add_rows(self.cache, slots, weights, 0, self.n, u)
        else:
            tiled(lambda a, b: add_rows(self.cache, slots, weights, a, b, u), self.n, 4 * GRAM_TILE)

    def some(self, keep: Array, megabytes: float, working: int) -> "GramRows":
        """The rows of fewer active x; what is cached stays."""
        X = self.X[keep.tolist()] if is_tensor(self.X) else (self.X[keep] if self.X is not None else None)
        kernel = GivenGram(self.kernel.K[np.ix_(keep, keep)]) if isinstance(self.kernel, GivenGram) else self.kernel
        return GramRows(kernel, X if not isinstance(kernel, GivenGram) else kernel.K, self.dtype, megabytes, working)
