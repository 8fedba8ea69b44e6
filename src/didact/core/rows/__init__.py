"""One door for data: whatever the user brings becomes `Rows`, a sequence of blocks of rows.

=====================================  ==========================================================
the user brings                        becomes
=====================================  ==========================================================
ndarray, SciPy sparse, a data frame    `MemoryRows`: cut into blocks that fit a core's cache
a torch tensor                         `MemoryRows`: one block on the tensor's own device
`Batches` (a source that reopens)      `BatchRows`: one block in memory at a time
a Dask array or data frame             `ClusterRows`: one task a block, merged in a tree
=====================================  ==========================================================

`rows.reduce(fn, *args)` calls `fn(block, *args)` on every `Block(X, y, weight, offset, groups)`, whose columns are None
where there are none, and merges what comes back with its `merge` method, in the order of the rows; that is one pass
over the data. `rows.prepared(fn, *args)` has the blocks `fn(block, *args)`, `rows.stream()` hands out the blocks, and
`ClusterRows.kept(fn, *args)` leaves what fn makes of each block on the workers, as `KeptBlocks`. New rows have an X and
nothing else: `rows.map(fn, *args)` calls `fn(X, *args)` and returns the results as the kind of collection that came in.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

from didact.core.backend import local
from didact.core.rows.batches import Batches, BatchRows, batch_columns
from didact.core.rows.cluster import ClusterRows, KeptBlocks, block_parts, is_dask, reduce_parts
from didact.core.rows.memory import Block, MemoryRows, Rows, S, Statistic, _merge
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
    """The blocks of X as the user brought them, one after the other; tensors as local arrays, sparse ones checked."""
    if isinstance(X, Batches):
        blocks: Iterable[Any] = (batch_columns(batch)[0] for batch in X)
    elif is_dask(X):
        blocks = (part.compute() for part in block_parts(X))
    else:
        blocks = (X,)
    for block in blocks:
        check_sparse(block)  # whoever looks into it here would follow its indices
        yield local(block)


def reduce_blocks(fn: Callable[..., S], X: Any, w: Any = None) -> S:
    """fn(block, weights) of every block of X as the user brought them, merged: one pass, or one round on Dask."""
    if isinstance(X, Batches):
        pairs = ((b[0], b[2] if len(b) > 2 else None) if isinstance(b, tuple) else (b, None) for b in X)
        return reduce(_merge, (fn(*pair) for pair in pairs))
    if is_dask(X):
        return reduce_parts(fn, X, w)
    return fn(X, w)
