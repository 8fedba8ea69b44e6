"""Linear programs: duality, SciPy's own answers, constructed vertices, no solution, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from didact.core.errors import InputError, ParameterError
from didact.optimize import kkt_residual, linear_program


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def dual_value(m, b, h, lower, upper):
    """−bᵀλ − hᵀμ + lᵀμ_l − uᵀμ_u, where infinite bounds have no multiplier."""
    low, high = np.where(np.isfinite(lower), lower, 0), np.where(np.isfinite(upper), upper, 0)
    return -b @ m.equalities - h @ m.inequalities + low @ m.lower - high @ m.upper


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 3), st.integers(0, 12), st.booleans())
def test_kkt_strong_duality_and_scipy(seed, n, p, m, integer):
    rng = np.random.default_rng(seed)
    draw = (lambda *s: rng.integers(-3, 4, s).astype(float)) if integer else lambda *s: rng.standard_normal(s)
    A, G, x = draw(min(p, n), n), draw(m, n), draw(n)
    b, h = A @ x, G @ x + rng.integers(0, 3, m)
    lower = np.where(rng.random(n) < 0.6, x - rng.integers(0, 3, n), -np.inf)
    upper = np.where(rng.random(n) < 0.6, x + rng.integers(0, 3, n), np.inf)
    c = draw(n)
    found = linear_program(c, A, b, G, h, lower, upper)
    theirs = linprog(c, G, h, A, b, np.column_stack([lower, upper]))
    assert found.status == {0: "converged", 2: "infeasible", 3: "unbounded", 4: "unbounded"}[theirs.status]
    if found.converged:
        assert found.value == pytest.approx(theirs.fun, abs=1e-8)
        assert found.optimality < 1e-8
        pairs = (A @ found.x - b, A), (G @ found.x - h, G)
        assert kkt_residual(found.x, c, found.multipliers, *pairs, lower, upper).largest == found.optimality
        assert dual_value(found.multipliers, b, h, lower, upper) == pytest.approx(found.value, abs=1e-7)


def test_weak_duality(rng):
    """Worked example 93: any μ ≥ 0 with c + Gᵀμ = 0 gives a lower bound −hᵀμ of any feasible value."""
    G = rng.standard_normal((12, 4))
    c, h = -G.T @ rng.uniform(0, 1, 12), rng.uniform(0.5, 1, 12)
    best = linear_program(c, G=G, h=h)
    for _ in range(50):
        mu = linear_program(rng.standard_normal(12), G.T, -c, lower=0, upper=3).x
        x = linear_program(rng.standard_normal(4), G=G, h=h, lower=-5, upper=5).x
        assert -h @ mu <= best.value + 1e-9 <= c @ x + 2e-9
    assert -h @ best.multipliers.inequalities == pytest.approx(best.value)
    assert (best.multipliers.inequalities[G @ best.x < h - 1e-9] == 0).all()  # positive only where it binds


def test_constructed_vertex_and_multipliers(rng):
    G, x, mu = rng.standard_normal((9, 5)), rng.standard_normal(5), np.zeros(9)
    mu[:5] = rng.uniform(1, 2, 5)
    h = G @ x + np.where(mu > 0, 0, 1)
    found = linear_program(-G.T @ mu, G=sparse.csr_array(G), h=h)
    np.testing.assert_allclose(found.x, x, atol=1e-9)
    np.testing.assert_allclose(found.multipliers.inequalities, mu, atol=1e-9)


def test_multipliers_are_rates_of_the_value():
    found = linear_program([-3, -2], G=[[2, 1], [1, 1]], h=[100, 80], lower=0)
    for i in range(2):
        h = np.array([100.0, 80.0])
        h[i] += 1
        assert linear_program([-3, -2], G=[[2, 1], [1, 1]], h=h, lower=0).value == pytest.approx(
            found.value - found.multipliers.inequalities[i]
        )
    raised = linear_program([1, 1], A_eq=[[1, 2]], b_eq=[4.5], lower=0).value
    found = linear_program([1, 1], A_eq=[[1, 2]], b_eq=[4], lower=0)
    assert raised - found.value == pytest.approx(-0.5 * found.multipliers.equalities[0])


def test_no_solution():
    for found in (
        linear_program([1.0], G=[[1], [-1]], h=[0, -1]),
        linear_program([1.0], lower=2, upper=1),
        linear_program([1.0, 1.0], [[1, 1], [2, 2]], [1, 3]),
        linear_program([-1.0], G=[[1], [-1]], h=[0, -1], lower=0),
    ):
        assert (found.status, found.value, found.converged) == ("infeasible", np.inf, False)
        assert np.isnan(found.x).all()
        assert "No point satisfies the constraints" in found.message
    for found in (linear_program([1.0]), linear_program([-1.0, 0.0], G=[[-1, 1]], h=[0], lower=0)):
        assert (found.status, found.value) == ("unbounded", -np.inf)
        assert "no lower bound" in found.message


def test_infinite_right_hand_sides_and_limits():
    found = linear_program([-1.0, -1.0], G=[[1, 0], [1, 1]], h=[np.inf, 2], upper=[1, np.inf], lower=0)
    assert found.value == pytest.approx(-2)
    assert found.multipliers.inequalities[0] == 0
    limited = linear_program(-np.ones(30), G=np.random.default_rng(0).uniform(0, 1, (40, 30)), h=np.ones(40), lower=0,
                             max_iter=1)  # fmt: skip
    assert limited.status == "iteration limit"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"c": [np.nan, 1.0]}, r"c\[0\] is nan"),
        ({"c": [["a"]]}, "c must hold numbers"),
        ({"G": [[1.0, 2.0, 3.0]]}, "one column for each of the 2 variables"),
        ({"h": None}, "belong together"),
        ({"h": [1.0, 2.0]}, r"h must have shape \(1,\)"),
        ({"h": [np.nan]}, r"h\[0\] is nan"),
        ({"A_eq": [[1.0, 0.0]], "b_eq": [np.inf]}, "is infinite"),
        ({"G": sparse.csr_array([[np.inf, 0.0]])}, "NaN or infinity"),
        ({"lower": [0.0]}, "lower must have shape"),
    ],
)
def test_bad_input(change, words):
    good = {"c": [1.0, 1.0], "G": [[1.0, 0.0]], "h": [1.0], "lower": 0}
    assert linear_program(**good).converged
    with pytest.raises(InputError, match=words):
        linear_program(**(good | change))


def test_bad_tolerance():
    with pytest.raises(ParameterError, match="tol must be between"):
        linear_program([1.0], lower=0, tol=0)
