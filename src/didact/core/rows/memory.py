"""Rows in memory: cut into cache-sized blocks, reduced on the library's thread pool.

The cuts depend on the shape of the data alone, never on the number of threads, and pieces are merged in order: the
result is the same, bit for bit, for any number of threads.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from didact.core.backend import is_sparse, is_tensor, namespace
from didact.core.errors import InputError
from didact.core.overflow import all_finite, listed, refuse_extreme
from didact.core.rows.base import Block, Rows, S, merge_two, target_shape
from didact.core.sparse import row_slice
from didact.core.threads import parallel_map

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

BLOCK_ROWS = 2048  # with a few dozen float64 columns a block fits into the L2 cache
PIECES = 32  # at most this many independent pieces of work
JOINED_ROWS, JOINED_ENTRIES = 25_000, 1 << 21  # rough size of a piece for `in_pieces` functions, given eight or more
COLUMN_ROWS = 1 << 18  # rows of a piece for `column_pass` functions
SPARSE_PIECES = 16  # fewer, as sparse rows can have very many columns and each piece holds sums of all of them
PIECE_ENTRIES = 400_000  # entries of sparse rows that are worth a task
WIDE_ROWS = 1000  # from this many columns on, BLAS uses the cores better than independent blocks do
TASK, MOST_TASKS = 1 << 19, 64  # numbers that a compiled pass reads in one piece; pieces, unless they would be long
LIGHT_TASK, MOST_LIGHT = 1 << 18, 128  # the same where a piece returns few numbers: threads end nearly together
TENSOR_BYTES = 1 << 30  # of a tensor handled at once: bounds the temporaries on a GPU

F = TypeVar("F", bound=Callable[..., Any])


class MemoryRows(Rows):
    """The columns of a `Block`, in memory."""

    n_rows: int

    def __init__(
        self, X: Any, *columns: Any, names: Sequence[str] | None = None, missing: bool = False, numeric: bool = False
    ):
        self.columns = Block(X, *columns)
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.is_sparse, self.on_device = is_sparse(X), is_tensor(X)
        self.dtype = X.dtype
        self.y_ndim, self.n_targets = target_shape(self.columns.y)
        self.names, self.missing, self.numeric = names, missing, numeric
        self._blocks: dict[tuple[int, int], Block] = {}

    def reduce(self, fn: Callable[..., S], *args: Any) -> S:
        """One pass, on the library's threads."""

        def summarize(piece: list[int]) -> S:
            return reduce(merge_two, (fn(self._block(a, b), *args) for a, b in pairwise(piece)))

        bare = getattr(fn, "func", fn)  # of a `partial`
        pieces = self._pieces
        if getattr(bare, "takes_pieces", False):
            pieces = _joined(self.X, pieces)
        elif getattr(bare, "takes_columns", False) and isinstance(self.X, np.ndarray):  # sparse slices are kept
            edges = [*range(0, self.n_rows, COLUMN_ROWS), self.n_rows]
            pieces = [[a, b] for a, b in pairwise(edges)] if self.n_rows else pieces
        with np.errstate(all="ignore"):  # what is not finite is reported below, in words
            if getattr(bare, "takes_all", False):
                total = fn(self._whole, *args)
            else:
                total = reduce(merge_two, parallel_map(summarize, pieces))
        # A NaN in the input makes the sums NaN, so no separate pass has to look for it.
        if not self.missing and not all_finite(total):
            refuse_non_finite(self.X, self.names)
        return total

    @cached_property
    def _pieces(self) -> list[list[int]]:
        return _cut(self.X)

    @cached_property
    def _whole(self) -> Block:
        """The columns; X in an order that loops can read, so that not every pass has to copy it."""
        X = self.X
        if not isinstance(X, np.ndarray) or (X.itemsize in X.strides and min(X.strides) > 0):
            return self.columns
        return self.columns._replace(X=np.ascontiguousarray(X))

    def _block(self, start: int, stop: int) -> Block:
        if not self.is_sparse:
            return Block._make([None if c is None else c[start:stop] for c in self.columns])
        if (start, stop) not in self._blocks:  # slices are cached, as every pass needs them
            self._blocks[start, stop] = self.columns.each(row_slice, start, stop)
        return self._blocks[start, stop]

    def prepared(self, fn: Callable[..., Block], *args: Any) -> "MemoryRows":
        """Rows with the columns fn(block, *args), computed at once from a block of all rows."""
        return MemoryRows(*fn(self.columns, *args), **self.how())

    def stream(self) -> Iterator[Block]:
        """All rows, as one block."""
        yield self.columns

    def map(self, fn: Callable[..., Any], *args: Any) -> Any:
        """fn(X, *args)."""
        with np.errstate(all="ignore"):
            if not self.missing and not finite_sum(self.X):  # a NaN does not show in predicted labels: check X
                refuse_non_finite(self.X, self.names)
            try:
                found = fn(self.X, *args)
            except (ArithmeticError, np.linalg.LinAlgError):
                refuse_extreme(self.X, self.names)
                raise
            if (
                isinstance(found, np.ndarray)
                and found.dtype.kind == "f"
                and not finite_sum(found)
                and (np.isnan(found).any() or (self.numeric and np.isinf(found).any()))
            ):
                refuse_extreme(self.X, self.names)
            return found

    def whole(self) -> Block:
        """The columns as they are."""
        return self.columns

    @property
    def memory(self) -> "MemoryRows":
        """The rows themselves."""
        return self

    def only(self, wanted: Callable[[Any], Any]) -> "MemoryRows":
        """The rows for which wanted(X) is true."""
        chosen = wanted(self.X)
        return self if chosen.all() else self.some(chosen)

    def thinned(self, step: int) -> "MemoryRows":
        """Every step-th row: a subsample from which a solver can find its starting point."""
        X, *others = self.columns.each(lambda column: column[::step])
        # Numbers of rows lie together then, so that not every pass has to copy them; rows of X are long enough.
        return MemoryRows(
            X, *(np.ascontiguousarray(c) if isinstance(c, np.ndarray) else c for c in others), **self.how()
        )

    def some(self, index: Any) -> "MemoryRows":
        """The rows that an index selects."""
        return MemoryRows(*self.columns.each(lambda column: column[index]), **self.how())


def in_pieces(fn: F) -> F:
    """Mark a block function that can take large blocks, because it works in tiles of a few rows by itself."""
    fn.takes_pieces = True  # type: ignore[attr-defined]
    return fn


def column_pass(fn: F) -> F:
    """Mark a block function that reads only y and the weights: some milliseconds for millions of rows.

    Among many threads they would go by in waiting for the interpreter lock.
    """
    fn.takes_columns = True  # type: ignore[attr-defined]
    return fn


def compiled_pass(fn: F) -> F:
    """Mark a block function that takes all rows at once, because it shares them among threads in compiled code."""
    fn.takes_all = True  # type: ignore[attr-defined]
    return fn


def block_by_block(fn: Callable[..., S], block: Block, *args: Any) -> S:
    """fn of a large block by blocks of the usual size, for a `compiled_pass` that has no loop for it."""
    return MemoryRows(*block, missing=True).reduce(fn, *args)


def pass_edges(X: Any, work: int, square: bool = False, light: int = 0) -> Any:
    """Rows at which the pieces of a compiled pass begin and end; `work` says how dear a number of X is.

    A piece takes about a third of a millisecond or, of many rows, up to some ten. If the result is `square`, with a
    number for each pair of columns, a piece has so many rows that it is not larger. If it is `light`, just so many
    numbers for each column, there are more pieces.
    """
    n, p = X.shape
    if is_sparse(X):
        number = min(max(X.nnz // PIECE_ENTRIES, 1), SPARSE_PIECES)
    else:
        task, most = (LIGHT_TASK, MOST_LIGHT) if light else (TASK, MOST_TASKS)
        tasks, longest = n * max(p, 1) * work // task + 1, MOST_TASKS * TASK // task
        number = min(max(min(tasks, most), tasks // longest), n // max(64, 64 * light, square * work * p) + 1)
    return n * np.arange(number + 1) // number


def _cut(X: Any) -> list[list[int]]:
    """The pieces of work, each a list of the row numbers at which its blocks begin and end."""
    n, p = X.shape
    if is_tensor(X):
        step = max(BLOCK_ROWS, TENSOR_BYTES // max(p * X.element_size(), 1))
    elif is_sparse(X):
        step = max(BLOCK_ROWS, -(-n // min(max(X.nnz // PIECE_ENTRIES, 4), SPARSE_PIECES)))
    else:
        step = max(BLOCK_ROWS, 8 * p)
    edges = [*range(0, max(n, 1), step), n]
    blocks = len(edges) - 1
    pieces = 1 if is_tensor(X) or (p >= WIDE_ROWS and not is_sparse(X)) else min(PIECES, blocks)
    return [edges[a : b + 1] for a, b in pairwise(np.linspace(0, blocks, pieces + 1).astype(int))]


def _joined(X: Any, pieces: list[list[int]]) -> list[list[int]]:
    """Fewer pieces of one block each, for `in_pieces`: a statistic costs as much as some thousand rows."""
    n, p = X.shape
    number = PIECES if is_sparse(X) else 8
    while number < PIECES and (n >= 2 * number * JOINED_ROWS or n * p > number * JOINED_ENTRIES):
        number *= 2
    cuts = np.linspace(0, len(pieces), min(number, len(pieces)) + 1).astype(int)
    return [[pieces[a][0], pieces[b - 1][-1]] for a, b in pairwise(cuts)]


def finite_sum(X: Any) -> bool:
    """Whether the sum of all entries is finite, which implies that all entries are; large arrays use all threads."""
    data = X.data if is_sparse(X) else X
    with np.errstate(all="ignore"):
        if is_tensor(data) or data.size < 2 * PIECE_ENTRIES:
            return all_finite(data.sum())
        parts = np.array_split(data, min(data.size // PIECE_ENTRIES, PIECES))
        return all_finite(sum(parallel_map(lambda part: part.sum(), parts)))


def memory_limit() -> int:
    """Bytes that this process may use at most: the machine's memory, or less where a limit is set."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 34
    if resource is None:
        return machine
    own = resource.getrlimit(resource.RLIMIT_AS)[0]
    return machine if own == resource.RLIM_INFINITY else min(machine, own)


def refuse_square(p: int, instead: str, matrices: int = 3) -> None:
    """Refuse p columns, or rows, if so many p × p matrices exceed the memory; `instead` tells the user what to do."""
    what = f"{'1 matrix' if matrices == 1 else f'{matrices} matrices'} of {p} × {p} numbers"
    refuse_numbers(matrices * p * p, what, instead)


def refuse_numbers(count: int, what: str, instead: str) -> None:
    """Refuse a task that needs so many numbers if they exceed the memory."""
    if 8 * count > memory_limit():
        raise InputError(
            f"These data need {what} that take {8 * count / 2**30:.0f} GiB, more than this process may use: {instead}."
        )


def refuse_infinite(X: Any, names: Sequence[str] | None) -> None:
    """Raise an error that names the columns of X with infinite values, if there are any; NaN passes."""
    if not finite_sum(X) and np.isinf(X.data if is_sparse(X) else X).any():
        where = X.tocoo().col[np.isinf(X.tocoo().data)] if is_sparse(X) else np.flatnonzero(np.isinf(X).any(axis=0))
        raise InputError(f"Input X contains infinity or a value too large for its type, in {listed(where, names)}.")


def require_finite(X: Any, names: Sequence[str] | None) -> None:
    """Refuse rows with NaN or infinite values, and name their columns."""
    if not finite_sum(X):
        refuse_non_finite(X, names)


def refuse_non_finite(X: Any, names: Sequence[str] | None) -> None:
    """Raise an error that names the columns of X with NaN or infinite values, if there are any."""
    if is_sparse(X):
        coo = X.tocoo()
        bad = np.bincount(coo.col[~np.isfinite(coo.data)], minlength=X.shape[1])
        missing = bool(np.isnan(coo.data).any())
    else:
        xp = namespace(X)
        bad = np.asarray([int(xp.sum(xp.astype(~xp.isfinite(X[:, j]), xp.int64))) for j in range(X.shape[1])])
        missing = bool(xp.any(xp.isnan(X)))
    where = np.flatnonzero(bad)
    if not len(where):
        return
    columns = listed(where, names)
    if missing:
        raise InputError(
            f"Input X contains NaN: {int(bad.sum())} missing or infinite value(s) in {columns}. "
            "Fill them first, for example with didact.impute.SimpleImputer in a pipeline, or drop those rows."
        )
    raise InputError(f"Input X contains infinity or a value too large for its type, in {columns}.")
