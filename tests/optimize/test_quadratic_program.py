"""Quadratic programs: KKT conditions on drawn problems, constructed solutions, duality, other solvers."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from threadpoolctl import threadpool_info, threadpool_limits

from didact.engines.constrained import quadratic_program as engine
from didact.optimize import kkt_residual, linear_program, quadratic_program


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def residual(found, P, q, A=None, b=None, G=None, h=None, lower=None, upper=None):
    """The largest KKT residual, relative to the numbers in it."""
    equalities = None if A is None else (A @ found.x - b, A)
    inequalities = None if G is None else (G @ found.x - h, G)
    slope = P @ found.x + q
    kkt = kkt_residual(found.x, slope, found.multipliers, equalities, inequalities, lower, upper)
    sizes = (np.abs(v).max(initial=0) for v in (P, q, slope, found.x, *found.multipliers))
    return kkt.largest / (1 + max(sizes))


def constructed(n, m, active, seed=0, rank=None):
    """A problem with a known solution and multipliers: `active` rows bind, the others have room."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, rank or n))
    P = M @ M.T / n + (0 if rank else 0.1) * np.eye(n)
    G, x, mu = rng.standard_normal((m, n)), rng.standard_normal(n), np.zeros(m)
    mu[rng.permutation(m)[:active]] = rng.uniform(0.1, 1, active)
    h = G @ x + np.where(mu > 0, 0, rng.uniform(0.1, 1, m))
    return P, -P @ x - G.T @ mu, G, h, x, mu


@pytest.mark.parametrize(("n", "m", "active"), [(1, 1, 1), (5, 12, 3), (60, 120, 20), (120, 300, 100), (30, 200, 0)])
def test_constructed_solution_and_multipliers(n, m, active):
    P, q, G, h, x, mu = constructed(n, m, active)
    found = quadratic_program(P, q, G=G, h=h)
    assert found.converged
    assert found.optimality <= 1e-9
    np.testing.assert_allclose(found.x, x, atol=1e-9)
    np.testing.assert_allclose(found.multipliers.inequalities, mu, atol=1e-9)
    assert found.value == pytest.approx(x @ P @ x / 2 + q @ x, rel=1e-12)


@st.composite
def problems(draw):
    """Feasible problems of all kinds: singular P, integer data (degenerate corners), duplicates, opposite rows."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p, m = draw(st.integers(1, 10)), draw(st.integers(0, 4)), draw(st.integers(0, 25))
    integer, rank = draw(st.booleans()), draw(st.integers(0, 12))
    rows = (lambda *s: rng.integers(-3, 4, s).astype(float)) if integer else lambda *s: rng.standard_normal(s)
    M, x = rows(min(rank, n), n), rows(n)
    A, G = rows(min(p, n), n), rows(m, n)
    b, h = A @ x, G @ x + rng.integers(0, 3, m)
    if m > 3 and draw(st.booleans()):
        h[0] = G[0] @ x
        G[1], h[1], G[2], h[2] = G[0], h[0], -G[0], -h[0]
    if len(A) > 1 and draw(st.booleans()):
        A[1], b[1] = -2 * A[0], -2 * b[0]
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    if draw(st.booleans()):
        lower = np.where(rng.random(n) < 0.6, x - rng.integers(0, 3, n), -np.inf)
        upper = np.where(rng.random(n) < 0.6, x + rng.integers(0, 3, n), np.inf)
    return M.T @ M, rows(n), A, b, G, h, lower, upper


def lower_bound(P, q, A, b, G, h, lower, upper):
    """Whether a ray of the feasible set leads down without end."""
    bounds = np.column_stack([np.where(np.isfinite(lower), 0, -1), np.where(np.isfinite(upper), 0, 1)])
    flat = np.vstack([A, P])
    return optimize.linprog(q, G, np.zeros(len(G)), flat, np.zeros(len(flat)), bounds).fun > -1e-7


@settings(max_examples=300)
@given(problems())
def test_kkt_conditions(problem):
    found = quadratic_program(*problem)
    if found.converged:
        assert residual(found, *problem) < 1e-8
    else:
        assert found.status == "unbounded"
    assert found.converged == lower_bound(*problem)


@settings(max_examples=100)
@given(problems(), st.integers(0, 10**6))
def test_units_do_not_matter(problem, seed):
    """Other units of the variables, the rows and the objective: the same value."""
    P, q, A, b, G, h, lower, upper = problem
    rng = np.random.default_rng(seed)
    s, e = 10.0 ** rng.uniform(-3, 3, len(q)), 10.0 ** rng.uniform(-3, 3, len(h))
    first = quadratic_program(*problem)
    other = quadratic_program(
        1e-6 * s[:, None] * P * s, 1e-6 * s * q, A * s, b, e[:, None] * G * s, e * h, lower / s, upper / s
    )
    assert first.status == other.status
    if first.converged:
        assert 1e6 * other.value == pytest.approx(first.value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("size", [1e-12, 1e12])
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_small_and_large_numbers(size, scale):
    """Solutions of the size 1e-12 are found to as many digits as others, in single precision, too."""
    P, q, G, h, x, mu = constructed(60, 300, 20)
    found = quadratic_program(scale / size**2 * P, scale / size * q, G=G, h=size * h)
    assert found.converged
    np.testing.assert_allclose(found.x / size, x, atol=1e-9)
    np.testing.assert_allclose(found.multipliers.inequalities * size / scale, mu, atol=1e-9)
    twice = quadratic_program(np.eye(2), [0, 0], [[1, 1], [1, 1]], [size, 3 * size])
    assert twice.status == "infeasible"


def test_duality_gap(rng):
    """Worked example 93: every dual value is below every primal one, and they meet at the solution."""
    P, q, G, h, *_ = constructed(6, 15, 4)
    found = quadratic_program(P, q, G=G, h=h)

    def dual(mu):
        return -0.5 * (q + G.T @ mu) @ np.linalg.solve(P, q + G.T @ mu) - h @ mu

    for mu in rng.uniform(0, 2, (100, 15)):
        assert dual(mu) <= found.value + 1e-12
    assert dual(found.multipliers.inequalities) == pytest.approx(found.value, rel=1e-12)
    assert ((found.multipliers.inequalities > 0) <= (np.abs(G @ found.x - h) < 1e-12)).all()


def test_equalities_only_is_one_linear_system(rng):
    M, A = rng.standard_normal((8, 8)), rng.standard_normal((3, 8))
    P, q, b = M @ M.T, rng.standard_normal(8), rng.standard_normal(3)
    solution = np.linalg.solve(np.block([[P, A.T], [A, np.zeros((3, 3))]]), np.concatenate([-q, b]))
    found = quadratic_program(P, q, A, b)
    np.testing.assert_allclose(np.concatenate([found.x, found.multipliers.equalities]), solution, rtol=1e-9)
    dependent = quadratic_program(P, q, np.vstack([A, A.sum(axis=0)]), np.append(b, b.sum()))
    np.testing.assert_allclose(dependent.x, found.x, rtol=1e-9)
    assert residual(dependent, P, q, np.vstack([A, A.sum(axis=0)]), np.append(b, b.sum())) < 1e-12


def test_no_constraints_and_bounds_only(rng):
    X, y = rng.standard_normal((40, 12)), rng.standard_normal(40)
    free = quadratic_program(X.T @ X, -X.T @ y)
    np.testing.assert_allclose(free.x, np.linalg.lstsq(X, y)[0], rtol=1e-9)
    positive = quadratic_program(X.T @ X, -X.T @ y, lower=0)
    np.testing.assert_allclose(positive.x, optimize.nnls(X, y)[0], atol=1e-9)
    boxed = quadratic_program(X.T @ X, -X.T @ y, lower=-0.05, upper=0.1)
    np.testing.assert_allclose(boxed.x, optimize.lsq_linear(X, y, (-0.05, 0.1), tol=1e-14).x, atol=1e-7)


def test_fixed_variables_and_rows_without_meaning():
    P, q, G, h, *_ = constructed(6, 10, 3)
    lower, upper = np.full(6, -np.inf), np.full(6, np.inf)
    lower[[1, 4]] = upper[[1, 4]] = [0.3, -0.2]
    G, h = np.vstack([G, np.zeros(6), np.ones(6)]), np.append(h, [0.0, np.inf])
    found = quadratic_program(P, q, G=G, h=h, lower=lower, upper=upper)
    assert found.x[[1, 4]].tolist() == [0.3, -0.2]
    assert residual(found, P, q, G=G, h=h, lower=lower, upper=upper) < 1e-12
    all_fixed = quadratic_program(P, q, lower=1, upper=1)
    assert all_fixed.value == pytest.approx(P.sum() / 2 + q.sum())
    assert residual(all_fixed, P, q, lower=1, upper=1) < 1e-15


def test_linear_objectives_are_linear_programs(rng):
    for _ in range(20):
        G = rng.integers(-3, 4, (12, 5)).astype(float)
        c, h = -G.T @ rng.integers(0, 2, 12), rng.integers(0, 4, 12).astype(float)
        ours, theirs = quadratic_program(np.zeros((5, 5)), c, G=G, h=h), linear_program(c, G=G, h=h)
        assert ours.status == theirs.status == "converged"
        assert ours.value == pytest.approx(theirs.value, abs=1e-7)


@pytest.mark.parametrize("kind", ["machine", "margin", "portfolio", "isotonic", "low rank"])
def test_problems_that_people_have(kind, rng):
    n, none = 60, (None, None)
    X, y = rng.standard_normal((n, 4)), np.where(np.arange(n) < 30, 1.0, -1.0)
    if kind == "machine":  # the dual of a support vector machine
        P = (y[:, None] * X) @ (y[:, None] * X).T
        problem = P, -np.ones(n), y[None], np.zeros(1), *none, np.zeros(n), np.full(n, 0.7)
    elif kind == "margin":  # and its primal, with slacks
        P = np.diag(np.append(np.ones(4), np.zeros(n + 1)))
        G = np.hstack([-y[:, None] * X, -y[:, None], -np.eye(n)])
        lower = np.append(np.full(5, -np.inf), np.zeros(n))
        problem = P, np.append(np.zeros(5), np.full(n, 0.7)), *none, G, -np.ones(n), lower, None
    elif kind == "portfolio":
        problem = X @ X.T + 0.1 * np.eye(n), -rng.uniform(0, 1, n), np.ones((1, n)), np.ones(1), *none, 0, None
    elif kind == "isotonic":
        G = np.eye(n)[:-1] - np.eye(n)[1:]
        problem = np.eye(n), -(np.arange(n) / 10 + rng.standard_normal(n)), *none, G, np.zeros(n - 1), *none
    else:
        A = rng.standard_normal((9, n))
        problem = X @ X.T, X @ np.ones(4), A, A @ rng.uniform(0, 1, n), *none, 0, 1
    found = quadratic_program(*problem)
    assert found.converged
    assert residual(found, *problem) < 1e-10
    assert found.n_iter < 25


def test_the_two_forms_of_a_machine_agree(rng):
    """Strong duality of the course's primal and dual: w = Σ αᵢyᵢxᵢ, and equal values."""
    X, y = rng.standard_normal((40, 3)), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    P = np.diag([1.0, 1, 1, 0] + [0] * 40)
    G = np.hstack([-y[:, None] * X, -y[:, None], -np.eye(40)])
    lower = np.append(np.full(4, -np.inf), np.zeros(40))
    primal = quadratic_program(P, np.append(np.zeros(4), np.ones(40)), G=G, h=-np.ones(40), lower=lower)
    K = (y[:, None] * X) @ (y[:, None] * X).T
    dual = quadratic_program(K, -np.ones(40), y[None], np.zeros(1), lower=0, upper=1)
    assert primal.value == pytest.approx(-dual.value, rel=1e-9)
    np.testing.assert_allclose(primal.x[:3], X.T @ (dual.x * y), atol=1e-8)
    alpha = primal.multipliers.inequalities
    assert alpha @ K @ alpha / 2 - alpha.sum() == pytest.approx(dual.value, rel=1e-9)


def test_interior_point_alone(monkeypatch):
    """Where the active-set method never succeeds the tolerance is met all the same, in few iterations."""
    for method in ("alone", "near"):
        monkeypatch.setattr(engine.ActiveSets, method, lambda *args: None)
    for problem in (constructed(40, 90, 20), constructed(40, 90, 20, rank=10), constructed(120, 300, 60)):
        P, q, G, h, x, _ = problem
        found = quadratic_program(P, q, G=G, h=h, tol=1e-10)
        assert found.converged
        assert found.n_iter < 20
        assert residual(found, P, q, G=G, h=h) < 1e-8
    np.testing.assert_allclose(found.x, x, atol=1e-6)


def test_similar_problems_start_from_each_other():
    P, q, G, h, x, mu = constructed(30, 80, 12)
    assert quadratic_program(P, q, G=G, h=h).n_iter > 0
    again = quadratic_program(P, q + 1e-3, G=G, h=h, x0=x)
    assert again.n_iter == 0
    assert again.converged
    assert ((again.multipliers.inequalities > 0) == (mu > 0)).all()
    assert quadratic_program(P, q, G=G, h=h, x0=np.full(30, 50.0)).converged  # a bad start does no harm


def test_iteration_limit_says_so():
    P, q, G, h, *_ = constructed(60, 150, 30)
    found = quadratic_program(P, q, G=G, h=h, max_iter=1)
    assert found.status == "iteration limit"
    assert np.isfinite(found.x).all()
    assert found.optimality > 1e-9
    assert len(found.history) == found.n_iter + 1


def test_against_scipy(rng):
    P, q, G, h, x, _ = constructed(15, 40, 6)
    A, h = rng.standard_normal((2, 15)), h + 0.5
    b = A @ x + 0.1
    found = quadratic_program(P, q, A, b, G, h)
    theirs = optimize.minimize(
        lambda x: x @ P @ x / 2 + q @ x, np.zeros(15), jac=lambda x: P @ x + q, method="SLSQP",
        constraints=[{"type": "eq", "fun": lambda x: A @ x - b, "jac": lambda x: A},
                     {"type": "ineq", "fun": lambda x: h - G @ x, "jac": lambda x: -G}],
        options={"ftol": 1e-14, "maxiter": 300},
    )  # fmt: skip
    np.testing.assert_allclose(found.x, theirs.x, atol=1e-6)
    assert found.value <= theirs.fun + 1e-9


def test_against_quadprog(rng):
    quadprog = pytest.importorskip("quadprog", reason="quadprog is a peer of the benchmarks, not needed for tests")
    P, q, G, h, x, _ = constructed(15, 40, 6)
    A, h = rng.standard_normal((2, 15)), h + 0.5
    b = A @ x + 0.1
    found = quadratic_program(P, q, A, b, G, h)
    x, _, _, _, mu, _ = quadprog.solve_qp(P, -q, np.hstack([A.T, -G.T]), np.append(b, -h), 2)
    np.testing.assert_allclose(found.x, x, atol=1e-9)
    np.testing.assert_allclose(found.multipliers.inequalities, mu[2:], atol=1e-8)


def test_blas_is_held_to_one_thread_and_given_back(monkeypatch):
    """Two BLAS libraries that wake their threads for each of hundreds of small products take ten times the time."""

    def limits():
        return {lib["filepath"]: lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    inside = []
    solve = engine.solve_quadratic
    monkeypatch.setattr(
        sys.modules["didact.optimize.quadratic_program"],
        "solve_quadratic",
        lambda *args: inside.append(limits()) or solve(*args),
    )
    with threadpool_limits(2, "blas"):
        before = limits()
        assert quadratic_program(np.eye(2), [1, 1], lower=0).converged
        assert limits() == before
    assert set(inside[0].values()) == {1}
