"""Weighted sums and sums of squares of the columns of sparse rows, in one pass: Σᵢ wᵢ xᵢⱼ and Σᵢ wᵢ xᵢⱼ².

Layout::

    data      [ values of row 0 | values of row 1 | … ]   CSR rows
    indices   [ their columns   | …                   ]
                ^ indptr[0]       ^ indptr[1]
    out[j]    [ Σ w x | Σ w x² ]   (p, 2): side by side
"""

from typing import Any

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import jit
from didact.core.typing import Array


def sparse_column_sums(X: Any, w: Any = None) -> tuple[Array, Array]:
    """Both sums of every column of a CSR matrix; w None counts every row once."""
    out = np.zeros((X.shape[1], 2))
    weights = np.zeros(0) if w is None else np.asarray(w, np.float64)
    indptr = X.indptr.astype(X.indices.dtype, copy=False)
    _add(read_only(X.data), read_only(X.indices), read_only(indptr), read_only(weights), out)
    return out[:, 0].copy(), out[:, 1].copy()


@jit
def _add(data: Array, indices: Array, indptr: Array, weights: Array, out: Array) -> None:
    """Add the rows to out (p, 2): the two sums of a column share a cache line, so an entry touches only one."""
    for i in range(indptr.shape[0] - 1):
        w = weights[i] if weights.shape[0] > 0 else 1.0
        for k in range(indptr[i], indptr[i + 1]):
            j, x = np.uint64(indices[k]), np.float64(data[k])
            out[j, 0] += w * x
            out[j, 1] += w * x * x


def warm() -> None:
    """Compile for the types that are used most."""
    indices, indptr = np.zeros(1, np.int32), np.array([0, 1], np.int32)
    _add(read_only(np.ones(1)), read_only(indices), read_only(indptr), read_only(np.zeros(0)), np.zeros((1, 2)))
