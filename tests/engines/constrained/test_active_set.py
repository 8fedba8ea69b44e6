"""The active-set method from no guess: KKT conditions on programs of many shapes, and when it hands over."""

import numpy as np
import pytest

from didact.engines.constrained import active_set
from didact.engines.constrained import quadratic_program as engine
from didact.optimize import kkt_residual, quadratic_program


@pytest.fixture
def calls(monkeypatch):
    """What the two ways through the active-set method returned, and when double precision was taken up."""
    made = []

    def watch(name):
        method = getattr(engine.ActiveSets, name)

        def watched(self, *args):
            single = self.single
            found = method(self, *args)
            if name != "double" or single:
                made.append((name, found is not None))
            return found

        monkeypatch.setattr(engine.ActiveSets, name, watched)

    for name in ("alone", "near", "double"):
        watch(name)
    return made


def drawn(n, m, seed, condition=10.0):
    """P with eigenvalues from 1 to 1/condition, and rows that leave 0 feasible."""
    rng = np.random.default_rng([n, m, seed])
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    P = Q @ np.diag(np.geomspace(1 / condition, 1, n)) @ Q.T
    return (P + P.T) / 2, rng.standard_normal(n), rng.standard_normal((m, n)), rng.uniform(0.1, 1.0, m)


def check(P, q, G, h, tol=1e-12):
    """The program is solved, and its KKT conditions hold, mostly to rounding."""
    found = quadratic_program(P, q, G=G, h=h)
    assert found.converged
    residual = kkt_residual(found.x, P @ found.x + q, found.multipliers, inequalities=(G @ found.x - h, G))
    sizes = (np.abs(v).max(initial=0) for v in (P @ found.x, q, *found.multipliers))
    assert residual.largest < tol * (1 + max(sizes)) * (1 + np.abs(G).max())
    assert len(found.history) == found.n_iter + 1
    assert found.history[-1] == pytest.approx(found.value, rel=1e-9)
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ratio", [0.1, 0.5, 1, 2, 6])
@pytest.mark.parametrize("n", [1, 7, 40, 150])
def test_shapes(n, ratio, seed, calls):
    """In double precision and, from 100 variables, in single precision; up to n rows no interior point is needed."""
    found = check(*drawn(n, max(1, int(ratio * n)), seed))
    assert found.n_iter < 20
    if ratio <= 1:
        assert calls[0] == ("alone", True)


@pytest.mark.parametrize("n", [20, 120])
def test_any_number_of_rows_may_bind(n, calls):
    """From no row to as many as there are variables, all with positive multipliers."""
    P, _, G, _ = drawn(n, n, 0)
    rng = np.random.default_rng(1)
    x = rng.standard_normal(n)
    for k in range(0, n + 1, n // 4):
        mu = np.where(np.arange(n) < k, rng.uniform(0.5, 1.5, n), 0.0)
        h = G @ x + np.where(mu > 0, 0.0, rng.uniform(0.5, 1.5, n))
        found = check(P, -P @ x - G.T @ mu, G, h)
        np.testing.assert_allclose(found.x, x, atol=1e-8)
        np.testing.assert_allclose(found.multipliers.inequalities, mu, atol=1e-8)


@pytest.mark.parametrize("n", [12, 120])
@pytest.mark.parametrize("noise", [0.0, 1e-13, 1e-10, 1e-7, 1e-4])
def test_repeated_and_nearly_repeated_rows(n, noise):
    P, q, G, h = drawn(n, n, 3)
    rng = np.random.default_rng(4)
    plain = check(P, q, G, h)
    twice = np.vstack([G, 2 * G * (1 + noise * rng.standard_normal(G.shape))])
    again = check(P, q, twice, np.append(h, 2 * h), 1e-9)
    np.testing.assert_allclose(again.x, plain.x, atol=1e-5 + 100 * noise)


@pytest.mark.parametrize("n", [5, 110])
@pytest.mark.parametrize("extra", [1, 30])
def test_ties(n, extra):
    """More rows than variables meet at the solution, some with multiplier zero."""
    P, _, G, _ = drawn(n, n + extra, 5)
    rng = np.random.default_rng(6)
    x, mu = rng.standard_normal(n), np.where(np.arange(n + extra) < n // 2, 1.0, 0.0)
    found = check(P, -P @ x - G.T @ mu, G, G @ x, 1e-9)
    np.testing.assert_allclose(found.x, x, atol=1e-7)


@pytest.mark.parametrize(("m", "condition"), [(800, 10.0), (300, 1e6)])
def test_the_interior_point_takes_over(m, condition, calls):
    """Where far too many rows are violated, and where most multipliers of the first guess are negative."""
    found = check(*drawn(120, m, 7, condition))
    assert calls[0] == ("alone", False)
    assert calls[-1][0] == "near"
    assert found.n_iter > 0


def test_cycles_are_left(monkeypatch, calls):
    """When all violated rows enter at once the method cycles; it notices within few rounds."""
    monkeypatch.setattr(active_set, "FEW_VIOLATED", 2.0)
    monkeypatch.setattr(active_set, "HOPELESS", 1.0)
    rounds = []
    system = engine.ActiveSets.system
    monkeypatch.setattr(engine.ActiveSets, "system", lambda self, rows: rounds.append(calls[:]) or system(self, rows))
    check(*drawn(200, 400, 8))
    assert calls[0] == ("alone", False)
    assert sum(not before for before in rounds) < 30


def test_double_precision_takes_over(calls):
    """The best non-decreasing fit to falling numbers is constant: K has the condition number n²."""
    n = 300
    y = np.random.default_rng(9).standard_normal(n) - np.arange(n) / 50
    G = np.eye(n)[:-1] - np.eye(n)[1:]
    found = check(np.eye(n), -y, G, np.zeros(n - 1))
    np.testing.assert_allclose(found.x, np.mean(y), atol=1e-10)
    assert calls == [("double", False), ("alone", True)]


def test_iteration_limit_holds_for_rounds():
    P, q, G, h = drawn(40, 80, 0)
    assert check(P, q, G, h).n_iter > 3
    found = quadratic_program(P, q, G=G, h=h, max_iter=2)
    assert found.status == "iteration limit"
    assert found.n_iter == 2
