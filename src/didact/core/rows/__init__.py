"""One interface to data: whatever the user brings becomes `Rows`, a sequence of blocks of rows.

=====================================  ==========================================================
the user brings                        becomes
=====================================  ==========================================================
ndarray, SciPy sparse, a data frame    `MemoryRows`: cut into blocks that fit a core's cache
a torch tensor                         `MemoryRows`: one block on the tensor's own device
`Batches` (a source that reopens)      `BatchRows`: one block in memory at a time
a Dask array or data frame             `ClusterRows`: one task per block, merged in a tree
=====================================  ==========================================================

`rows.reduce(fn, *args)` makes one pass over the data: it calls `fn(block, *args)` on every `Block(X, y, weight, offset,
groups)`, in which absent columns are None, and merges the results by their method `merge`, in the order of the rows.
`rows.prepared(fn, *args)` are rows whose blocks are `fn(block, *args)`, `rows.stream()` yields the blocks one by one,
and `ClusterRows.kept(fn, *args)` leaves the result for each block on the workers, as `KeptBlocks`. Rows for prediction
have an X only: `rows.map(fn, *args)` calls `fn(X, *args)` and returns the results as the kind of collection of X.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

from didact.core.backend import local
from didact.core.rows.base import Block, Rows, S, Statistic, merge_two
from didact.core.rows.batches import Batches, BatchRows, batch_columns
from didact.core.rows.cluster import ClusterRows, KeptBlocks, block_parts, is_dask, reduce_parts
from didact.core.rows.memory import MemoryRows
from didact.core.sparse import check_sparse

__all__ = [
    "BatchRows",
    "Batches",
    "Block",
    "ClusterRows",
    "KeptBlocks",
    "MemoryRows",
    "Rows",
    "Statistic",
    "batch_columns",
    "blocks_of",
    "is_dask",
    "reduce_blocks",
]


def blocks_of(X: Any) -> Iterator[Any]:
    """The blocks of X before validation, one after the other; tensors as local arrays, sparse matrices checked."""
    if isinstance(X, Batches):
        blocks: Iterable[Any] = (batch_columns(batch)[0] for batch in X)
    elif is_dask(X):
        blocks = (part.compute() for part in block_parts(X))
    else:
        blocks = (X,)
    for block in blocks:
        check_sparse(block)  # callers read its entries, which would follow bad indices
        yield local(block)


def reduce_blocks(fn: Callable[..., S], X: Any, w: Any = None) -> S:
    """fn(block, weights) of every block of X before validation, merged: one pass, or one round of Dask's scheduler."""
    if isinstance(X, Batches):
        pairs = ((b[0], b[2] if len(b) > 2 else None) if isinstance(b, tuple) else (b, None) for b in X)
        return reduce(merge_two, (fn(*pair) for pair in pairs))
    if is_dask(X):
        return reduce_parts(fn, X, w)
    return fn(X, w)
