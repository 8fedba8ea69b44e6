"""Compiled sums of sparse rows by class; the NumPy twin (one-hot times matrix) stands beside its test.

Layout: CSR rows; sums (K, p) has a row per class, and entries of rows with code k are added to its row k.
"""

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array


@jit
def add_sparse_rows(
    data: Array, indices: Array, indptr: Array, order: Array, codes: Array, w: Array, out: Array
) -> None:
    """out[class of row i, j] += w_i x_ij for every stored entry: one addition each, whatever the number of classes.

    `order` lists the rows class by class, so that only one row of `out` at a time has to be in the cache.
    """
    for i in order:
        c = codes[i]
        for k in range(indptr[i], indptr[i + 1]):
            out[c, indices[k]] += w[i] * data[k]


def warm() -> None:
    """Compile for both float types and both index types."""
    rows = np.zeros(1, np.int64)
    for dtype in (np.float32, np.float64):
        for index in (np.int32, np.int64):
            data, indices, indptr = np.ones(1, dtype), np.zeros(1, index), np.array([0, 1], index)
            add_sparse_rows(data, indices, indptr, rows, rows, np.ones(1), np.zeros((1, 1)))
