"""Sparse rows turned into columns on all threads: each turns some rows, and columns take them in order."""

from itertools import pairwise
from typing import Any

import numpy as np

from didact.core.threads import parallel_map, thread_count
from didact.engines.factors.tuning import TURNED_ENTRIES


def turned_rows(X: Any) -> Any:
    """Xᵀ as CSR rows, of CSR rows with sorted indices; whatever the number of threads, the same to the last bit."""
    parts = min(thread_count(), X.nnz // TURNED_ENTRIES)
    if parts < 2:
        return X.T.tocsr()
    edges = np.searchsorted(X.indptr, np.linspace(0, X.nnz, parts + 1)[1:-1]).tolist()
    rows = list(pairwise([0, *edges, X.shape[0]]))
    blocks = parallel_map(lambda ends: X[slice(*ends)].T.tocsr(), rows)
    counts = np.stack([np.diff(block.indptr) for block in blocks])
    indptr = np.append(0, np.cumsum(counts.sum(axis=0))).astype(X.indptr.dtype)
    starts = indptr[:-1] + np.cumsum(counts, axis=0) - counts
    data, indices = np.empty(X.nnz, X.data.dtype), np.empty(X.nnz, X.indices.dtype)

    def place(i: int) -> None:
        block = blocks[i]
        at = np.repeat(starts[i] - block.indptr[:-1], counts[i]) + np.arange(block.nnz)
        data[at], indices[at] = block.data, block.indices + rows[i][0]

    parallel_map(place, range(parts))
    return type(X)((data, indices, indptr), shape=X.shape[::-1])
