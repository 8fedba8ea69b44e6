"""The kernel smoother: all pairs, leaving out by hand, the density of (x, y), statsmodels' definition, refusals."""

import tracemalloc

import numpy as np
import pytest
from scipy import integrate

from didact.core.errors import InputError
from didact.linear_model import LocallyWeightedRegression
from didact.neighbors import KernelDensity, KernelSmoother
from didact.parts.windows import WINDOWS


def problem(n=300, p=2, k=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, p))
    Y = np.sin(2 * X[:, :1]) + np.arange(1, k + 1) * X[:, -1:] ** 2 + 0.2 * rng.normal(size=(n, k))
    return X, Y[:, 0] if k == 1 else Y


def by_pairs(window, X, y, w, Q, h):
    K = window.value((((Q[:, None] - X) / h) ** 2).sum(axis=2)) * w
    return K @ y / (K.sum(axis=1) if y.ndim == 1 else K.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("kernel", WINDOWS)
@pytest.mark.parametrize("k", [1, 3])
def test_means_over_all_pairs(kernel, k):
    X, y = problem(k=k)
    Q, w = problem(80, seed=1)[0] * 0.8, np.random.default_rng(1).uniform(0.5, 2, 300)
    for h in (0.7, np.array([0.9, 0.6])):
        model = KernelSmoother(bandwidth=h, kernel=kernel).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(model.predict(Q), by_pairs(WINDOWS[kernel], X, y, w, Q, h), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("p", range(1, 11))
def test_dimensions(p):
    X, y = problem(p=p)
    model = KernelSmoother(bandwidth=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), by_pairs(WINDOWS["gaussian"], X, y, 1.0, X, 1.0), rtol=1e-9)


def test_it_is_the_conditional_mean_of_a_kernel_density():
    """∫ y p(x, y) dy / ∫ p(x, y) dy, with p a kernel density of (x, y), by quadrature."""
    x, y = problem(60, 1)
    joint = KernelDensity(bandwidth=0.4).fit(np.column_stack([x, y]))
    model = KernelSmoother(bandwidth=0.4).fit(x, y)
    t = np.linspace(-12, 15, 4001)
    for place in (-1.5, 0.0, 0.8):
        p = np.exp(joint.score_samples(np.column_stack([np.full_like(t, place), t])))
        mean = integrate.trapezoid(t * p, t) / integrate.trapezoid(p, t)
        assert model.predict([[place]])[0] == pytest.approx(mean, rel=1e-9)


def test_it_is_local_regression_of_degree_zero():
    X, y = problem(200, 1)
    peer = LocallyWeightedRegression(bandwidth=0.3, degree=0, kernel="gaussian").fit(X, y)
    np.testing.assert_allclose(KernelSmoother(bandwidth=0.3).fit(X, y).predict(X), peer.predict(X), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "tophat"])
@pytest.mark.parametrize("k", [1, 2])
def test_leaving_out_by_leaving_out(kernel, k):
    X, y = problem(80, k=k)
    grid = [0.05, 0.3, 1.0, 4.0]
    model = KernelSmoother(bandwidth="cv", grid=grid, kernel=kernel).fit(X, y)
    for h, error in zip(grid, model.cv_errors_, strict=True):
        one = KernelSmoother(bandwidth=h, kernel=kernel)
        out = np.array([one.fit(np.delete(X, i, 0), np.delete(y, i, 0)).predict(X[i : i + 1])[0] for i in range(80)])
        np.testing.assert_allclose(one.fit(X, y).leave_one_out(), out, rtol=1e-9, atol=1e-9)
        assert error == pytest.approx(((out - y) ** 2).mean(), rel=1e-9)
    assert model.bandwidth_ == grid[int(np.argmin(model.cv_errors_))]


def test_weights_are_repetitions_also_when_left_out():
    X, y = problem(120)
    w = np.random.default_rng(0).integers(0, 4, 120)
    grid, again = [0.1, 0.4, 1.0], (X.repeat(w, axis=0), y.repeat(w))
    weighted, repeated = KernelSmoother(grid=grid).fit(X, y, sample_weight=w), KernelSmoother(grid=grid).fit(*again)
    np.testing.assert_allclose(weighted.cv_errors_, repeated.cv_errors_, rtol=1e-9)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


def test_far_away_and_in_empty_windows_the_nearest_rows_decide():
    X, y = np.array([[0.0], [1.0], [1.0], [5.0]]), np.array([1.0, 2.0, 4.0, 8.0])
    for kernel in ("gaussian", "tophat", "exponential"):
        model = KernelSmoother(bandwidth=0.01, kernel=kernel).fit(X, y)
        np.testing.assert_allclose(model.predict([[1.3], [1e5], [-7.0]]), [3.0, 8.0, 1.0], rtol=1e-9)


def test_large_offsets_do_not_cost_digits():
    X, y = problem()
    plain, shifted = KernelSmoother(bandwidth=0.3).fit(X, y), KernelSmoother(bandwidth=0.3).fit(X, y + 1e9)
    np.testing.assert_allclose(shifted.predict(X) - 1e9, plain.predict(X), atol=1e-6)


def test_the_chosen_bandwidth_is_sensible():
    X, y = problem(1500, 1)
    model = KernelSmoother().fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.grid_[0] < model.bandwidth_ < model.grid_[-1]
    scaled = KernelSmoother(scale=True).fit(X * [[100.0]], y)
    assert scaled.score(X * [[100.0]], y) > 0.95


@pytest.mark.parametrize(
    ("model", "X", "words"),
    [
        (KernelSmoother(bandwidth=0), [[1.0], [2.0]], "bandwidth"),
        (KernelSmoother(bandwidth=[1.0, -1.0]), [[1.0, 2.0], [2.0, 1.0]], "positive"),
        (KernelSmoother(), [[1.0]], "n_samples = 1"),
        (KernelSmoother(), [[1.0], [1.0]], "All rows are equal"),
        (KernelSmoother(bandwidth=1.0), [[np.nan], [1.0]], "NaN"),
        (KernelSmoother(grid=[]), [[0.0], [1.0]], "grid"),
    ],
)
def test_refusals(model, X, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, np.arange(len(X)) * 1.0)


def test_values_whose_squares_overflow_are_refused_in_words():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = KernelSmoother(bandwidth=1.0).fit(X, X[:, 0])
    with pytest.raises(InputError, match=r"Column 1 has values .* overflow"):
        model.predict([[0.0, 1e160]])
    X[3, 1] = 1e160
    with pytest.raises(InputError, match=r"Column 1 has values .* overflow"):
        model.fit(X, X[:, 0])


def test_no_covariance_is_formed_to_choose_a_width():
    """Of 40,000 columns it would take 12 GiB; the widths come from variances."""
    X = np.random.default_rng(0).normal(size=(2, 40_000))
    tracemalloc.start()
    model = KernelSmoother().fit(X, [0.0, 1.0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    np.testing.assert_allclose(model.predict(X), [0.0, 1.0], atol=1e-6)
