"""Rows on a Dask cluster: one task per block, merged in a tree, one round of the scheduler per pass.

Tasks are pure functions of a block and of the small arguments of a pass. If a worker dies, the scheduler runs its tasks
again elsewhere; that also restores objects kept on the workers (`KeptBlocks`).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from didact.core.errors import InputError, need
from didact.core.rows.base import NO_WEIGHT, Block, Rows, S, has_weight, merge_two, target_shape
from didact.core.rows.memory import MemoryRows
from didact.core.threads import serial

FAN_IN = 8  # statistics merged by one task
EMPTY_COLLECTION = "The Dask collection is empty: it holds no rows (found 0 sample(s))."


def is_dask(x: Any) -> bool:
    """Whether x is a Dask collection (array, data frame, series)."""
    return type(x).__module__.startswith(("dask.", "dask_expr.")) and hasattr(x, "__dask_graph__")


class ClusterRows(Rows):
    """Rows of Dask collections with matching blocks."""

    def __init__(self, columns: Sequence[Any], check: Callable[..., Block], n_features: int, dtype: Any):
        self.columns = columns
        self.check = check
        self.n_features, self.dtype = n_features, dtype
        self.y_ndim, self.n_targets = target_shape(columns[1] if len(columns) > 1 else None)
        self.blocks = _aligned(columns)

    def reduce(self, fn: Callable[..., S], *args: Any) -> S:
        """One round of the scheduler."""
        dask = need("dask", "dask")
        task = dask.delayed(_summarize, pure=True)
        check = dask.delayed(self.check)
        shared = dask.delayed(args)
        total = _in_a_tree([task(fn, self.how(), check, shared, *block) for block in self.blocks], _merge_all)
        if total is None:
            raise InputError(EMPTY_COLLECTION)
        statistic, weighed = total
        if not weighed:
            raise InputError(NO_WEIGHT)
        return statistic

    def kept(self, fn: Callable[..., Any], *args: Any) -> "KeptBlocks":
        """The results fn(block, *args) of all blocks, kept on the workers."""
        dask = need("dask", "dask")
        task = dask.delayed(_keep, pure=True)
        check = dask.delayed(self.check)
        shared = dask.delayed(args)
        return KeptBlocks(dask.persist(*(task(fn, check, shared, *block) for block in self.blocks)))

    def prepared(self, fn: Callable[..., Block], *args: Any) -> "ClusterRows":
        """Rows of this collection whose blocks are fn(block, *args), computed by the workers in each pass."""
        new = ClusterRows.__new__(ClusterRows)
        new.__dict__.update(self.__dict__)
        new.check = _Composed(self.check, fn, args)
        return new

    def stream(self) -> Iterator[Block]:
        """The blocks, fetched from the workers one by one."""
        compute = need("dask", "dask").compute
        for parts in self.blocks:
            columns = compute(*parts)
            if columns[0].shape[0]:
                yield self.check(*columns)

    def map(self, fn: Callable[..., Any], *args: Any) -> Any:
        """A Dask array of fn(X, *args)."""
        da = need("dask.array", "dask")
        dask = need("dask", "dask")
        X = self.columns[0]
        # Shape and type of the result come from a trial call: without rows where fn allows it, as some models cannot
        # answer a row of zeros.
        some = 0 if getattr(fn, "takes_no_rows", False) else 1
        sample = fn(np.zeros((some, self.n_features), self.dtype), *args)
        task = dask.delayed(_predict, pure=True)
        lengths = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(self.blocks)
        parts = [
            da.from_delayed(
                task(fn, self.how(), self.check, args, block[0]), shape=(n, *sample.shape[1:]), dtype=sample.dtype
            )
            for n, block in zip(lengths, self.blocks, strict=True)
        ]
        return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)


def reduce_parts(fn: Callable[..., S], X: Any, w: Any = None) -> S:
    """fn(block, weights) of every block of Dask collections, merged in a tree."""
    dask = need("dask", "dask")
    total: S = _in_a_tree([dask.delayed(fn, pure=True)(*block) for block in _aligned((X, w))], _merge_present)
    return total


class KeptBlocks:
    """One object per block, kept in the memory of the worker that made it, for algorithms with many passes.

    Functions get a block's object and further arguments; of an argument that is itself a `KeptBlocks` they get the
    object of the same block. They must not modify what they get. If a worker dies, the scheduler makes its objects
    again from the rows. Blocks without rows have no object, and functions are not called for them.
    """

    def __init__(self, blocks: Sequence[Any]):
        self.blocks = blocks

    def map(self, fn: Callable[..., Any], *args: Any) -> "KeptBlocks":
        """fn(object, *args) of each block, kept on the workers like the objects; does not wait for them."""
        return KeptBlocks(need("dask", "dask").persist(*self._tasks(fn, args)))

    def reduce(self, fn: Callable[..., S], *args: Any) -> S:
        """fn(object, *args) of each block, merged in order: one round of the scheduler."""
        total: S | None = _in_a_tree(self._tasks(fn, args), _merge_present)
        if total is None:
            raise InputError(EMPTY_COLLECTION)
        return total

    def each(self, fn: Callable[..., Any], *args: Any) -> list[Any]:
        """fn(object, *args) of each block, as a local list; None for a block without rows."""
        return list(need("dask", "dask").compute(*self._tasks(fn, args)))

    def _tasks(self, fn: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        dask = need("dask", "dask")
        task = dask.delayed(_on_kept, pure=True)
        own = {k: a.blocks for k, a in enumerate(args) if isinstance(a, KeptBlocks)}
        shared = dask.delayed([None if k in own else a for k, a in enumerate(args)], traverse=False)
        return [task(fn, shared, list(own), *objects) for objects in zip(self.blocks, *own.values(), strict=True)]


def _keep(fn: Callable[..., Any], check: Callable[..., Any], args: Any, *columns: Any) -> Any:
    if columns[0].shape[0] == 0:
        return None
    with serial():
        return fn(check(*columns), *args)


def _on_kept(fn: Callable[..., Any], shared: Sequence[Any], places: Sequence[int], kept: Any, *own: Any) -> Any:
    """fn(object, *args) of one block; `own` are its objects of other `KeptBlocks`, which go to `places` among args."""
    if kept is None:
        return None
    args = list(shared)
    for place, a in zip(places, own, strict=True):
        args[place] = a
    with serial(), np.errstate(all="ignore"):
        return fn(kept, *args)


def _in_a_tree(stats: list[Any], merge: Callable[[Sequence[Any]], Any]) -> Any:
    """The statistics of all blocks, merged a few at a time by the workers: one round."""
    task = need("dask", "dask").delayed(merge, pure=True)
    while len(stats) > 1:
        stats = [task(stats[k : k + FAN_IN]) for k in range(0, len(stats), FAN_IN)]
    return stats[0].compute()


def _merge_present(statistics: Sequence[Any]) -> Any:
    present = [statistic for statistic in statistics if statistic is not None]
    return reduce(merge_two, present) if present else None


class _Composed:
    """Two block functions, one after the other (an object, not a closure, as it is pickled for the workers)."""

    def __init__(self, first: Callable[..., Block], then: Callable[..., Block], args: Any):
        self.first, self.then, self.args = first, then, args

    def __call__(self, *columns: Any) -> Block:
        return self.then(self.first(*columns), *self.args)


def _summarize(fn: Callable[..., Any], how: Any, check: Callable[..., Any], args: Any, *columns: Any) -> Any:
    """The statistic of a block and whether it has any weight; None for a block without rows."""
    if columns[0].shape[0] == 0:
        return None
    with serial():
        block = check(*columns)
        return MemoryRows(*block, **how).reduce(fn, *args), has_weight(block)


def _merge_all(pairs: Sequence[Any]) -> Any:
    present = [pair for pair in pairs if pair is not None]
    if not present:
        return None
    return reduce(merge_two, (statistic for statistic, _ in present)), any(weighed for _, weighed in present)


def _predict(fn: Callable[..., Any], how: Any, check: Callable[..., Any], args: Any, X: Any) -> Any:
    with serial():
        return MemoryRows(check(X).X, **how).map(fn, *args)


def _aligned(columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Blocks of all columns with the same rows: the other columns are rechunked to match X."""
    X = columns[0]
    parts = [block_parts(X)]
    for column in columns[1:]:
        if column is None:
            parts.append([None] * len(parts[0]))
            continue
        if hasattr(X, "chunks") and not is_dask(column):
            column = need("dask.array", "dask").from_array(np.asarray(column), chunks=X.chunks[0])
        if hasattr(X, "chunks") and hasattr(column, "chunks") and column.chunks[0] != X.chunks[0]:
            column = column.rechunk({0: X.chunks[0]})
        pieces = block_parts(column)
        if len(pieces) != len(parts[0]):
            raise InputError(
                f"X has {len(parts[0])} blocks and y or sample_weight has {len(pieces)}: give them equal partitions."
            )
        parts.append(pieces)
    return list(zip(*parts, strict=True))


def block_parts(collection: Any) -> list[Any]:
    """The delayed blocks of a Dask collection, each of whole rows."""
    if not is_dask(collection):
        raise InputError("With X on Dask, y and sample_weight must be Dask collections or arrays of known length.")
    if getattr(collection, "ndim", 1) == 2 and hasattr(collection, "chunks"):
        collection = collection.rechunk({1: -1})
    return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)))
