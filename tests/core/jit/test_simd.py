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


@jit
def dots(k, X, first, step, count, vector, out, at):
    if k == 8:
        vectors.dot_rows_8(X, np.uint64(first), np.uint64(step), np.uint64(count), vector, out, np.uint64(at))
    else:
        vectors.dot_rows_1(X, np.uint64(first), np.uint64(step), np.uint64(count), vector, out, np.uint64(at))


@jit
def sums(k, X, first, step, count, factors, at, out):
    if k == 8:
        vectors.add_rows_8(X, np.uint64(first), np.uint64(step), np.uint64(count), factors, np.uint64(at), out)
    else:
        vectors.add_rows_1(X, np.uint64(first), np.uint64(step), np.uint64(count), factors, np.uint64(at), out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("k", [1, 8])
def test_products_of_rows(dtype, count, k):
    """Numbers beside the rows, here NaN, are not read, and nothing beside the results changes."""
    rng = np.random.default_rng(count)
    rows = rng.normal(size=(k, 13)).astype(dtype)
    rows[:, count:] = np.nan
    X = np.concatenate([np.full(5, np.nan, dtype), rows.ravel()])
    part = rows[:, :count].astype(float)
    vector, out = rng.normal(size=12), np.ones(k + 4)
    dots(k, X, 5, 13, count, vector, out, 2)
    np.testing.assert_allclose(out[2 : 2 + k], 1 + part @ vector[:count], rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(np.delete(out, range(2, 2 + k)), 1)
    factors, out = rng.normal(size=k + 3), np.ones(13)
    sums(k, X, 5, 13, count, factors, 1, out)
    np.testing.assert_allclose(out[:count], 1 + factors[1 : 1 + k] @ part, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(out[count:], 1)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_products_across(k):
    add = (vectors.add_across_1, vectors.add_across_2, vectors.add_across_3)[k]
    turn = (vectors.set_scores_1, vectors.set_scores_2, vectors.set_scores_3)[k]

    @jit
    def run(L, R, out, turned):
        add(L, np.uint64(4), R, np.uint64(4), np.uint64(7), out)
        turn(L, np.uint64(4), R, np.uint64(4), np.uint64(7), turned)

    rng = np.random.default_rng(k)
    L, R, out, turned = rng.normal(size=(9, 8)), rng.normal(size=(7, 20)), np.ones((9, 20)), np.ones((20, 9))
    run(L, R, out, turned)
    product, part = L[4:8, :7] @ R[:, 4 : 8 + 4 * k], slice(4, 8 + 4 * k)
    expected, across = np.ones((9, 20)), np.ones((20, 9))
    expected[4:8, part] += product
    across[part, 4:8] = product.T
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(turned, across, rtol=1e-13, atol=1e-14)


WITHOUT = """
import numpy as np
from didact.engines.linear.pass_loops import linear_sums
from didact.engines.linear.softmax_loops import softmax_curvature, softmax_sums
from didact.parts.losses import Logistic, Softmax
from didact.parts.statistics.components import components
rng = np.random.default_rng(0)
X, y, w = rng.normal(size=(80, 38)), rng.integers(0, 2, 80), rng.uniform(1, 2, 80)
S = components(X, y, "full", w)
D = X[y == 1] - S.mean[1]
np.testing.assert_allclose(S.mean[1], np.average(X[y == 1], axis=0, weights=w[y == 1]))
np.testing.assert_allclose(S.scatter[1], (w[y == 1] * D.T) @ D, atol=1e-10)
Z, theta = np.column_stack([X[:, :9], np.ones(80)]), rng.normal(size=10)
value, g, h = Logistic().value_grad_hess(y + 0.0, Z @ theta)
for rows in (X[:, :9], np.asfortranarray(X[:, :9])):
    found = linear_sums(rows, y + 0.0, w, None, Logistic(), theta, True)
    np.testing.assert_allclose(found[0], w @ value)
    np.testing.assert_allclose(found[1], Z.T @ (w * g), atol=1e-10)
    np.testing.assert_allclose(found[2], (w * h * Z.T) @ Z, atol=1e-10)
table = rng.normal(size=(3, 10))
value, R = Softmax().value_grad(y, Z @ table.T)
found = softmax_sums(X[:, :9], y, w, table, False)
np.testing.assert_allclose(found[0], w @ value)
np.testing.assert_allclose(found[1], (w * R.T) @ Z, atol=1e-10)
P = Softmax().probabilities(Z @ table.T)
H = softmax_curvature(X[:, :9], w, table, False, True)
np.testing.assert_allclose(H[2, :, 1], (-w * P[:, 2] * P[:, 1] * Z.T) @ Z, atol=1e-10)
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
