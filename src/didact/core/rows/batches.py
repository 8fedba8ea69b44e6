"""Rows that do not fit in memory: a source of batches that can be opened again for every pass.

A batch is X, (X, y) or (X, y, sample_weight), where X is an array, a sparse matrix or a data frame; for a generalized
linear model, (X, y, sample_weight, offset). The next batch is read and copied on a separate thread while the current
one is in use. `Seen` compares every batch and every pass with the first.
"""

import pickle
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from didact.core.backend import is_sparse, is_tensor
from didact.core.errors import InputError, need
from didact.core.frames import is_arrow
from didact.core.rows.base import NO_WEIGHT, Block, Rows, S, has_weight, merge_two, target_shape
from didact.core.rows.memory import MemoryRows
from didact.core.sparse import check_sparse

EMPTY_SOURCE = "The source of batches is empty: it yielded no rows (found 0 sample(s))."
BATCH_ROWS = 1 << 16
READ_BYTES = 1 << 20  # of each column that Arrow reads at a time; its default buffers whole column chunks


class Batches:
    """A source of batches of rows that reopens for each pass over the data.

    Parameters
    ----------
    open : callable
        Called without arguments before each pass; returns an iterable of batches, each X, (X, y) or
        (X, y, sample_weight). Every call must yield the same rows in the same order; a batch may reuse the memory of
        the one before.

    Notes
    -----
    Memory use is a few batches plus what the model keeps, whatever the number of rows. A batch whose number of columns
    or targets, float type or kind of labels differs from the first is refused, and so is a pass with more or fewer rows
    than the one before.

    Examples
    --------
    >>> import numpy as np
    >>> from didact import Batches
    >>> from didact.linear_model import LinearRegression
    >>> def read():
    ...     for k in range(3):
    ...         X = np.arange(10.0 * k, 10.0 * k + 10)[:, None]
    ...         yield X, 2 * X[:, 0] + 1
    >>> LinearRegression().fit(Batches(read)).coef_.round(6)
    array([2.])
    """

    def __init__(self, open: Callable[[], Iterable[Any]]):
        if not callable(open):
            raise InputError("Batches takes a function that opens the source anew, e.g. Batches(lambda: read(path)).")
        self.open = open
        self.fresh = False  # whether every batch is known to own its memory, and need not be copied
        self._last: Any = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.opened())

    def opened(self) -> Iterable[Any]:
        """The source, opened anew; the iterator of an earlier pass is refused, as it is exhausted."""
        source = self.open()
        if isinstance(source, Iterator) and source is self._last:
            raise InputError(
                "open() returned the same iterator twice: it must open the source anew on every call, as in "
                "Batches(read) for a generator function read."
            )
        self._last = source
        return source

    def map(self, fn: Callable[[Any], Any]) -> "Batches":
        """Batches of fn(X), computed lazily; batches without rows are skipped."""

        def results() -> Iterator[Any]:
            columns = (batch_columns(batch)[0] for batch in self.ahead())
            return (fn(X) for X in columns if X.shape[0])

        return Batches(results)

    def ahead(self) -> Iterator[Any]:
        """One pass with prefetching: each batch is read and copied while the one before is in use."""
        return _ahead(self.opened, _as_it_is if self.fresh else _copied)

    @classmethod
    def _of_files(cls, read: Callable[[], Iterable[Any]]) -> "Batches":
        new = cls(read)
        new.fresh = True
        return new

    @classmethod
    def from_parquet(
        cls,
        path: Any,
        target: str | Sequence[str] | None = None,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> "Batches":
        """Batches of one Parquet file or of several (a list, or a folder), read a few row groups at a time.

        Page checksums, if a file has them, are verified: corrupt data raise an error instead of giving wrong numbers.
        """
        parquet = need("pyarrow.parquet", "study")
        wanted = _wanted(columns, target, sample_weight)
        how = {"pre_buffer": False, "buffer_size": READ_BYTES, "page_checksum_verification": True}

        def read() -> Iterator[Any]:
            for file in _files(path, "*.parquet"):
                with parquet.ParquetFile(file, **how) as source:
                    for batch in source.iter_batches(batch_rows, columns=wanted, use_threads=False):
                        yield _split_table(batch, target, sample_weight)

        return cls._of_files(read)

    @classmethod
    def from_csv(
        cls,
        path: Any,
        target: str | Sequence[str] | None = None,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        batch_bytes: int = 1 << 24,
    ) -> "Batches":
        """Batches of one CSV file or of several; column types come from each file's first batch."""
        csv = need("pyarrow.csv", "study")
        wanted = _wanted(columns, target, sample_weight)

        def read() -> Iterator[Any]:
            for file in _files(path, "*.csv"):
                options = csv.ConvertOptions(include_columns=wanted or [])
                with csv.open_csv(file, csv.ReadOptions(block_size=batch_bytes), convert_options=options) as source:
                    for batch in source:
                        yield _split_table(batch, target, sample_weight)

        return cls._of_files(read)

    @classmethod
    def from_arrow(
        cls,
        path: Any,
        target: str | Sequence[str] | None = None,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> "Batches":
        """Batches of one Arrow IPC (Feather) file or of several, one per record batch, memory-mapped."""
        arrow = need("pyarrow", "study")
        wanted = _wanted(columns, target, sample_weight)

        def read() -> Iterator[Any]:
            for file in _files(path, "*.arrow"):
                with arrow.memory_map(str(file)) as mapped:
                    source = arrow.ipc.open_file(mapped)
                    for k in range(source.num_record_batches):
                        batch = source.get_batch(k)
                        yield _split_table(batch.select(wanted) if wanted else batch, target, sample_weight)

        return cls._of_files(read)


class BatchRows(Rows):
    """Rows of a `Batches` source; every batch is validated as it arrives and then reduced as rows in memory."""

    def __init__(self, source: Batches, check: Callable[..., Block]):
        self.source = source
        self.check = check
        self.then: Callable[[Block], Block] | None = None
        self.seen = Seen()
        first = next(iter(self.stream()), None)
        if first is None:
            raise InputError(EMPTY_SOURCE)
        self.n_features, self.dtype = first.X.shape[1], first.X.dtype
        self.y_ndim, self.n_targets = target_shape(first.y)

    def stream(self) -> Iterator[Block]:
        """The non-empty batches, each validated and compared with the first."""
        rows = 0
        for number, batch in enumerate(self.source.ahead(), 1):
            columns = batch_columns(batch)
            if not columns[0].shape[0]:
                continue
            block = self.check(*columns)
            self.seen.batch(block, number)
            rows += block.X.shape[0]
            yield block if self.then is None else self.then(block)
        self.seen.end(rows)

    def reduce(self, fn: Callable[..., S], *args: Any) -> S:
        """One pass over the source."""
        weighed = False

        def statistics() -> Iterator[S]:
            nonlocal weighed
            for block in self.stream():
                weighed = weighed or has_weight(block)
                yield MemoryRows(*block, **self.how()).reduce(fn, *args)

        total = reduce(merge_two, statistics())
        if not weighed:
            raise InputError(NO_WEIGHT)
        return total

    def prepared(self, fn: Callable[..., Block], *args: Any) -> "BatchRows":
        """Rows of this source whose blocks are fn(block, *args), computed batch by batch in each pass."""
        before = self.then
        new = BatchRows.__new__(BatchRows)
        new.__dict__.update(self.__dict__)
        new.then = lambda block: fn(block if before is None else before(block), *args)
        return new

    def map(self, fn: Callable[..., Any], *args: Any) -> Batches:
        """Batches of fn(X, *args)."""
        check, how = self.check, self.how()
        return self.source.map(lambda X: MemoryRows(check(X).X, **how).map(fn, *args))


class Seen:
    """The kind of the first batch and the number of rows of the first pass, with which all later ones must agree."""

    def __init__(self) -> None:
        self.first: dict[str, str] | None = None
        self.rows: int | None = None

    def batch(self, block: Block, number: int) -> None:
        """Refuse a batch whose kind differs from the first."""
        kind = _kind(block)
        self.first = self.first or kind
        for what, value in kind.items():
            if value != self.first[what]:
                raise InputError(
                    f"{what} of batch {number} is {value}, but that of the first batch was {self.first[what]}: all "
                    "batches of a source must be of the same kind."
                )

    def end(self, rows: int) -> None:
        """Refuse a pass whose number of rows differs from the first."""
        if self.first is not None and rows != (self.rows or max(rows, 1)):
            raise InputError(
                f"The source of batches gave {self.rows or 'some'} rows in an earlier pass and {rows} in this one: "
                "open() must give all rows anew every time, in the same order."
            )
        self.rows = rows


def _kind(block: Block) -> dict[str, str]:
    """What must be the same in all batches, as text for messages."""
    X, y = block.X, block.y
    kind = {"X": f"{'sparse' if is_sparse(X) else 'dense'} {X.dtype if X.dtype.kind == 'f' else 'values'}"}
    if y is not None:
        words = y.dtype.kind in "USO" and isinstance(y.flat[0], (str, bytes))
        kind["y"] = f"{'one column' if y.ndim == 1 else f'{y.shape[1]} column(s)'} of {'text' if words else 'values'}"
    return kind


def batch_columns(batch: Any) -> tuple[Any, ...]:
    """A batch as (X, y, sample_weight), followed by whatever else it holds (an offset)."""
    columns = batch if isinstance(batch, tuple) else (batch,)
    if not columns or columns[0] is None:
        raise InputError("A batch is X, (X, y) or (X, y, sample_weight), but one of them has no X.")
    columns = tuple(np.asarray(c) if isinstance(c, (list, tuple)) else c for c in columns)
    if not getattr(columns[0], "shape", ()):
        raise InputError(f"X of a batch must be an array, a sparse matrix or a data frame, not {type(columns[0])}.")
    return columns + (None,) * (3 - len(columns))


def _copied(column: Any) -> Any:
    """A copy of a column of a batch: the source may reuse its memory for the next batch."""
    if is_sparse(column):
        check_sparse(column, "A block")  # SciPy fails to copy a malformed matrix
        return column.copy()
    if is_tensor(column):
        return column.clone()
    if isinstance(column, np.ndarray) or hasattr(column, "iloc"):  # pandas
        return column.copy()
    if is_arrow(column) or type(column).__module__.startswith("polars"):  # their own copies share memory
        return pickle.loads(pickle.dumps(column))
    return column


def _as_it_is(column: Any) -> Any:
    return column


def _ahead(open_source: Callable[[], Iterable[Any]], take: Callable[[Any], Any]) -> Iterator[Any]:
    """The batches of a source, each prefetched by a reader thread while the one before is in use."""
    # With one place in the queue, at most three batches are alive: in use, waiting, and being read.
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=1)
    stop = threading.Event()

    def put(item: tuple[str, Any]) -> None:
        # Wait with a timeout: a consumer that gives up sets `stop` and takes nothing more from the queue.
        while not stop.is_set():
            with suppress(queue.Full):
                ready.put(item, timeout=0.1)
                return

    def read() -> None:
        try:
            for batch in open_source():
                put(("batch", tuple(map(take, batch)) if isinstance(batch, tuple) else take(batch)))
                if stop.is_set():
                    return
            put(("end", None))
        except BaseException as error:
            put(("error", error))

    reader = threading.Thread(target=read, name="didact-reader", daemon=True)
    reader.start()
    try:
        while True:
            kind, value = ready.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stop.set()
        reader.join()


def _files(path: Any, pattern: str) -> list[Path]:
    """The files that a path, a folder or a list of paths refers to."""
    paths = [Path(p) for p in path] if isinstance(path, (list, tuple)) else [Path(path)]
    files = [f for p in paths for f in (sorted(p.glob(pattern)) if p.is_dir() else [p])]
    for file in files:
        if not file.exists():
            raise InputError(f"There is no file '{file}'.")
    if not files:
        raise InputError(f"There are no files {pattern} in '{path}'.")
    return files


def _wanted(columns: Sequence[str] | None, target: Any, sample_weight: str | None) -> list[str] | None:
    if columns is None:
        return None
    extra = [target] if isinstance(target, str) else list(target or [])
    return [*columns, *extra, *([sample_weight] if sample_weight else [])]


def _split_table(batch: Any, target: Any, sample_weight: str | None) -> tuple[Any, Any, Any]:
    """An Arrow record batch as (frame of features, target, weight)."""
    targets = [target] if isinstance(target, str) else list(target or [])
    names = batch.schema.names
    for name in [*targets, *([sample_weight] if sample_weight else [])]:
        if name not in names:
            raise InputError(f"There is no column '{name}'; the columns are {', '.join(map(repr, names[:20]))}.")
    features = [n for n in names if n not in targets and n != sample_weight]
    parts = [batch.column(t).to_numpy(zero_copy_only=False) for t in targets]
    y = None if not parts else parts[0] if isinstance(target, str) else np.column_stack(parts)
    w = batch.column(sample_weight).to_numpy(zero_copy_only=False) if sample_weight else None
    return batch.select(features), y, w
