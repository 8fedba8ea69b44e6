"""Lasso and elastic net on working sets: optimality, duality gap, scikit-learn, sparse = dense, paths."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet

from didact.core.rows import MemoryRows
from didact.engines.linear.design import Design
from didact.engines.linear.lasso import LassoSolver
from didact.engines.linear.lasso_gram import extrapolate, newton_step, solve_gram


def data(n=80, p=200, seed=0, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.uniform(size=(n, p)) < density)
    y = X[:, :8] @ rng.normal(size=8) + 0.3 * rng.normal(size=n) + 2.0
    return X, y


def assert_optimal(X, y, w, b, l1, l2, positive, tol):
    w = np.ones(len(y)) if w is None else w
    w = w / w.sum()
    C, yc = X - w @ X, y - w @ y
    gradient = -(C.T @ (w * (yc - C @ b))) + l2 * b
    inside = b != 0
    assert (np.abs(gradient[inside] + l1 * np.sign(b[inside])) <= tol).all()
    assert (gradient[~inside] >= -l1 - tol).all()
    assert positive or (gradient[~inside] <= l1 + tol).all()
    assert not positive or (b >= 0).all()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_optimality(sparse, weighted, positive, l2):
    X, y = data(density=0.3 if sparse else 1.0)
    w = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float) if weighted else None
    centre = y - np.average(y, weights=w)
    solver = LassoSolver(Design.of(MemoryRows(sp.csr_array(X) if sparse else X, None, w), True), centre, positive)
    for share in (0.5, 0.1, 0.02):
        l1 = share * solver.strongest()
        result = solver.solve(l1, l2, np.zeros(X.shape[1]), 1e-12, 200)
        assert result.converged, result.message
        assert_optimal(X, y, w, result.x, l1, l2, positive, 1e-5 * max(1.0, solver.strongest()))
        assert result.optimality <= 1e-12 * solver.square_y


@pytest.mark.parametrize("sparse", [False, True])
def test_equals_scikit_learn(sparse):
    X, y = data(density=0.3 if sparse else 1.0)
    solver = LassoSolver(Design.of(MemoryRows(sp.csr_array(X) if sparse else X, None, None), True), y - y.mean())
    alpha, ratio = 0.05, 0.8
    result = solver.solve(alpha * ratio, alpha * (1 - ratio), np.zeros(200), 1e-14, 500)
    reference = ElasticNet(alpha=alpha, l1_ratio=ratio, tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(result.x, reference.coef_, rtol=1e-5, atol=1e-7)


def test_the_strongest_penalty_is_where_the_first_coefficient_appears():
    X, y = data()
    solver = LassoSolver(Design.of(MemoryRows(X, None, None), True), y - y.mean())
    assert not solver.solve(1.0001 * solver.strongest(), 0.0, np.zeros(200), 1e-12, 50).x.any()
    assert solver.solve(0.999 * solver.strongest(), 0.0, np.zeros(200), 1e-12, 50).x.any()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_path_gives_what_single_fits_give(sparse):
    X, y = data(density=0.3 if sparse else 1.0)
    design = Design.of(MemoryRows(sp.csr_array(X) if sparse else X, None, None), True)
    path = LassoSolver(design, y - y.mean())
    start = np.zeros(200)
    for share in (0.5, 0.2, 0.05):
        l1 = share * path.strongest()
        start = path.solve(l1, 0.0, start, 1e-13, 200).x
        alone = LassoSolver(design, y - y.mean()).solve(l1, 0.0, np.zeros(200), 1e-13, 200).x
        np.testing.assert_allclose(start, alone, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("l1", [0.0, 0.2, 2.0])
def test_a_newton_step_ends_at_the_lowest_point_of_its_line(seed, damping, l1):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(10, 6))
    H, c, u = Z.T @ Z / 10, rng.normal(size=6), rng.normal(size=6)
    u[2] = 0.0
    inside = u != 0
    slope = (H @ u - c + l1 * np.sign(u))[inside]
    d = np.zeros(6)
    d[inside] = -np.linalg.solve(H[np.ix_(inside, inside)] + damping * np.eye(5), slope)
    new = newton_step(H, H @ u - c, l1, u, False, damping)
    value = lambda t: 0.5 * (u + t * d) @ H @ (u + t * d) - c @ (u + t * d) + l1 * np.abs(u + t * d).sum()
    length = float((new - u) @ d / (d @ d))
    np.testing.assert_allclose(new, u + length * d, atol=1e-12)
    assert value(length) <= min(map(value, np.linspace(0, 3, 3001))) + 1e-12


def test_a_newton_step_stops_where_a_coefficient_would_become_negative():
    H, c = np.diag([2.0, 2.0]), np.array([4.0, -1.0])
    np.testing.assert_allclose(newton_step(H, -c, 1.0, np.zeros(2), False, 0.0), [0.0, 0.0])
    u = np.array([1.0, 0.5])
    np.testing.assert_array_equal(newton_step(H, H @ u - c, 0.0, u, True, 0.0), [1.5, 0.0])
    np.testing.assert_array_equal(newton_step(np.zeros((2, 2)), -c, 0.0, u, False, 0.0), u)  # no factor: no step


def test_extrapolation_is_exact_for_a_linear_iteration():
    """u ← Mu + v has its fixed point in the span of as many iterates as M has dimensions, and two."""
    M, v = np.array([[0.9, 0.1], [0.0, 0.7]]), np.array([1.0, 2.0])
    iterates = [np.zeros(2)]
    for _ in range(4):
        iterates.append(M @ iterates[-1] + v)
    np.testing.assert_allclose(extrapolate(iterates), np.linalg.solve(np.eye(2) - M, v), rtol=1e-3)
    assert extrapolate([np.zeros(2)] * 4) is None


def test_solve_gram_without_a_penalty_is_least_squares():
    X, y = data(p=8)
    n = len(y)
    u = solve_gram(X.T @ X / n, X.T @ y / n, 0.0, 0.0, np.zeros(8), False, float(y @ y) / n, 1e-14)
    np.testing.assert_allclose(u, np.linalg.lstsq(X, y)[0], rtol=1e-6)


def test_targets_that_are_constant():
    X, _ = data()
    solver = LassoSolver(Design.of(MemoryRows(X, None, None), True), np.zeros(len(X)))
    result = solver.solve(0.1, 0.0, np.zeros(200), 1e-8, 10)
    assert result.converged
    assert not result.x.any()


def test_neighbouring_penalties_do_not_share_a_solution():
    """A start that is within the tolerance already is still improved, so that paths are no staircases."""
    X, y = data()
    solver = LassoSolver(Design.of(MemoryRows(X, None, None), True), y - y.mean())
    l1 = 0.1 * solver.strongest()
    first = solver.solve(l1, 0.0, np.zeros(200), 1e-2, 100)
    second = solver.solve(0.85 * l1, 0.0, first.x, 1e-2, 100)
    assert first.optimality <= 1e-2 * solver.square_y
    assert np.abs(second.x).sum() > np.abs(first.x).sum()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_duplicate_and_constant_columns(sparse, l2):
    X, y = data(n=40, p=30, density=0.5 if sparse else 1.0)
    X = np.hstack([X, X, np.full((40, 2), 3.0)])
    solver = LassoSolver(Design.of(MemoryRows(sp.csr_array(X) if sparse else X, None, None), True), y - y.mean())
    l1 = 0.02 * solver.strongest()
    result = solver.solve(l1, l2, np.zeros(62), 1e-11, 500)
    assert result.converged, result.message
    assert not result.x[-2:].any()
    assert_optimal(X, y, None, result.x, l1, l2, False, 1e-4)


@pytest.mark.parametrize("positive", [False, True])
def test_a_path_down_to_as_many_coefficients_as_rows(positive):
    """More columns than rows and a weak penalty: the working sets shrink and grow, their cross-products stay."""
    X, y = data(n=40, p=300, seed=3)
    solver = LassoSolver(Design.of(MemoryRows(X, None, None), True), y - y.mean(), positive)
    b, top = np.zeros(300), solver.strongest()
    for share in np.geomspace(1, 1e-3, 30):
        result = solver.solve(share * top, 0.0, b, 1e-9, 200)
        b = result.x
        assert result.converged, result.message
        assert_optimal(X, y, None, b, share * top, 0.0, positive, 1e-3 * top)
    assert np.count_nonzero(b) > (10 if positive else 30)
    kept = solver.columns
    C = (X - X.mean(axis=0))[:, np.argsort(np.where(kept.place < 0, 999, kept.place))[: kept.count]]
    np.testing.assert_allclose(kept.gram[: kept.count, : kept.count], C.T @ C / 40, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_without_an_l1_penalty_it_is_ridge(sparse):
    X, y = data(n=50, p=70, density=0.5 if sparse else 1.0)
    solver = LassoSolver(Design.of(MemoryRows(sp.csr_array(X) if sparse else X, None, None), True), y - y.mean())
    result = solver.solve(0.0, 0.3, np.zeros(70), 1e-14, 500)
    C = X - X.mean(axis=0)
    expected = np.linalg.solve(C.T @ C / 50 + 0.3 * np.eye(70), C.T @ (y - y.mean()) / 50)
    assert result.converged, result.message
    np.testing.assert_allclose(result.x, expected, atol=1e-6)
