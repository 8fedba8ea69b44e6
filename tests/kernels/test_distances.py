"""Distances keep their digits wherever rows lie: one far row, far groups, bursts; all forms against direct differences.

The oracle takes differences in extended precision. With unit roundoff u, what a product may lose is 2·1024·max(1, s)
units of s, times the few units by which sums of p terms err, and centring moves each row by its own rounding:
abs(s − s*) ≤ 2¹⁴u·max(1, s) + (2√s + δ)δ with δ = 4u(‖x‖ + ‖z‖). Kernels of s have slopes of at most 3/2.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from didact.engines.gram import rows as gram_rows
from didact.engines.gram.rows import GramRows, images
from didact.gaussian_process import GaussianProcessRegressor
from didact.kernel_ridge import KernelRidge
from didact.kernels import RBF, Matern, Periodic, RationalQuadratic
from didact.kernels import distances as made
from didact.kernels.distances import squared_distances
from didact.kernels.foreign import PeriodicDistance
from didact.svm import SVC, SVR, OneClassSVM

RNG = np.random.default_rng(0)


def far_row(n, p):
    """Ordinary rows, and one at 1e10."""
    X = RNG.normal(size=(n, p))
    X[n // 3] = 1e10
    return X


def far_groups(n, p):
    """Two groups that a mean lies between, and neither is near it."""
    return RNG.normal(size=(n, p)) + np.where(np.arange(n) % 2, 3e5, -2e5)[:, None]


def bursts(n, p):
    """Short times of measuring, long ones without."""
    return 1e4 * np.sort(RNG.integers(0, 10, n))[:, None] + RNG.normal(size=(n, p))


def spread_out(n, p):
    """No centre has many rows near it."""
    return np.cumsum(RNG.exponential(0.5, size=(n, p)), axis=0) * 4.0


LAYOUTS = [far_row, far_groups, bursts, spread_out]
KERNELS = [
    RBF(1.5),
    RBF((1.0, 2.0, 0.5)),
    Matern(1.5, 1.5),
    Matern((1.0, 2.0, 0.5), 2.5),
    RationalQuadratic(1.5, 0.7),
]


def exact(X, Z, width):
    """Squared distances in widths, and a bound of their error, for a unit roundoff of one."""
    X, Z = (np.asarray(M, np.longdouble) / np.asarray(width, np.longdouble) for M in (X, Z))
    s = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    lengths = (np.sqrt((M**2).sum(axis=1)) for M in (X, Z))
    return s, np.add.outer(*lengths)


def bound(s, lengths, dtype=np.float64):
    """Of the error of s."""
    u = float(np.finfo(dtype).eps) / 2
    delta = 4 * u * lengths
    return 2.0**14 * u * np.maximum(1.0, s) + (2 * np.sqrt(s) + delta) * delta


def require_close(found, expected, error):
    """All entries within their own bounds."""
    worst = np.max(np.abs(np.asarray(found, np.longdouble) - expected) / error)
    assert worst <= 1.0, worst


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_squared_distances(layout, dtype):
    X = layout(120, 3).astype(dtype)
    for Z in (X, X[50:], np.vstack([X[:40], X[:9] + dtype(0.25)])):
        s, lengths = exact(X, Z, 1.0)
        require_close(squared_distances(X, None if Z is X else Z), s, bound(s, lengths, dtype))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_kernels_and_their_gradients(layout, kernel):
    """Values, derivatives, and their sums with any matrix, of rows with themselves and with others."""
    X = layout(90, 3)
    for Z in (None, X[20:]):
        s, lengths = exact(X, X if Z is None else Z, kernel.width)
        K = kernel.value(np.asarray(s, np.float64))
        slopes = np.abs(kernel.slope(np.asarray(s, np.float64)))
        error = 1.5 * bound(s, lengths) * np.minimum(1.0, 1.0 / np.maximum(s, 1e-300) + slopes) + 1e-15
        require_close(kernel.gram(X, Z), K, error)
        traced, pull = kernel.traced(X, Z)
        require_close(traced, K, error)
        A = RNG.normal(size=K.shape)
        parts = kernel.partials(X, Z)
        for part in parts:  # those of each width are at most all of −2f′s, which changes by as much as s does
            assert np.isfinite(part).all()
        direct = np.array([(A * part).sum() for part in parts], np.float64)
        np.testing.assert_allclose(pull(A), direct, atol=1e-9 * np.abs(A).sum())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_derivatives_by_width(layout):
    """K·(x_j − z_j)²/w_j² from differences, summed."""
    X, widths = layout(90, 3), np.array([1.0, 2.0, 0.5])
    s, _ = exact(X, X, widths)
    A = RNG.normal(size=s.shape)
    step = (X[:, None] - X[None]) / widths
    expected = (np.exp(-0.5 * s)[:, :, None] * A[:, :, None] * step**2).sum(axis=(0, 1))
    found = RBF(tuple(widths)).pull(X, A)
    # Rows at 1e10 are themselves known to 1e-6, and are in at most one pair.
    np.testing.assert_allclose(found, np.asarray(expected, np.float64), atol=1e-8 * np.abs(A).sum())


@pytest.mark.parametrize("columns", [1, 3])
def test_periodic_kernels_of_large_numbers(columns):
    """Whole periods make no difference, nor do they cost digits; a small width needs the distance to more of them."""
    X = RNG.uniform(0.0, 1.0, size=(60, columns))
    far = X + 2.0**30 * RNG.integers(1, 9, size=X.shape)
    near = far % 1.0  # exactly
    np.testing.assert_allclose(Periodic(0.01, 1.0)(far), Periodic(0.01, 1.0)(near), rtol=0, atol=1e-12)
    s = 4 * (np.sin(np.pi * (near[:, None] - near[None])) ** 2).sum(axis=2) / 0.01**2
    np.testing.assert_allclose(Periodic(0.01, 1.0)(near), np.exp(-0.5 * s), rtol=0, atol=1e-11)
    near *= 1000.0
    d = np.sqrt(((near[:, None] - near[None]) ** 2).sum(axis=2))
    expected = np.exp(-2.0 * np.sin(np.pi * d / 0.1) ** 2)
    np.testing.assert_allclose(PeriodicDistance(1.0, 0.1).gram(near), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_tensors(kernel, layout):
    torch = pytest.importorskip("torch")
    X = layout(60, 3)
    T, A = torch.from_numpy(X), RNG.normal(size=(60, 60))
    s, lengths = exact(X, X, kernel.width)
    K = kernel.value(np.asarray(s, np.float64))
    for found in (kernel.gram(T), kernel.gram(T, T), kernel.traced(T)[0]):
        require_close(found.numpy(), K, 1.5 * bound(s, lengths) + 1e-15)
    np.testing.assert_allclose(kernel.pull(T, torch.from_numpy(A)), kernel.pull(X, A), atol=1e-8 * np.abs(A).sum())


@pytest.mark.parametrize("others", [sp.csr_array, np.asarray])
def test_sparse_rows_that_are_long(others):
    """They cannot be centred: rows that are alike are told apart by differences."""
    X = RNG.normal(size=(60, 30)) * (RNG.random((60, 30)) < 0.2) * 1e4
    X[30:] = X[:30] + 0.5 * (RNG.random((30, 30)) < 0.2)
    s, lengths = exact(X, X, 2.0)
    for Z in (None, others(X)):
        require_close(RBF(2.0).gram(sp.csr_array(X), Z), np.exp(-0.5 * s), bound(s, lengths))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("outputs", [(), (9,)])
@pytest.mark.parametrize("columns", [3, 120])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_of_values_that_are_made_on_the_way(layout, columns, outputs, dtype):
    """By the loop and by BLAS, also of rows with many zeros and in both orders at once."""
    X = layout(1100, columns)
    if columns > 3:
        X *= RNG.random(X.shape) < 0.05
    kernel, own = RBF(2.0), np.arange(50, 1100)
    s, lengths = _direct(X, X[own], 2.0)
    coef = RNG.normal(size=(len(own), *outputs))
    error = 2 * bound(s, lengths, dtype) / (1.0 + s) @ np.abs(coef)
    expected = np.exp(-0.5 * s) @ coef
    for given in (own, None):
        found = images(kernel, X, X[own], coef, dtype, given)
        assert (np.abs(found - expected) <= error + 1e-12 * np.abs(coef).sum()).all()


def _direct(X, Z, width):
    """As `exact`, by SciPy's differences in double precision: enough for sums."""
    X, Z = X / width, Z / width
    return cdist(X, Z, "sqeuclidean"), np.add.outer(*(np.sqrt((M**2).sum(axis=1)) for M in (X, Z)))


@pytest.mark.parametrize("columns", [3, 120])
def test_rows_of_the_cache(columns):
    """Those that BLAS fills, and what is left of them when rows are taken away."""
    X = far_groups(200, columns)
    made_rows = GramRows(RBF(8.0), X, np.float64, 10.0, 20).some(np.arange(0, 200, 3), 10.0, 20)
    chosen = np.array([0, 7, 60])
    made_rows.fill(chosen, chosen)
    s, lengths = _direct(X[::3][chosen], X[::3], 8.0)
    require_close(made_rows.table[chosen], np.exp(-0.5 * s), bound(s, lengths))


def test_near_rows_are_left_to_products(monkeypatch):
    """Ordinary rows, far from 0 or not, and those with some that are not quite near, take no differences."""

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(made, "take_differences", never)
    X = 1e6 + RNG.normal(size=(300, 20))
    for kernel in (RBF(0.5), RBF((0.5,) * 20), Matern(0.5, 1.5)):
        kernel.gram(X)
        kernel.gram(X + 100.0, X)
        kernel.pull(X, np.ones((300, 300)))
    left, _ = gram_rows.exponents(RBF(0.5), X, X)
    centre = X.mean(axis=0) / 0.5
    np.testing.assert_array_equal(left[:, 2:], X / 0.5 - centre)


# Models


@pytest.fixture(params=[far_row, bursts])
def problem(request):
    """Rows of which some are far, smooth targets, and new rows near the first ones."""
    X = request.param(300, 2)
    y = np.sin(2.0 * X[:, 0]) + RNG.normal(0.0, 0.1, len(X))
    return X, y, X[: len(X) // 3] + 0.1


def direct_kernel(X, Z, width):
    """From differences."""
    return np.exp(-0.5 * _direct(X, Z, width)[0])


@pytest.mark.parametrize(
    "model",
    [
        SVR(C=10.0, tol=1e-9, gamma=0.5),
        SVC(C=10.0, tol=1e-9, gamma=0.5),
        OneClassSVM(tol=1e-9, gamma=0.5),
        KernelRidge(kernel="rbf", gamma=0.5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_are_those_of_direct_differences(model, problem):
    """The Gram matrix of direct differences, given, has the same optimum."""
    X, y, new = problem
    y = np.where(y > 0, 1, 0) if isinstance(model, SVC) else y
    given = type(model)(**model.get_params() | {"kernel": "precomputed"})
    name = "decision_function" if hasattr(model, "decision_function") else "predict"
    found = getattr(model.fit(X, y), name)(new)
    expected = getattr(given.fit(direct_kernel(X, X, 1.0), y), name)(direct_kernel(new, X, 1.0))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("widths", [1.0, (1.0,)])
def test_a_process_of_bursts(widths):
    """Its mean is (K + αI)⁻¹y from direct differences, at the smallest noise; so is the gradient of its evidence."""
    t = np.concatenate([start + np.arange(30.0) + RNG.uniform(0, 0.2, 30) for start in (0.0, 3e3, 1e5, 7e6)])[:, None]
    y, new = np.sin(t[:, 0] % 100), t + 0.4
    K = direct_kernel(t, t, 1.0) + 1e-10 * np.eye(len(t))
    model = GaussianProcessRegressor(RBF(widths), optimizer=None).fit(t, y)
    expected = direct_kernel(new, t, 1.0) @ np.linalg.solve(K, y)
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-8)
    by_width = K * (t - t.T) ** 2
    a = np.linalg.solve(K, y)
    slope = 0.5 * (a @ by_width @ a - np.trace(np.linalg.solve(K, by_width)))
    found = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)[1]
    np.testing.assert_allclose(found, [slope], rtol=1e-7)
