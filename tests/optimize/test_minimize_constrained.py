"""Nonlinear constraints: published problems with known solutions, KKT conditions, quadratic programs, bad input.

The problems named hs… are from Hock, Schittkowski (1981), Test Examples for Nonlinear Programming Codes,
doi:10.1007/978-3-642-48320-2, with the values printed there.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from didact.core.errors import InputError, ParameterError
from didact.engines.loop.differences import differences
from didact.optimize import kkt_residual, minimize, minimize_constrained, quadratic_program

ROOT = 1 / np.sqrt(2)
# objective, start, equalities, inequalities, bounds, least value
PUBLISHED = {
    "hs6": (lambda x: (1 - x[0]) ** 2, [-1.2, 1], [lambda x: 10 * (x[1] - x[0] ** 2)], [], None, 0),
    "hs7": (
        lambda x: np.log(1 + x[0] ** 2) - x[1], [2, 2], [lambda x: (1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4], [], None,
        -np.sqrt(3),
    ),
    "hs10": (
        lambda x: x[0] - x[1], [-10, 10], [], [lambda x: 3 * x[0] ** 2 - 2 * x[0] * x[1] + x[1] ** 2 - 1], None, -1,
    ),
    "hs14": (
        lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, [2, 2], [lambda x: x[0] - 2 * x[1] + 1],
        [lambda x: 0.25 * x[0] ** 2 + x[1] ** 2 - 1], None, 9 - 2.875 * np.sqrt(7),
    ),
    "hs39": (
        lambda x: -x[0], [2, 2, 2, 2],
        [lambda x: x[1] - x[0] ** 3 - x[2] ** 2, lambda x: x[0] ** 2 - x[1] - x[3] ** 2], [], None, -1,
    ),
    "hs43": (
        lambda x: x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
        [0, 0, 0, 0], [],
        [
            lambda x: [
                x @ x + x[0] - x[1] + x[2] - x[3] - 8,
                x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2 + 2 * x[3] ** 2 - x[0] - x[3] - 10,
            ],
            lambda x: 2 * x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + 2 * x[0] - x[1] - x[3] - 5,
        ],
        None, -44,
    ),
    "hs65": (
        lambda x: (x[0] - x[1]) ** 2 + (x[0] + x[1] - 10) ** 2 / 9 + (x[2] - 5) ** 2, [-5, 5, 0], [],
        [lambda x: x @ x - 48], ([-4.5, -4.5, -5], [4.5, 4.5, 5]), 0.9535288567,
    ),
    "hs71": (
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], [1, 5, 5, 1], [lambda x: x @ x - 40],
        [lambda x: 25 - np.prod(x)], (1, 5), 17.0140173,
    ),
    "hs80": (
        lambda x: np.exp(np.prod(x)), [-2, 2, 2, -1, -1],
        [lambda x: [x @ x - 10, x[1] * x[2] - 5 * x[3] * x[4], x[0] ** 3 + x[1] ** 3 + 1]], [],
        ([-2.3, -2.3, -3.2, -3.2, -3.2], [2.3, 2.3, 3.2, 3.2, 3.2]), 0.0539498478,
    ),
    "hs100": (
        lambda x: (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2 + 10 * x[4] ** 6
        + 7 * x[5] ** 2 + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6], [1, 2, 0, 4, 0, 1, 1], [],
        [
            lambda x: [
                2 * x[0] ** 2 + 3 * x[1] ** 4 + x[2] + 4 * x[3] ** 2 + 5 * x[4] - 127,
                7 * x[0] + 3 * x[1] + 10 * x[2] ** 2 + x[3] - x[4] - 282,
                23 * x[0] + x[1] ** 2 + 6 * x[5] ** 2 - 8 * x[6] - 196,
                4 * x[0] ** 2 + x[1] ** 2 - 3 * x[0] * x[1] + 2 * x[2] ** 2 + 5 * x[5] - 11 * x[6],
            ]
        ],
        None, 680.6300573,
    ),
}  # fmt: skip


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def residual(found, fun, equalities=(), inequalities=(), bounds=None):
    """The KKT residual with derivatives by differences, independent of what the solver used."""
    derivative = differences("central", np.ones(len(found.x)))

    def pair(functions):
        def values(x):
            return np.concatenate([np.atleast_1d(f(x)) for f in functions])

        return (values(found.x), derivative(values, found.x)) if functions else None

    slope = derivative(fun, found.x)
    return kkt_residual(found.x, slope, found.multipliers, pair(equalities), pair(inequalities), *(bounds or ()))


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_problems(name):
    fun, x0, equalities, inequalities, bounds, value = PUBLISHED[name]
    found = minimize_constrained(fun, x0, None, equalities, inequalities, bounds)
    assert found.converged, found.message
    assert found.optimality <= 1e-8
    assert found.value == pytest.approx(value, rel=1e-6, abs=1e-6)
    kkt = residual(found, fun, equalities, inequalities, bounds)
    assert kkt.stationarity < 1e-5 * (1 + abs(value))
    assert kkt.primal_feasibility < 1e-6
    assert kkt.dual_feasibility == 0
    assert kkt.complementarity < 1e-5 * (1 + abs(value))


def test_least_sum_on_the_unit_circle():
    """Worked example 36: x = y = −1/√2, value −√2, multiplier 1/√2, with and without derivatives."""
    for jac, circle in (
        (None, lambda x: x @ x - 1),
        (lambda x: np.ones(2), (lambda x: x @ x - 1, lambda x: 2 * x)),
        (lambda x: np.ones(2), (lambda x: [x @ x - 1], lambda x: [2 * x])),
    ):
        found = minimize_constrained(lambda x: x.sum(), [1.0, 0.0], jac, [circle])
        assert found.converged
        np.testing.assert_allclose(found.x, [-ROOT, -ROOT], atol=1e-7)
        assert found.value == pytest.approx(-np.sqrt(2), abs=1e-7)
        np.testing.assert_allclose(found.multipliers.equalities, [ROOT], atol=1e-7)


def test_multipliers_are_rates_of_the_value():
    def solve(radius, level):
        return minimize_constrained(
            lambda x: x[0] + 2 * x[1] + x[2] ** 2, [0.1, 0.1, 0.1], None, [lambda x: x[0] ** 2 + x[1] ** 2 - radius],
            [lambda x: level - x[2]],
        )  # fmt: skip

    found, step = solve(2.0, 0.5), 1e-3
    rates = (solve(2 + step, 0.5).value - solve(2 - step, 0.5).value) / (2 * step)
    assert found.multipliers.equalities[0] == pytest.approx(-rates, rel=1e-4)
    rates = (solve(2, 0.5 + step).value - solve(2, 0.5 - step).value) / (2 * step)
    assert found.multipliers.inequalities[0] == pytest.approx(rates, rel=1e-4)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 2), st.integers(0, 6), st.booleans())
def test_quadratic_programs(seed, n, p, m, bounded):
    """Convex quadratics under linear constraints: what the other solver says."""
    rng = np.random.default_rng(seed)
    M, x = rng.standard_normal((n, n)), rng.standard_normal(n)
    P, q = M @ M.T + np.eye(n), 3 * rng.standard_normal(n)
    A, G = rng.standard_normal((min(p, n - 1), n)), rng.standard_normal((m, n))
    b, h = A @ x, G @ x + rng.uniform(0, 1, m)
    bounds = (x - 0.5, x + 0.7) if bounded else (None, None)
    exact = quadratic_program(P, q, A, b, G, h, *bounds)
    found = minimize_constrained(
        lambda x: x @ P @ x / 2 + q @ x, np.zeros(n), lambda x: P @ x + q, [(lambda x: A @ x - b, lambda x: A)],
        [(lambda x: G @ x - h, lambda x: G)], bounds,
    )  # fmt: skip
    assert found.converged, found.message
    np.testing.assert_allclose(found.x, exact.x, atol=1e-5)
    assert found.value == pytest.approx(exact.value, rel=1e-6, abs=1e-6)
    pairs = (A @ found.x - b, A), (G @ found.x - h, G)
    kkt = kkt_residual(found.x, P @ found.x + q, found.multipliers, *pairs, *bounds)
    assert kkt.largest < 1e-6 * (1 + np.abs(P).max() + np.abs(q).max())


def test_many_variables(rng):
    n = 60
    M, Q = rng.standard_normal((15, n)), rng.standard_normal((n, n))
    Q, c, b = Q @ Q.T / n + 0.01 * np.eye(n), rng.standard_normal(n), M @ rng.standard_normal(n)
    found = minimize_constrained(
        lambda x: x @ Q @ x / 2 + c @ x, np.zeros(n), lambda x: Q @ x + c, [(lambda x: M @ x - b, lambda x: M)],
        [(lambda x: x @ x - 60, lambda x: 2 * x)], (-1.5, 1.5),
    )  # fmt: skip
    theirs = optimize.minimize(
        lambda x: x @ Q @ x / 2 + c @ x, np.zeros(n), jac=lambda x: Q @ x + c, method="SLSQP", bounds=[(-1.5, 1.5)] * n,
        constraints=[{"type": "eq", "fun": lambda x: M @ x - b, "jac": lambda x: M},
                     {"type": "ineq", "fun": lambda x: 60 - x @ x, "jac": lambda x: -2 * x}],
        options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    assert found.converged
    assert found.value == pytest.approx(theirs.fun, rel=1e-6)


def test_without_constraints_it_is_minimize():
    def banana(x):
        return (x[0] - 1) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    found = minimize_constrained(banana, [-1.2, 1])
    assert found.converged
    np.testing.assert_allclose(found.x, minimize(banana, [-1.2, 1]).x, atol=1e-5)
    assert [len(m) for m in found.multipliers] == [0, 0, 2, 2]


def test_constraints_that_depend_on_each_other():
    found = minimize_constrained(
        lambda x: x.sum(), [1, 0], None, [lambda x: x @ x - 1, lambda x: 2 * (x @ x - 1)], lambda x: x @ x - 1
    )
    assert found.converged
    np.testing.assert_allclose(found.x, [-ROOT, -ROOT], atol=1e-6)
    m = found.multipliers
    assert m.equalities @ [1, 2] + m.inequalities[0] == pytest.approx(ROOT, abs=1e-6)


def test_units_of_objective_and_constraints_do_not_matter():
    for unit, other in ((1e6, 1.0), (1.0, 1e6), (1e-2, 1e-2)):
        found = minimize_constrained(lambda x, u=unit: u * x.sum(), [1, 0], None, [lambda x, u=other: u * (x @ x - 1)])
        assert found.converged
        np.testing.assert_allclose(found.x, [-ROOT, -ROOT], atol=1e-6)
        assert found.multipliers.equalities[0] == pytest.approx(ROOT * unit / other, rel=1e-6)


def test_no_solution():
    for equalities, inequalities, bounds in (
        ([lambda x: x[0] - 1, lambda x: x[0] - 2], [], None),
        ([], [lambda x: x @ x + 1], None),
        ([], [lambda x: x[0] + 1, lambda x: 1 - x[0]], None),
        ([lambda x: x.sum() - 9], [], (0, 1)),
        ([], [], ([0, 3], [1, 2])),
    ):
        found = minimize_constrained(lambda x: x @ x, [3.0, 1.0], None, equalities, inequalities, bounds)
        assert found.status == "infeasible"
        assert "No point satisfies the constraints" in found.message
    for fun, inequalities in ((lambda x: x.sum(), [lambda x: x[0] - 1]), (lambda x: -x @ x, [])):
        found = minimize_constrained(fun, [1.0, 0.5], None, [], inequalities)
        assert found.status == "unbounded"
        assert "no lower bound" in found.message


def test_objectives_that_have_no_lower_bound_outside():
    found = minimize_constrained(lambda x: -x @ x, [0.1, 0.05], None, [], [lambda x: x @ x - 1])
    assert found.converged
    assert found.value == pytest.approx(-1)
    found = minimize_constrained(lambda x: -(x[0] ** 4), [0.3], bounds=(-1, 2))
    np.testing.assert_allclose(found.x, [2], atol=1e-6)
    np.testing.assert_allclose(found.multipliers.upper, [32], rtol=1e-5)


def test_domains_of_functions_are_respected():
    found = minimize_constrained(
        lambda x: -np.log(x).sum(), [0.5, 0.5, 0.5], None, [lambda x: x @ [1, 2, 4] - 1], [], (0, None)
    )
    np.testing.assert_allclose(found.x, [1 / 3, 1 / 6, 1 / 12], atol=1e-7)


def test_callback_limit_and_trouble():
    seen = []
    found = minimize_constrained(
        lambda x: x.sum(), [1, 0], None, [lambda x: x @ x - 1], callback=lambda i, v, x: seen.append(v) or i == 2
    )
    assert (found.status, found.n_iter, len(seen)) == ("stopped", 2, 2)
    assert minimize_constrained(lambda x: x.sum(), [1, 0], None, [lambda x: x @ x - 1], max_iter=1).status == (
        "iteration limit"
    )
    calls = []

    def breaks(x):
        calls.append(1)
        return x @ x if len(calls) < 8 else np.nan

    assert minimize_constrained(breaks, [1, 2], None, [lambda x: x[0] - 1]).status == "not finite"


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"x0": [np.nan, 0.0]}, InputError, "x0 must be finite"),
        ({"fun": lambda x: np.nan}, InputError, "fun returned nan at the start"),
        ({"fun": lambda x: x}, InputError, "one real number"),
        ({"jac": lambda x: np.ones(3)}, InputError, r"the shape \(2,\); it has the shape \(3,\)"),
        ({"equalities": [lambda x: np.nan]}, InputError, r"equalities\[0\] returned nan at the start"),
        ({"equalities": [lambda x: "one"]}, InputError, r"equalities\[0\] must return real numbers"),
        ({"inequalities": [lambda x: np.ones((2, 2))]}, InputError, "must return a number or a vector"),
        (
            {"equalities": [(lambda x: x @ x - 1, lambda x: np.ones(3))]},
            InputError,
            r"Jacobian of equalities\[0\] must have one row for each of its 1 .* it has the shape \(3,\)",
        ),
        ({"equalities": [3]}, ParameterError, r"equalities\[0\] must be a function"),
        ({"inequalities": 3}, ParameterError, "inequalities must be a list of functions"),
        ({"bounds": 3}, ParameterError, "bounds must be a pair"),
        ({"bounds": ([0, 0, 0], None)}, InputError, "lower must have shape"),
        ({"tol": -1}, ParameterError, "tol must be a number above 0"),
        ({"max_iter": 1.5}, ParameterError, "max_iter must be a whole number"),
    ],
)
def test_bad_input(change, error, words):
    good = {"fun": lambda x: x @ x, "x0": [1.0, 0.0]}
    with pytest.raises(error, match=words):
        minimize_constrained(**(good | change))


def test_sizes_may_not_change():
    with pytest.raises(InputError, match="as at the start"):
        minimize_constrained(lambda x: x @ x, [1.0, 2.0], None, [lambda x: np.ones(1 + (x[0] != 1.0))])


# ------------------------------------------------------------------------------------------------ restoration

SIZES = [0.01, 0.05, 0.2, 1.0, 3.0, 10.0]


@pytest.mark.parametrize("radius", SIZES)
@pytest.mark.parametrize("height", SIZES)
def test_the_tin_can_of_least_surface_from_any_start(radius, height):
    """Volume 1 from the least tin: h = 2r. Beyond the bounds, r < 0, the surface has no lower bound."""
    found = minimize_constrained(
        lambda x: 2 * np.pi * x[0] * (x[0] + x[1]), [radius, height],
        equalities=[lambda x: np.pi * x[0] ** 2 * x[1] - 1], bounds=(0.01, 10),
    )  # fmt: skip
    assert found.converged
    best = (2 * np.pi) ** (-1 / 3)
    np.testing.assert_allclose(found.x, [best, 2 * best], rtol=1e-5)
    assert found.multipliers.equalities[0] == pytest.approx(-2 / best, rel=1e-4)


@pytest.mark.parametrize("start", [[1.0, 1.0], [0.5, 0.2], [0.01, 0.01], [10.0, 10.0]])
def test_a_tin_that_the_bounds_do_not_allow_is_infeasible(start):
    """No radius and height up to ½ hold a volume of 1: the most is π/8, which is where x ends."""
    found = minimize_constrained(
        lambda x: 2 * np.pi * x[0] * (x[0] + x[1]), start,
        equalities=[lambda x: np.pi * x[0] ** 2 * x[1] - 1], bounds=(0.01, 0.5),
    )  # fmt: skip
    assert found.status == "infeasible"
    np.testing.assert_allclose(found.x, 0.5, rtol=1e-6)


def test_rounds_that_begin_again_are_counted_on():
    seen = []
    found = minimize_constrained(
        lambda x: 2 * np.pi * x[0] * (x[0] + x[1]), [1.0, 1.0],
        equalities=[lambda x: np.pi * x[0] ** 2 * x[1] - 1], bounds=(0.01, 10),
        callback=lambda i, value, x: seen.append(i),
    )  # fmt: skip
    assert found.converged
    assert seen == sorted(set(seen))
    assert found.n_iter >= seen[-1]


@pytest.mark.parametrize("start", [[612.7, -97.9], [830.2, 503.1], [-900.0, 900.0], [50.0, -50.0]])
def test_steep_constraints_from_far_away_are_not_called_infeasible(start):
    """Within wide bounds the violation at the start is anything up to 1e36; the solution is near (1, −2)."""
    found = minimize_constrained(
        lambda x: (x[0] - 1) ** 2 + 2 * (x[1] + 2) ** 2, start,
        equalities=[lambda x: np.exp(x[0] / 10) - x[1] - 3], bounds=(-1000, 1000),
    )  # fmt: skip
    assert found.converged
    assert found.x[1] == pytest.approx(np.exp(found.x[0] / 10) - 3, abs=1e-6)
    np.testing.assert_allclose(found.x, [0.977357, -1.897329], atol=1e-4)
