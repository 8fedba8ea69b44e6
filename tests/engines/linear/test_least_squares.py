"""Direct least squares: condition check, merged triangular factors, rank, least norm and nonnegative solutions."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hilbert
from scipy.optimize import nnls

from didact.core.rows import Block
from didact.engines.linear.least_squares import Triangle, solve_nonnegative, solve_normal, solve_triangle, triangle


def data(n=60, p=4, k=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.normal(size=(n, k)), rng.uniform(0.1, 2, size=n)


def factor(X, Y, w=None, blocks=3):
    zero = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
    edges = np.linspace(0, len(X), blocks + 1).astype(int)
    parts = [triangle(Block(X[a:b], Y[a:b], None if w is None else w[a:b]), *zero) for a, b in
             pairwise(edges) if b > a]  # fmt: skip
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    return total


# ------------------------------------------------------------------------------------------------ normal equations


@pytest.mark.parametrize("shape", [(4,), (4, 3)])
def test_solve_normal(shape):
    X, _, _ = data()
    rhs = np.random.default_rng(1).normal(size=shape)
    solution, safe = solve_normal(X.T @ X, rhs)
    assert safe
    np.testing.assert_allclose(solution, np.linalg.solve(X.T @ X, rhs), rtol=1e-10)


def test_units_do_not_make_a_system_unsafe():
    X, _, _ = data()
    X = X * [1e-8, 1.0, 1e6, 1e3]
    solution, safe = solve_normal(X.T @ X, X.T @ np.ones(60))
    assert safe
    np.testing.assert_allclose(solution, np.linalg.lstsq(X / np.linalg.norm(X, axis=0), np.ones(60))[0]
                               / np.linalg.norm(X, axis=0), rtol=1e-8)  # fmt: skip


def test_unsafe_systems_are_said_to_be():
    X, _, _ = data()
    for bad in (
        hilbert(10),
        X[:, [0, 0, 1]],
        X @ np.diag([1, 0, 1, 1]),
        np.column_stack([X, X[:, 0] + 1e-8 * X[:, 1]]),
    ):
        assert not solve_normal(bad.T @ bad, np.ones(bad.shape[1]))[1]
    assert solve_normal(np.zeros((0, 0)), np.zeros((0, 1)))[1]


def test_an_indefinite_matrix_is_unsafe():
    assert not solve_normal(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))[1]


# ------------------------------------------------------------------------------------------------ triangular factors


@given(st.integers(1, 30), st.integers(1, 5), st.integers(1, 6), st.integers(0, 100))
def test_factor_of_blocks_has_the_gram_matrix_of_all_rows(n, p, blocks, seed):
    X, Y, w = data(n, p, 2, seed)
    Z = np.column_stack([X, Y])
    R = factor(X, Y, w, blocks).R
    np.testing.assert_allclose(R.T @ R, (Z.T * w) @ Z, rtol=1e-9, atol=1e-10)
    assert len(R) <= p + 2


@given(st.integers(0, 200))
def test_merge_is_associative(seed):
    a, b, c = (triangle(Block(*data(7, 3, 1, seed + s)), np.zeros(3), np.zeros(1)) for s in range(3))
    left, right = a.merge(b).merge(c).R, a.merge(b.merge(c)).R
    np.testing.assert_allclose(np.abs(left), np.abs(right), rtol=1e-8, atol=1e-10)  # rows are fixed up to sign
    np.testing.assert_allclose(left.T @ left, right.T @ right, rtol=1e-10, atol=1e-10)
    nothing = triangle(Block(np.empty((0, 3)), np.empty((0, 1)), None), np.zeros(3), np.zeros(1))
    np.testing.assert_allclose(np.abs(a.merge(nothing).R), np.abs(a.R), rtol=1e-10, atol=1e-12)


def test_factor_is_centred_and_takes_sparse_and_float32():
    X, Y, w = data()
    mx, my = w @ X / w.sum(), w @ Y / w.sum()
    Z = np.column_stack([X - mx, Y - my])
    expected = (Z.T * w) @ Z
    for rows in (X, sp.csr_array(X)):
        R = triangle(Block(rows, Y, w), mx, my).R
        np.testing.assert_allclose(R.T @ R, expected, rtol=1e-10, atol=1e-10)
    assert triangle(Block(X.astype(np.float32), Y[:, 0], None), mx, my[:1]).R.dtype == np.float64


@pytest.mark.parametrize("blocks", [1, 5])
def test_ill_conditioned_systems_keep_their_digits(blocks):
    """Condition 1e8: normal equations would lose all of it, the factor loses eight digits."""
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.normal(size=(80, 6)))[0], np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = (U * np.geomspace(1, 1e-8, 6)) @ V.T
    b = rng.normal(size=6)
    coef, rank, singular = solve_triangle(factor(X, (X @ b)[:, None], blocks=blocks), 6)
    assert rank == 6
    np.testing.assert_allclose(coef[:, 0], b, rtol=1e-6)
    np.testing.assert_allclose(singular, np.geomspace(1, 1e-8, 6), rtol=1e-6)


@pytest.mark.parametrize("case", ["duplicate", "sum", "zero", "wide", "one row"])
def test_least_norm(case):
    X, Y, _ = data(40, 5)
    if case == "duplicate":
        X[:, 3] = X[:, 1]
    elif case == "sum":
        X[:, 4] = X[:, 0] + 2 * X[:, 2]
    elif case == "zero":
        X[:, 2] = 0.0
    elif case == "wide":
        X, Y = X[:3], Y[:3]
    else:
        X, Y = X[:1], Y[:1]
    coef, rank, _ = solve_triangle(factor(X, Y, blocks=2 if len(X) > 3 else 1), 5)
    assert rank == np.linalg.matrix_rank(X)
    np.testing.assert_allclose(coef, np.linalg.pinv(X) @ Y, rtol=1e-8, atol=1e-10)


# ------------------------------------------------------------------------------------------------ nonnegative


@given(st.integers(0, 100))
def test_nonnegative_satisfies_the_kkt_conditions(seed):
    X, Y, _ = data(30, 5, 2, seed)
    coef = solve_nonnegative(factor(X, Y), 5)
    gradient = X.T @ (X @ coef - Y)
    assert (coef >= 0).all()
    assert (gradient >= -1e-8).all(), "no coefficient at zero wants to grow"
    np.testing.assert_allclose(coef * gradient, 0.0, atol=1e-8)  # complementary slackness
    np.testing.assert_allclose(coef[:, 0], nnls(X, Y[:, 0])[0], rtol=1e-7, atol=1e-9)


def test_triangle_is_a_value():
    assert Triangle(np.eye(2)).R.shape == (2, 2)
