"""Kernel sums against tables of all pairs, within their tolerances, also far away, with own widths and left out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

import didact
from didact.engines.smoothing.kernel_sums import kernel_sums, log_sums, prepare, shaped_sums
from didact.parts.windows import WINDOWS

GRID = np.array([1.0, 0.1, 0.3])
SCALES = GRID**-2.0


def case(n=1500, p=3, m=150, seed=0):
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(n, p)), 1.5 * rng.normal(size=(m, p))
    return X, rng.uniform(0.3, 3.0, n), rng.normal(size=(n, 2)), Q


def table(window, squares, w):
    """log Σ_i w_i K from all pairs, for all scales."""
    if window.tails:
        return np.array([logsumexp(window.log_value(squares * c), b=w, axis=1) for c in SCALES])
    with np.errstate(divide="ignore"):
        return np.log([(window.value(squares * c) * w).sum(axis=1) for c in SCALES])


@pytest.mark.parametrize("name", WINDOWS)
def test_sums_for_all_windows_and_bandwidths_at_once(name):
    window, (X, w, Y, Q) = WINDOWS[name], case()
    points = prepare(X, w, Y, leaf=40)
    sums = kernel_sums(window, points, Q, SCALES)
    squares = cdist(Q, X, "sqeuclidean")
    np.testing.assert_allclose(log_sums(window, sums, SCALES), table(window, squares, w), atol=1e-10)
    near = sums.nearest == 0
    for b, c in enumerate(SCALES):
        expected = window.value(c * squares) @ (w[:, None] * Y)
        np.testing.assert_allclose(sums.columns[b][near], expected[near], atol=1e-8)


@pytest.mark.parametrize("p", range(1, 11))
def test_dimensions(p):
    X, w, _, Q = case(n=700, p=p)
    window = WINDOWS["gaussian"]
    found = log_sums(window, kernel_sums(window, prepare(X, w, leaf=30), Q, SCALES), SCALES)
    np.testing.assert_allclose(found, table(window, cdist(Q, X, "sqeuclidean"), w), atol=1e-10)


@pytest.mark.parametrize("name", ["gaussian", "exponential", "epanechnikov"])
def test_own_widths(name):
    window, (X, w, _, Q) = WINDOWS[name], case()
    widths = np.exp(np.random.default_rng(1).normal(scale=0.5, size=len(X)))
    found = log_sums(window, kernel_sums(window, prepare(X, w, widths=widths, leaf=40), Q, SCALES), SCALES)
    squares = cdist(Q, X, "sqeuclidean") / widths**2
    np.testing.assert_allclose(found, table(window, squares, w / widths**3), atol=1e-10)


@pytest.mark.parametrize("name", ["gaussian", "exponential"])
def test_far_from_all_points(name):
    window, (X, w, _, _) = WINDOWS[name], case(n=300)
    Q = np.array([[1e3, 0.0, 0.0], [0.0, -1e5, 3.0], [1.0, 1.0, 60.0], [0.0, 0.0, 0.0]])
    found = log_sums(window, kernel_sums(window, prepare(X, w, leaf=20), Q, SCALES), SCALES)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, table(window, cdist(Q, X, "sqeuclidean"), w), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("name", ["gaussian", "tophat", "tricube"])
@pytest.mark.parametrize("copies", [1, 4])
def test_each_point_without_one_row_of_itself(name, copies):
    """Duplicates, weights below and above 1, a lonely point: as if the row had really been left out."""
    window, (X, w, _, _) = WINDOWS[name], case(n=400)
    X, w = (
        np.vstack([X[:50].repeat(copies, axis=0), X[50:], [[40.0, 0.0, 0.0]]]),
        np.append(w, np.ones(50 * copies - 49)),
    )
    W = np.tile(w, (len(X), 1))
    W[np.arange(len(X)), np.arange(len(X))] -= np.minimum(1.0, w)
    found = log_sums(window, kernel_sums(window, prepare(X, w, leaf=20), None, SCALES), SCALES)
    squares = cdist(X, X, "sqeuclidean")
    with np.errstate(divide="ignore"):
        expected = table(window, squares, W)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_empty_windows_get_the_nearest_points():
    X, w, y = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 1.0]), np.array([[1.0], [5.0], [9.0]])
    Q = np.array([[2.0], [0.1], [100.0]])
    sums = kernel_sums(WINDOWS["tophat"], prepare(X, w, y), Q, np.array([0.5**-2.0]), empty=True)
    np.testing.assert_allclose(sums.columns[0, :, 0] / sums.weight[0], [(2 * 5 + 9) / 3, 1.0, 9.0])


def test_a_covariance_for_each_point():
    X, w, _, Q = case(n=300, p=2)
    rng = np.random.default_rng(2)
    A = np.tril(rng.normal(size=(300, 2, 2))) + 2 * np.eye(2)
    squares = (np.einsum("ifg,qig->qif", A, Q[:, None] - X) ** 2).sum(axis=2)
    for name in ("gaussian", "epanechnikov"):
        window = WINDOWS[name]
        found = log_sums(window, shaped_sums(window, X, w, A, Q, SCALES), SCALES)
        np.testing.assert_allclose(found, table(window, squares, w), atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 400), p=st.integers(1, 5), spread=st.floats(0.01, 30.0),
    rtol=st.sampled_from([0.0, 1e-6, 1e-3, 0.2]),
    atol=st.sampled_from([0.0, 1e-4, 0.5]), name=st.sampled_from(sorted(WINDOWS)), seed=st.integers(0, 10**6),
    ties=st.booleans(), leaf=st.integers(2, 64),
)  # fmt: skip
def test_errors_stay_within_the_tolerance(n, p, spread, rtol, atol, name, seed, ties, leaf):
    rng, window = np.random.default_rng(seed), WINDOWS[name]
    X, Q = spread * rng.normal(size=(n, p)), spread * rng.normal(size=(80, p))
    X = np.round(X) if ties else X
    w = rng.exponential(size=n) + 1e-3
    sums = kernel_sums(window, prepare(X, w, leaf=leaf), Q, np.ones(1), rtol, atol)
    exact = window.value(cdist(Q, X, "sqeuclidean")) @ w
    found = np.exp(log_sums(window, sums, np.ones(1))[0])
    assert (np.abs(found - exact) <= rtol * exact * (1 + 1e-9) + atol * (1 + 1e-9) + 1e-10 * exact + 1e-300).all()


def test_threads_and_chunks_do_not_change_the_sums(two_threads):
    X, w, Y, Q = case(n=5000, m=3000)
    found = []
    for count in (1, 2):
        didact.set_threads(count)
        found.append(kernel_sums(WINDOWS["gaussian"], prepare(X, w, Y), Q, SCALES))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_tolerance_saves_time_not_truth():
    """With many points and a wide tolerance whole nodes count at once: weights far from 0 everywhere stay right."""
    X, Q = np.random.default_rng(0).uniform(size=(20_000, 1)), np.array([[0.5]])
    sums = kernel_sums(WINDOWS["gaussian"], prepare(X, np.ones(20_000)), Q, np.array([0.2**-2.0]), rtol=0.1)
    exact = np.exp(-0.5 * ((X - 0.5) / 0.2) ** 2).sum()
    assert 0 < abs(sums.weight[0, 0] / exact - 1) < 0.1
