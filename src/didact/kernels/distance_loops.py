r"""Differences of rows, in place of products that have lost the digits.

Layout, rows x_i and z_j with n and m of them in p columns, and their squared lengths about a centre::

    S (n, m)   row i [ f‖x_i − z_0‖² | f‖x_i − z_1‖² | … ]   from a product; entries without digits are overwritten
    X (n, p)   row i [ x_i0 x_i1 … ]    x (n,) [ ‖x_0‖² … ]  of Z and z alike
    left (n, wide), right (wide, m): as in `gaussian_loops`, with two columns before those of the rows

Arithmetic: a comparison for each pair of far rows, 3 p operations for those that are computed again.
"""

import numpy as np

from didact.core.jit import REASSOCIATE, jit_unmanaged
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


@jit_unmanaged(fastmath=REASSOCIATE)
def halved_differences(left: Array, i: int, right: Array, begin: int, end: int, to: Array) -> None:
    """−‖a_i − x_j‖²/2 of a row with the columns from begin to end."""
    n = end - begin
    a2, a3 = left[i, 2], left[i, 3]
    r2, r3 = right[2, begin:end], right[3, begin:end]
    for j in range(n):
        to[j] = (a2 - r2[j]) * (a2 - r2[j]) + (a3 - r3[j]) * (a3 - r3[j])
    for c in range(4, left.shape[1], 4):
        b0, b1, b2, b3 = left[i, c], left[i, c + 1], left[i, c + 2], left[i, c + 3]
        s0, s1, s2, s3 = (
            right[c, begin:end],
            right[c + 1, begin:end],
            right[c + 2, begin:end],
            right[c + 3, begin:end],
        )
        for j in range(n):
            d0, d1, d2, d3 = b0 - s0[j], b1 - s1[j], b2 - s2[j], b3 - s3[j]
            to[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
    for j in range(n):
        to[j] *= -0.5


def warm() -> None:
    """Compile for both float types; sums of Gaussian kernels compile the rest."""
    for dtype in (np.float32, np.float64):
        one = np.ones((1, 1), dtype)
        take_differences(one, one, one, one[0], one[0], 1.0)
