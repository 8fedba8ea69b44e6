"""Steps over rows of bytes: equal to their twins in NumPy."""

import numpy as np
import pytest

from didact.core.jit import jit, simd
from didact.core.jit.simd import BYTE_ROWS, BYTES, byte_bounds, byte_counts, swap_bytes


@jit
def all_steps(X, first, rows, j, cuts, marks, out, i, k):
    byte_bounds(X, np.uint64(first), np.uint64(rows), np.uint64(j), out[0], out[1])
    byte_counts(X, np.uint64(first), np.uint64(rows), np.uint64(j), cuts, np.uint64(marks), out[2], out[3])
    swap_bytes(X, np.uint64(i), np.uint64(k), np.uint64(j))


@pytest.mark.parametrize("j", [0, BYTES])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 100, BYTE_ROWS])
def test_steps_equal_their_twins(rows, j):
    rng = np.random.default_rng(rows)
    X = rng.integers(0, 256, (260, 2 * BYTES)).astype(np.uint8)
    X[:, 63] = rng.integers(0, 2, 260)
    X[5 : 5 + rows, 1] = 3  # all are below their cut, or above it
    X[5 : 5 + rows, 34] = 255
    cuts = rng.integers(0, 255, 2 * BYTES).astype(np.uint8)
    cuts[1] = 3
    mine, out = X.copy(), np.full((4, 2 * BYTES), 77, np.uint8)
    all_steps(mine, 5, rows, j, cuts, 63, out, 3, 9)
    expected = np.full((4, 2 * BYTES), 77, np.uint8)
    simd.byte_bounds(X, 5, rows, j, expected[0], expected[1])
    simd.byte_counts(X, 5, rows, j, cuts, 63, expected[2], expected[3])
    simd.swap_bytes(X, 3, 9, j)
    assert np.array_equal(out, expected)
    assert np.array_equal(mine, X)


def test_a_row_may_be_exchanged_with_itself():
    X = np.arange(64, dtype=np.uint8).reshape(2, 32)
    mine, out = X.copy(), np.zeros((4, 32), np.uint8)
    all_steps(mine, 0, 2, 0, X[0], 31, out, 1, 1)
    assert np.array_equal(mine, X)
