"""The compiled coordinate descent against slow NumPy twins, and at its optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from didact.engines.linear.coordinate_descent_loops import (
    combine,
    descend,
    descend_sparse,
    soft_threshold,
    submatrix,
    warm,
)


def soft(target, bound, positive):
    return max(target - bound, 0.0) if positive else np.sign(target) * max(abs(target) - bound, 0.0)


@given(st.floats(-3, 3), st.floats(0, 2), st.booleans())
def test_shrunk(target, bound, positive):
    assert soft_threshold(target, bound, positive) == soft(target, bound, positive)


def slow_descend(H, u, q, l1, positive, tol, max_sweeps):
    """Each coordinate in turn to its minimum, the gradient computed afresh each time."""
    start, q0, sweeps = u.copy(), q.copy(), 0
    while sweeps < max_sweeps:
        sweeps, largest = sweeps + 1, 0.0
        for j in np.flatnonzero(np.diag(H) > 0):
            gradient = q0[j] + H[j] @ (u - start)
            new = soft(u[j] - gradient / H[j, j], l1[j] / H[j, j], positive)
            largest = max(largest, abs(new - u[j]) * H[j, j])
            u[j] = new
        if largest <= tol:
            break
    q[:] = q0 + H @ (u - start)
    return sweeps


@given(st.integers(0, 8), st.integers(0, 200), st.floats(0, 2), st.booleans(), st.booleans())
def test_descend_equals_its_slow_twin(p, seed, strength, deficient, positive):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(12, p))
    Z[:, :1] *= not deficient
    H, u, q = Z.T @ Z, rng.normal(size=p), rng.normal(size=p)
    u = np.abs(u) if positive else u
    l1 = strength * rng.uniform(size=p)
    slow_u, slow_q = u.copy(), q.copy()
    sweeps = descend(H, u, q, l1, positive, 1e-10, 40)
    assert abs(sweeps - slow_descend(H, slow_u, slow_q, l1, positive, 1e-10, 40)) <= 1
    np.testing.assert_allclose(u, slow_u, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(q, slow_q, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("positive", [False, True])
def test_descend_ends_at_the_optimum(positive):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(50, 6))
    H, c, l1 = Z.T @ Z, rng.normal(size=6) * 20, np.full(6, 10.0)
    u, q = np.zeros(6), -c.copy()
    assert descend(H, u, q, l1, positive, 1e-12, 1000) < 1000
    gradient = H @ u - c
    np.testing.assert_allclose(q, gradient, rtol=1e-8, atol=1e-9)
    inside = u != 0
    np.testing.assert_allclose(gradient[inside], -l1[inside] * np.sign(u[inside]), atol=1e-9)
    assert (gradient[~inside] >= -l1[~inside] - 1e-9).all()
    assert positive or (gradient[~inside] <= l1[~inside] + 1e-9).all()
    assert inside.any()
    assert not inside.all()
    assert not positive or (u >= 0).all()


def slow_sparse(X, mean, w, u, y, l1, l2, positive, sweeps):
    """Coordinate descent on the dense, centred matrix."""
    C = X.toarray() - mean
    square = w @ (C * C)
    for _ in range(sweeps):
        for j in np.flatnonzero(square + l2 > 0):
            residual = y - C @ u
            inner = float(C[:, j] @ (w * residual))
            u[j] = soft(u[j] + (inner - l2 * u[j]) / (square[j] + l2), l1 / (square[j] + l2), positive)
    return u


@given(st.integers(1, 6), st.integers(0, 100), st.floats(0, 0.5), st.floats(0, 1), st.booleans(), st.booleans())
def test_descend_sparse_equals_its_slow_twin(p, seed, l1, l2, centred, positive):
    rng = np.random.default_rng(seed)
    n = 15
    X = sp.random_array((n, p), density=0.4, rng=rng, format="csc")
    w = rng.uniform(size=n)
    w /= w.sum()
    y = rng.normal(size=n)
    y -= w @ y
    mean = w @ X if centred else np.zeros(p)
    u = rng.normal(size=p)
    u = np.abs(u) if positive else u
    square = np.maximum(X.multiply(X).T @ w - mean**2, 0.0)
    expected = slow_sparse(X, mean, w, u.copy(), y, l1, l2, positive, 3)
    r = y - X @ u
    shift = descend_sparse(
        X.data, X.indices, X.indptr, mean, square, w, u, r, -float(mean @ u), l1, l2, positive, 3
    )  # fmt: skip
    np.testing.assert_allclose(u, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(r - shift, y - (X.toarray() - mean) @ u, atol=1e-9)


def test_warm_runs():
    warm()


@given(st.integers(1, 6), st.integers(0, 100))
def test_gather_and_combine_equal_numpy(p, seed):
    rng = np.random.default_rng(seed)
    G, rows, u = rng.normal(size=(8, 8)), rng.normal(size=(8, 5)), rng.normal(size=p)
    at = rng.integers(0, 8, size=p)
    np.testing.assert_array_equal(submatrix(G, at), G[np.ix_(at, at)])
    np.testing.assert_allclose(combine(rows, at, u), u @ rows[at], atol=1e-12)
