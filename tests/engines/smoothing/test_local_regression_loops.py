"""Loops of local regression against slow NumPy twins: windows, weights, sums, solves, on drawn shapes with ties."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from didact.engines.smoothing import local_moments_loops as moments
from didact.engines.smoothing import local_regression_loops as loops
from didact.parts.windows import GaussianWindow, Tricube

KERNELS = {"tricube": Tricube(), "gaussian": GaussianWindow()}


def kernel_weights(name, u):
    if name == "tricube":
        return np.where(u < 1, (1 - np.minimum(u, 1) ** 3) ** 3, 0.0)
    return np.exp(-0.5 * (u**2 - u.min() ** 2))


def basis(D, degree):
    """1, the coordinates and their products."""
    columns = [np.ones(len(D)), *(D.T if degree else [])]
    if degree == 2:
        columns += [D[:, f] * D[:, g] for f in range(D.shape[1]) for g in range(f + 1)]
    return np.column_stack(columns)


def twin(name, X, y, w, q, h, degree):
    """The fitted value and (A⁻¹)₀₀ by dense least squares; None where the points do not determine it well."""
    D = (X - q) / h
    k = kernel_weights(name, np.sqrt((D**2).sum(axis=1))) * w
    Z = basis(D, degree)
    A = Z.T @ (k[:, None] * Z)
    size = np.sqrt(np.diag(A))
    if not size.all() or np.linalg.cond(A / size[:, None] / size) > 1e6:
        return None
    inverse = np.linalg.inv(A)
    return (inverse @ (Z.T @ (k * y)))[0], inverse[0, 0]


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=15),
    st.lists(st.floats(-3, 11), min_size=1, max_size=4),
    st.integers(0, 1000),
)
def test_radii_are_the_least_distances_that_hold_the_weight(places, queries, seed):
    rng = np.random.default_rng(seed)
    x = np.sort(np.asarray(places, float))
    w = rng.integers(1, 4, len(x)) * rng.choice([1.0, 0.37])
    k = rng.uniform(0.01, 1.0) * w.sum() if seed % 2 else float(np.cumsum(rng.permutation(w))[rng.integers(len(w))])
    k *= 1 - 1e-12
    q, cumulative = np.concatenate([queries, x[:2]]), np.append(0.0, np.cumsum(w))
    found = np.empty(len(q))
    loops.radii(x, cumulative, q, k, 0, len(q), found)
    for i in range(len(q)):
        distance = np.abs(x - q[i])
        order = np.argsort(distance)
        assert found[i] == distance[order][np.argmax(np.cumsum(w[order]) >= k)]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("degree", [0, 1, 2])
@given(st.integers(1, 40), st.integers(0, 100), st.floats(0.5, 6.0))
def test_one_feature_equals_dense_least_squares(name, degree, n, seed, h):
    rng = np.random.default_rng(seed)
    x = np.sort(np.round(rng.uniform(0, 10, n), 1))  # ties
    y, w, q = rng.normal(size=n), rng.uniform(0, 2, n), rng.uniform(-1, 11, 5)
    value, lever = np.full(5, np.nan), np.full(5, np.nan)
    loop = loops.parabolas if degree == 2 else loops.lines
    loop(KERNELS[name], x, y, w, q, np.full(5, h), degree, 0, 5, value, lever)
    assert np.isfinite(value).all()
    checked = 0
    for i in range(5):
        expected = twin(name, x[:, None], y, w, q[i : i + 1], h, degree)
        if expected is not None:
            np.testing.assert_allclose([value[i], lever[i]], expected, rtol=1e-7, atol=1e-8)
            checked += 1
    assume(checked)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("degree", [0, 1, 2])
@given(st.integers(1, 60), st.integers(1, 3), st.integers(0, 100))
def test_several_features_equal_dense_least_squares(name, degree, n, p, seed):
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(n, p)), rng.normal(size=(4, p))
    y, w = rng.normal(size=n), rng.uniform(0.1, 2, n)
    D = np.sqrt(((Q[:, None] - X) ** 2).sum(axis=2))
    value, lever = np.full(4, np.nan), np.full(4, np.nan)
    starts, rows = np.arange(0, 4 * n + 1, n), np.tile(np.arange(n), 4)
    h = np.full(4, 1.01 * D.max())
    loops.surfaces(KERNELS[name], X, y, w, Q, h, degree, starts, rows, D.ravel(), value, lever)
    checked = 0
    for i in range(4):
        expected = twin(name, X, y, w, Q[i], h[i], degree)
        if expected is not None:
            np.testing.assert_allclose([value[i], lever[i]], expected, rtol=1e-6, atol=1e-8)
            checked += 1
    assume(checked)


@given(st.integers(1, 6), st.integers(0, 1000))
def test_first_coefficient_leaves_out_dependent_terms(terms, seed):
    rng = np.random.default_rng(seed)
    Z = np.column_stack([np.ones(8), rng.normal(size=(8, terms))])
    copies = Z[:, rng.integers(0, terms + 1, 3)]
    both = np.column_stack([Z, copies])
    y = rng.normal(size=8)
    value, corner = loops.first_coefficient(both.T @ both, both.T @ y)
    inverse = np.linalg.inv(Z.T @ Z)
    np.testing.assert_allclose([value, corner], [(inverse @ (Z.T @ y))[0], inverse[0, 0]], rtol=1e-6)


def test_points_without_weight_fall_back_to_the_mean_of_the_window():
    x, y, out, lever = np.array([0.0, 1.0, 9.0]), np.array([1.0, 2.0, 30.0]), np.empty(2), np.empty(2)
    for loop, degree in ((loops.lines, 1), (loops.parabolas, 2)):
        loop(Tricube(), x, y, np.zeros(3), np.array([0.5, 20.0]), np.array([2.0, 1.0]), degree, 0, 2, out, lever)
        np.testing.assert_allclose(out, [1.5, 30.0])
        np.testing.assert_array_equal(lever, 0.0)


def test_the_gaussian_does_not_vanish_far_from_all_points():
    x, y, out, lever = np.array([0.0, 1.0, 2.0]), np.array([5.0, 6.0, 7.0]), np.empty(1), np.empty(1)
    loops.lines(GaussianWindow(), x, y, np.ones(3), np.array([500.0]), np.array([0.5]), 0, 0, 1, out, lever)
    np.testing.assert_allclose(out, [7.0])


@given(st.integers(16, 90), st.integers(0, 1000))
def test_moments_of_ranges_of_leaves(n, seed):
    """About any place, in any unit, as computed from the points."""
    rng = np.random.default_rng(seed)
    x, y, w = np.sort(rng.normal(size=n).round(1)), rng.normal(size=n), rng.uniform(size=n)
    tree = moments.empty_tree(n)
    moments.grow_leaves(x, y, w, 0, n // moments.MOMENT_LEAF, tree)
    moments.grow_levels(tree)
    ends = np.sort(rng.integers(0, n // moments.MOMENT_LEAF + 1, 2)) * moments.MOMENT_LEAF
    q, h = rng.normal(), 1.0 + 4.0 * rng.uniform()
    out = np.zeros((2, moments.TERMS))
    moments.add_nodes(tree, *ends, q, h, moments.TERMS, out, np.empty(moments.TERMS))
    part = slice(*ends)
    powers = ((x[part] - q) / h)[:, None] ** np.arange(moments.TERMS)
    size = (np.abs(powers) * w[part, None]).sum(axis=0) + 1e-12
    np.testing.assert_allclose(out[0] / size, w[part] @ powers / size, atol=1e-10)
    np.testing.assert_allclose(out[1] / size, (w[part] * y[part]) @ powers / size, atol=1e-9)
