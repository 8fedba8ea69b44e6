"""Lasso and elastic net on working sets: optimality, duality gap, scikit-learn, sparse = dense, paths."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet

from didact.core.rows import MemoryRows
from didact.engines.design import Design
from didact.engines.lasso import LassoSolver
from didact.engines.lasso_gram import extrapolate, polish, solve_gram


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


def test_polish_goes_to_the_minimum_or_to_the_first_change_of_sign():
    H, c = np.diag([2.0, 2.0]), np.array([4.0, -1.0])
    np.testing.assert_allclose(polish(H, c, 1.0, np.array([1.0, 0.0])), [1.5, 0.0])
    stopped = polish(H, c, 0.0, np.array([1.0, 0.5]))
    assert stopped[1] >= 0.0
    value = lambda u: 0.5 * u @ H @ u - c @ u
    assert value(stopped) <= value(np.array([1.0, 0.5]))


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
