"""Penalties: the proximal step against a grid, and the violation against both the step and the minimum."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from didact.core.errors import ParameterError
from didact.parts.penalties import L1, L2, ElasticNet, PNorm

PENALTIES = [
    L2(0.7),
    L2(0.0),
    L1(0.7),
    ElasticNet(1.3, 0.4),
    ElasticNet(1.3, 1.0),
    ElasticNet(1.3, 0.0),
    PNorm(0.7, 1.0),
    PNorm(0.7, 1.1),
    PNorm(0.7, 1.3),
    PNorm(0.7, 1.9),
    PNorm(0.7, 2.0),
    PNorm(0.7, 3.5),
    PNorm(0.7, 20.0),
    PNorm(0.0, 1.5),
]
POINTS = np.array([-30.0, -2.5, -0.7, -0.1, -1e-9, 0.0, 1e-9, 0.1, 0.7, 1.0, 2.5, 30.0])
everyone = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)


@everyone
@pytest.mark.parametrize("step", [0.05, 1.0, 4.0])
def test_prox_beats_a_grid(penalty, step):
    for v, u in zip(POINTS, penalty.prox(POINTS, step)):
        cost = lambda x, v=v: (x - v) ** 2 / (2 * step) + float(penalty.value(np.array([x])))
        reach = abs(v) + 0.1
        grid = np.concatenate([np.linspace(-reach, reach, 601), [0.0, v], u + np.array([-1e-4, 1e-4])])
        assert cost(u) <= min(cost(x) for x in grid) + 1e-12 * (1 + cost(u))


@pytest.mark.parametrize("p", [1.01, 1.1, 1.5, 2.7, 6.0])
def test_p_norm_prox_against_a_scalar_minimiser(p):
    for v in (0.3, 2.0, 9.0):
        cost = lambda u, v=v: 0.5 * (u - v) ** 2 + 0.8 / p * abs(u) ** p
        best = minimize_scalar(cost, bounds=(0, v), method="bounded", options={"xatol": 1e-12}).x
        assert PNorm(0.8, p).prox(np.array([v]), 1.0)[0] == pytest.approx(best, abs=1e-6)


@everyone
@pytest.mark.parametrize("step", [0.05, 1.0, 4.0])
def test_violation_is_zero_at_prox_points(penalty, step):
    """u = prox(v) just when (v − u)/step lies in the subdifferential at u."""
    u = penalty.prox(POINTS, step)
    np.testing.assert_allclose(penalty.violation(u, -(POINTS - u) / step), 0, atol=1e-11)


@everyone
def test_violation_is_zero_only_at_fixed_points(penalty):
    """w = prox(w − step·grad) just where nothing is violated."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=200)
    w[::3] = 0
    grad = rng.normal(size=200)
    moved = penalty.prox(w - grad, 1.0) != w
    np.testing.assert_array_equal(penalty.violation(w, grad) > 1e-12, moved)


@everyone
def test_violation_is_the_distance_to_the_one_sided_slopes(penalty):
    """The subdifferential in one dimension is the interval between the two one-sided derivatives."""
    rng = np.random.default_rng(1)
    h = 1e-7
    for w in (0.0, 0.4, 1.7):
        at = lambda x: float(penalty.value(np.array([x])))
        right = (at(w + h) - at(w)) / h
        left = (at(w) - at(w - h)) / h
        for g in rng.normal(size=10) * 2:
            gap = max(-g - right, left + g, 0.0)
            # |w|^p bends without bound at 0 for p < 2: the difference quotient there is h^(p−1), not 0
            slack = 2 * 0.7 * h ** (penalty.p - 1) + 1e-5 if isinstance(penalty, PNorm) and 1 < penalty.p < 2 else 1e-5
            assert penalty.violation(np.array([w]), np.array([g]))[0] == pytest.approx(gap, rel=1e-5, abs=slack)


@everyone
def test_steps_may_differ_by_coefficient(penalty):
    steps = np.linspace(0.1, 3, len(POINTS))
    each = [penalty.prox(POINTS[i : i + 1], float(steps[i]))[0] for i in range(len(POINTS))]
    np.testing.assert_allclose(penalty.prox(POINTS, steps), each, rtol=1e-14, atol=1e-300)


@everyone
def test_prox_does_not_expand_and_single_precision_stays(penalty):
    u = penalty.prox(POINTS, 0.5)
    assert (np.abs(np.diff(u)) <= np.diff(POINTS) * (1 + 1e-12)).all()
    single = penalty.prox(POINTS.astype(np.float32), 0.5)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, u, rtol=1e-5, atol=1e-6)
    assert penalty.violation(POINTS.astype(np.float32), single).dtype == np.float32


def test_identities_between_penalties():
    w = np.random.default_rng(0).normal(size=50)
    pairs = [
        (ElasticNet(0.6, 1.0), L1(0.6)),
        (ElasticNet(0.6, 0.0), L2(0.6)),
        (PNorm(0.6, 1.0), L1(0.6)),
        (PNorm(0.6, 2.0), L2(0.6)),
    ]
    for one, other in pairs:
        assert one.value(w) == pytest.approx(other.value(w), rel=1e-13)
        np.testing.assert_allclose(one.prox(w, 0.3), other.prox(w, 0.3), rtol=1e-13)
        np.testing.assert_allclose(one.violation(w, -w), other.violation(w, -w), rtol=1e-13)


@pytest.mark.parametrize("make", [lambda: L2(-1), lambda: L1(-1), lambda: ElasticNet(1, 2), lambda: PNorm(1, 0.5)])
def test_parameters_without_meaning_are_refused(make):
    with pytest.raises(ParameterError):
        make()


@everyone
def test_torch_tensors_give_the_same_numbers(penalty):
    torch = pytest.importorskip("torch")
    v, w = torch.asarray(POINTS), torch.asarray(np.abs(POINTS))
    np.testing.assert_allclose(penalty.prox(v, 0.5).numpy(), penalty.prox(POINTS, 0.5), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(penalty.violation(w, v).numpy(), penalty.violation(np.abs(POINTS), POINTS), rtol=1e-12)
    assert float(penalty.value(w)) == pytest.approx(float(penalty.value(np.abs(POINTS))), rel=1e-12)
