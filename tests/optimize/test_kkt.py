"""The KKT residual: the courses' Lagrange examples, each condition broken on purpose, duality, bad input."""

import numpy as np
import pytest
from scipy import sparse

from didact.core.errors import InputError
from didact.optimize import Multipliers, kkt_residual, linear_program, minimize_constrained, quadratic_program

ROOT = 1 / np.sqrt(2)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def circle(x):
    return np.array([x @ x - 1]), 2 * x[None]


def test_least_sum_on_the_unit_circle():
    """Worked example 36: x = y = −1/√2 with the multiplier 1/√2 of +β(x² + y² − 1)."""
    x = np.array([-ROOT, -ROOT])
    assert kkt_residual(x, [1, 1], ([ROOT], None, None, None), circle(x)).satisfied(1e-15)
    # The misprinted sign of the multiplier does not satisfy them, nor does the largest sum with the same multiplier.
    assert kkt_residual(x, [1, 1], ([-ROOT], None, None, None), circle(x)).stationarity == pytest.approx(2)
    assert not kkt_residual(-x, [1, 1], ([ROOT], None, None, None), circle(-x)).satisfied(0.1)


def test_largest_quadratic_form_on_the_sphere_is_an_eigenvector(rng):
    """The example of the first course: ∇L = 2Ax − 2λx = 0."""
    A = rng.standard_normal((5, 5))
    A = A + A.T
    values, V = np.linalg.eigh(A)
    for value, x in zip(values, V.T, strict=True):
        assert kkt_residual(x, -2 * A @ x, ([value], None, None, None), circle(x)).satisfied(1e-12)
    found = minimize_constrained(
        lambda x: -x @ A @ x, np.ones(5), lambda x: -2 * A @ x, [(lambda x: x @ x - 1, lambda x: 2 * x)]
    )
    assert found.multipliers.equalities[0] == pytest.approx(values[-1], rel=1e-6)
    assert abs(found.x @ V[:, -1]) == pytest.approx(1, rel=1e-8)


def test_each_condition_is_seen():
    x, gradient, G = np.array([0.0, 0.0]), np.array([-1.0, 0.0]), np.array([[1.0, 0.0]])
    good = kkt_residual(x, gradient, (None, [1.0], None, None), None, ([0.0], G))
    assert good == (0, 0, 0, 0)
    assert kkt_residual(x, gradient, (None, [0.5], None, None), None, ([0.0], G)).stationarity == 0.5
    assert kkt_residual(x, gradient, (None, [1.0], None, None), None, ([0.25], G)).primal_feasibility == 0.25
    assert kkt_residual(x, gradient, (None, [-2.0], None, None), None, ([0.0], G)).dual_feasibility == 2
    assert kkt_residual(x, gradient, (None, [1.0], None, None), None, ([-3.0], G)).complementarity == 3
    assert kkt_residual(x, gradient, (None, [1.0], None, None), None, ([-3.0], G)).primal_feasibility == 0


def test_bounds():
    x = np.array([1.0, 2.0, 3.0])
    gradient = np.array([4.0, 0.0, -5.0])
    good = kkt_residual(x, gradient, (None, None, [4, 0, 0], [0, 0, 5]), lower=[1, 0, -np.inf], upper=[np.inf, 9, 3])
    assert good.largest == 0
    assert kkt_residual(x, gradient, (None, None, [4, 0, 0], [0, 0, 5]), lower=[2, 0, 0]).primal_feasibility == 1
    assert kkt_residual(x, gradient, (None, None, [4, 0, 0], [0, 0, 5]), lower=0, upper=3).complementarity == 4


def test_the_same_for_all_three_solvers(rng):
    P, q = np.diag([1.0, 2.0, 3.0]), rng.standard_normal(3)
    A, b, G, h = rng.standard_normal((1, 3)), np.ones(1), rng.standard_normal((2, 3)), np.zeros(2)
    qp = quadratic_program(P, q, A, b, G, h, lower=-2, upper=2)
    lp = linear_program(q, A, b, G, h, lower=-2, upper=2)
    nl = minimize_constrained(
        lambda x: x @ P @ x / 2 + q @ x, np.zeros(3), None, [lambda x: A @ x - b], [lambda x: G @ x - h], (-2, 2)
    )
    for found, slope, tol in ((qp, P @ qp.x + q, 1e-12), (lp, q, 1e-9), (nl, P @ nl.x + q, 1e-6)):
        assert found.converged
        pairs = (A @ found.x - b, sparse.csr_array(A)), (G @ found.x - h, G)
        assert kkt_residual(found.x, slope, found.multipliers, *pairs, -2, 2).satisfied(tol)
    np.testing.assert_allclose(nl.x, qp.x, atol=1e-6)
    for ours, theirs in zip(nl.multipliers, qp.multipliers, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": [[0.0]]}, "x must have one dimension"),
        ({"gradient": [1.0]}, r"gradient must have shape \(2,\); it has shape \(1,\)"),
        ({"gradient": [np.nan, 0.0]}, r"gradient\[0\] is nan"),
        ({"multipliers": ([1.0], None)}, "four parts"),
        ({"multipliers": ([1.0, 2.0], None, None, None)}, r"multipliers.equalities must have shape \(1,\)"),
        ({"equalities": ([0.0],)}, "a pair of values and their Jacobian"),
        ({"equalities": ([0.0, 0.0], [[1.0, 2.0]])}, "2 values, but a Jacobian with 1 rows"),
        ({"equalities": ([0.0], [[1.0]])}, "one column for each of the 2 variables"),
        ({"lower": [0.0, 1.0, 2.0]}, "lower must have shape"),
    ],
)
def test_bad_input(change, words):
    good = {"x": [0.0, 0.0], "gradient": [1.0, 0.0], "multipliers": Multipliers([-1.0], None, None, None)}
    good["equalities"] = [0.0], [[1.0, 0.0]]
    assert kkt_residual(**good).largest == 0
    with pytest.raises(InputError, match=words):
        kkt_residual(**(good | change))
