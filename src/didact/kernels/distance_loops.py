r"""Differences of rows, in place of products that have lost the digits.

Layout, rows x_i and z_j with n and m of them in p columns, and their squared lengths about a centre::

    S (n, m)   row i [ f‖x_i − z_0‖² | f‖x_i − z_1‖² | … ]   from a product; entries without digits are overwritten
    X (n, p)   row i [ x_i0 x_i1 … ]    x (n,) [ ‖x_0‖² … ]  of Z and z alike

Arithmetic: a comparison for each pair of far rows, 3 p operations for those that are computed again.
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array

NEAR = 1024.0  # squared length of rows, about a centre, up to which a product keeps all but 11 binary digits of 1 + s


@jit_unmanaged
def take_differences(S: Array, X: Array, Z: Array, x: Array, z: Array, factor: float) -> None:
    """factor·‖x_i − z_j‖² of pairs whose product has lost more digits than those of near rows; S may hold NaN."""
    for i in range(X.shape[0]):
        if x[i] <= NEAR:
            continue
        for j in range(Z.shape[0]):
            if z[j] <= NEAR or x[i] + z[j] <= 2.0 * NEAR or x[i] + z[j] <= 2.0 * NEAR * (S[i, j] / factor):
                continue
            total = 0.0
            for c in range(X.shape[1]):
                step = np.float64(X[i, c]) - np.float64(Z[j, c])
                total += step * step
            S[i, j] = factor * total


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float32, np.float64):
        one = np.ones((1, 1), dtype)
        take_differences(one, one, one, one[0], one[0], 1.0)
