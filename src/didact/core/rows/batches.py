"""Rows that do not fit in memory: a source of batches that can be opened again for every pass.

A batch is X, (X, y) or (X, y, sample_weight), where X is an array, a sparse matrix or a data frame; for a generalized
linear model, (X, y, sample_weight, offset). The next batch is
read on a thread of its own while the present one is worked on.
"""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from didact.core.errors import InputError, need
from didact.core.rows.memory import NO_WEIGHT, MemoryRows, Rows, S, _merge, has_weight, target_shape

BATCH_ROWS = 1 << 16
READ_BYTES = 1 << 20  # of a column read ahead; Arrow's default keeps whole column chunks


class Batches:
    """A source of batches of rows that reopens for each pass over the data.

    Parameters
    ----------
    open : callable
        Called without arguments before each pass; returns an iterable of batches, each X, (X, y) or
        (X, y, sample_weight). Every call must yield the same rows in the same order.

    Notes
    -----
    Memory is two batches and what the model keeps, whatever the number of rows.

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
        self._last: Any = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.opened())

    def opened(self) -> Iterable[Any]:
        """The source, opened anew; an iterator that was handed out before has lost its batches."""
        source = self.open()
        if isinstance(source, Iterator) and source is self._last:
            raise InputError(
                "open() gave the same iterator twice: it must open the source anew, as Batches(read) does."
            )
        self._last = source
        return source

    def map(self, fn: Callable[[Any], Any]) -> "Batches":
        """Batches of fn(X), computed as they are asked for."""
        return Batches(lambda: (fn(_columns(batch)[0]) for batch in _ahead(self.opened)))

    @classmethod
    def from_parquet(
        cls,
        path: Any,
        target: str | Sequence[str] | None = None,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> "Batches":
        """Batches of one Parquet file or of several (a list, or a folder), read a few row groups at a time."""
        parquet = need("pyarrow.parquet", "study")
        wanted = _wanted(columns, target, sample_weight)

        def read() -> Iterator[Any]:
            for file in _files(path, "*.parquet"):
                with parquet.ParquetFile(file, pre_buffer=False, buffer_size=READ_BYTES) as source:
                    for batch in source.iter_batches(batch_rows, columns=wanted, use_threads=False):
                        yield _split_table(batch, target, sample_weight)

        return cls(read)

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

        return cls(read)

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

        return cls(read)


class BatchRows(Rows):
    """Rows of a `Batches` source; every batch is checked as it comes and then reduced as rows in memory."""

    def __init__(self, source: Batches, check: Callable[..., tuple[Any, ...]]):
        self.source = source
        self.check = check
        first = next(iter(self.stream()), None)
        if first is None:
            raise InputError("The source of batches is empty: it yielded no rows (found 0 sample(s)).")
        self.n_features, self.dtype = first[0].shape[1], first[0].dtype
        self.y_ndim, self.n_targets = target_shape(first[1])

    def stream(self) -> Iterator[tuple[Any, ...]]:
        for batch in _ahead(self.source.opened):
            columns = _columns(batch)
            if columns[0].shape[0]:
                yield self.check(*columns)

    def reduce(self, fn: Callable[..., S], *args: Any) -> S:
        """One pass over the source."""
        weighed = False

        def statistics() -> Iterator[S]:
            nonlocal weighed
            for block in self.stream():
                weighed = weighed or has_weight(block)
                yield MemoryRows(*block, **self.how()).reduce(fn, *args)

        total = reduce(_merge, statistics())
        if not weighed:
            raise InputError(NO_WEIGHT)
        return total

    def prepared(self, fn: Callable[..., tuple[Any, ...]], *args: Any) -> "BatchRows":
        """The same source, with fn called on each batch as it comes."""
        check = self.check
        new = BatchRows.__new__(BatchRows)
        new.__dict__.update(self.__dict__)
        new.check = lambda *columns: fn(*check(*columns), *args)
        return new

    def map(self, fn: Callable[..., Any], *args: Any) -> Batches:
        """Batches of fn(X, *args)."""
        check, how = self.check, self.how()
        return self.source.map(lambda X: MemoryRows(check(X, None, None)[0], **how).map(fn, *args))


def _columns(batch: Any) -> tuple[Any, ...]:
    """A batch as (X, y, sample_weight), followed by whatever else it holds (an offset)."""
    if not isinstance(batch, tuple):
        return batch, None, None
    return batch + (None,) * (3 - len(batch))


def _ahead(open_source: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """The batches of a source, each read while the one before is in use."""
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=1)
    stop = threading.Event()

    def put(item: tuple[str, Any]) -> None:
        while not stop.is_set():
            with suppress(queue.Full):
                ready.put(item, timeout=0.1)
                return

    def read() -> None:
        try:
            for batch in open_source():
                put(("batch", batch))
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
    """The files that a path, a folder or a list of paths stands for."""
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
