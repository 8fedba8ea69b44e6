"""One door for data: whatever the user brings becomes `Rows`, a sequence of blocks of rows.

=====================================  ==========================================================
the user brings                        becomes
=====================================  ==========================================================
ndarray, SciPy sparse, a data frame    `MemoryRows`: cut into blocks that fit a core's cache
a torch tensor                         `MemoryRows`: one block on the tensor's own device
`Batches` (a source that reopens)      `BatchRows`: one block in memory at a time
a Dask array or data frame             `ClusterRows`: one task a block, merged in a tree
=====================================  ==========================================================

`rows.reduce(fn, *args)` calls `fn(X, y, w, *args)` on every block and merges what comes back with its `merge` method,
in the order of the rows; that is one pass over the data. `rows.map(fn, *args)` calls `fn(X, *args)` and returns the
results as the kind of collection that came in.
"""

from collections.abc import Iterator
from typing import Any

from didact.core.rows.batches import Batches, BatchRows
from didact.core.rows.cluster import ClusterRows, block_parts, is_dask
from didact.core.rows.memory import MemoryRows, Rows, Statistic

__all__ = ["BatchRows", "Batches", "ClusterRows", "MemoryRows", "Rows", "Statistic", "blocks_of", "is_dask"]


def blocks_of(X: Any) -> Iterator[Any]:
    """The blocks of X as the user brought them, unchecked, one after the other."""
    if isinstance(X, Batches):
        yield from (batch[0] if isinstance(batch, tuple) else batch for batch in X)
    elif is_dask(X):
        yield from (part.compute() for part in block_parts(X))
    else:
        yield X
