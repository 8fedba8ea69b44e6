"""Independent sources: the compiled pass against array functions, the stochastic rule, slopes of the likelihood."""

import numpy as np
import pytest

from didact.core.rows import Block, MemoryRows
from didact.engines.factors.ascent import one_pass, users_pass
from didact.engines.factors.sources import (
    Contrast,
    array_sums,
    deflation,
    fixed_point,
    greatest_likelihood,
    likelihood_state,
    orthonormal_rows,
    quasi_newton,
    source_sums_of,
)


def logistic(y):
    """A logistic density as a user would write it."""
    t = np.tanh(0.5 * y)
    return -np.abs(y) - 2 * np.log1p(np.exp(-np.abs(y))), -t, -0.5 * (1 - t * t)


def white(n=2000, k=3, seed=0):
    S = np.random.default_rng(seed).laplace(size=(n, k)) / np.sqrt(2)
    S = S - S.mean(axis=0)
    U, _, V = np.linalg.svd(S, full_matrices=False)
    return np.sqrt(n) * U @ V, S


@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube", "logistic"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 2), (700, 5), (300, 14)])
@pytest.mark.parametrize("order", "CF")
def test_the_compiled_pass_is_that_of_array_functions(fun, shape, order):
    rng = np.random.default_rng(0)
    X, W, w = rng.normal(size=shape), rng.normal(size=(shape[1],) * 2), rng.integers(0, 3, shape[0]).astype(float)
    for weight in (None, w):
        block = Block(np.asarray(X, order=order), weight=weight)
        ours, expected = source_sums_of(block, W, Contrast(fun, 1.3)), array_sums(block, W, Contrast(fun, 1.3))
        for a, b in zip(ours, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_large_projections_have_their_limits():
    X = np.array([[1e4], [-1e4], [0.0]])
    found = source_sums_of(Block(X), np.eye(1), Contrast("logistic"))
    np.testing.assert_allclose(found.products, [[2e4]])
    np.testing.assert_allclose(found.value, -2e4 - 2 * np.log(2))
    assert np.isfinite(source_sums_of(Block(X), np.eye(1), Contrast("exp")).products).all()


def test_one_row_of_the_stochastic_rule():
    """W += α((1 − 2g(Wx))xᵀ + (Wᵀ)⁻¹)."""
    W, x, rate = np.array([[1.0, 0.5], [0.0, 2.0]]), np.array([1.0, -1.0]), 0.1
    g = 1 / (1 + np.exp(-W @ x))
    expected = W + rate * (np.outer(1 - 2 * g, x) + np.linalg.inv(W.T))
    moved = W.copy()
    assert one_pass(x[None], None, np.zeros(1, np.int64), moved, rate, Contrast("logistic"))
    np.testing.assert_allclose(moved, expected, rtol=1e-13)
    by_density = W.copy()
    assert users_pass(x[None], None, np.zeros(1, np.int64), by_density, rate, Contrast(logistic, density=True))
    np.testing.assert_allclose(by_density, expected, rtol=1e-12)


def test_the_rule_needs_an_invertible_matrix_and_pivots():
    X, order = np.ones((1, 2)), np.zeros(1, np.int64)
    assert not one_pass(X, None, order, np.ones((2, 2)), 0.1, Contrast("logistic"))
    turned = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert one_pass(X, None, order, turned, 0.0, Contrast("logistic"))
    rng = np.random.default_rng(0)
    W = rng.normal(size=(6, 6))
    moved = W.copy()
    one_pass(np.zeros((1, 6)), None, order, moved, 1.0, Contrast("logistic"))
    np.testing.assert_allclose(moved - W, np.linalg.inv(W).T, rtol=1e-9)


@pytest.mark.parametrize("contrast", [Contrast("logistic", density=True), Contrast(logistic, density=True)])
def test_slopes_of_the_likelihood_are_its_differences(contrast):
    X, _ = white(300)
    rows, W, step = MemoryRows(X), np.random.default_rng(1).normal(size=(3, 3)), 1e-6
    state = likelihood_state(rows, W, contrast)
    for i, j in np.ndindex(3, 3):
        E = np.zeros((3, 3))
        E[i, j] = step
        ahead, behind = (likelihood_state(rows, W + sign * E @ W, contrast).value for sign in (1, -1))
        assert abs((behind - ahead) / (2 * step) - state.slopes[i, j]) < 1e-6


def test_the_likelihood_never_falls_and_both_ways_end_at_one_place():
    X, S = white()
    rows, start, found = MemoryRows(X), np.eye(3), []
    for direction, steps in ((quasi_newton, 200), (lambda state: state.slopes, 5000)):
        contrast = Contrast("logistic", density=True)
        result = greatest_likelihood(rows, start, contrast, direction, 1.0, 1e-7, steps, lambda *_: False)
        assert result.converged
        assert (np.diff(result.history) <= 1e-14 * abs(result.history[0])).all()
        found.append(result)
    assert found[0].n_iter < found[1].n_iter
    np.testing.assert_allclose(found[0].value, found[1].value, rtol=1e-10)
    match = np.abs(np.corrcoef(S.T, found[0].x @ X.T)[:3, 3:])
    assert (match.max(axis=0) > 0.99).all()


def test_fixed_points():
    """Where the iteration rests, E[g(y)z] lies in the span of the rows of W, symmetrically."""
    X, _ = white()
    rows, contrast = MemoryRows(X), Contrast("logcosh")
    start = np.random.default_rng(2).normal(size=(3, 3))
    W = fixed_point(rows, start, contrast, 1e-14, 500, lambda *_: False).x
    np.testing.assert_allclose(W @ W.T, np.eye(3), atol=1e-12)
    S = rows.reduce(source_sums_of, W, contrast)
    cross = S.products @ W.T / S.weight
    np.testing.assert_allclose(cross, cross.T, atol=1e-6)
    one_by_one = deflation(rows, start, contrast, 1e-12, 500, lambda *_: False)
    np.testing.assert_allclose(one_by_one.x @ one_by_one.x.T, np.eye(3), atol=1e-10)
    assert (np.abs(one_by_one.x @ W.T).max(axis=1) > 0.99).all()


def test_orthonormal_rows_are_the_nearest():
    W = np.random.default_rng(0).normal(size=(4, 4))
    values, vectors = np.linalg.eigh(W @ W.T)
    np.testing.assert_allclose(orthonormal_rows(W), vectors / np.sqrt(values) @ vectors.T @ W, atol=1e-10)
