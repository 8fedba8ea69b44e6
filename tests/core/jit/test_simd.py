"""Vector loops: equal to NumPy, in both float types, for every width; and the same without a compiler."""

import os
import subprocess
import sys

import numpy as np
import pytest

from didact.core.jit import jit
from didact.core.jit import simd as vectors

GATHER = (vectors.gather_1, vectors.gather_2, vectors.gather_3)
OUTER = (vectors.add_outer_1, vectors.add_outer_2, vectors.add_outer_3)


def compiled(kind, k):
    """A loop around one of them: they are called in loops only."""
    if kind == "take":
        step = GATHER[k]

        @jit
        def run(X, order, first, factors, rows, j, shift, A, sums):
            step(X, order, first, factors, rows, j, shift, A, sums)

    else:
        step = OUTER[k]

        @jit
        def run(A, i, j, rows, G):
            step(A, i, j, rows, G)

    return run


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_take(dtype, k):
    rng = np.random.default_rng(k)
    X, order = rng.normal(size=(9, 20)).astype(dtype), rng.permutation(9)
    factors, shift = rng.uniform(1, 2, 5), rng.normal(size=20)
    A, sums = np.full((6, 20), 7.0), np.ones(20)
    compiled("take", k)(X, order, np.uint64(2), factors, np.uint64(5), np.uint64(4), shift, A, sums)
    expected, total, part = np.full((6, 20), 7.0), np.ones(20), slice(4, 8 + 4 * k)
    expected[:5, part] = factors[:, None] * (X[order[2:7], part] - shift[part])
    total[part] += factors @ expected[:5, part]
    np.testing.assert_allclose(A, expected, rtol=1e-14)
    np.testing.assert_allclose(sums, total, rtol=1e-13)


@pytest.mark.parametrize("rows", [0, 1, 7])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_add_outer(rows, k):
    A, G = np.random.default_rng(k).normal(size=(7, 24)), np.ones((24, 24))
    compiled("outer", k)(A, np.uint64(8), np.uint64(4), np.uint64(rows), G)
    expected = np.ones((24, 24))
    expected[8:12, 4 : 8 + 4 * k] += A[:rows, 8:12].T @ A[:rows, 4 : 8 + 4 * k]
    np.testing.assert_allclose(G, expected, rtol=1e-13, atol=1e-14)


WITHOUT = """
import numpy as np
from didact.core.rows import Block
from didact.parts.statistics.class_scatter import scatter_of_rows
rng = np.random.default_rng(0)
X, y, w = rng.normal(size=(80, 38)), rng.integers(0, 2, 80), rng.uniform(1, 2, 80)
S = scatter_of_rows(Block(X, y, w), False, None)
D = X[y == 1] - S.mean[1]
np.testing.assert_allclose(S.mean[1], np.average(X[y == 1], axis=0, weights=w[y == 1]))
np.testing.assert_allclose(S.scatter[1], (w[y == 1] * D.T) @ D, atol=1e-10)
"""


def test_without_a_compiler():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr


def test_add_pair():
    @jit
    def run(table, rows, a, b):
        for row in rows:
            vectors.add_pair(table, np.uint64(row), a, b)

    table = np.arange(8).reshape(4, 2)
    run(table, np.array([2, 0, 2]), 10, -(2**40))
    assert table.tolist() == [[10, 1 - 2**40], [2, 3], [24, 5 - 2**41], [6, 7]]
