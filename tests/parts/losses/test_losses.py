"""Losses: derivatives by finite differences, scalar = array, safe extremes, and agreement with other libraries."""

import math
import pickle

import numpy as np
import pytest
import scipy.special
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.core.errors import ParameterError
from didact.core.jit import jit
from didact.parts.losses import (
    Absolute,
    EpsilonInsensitive,
    ExponentialLoss,
    Gamma,
    HalfSquared,
    Hinge,
    Huber,
    Logistic,
    ModifiedHuber,
    Perceptron,
    Poisson,
    Quantile,
    Softmax,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    SquaredLogistic,
    Tweedie,
)
from didact.parts.losses.classification import SquaredSoftmax
from didact.parts.losses.expected import ExpectedLoss, NegativeBinomial
from didact.parts.losses.rounded import RoundedHinge, RoundedInsensitive

REGRESSION = [
    HalfSquared(),
    Absolute(),
    Huber(0.7),
    Quantile(0.2),
    EpsilonInsensitive(0.3),
    SquaredEpsilonInsensitive(0.3),
    RoundedInsensitive(0.3, 0.4),
]
LOG_LINK = [Poisson(), Gamma(), Tweedie(1.5), Tweedie(1), Tweedie(2), Tweedie(3), Tweedie(0), Tweedie(-1)]
CLASSES = [Logistic(), SquaredLogistic(), Hinge(), SquaredHinge(), ModifiedHuber(), ExponentialLoss(), Perceptron()]
CLASSES += [RoundedHinge(1.0), RoundedHinge(2.0)]
LOSSES = REGRESSION + LOG_LINK + CLASSES
NOT_CONVEX = {SquaredLogistic(), Tweedie(3), Tweedie(0), Tweedie(-1)}
everyone = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def sample(loss, n=200, dtype=np.float64, seed=0):
    """Targets and predictions in general position, with no residual near a kink."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n) * 2
    if loss.classes is not None:
        y = rng.choice(loss.classes, size=n)
        z[np.abs(np.abs(z) - 1) < 1e-3] += 0.01
        z[np.abs(z) < 1e-3] += 0.01
    elif loss in LOG_LINK:
        y, z = rng.gamma(2.0, size=n), z / 2
    else:
        y = rng.normal(size=n)
        for kink in (0.0, 0.3, 0.7):
            z[np.abs(np.abs(z - y) - kink) < 1e-3] += 0.01
    return y.astype(dtype), z.astype(dtype)


@everyone
def test_gradient_is_the_slope_of_the_value(loss):
    y, z = sample(loss)
    h = 1e-6
    slope = (loss.value(y, z + h) - loss.value(y, z - h)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(y, z), slope, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss not in NOT_CONVEX], ids=repr)
def test_curvature_is_the_slope_of_the_gradient_where_convex(loss):
    y, z = sample(loss)
    h = 1e-6
    slope = (loss.gradient(y, z + h) - loss.gradient(y, z - h)) / (2 * h)
    np.testing.assert_allclose(loss.grad_hess(y, z)[1], slope, rtol=1e-7, atol=1e-8)


def test_squared_logistic_curvature_is_gauss_newton():
    y, z = sample(SquaredLogistic())
    p = scipy.special.expit(z)
    np.testing.assert_allclose(SquaredLogistic().grad_hess(y, z)[1], (p * (1 - p)) ** 2, rtol=1e-12)


@pytest.mark.parametrize("loss", [Gamma(), Tweedie(0), Tweedie(1), Tweedie(1.3), Tweedie(2), Tweedie(3)], ids=repr)
def test_fisher_curvature_is_the_second_derivative_at_the_mean(loss):
    """Both are linear in y, so the expectation over y is the value at y = e^z."""
    z = np.linspace(-2, 2, 9)
    y, h = np.exp(z), 1e-6
    slope = (loss.gradient(y, z + h) - loss.gradient(y, z - h)) / (2 * h)
    value, gradient, fisher = loss.value_grad_fisher(y, z)
    np.testing.assert_allclose(fisher, slope, rtol=1e-7)
    np.testing.assert_array_equal(value, loss.value(y, z))
    np.testing.assert_array_equal(gradient, loss.gradient(y, z))


@everyone
def test_curvature_is_never_negative_and_convex_losses_are(loss):
    y, z = sample(loss)
    other = np.random.default_rng(1).permutation(z)
    assert (loss.value_grad_hess(y, z)[2] >= 0).all()
    if loss not in NOT_CONVEX:
        chord = 0.5 * (loss.value(y, z) + loss.value(y, other))
        assert (loss.value(y, 0.5 * (z + other)) <= chord + 1e-12 * (1 + chord)).all()
        rise = (loss.gradient(y, z) - loss.gradient(y, other)) * (z - other)
        assert (rise >= -1e-12).all()


@everyone
def test_scalar_forms_equal_array_forms(loss):
    y, z = sample(loss)
    corners = np.array([0.0, -0.0, 1.0, -1.0, 30.0, -30.0])  # kinks and a zero of either sign
    y, z = np.append(y, np.full(6, y[0])), np.append(z, corners)
    value, gradient, _ = loss.value_grad_hess(y, z)
    pairs = list(zip(y.tolist(), z.tolist()))
    np.testing.assert_allclose(value, [loss.value1(a, b) for a, b in pairs], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(gradient, [loss.grad1(a, b) for a, b in pairs], rtol=1e-13, atol=1e-15)


SCALAR = [loss for loss in LOSSES if loss.scalar is not None]
SCALAR += [ExpectedLoss(loss) for loss in (Gamma(), Tweedie(0), Tweedie(1.5), Tweedie(2), Tweedie(3))]
SCALAR += [NegativeBinomial(0.5), NegativeBinomial(1e-9)]


@pytest.mark.parametrize("loss", SCALAR, ids=repr)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_scalar_triple_equals_array_form(loss, data):
    """Everywhere, also where exponents are held: e^−z of 708 and more may be 4e-308 where it vanishes."""
    z = data.draw(st.floats(-800, 800) | st.floats(-3, 3) | st.sampled_from([0.0, -0.0, 700.0, -700.0, 1e5, -1e5]))
    y = data.draw(st.sampled_from(loss.classes) if loss.classes else st.floats(0.01, 10))
    with np.errstate(over="ignore"):
        expected = np.ravel(loss.value_grad_hess(np.array([y]), np.array([z])))
        found = np.asarray(loss.value_grad_hess1(y, z))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-13, atol=1e-15 * max(1.0, abs(z)))


@pytest.mark.parametrize("loss", {type(loss): loss for loss in SCALAR}.values(), ids=repr)
def test_scalar_triple_compiles(loss):
    compiled = jit(type(loss).value_grad_hess1)
    for y, z in ((1.0, 0.3), (1.0, -2.0), (1.0, 50.0)):
        assert compiled(loss, y, z) == pytest.approx(loss.value_grad_hess1(y, z), rel=1e-14)


@pytest.mark.parametrize("loss", REGRESSION, ids=repr)
def test_scalar_forms_agree_at_kinks(loss):
    for z in (0.0, 0.3, -0.3, 0.7, -0.7):
        value, gradient, _ = loss.value_grad_hess(np.zeros(1), np.array([z]))
        assert value[0] == pytest.approx(loss.value1(0.0, z), abs=1e-16)
        assert gradient[0] == loss.grad1(0.0, z)


@pytest.mark.parametrize("loss", {type(loss): loss for loss in LOSSES}.values(), ids=repr)
def test_scalar_forms_compile(loss):
    for method in ("value1", "grad1"):
        compiled = jit(getattr(type(loss), method))
        for y, z in zip(*(a[:5].tolist() for a in sample(loss))):
            assert compiled(loss, y, z) == pytest.approx(getattr(loss, method)(y, z), rel=1e-14)


@everyone
def test_single_precision_stays_and_inputs_are_untouched(loss):
    y, z = sample(loss, dtype=np.float32)
    y.flags.writeable = z.flags.writeable = False
    exact = loss.value_grad_hess(y.astype(np.float64), z.astype(np.float64))
    for single, double in zip(loss.value_grad_hess(y, z), exact):
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=2e-5, atol=2e-6)


@everyone
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_predictions_stay_numbers(loss, dtype):
    z = np.array([-1e3, -200, -90, -40, 0, 40, 90, 200, 1e3], dtype=dtype)
    for target in loss.classes or (0.5, 3.0):
        with np.errstate(over="ignore"):  # y·e^z may pass the limit; it must become infinite, not undefined
            value, gradient, curvature = loss.value_grad_hess(np.full_like(z, target), z)
        assert not np.isnan([value, gradient, curvature]).any()
        if loss not in LOG_LINK and loss != ExponentialLoss():
            assert np.isfinite([value, gradient, curvature]).all()


@everyone
def test_outer_shapes_and_empty_input(loss):
    y, z = sample(loss)
    flat = loss.value_grad_hess(y, z)
    for one, two in zip(flat, loss.value_grad_hess(y.reshape(-1, 4), z.reshape(-1, 4))):
        np.testing.assert_array_equal(one, two.ravel())
    assert all(part.shape == (0,) for part in loss.value_grad_hess(y[:0], z[:0]))


@pytest.mark.parametrize("loss", REGRESSION + LOG_LINK, ids=repr)
def test_perfect_prediction_is_the_minimum(loss):
    y = np.array([0.4, 1.0, 2.5])
    best = np.log(y) if loss in LOG_LINK else y
    at_best = loss.value(y, best)
    np.testing.assert_allclose(loss.gradient(y, best), 0, atol=1e-14)
    for shift in np.linspace(-1, 1, 21):
        assert (loss.value(y, best + shift) >= at_best - 1e-14).all()


@pytest.mark.parametrize("loss", CLASSES, ids=repr)
def test_the_right_side_costs_less(loss):
    low, high = np.array(loss.classes)
    z = np.linspace(0.1, 5, 20)
    assert (loss.value(np.full(20, high), z) < loss.value(np.full(20, low), z)).all()
    np.testing.assert_allclose(loss.value(np.full(20, high), z), loss.value(np.full(20, low), -z), rtol=1e-12)


def test_logistic_tails_keep_their_relative_precision():
    z = np.array([50.0, 300.0, 700.0])
    value, gradient, curvature = Logistic().value_grad_hess(np.ones(3), z)
    np.testing.assert_allclose(value, np.exp(-z), rtol=1e-14)
    np.testing.assert_allclose(gradient, -np.exp(-z), rtol=1e-14)
    np.testing.assert_allclose(curvature, np.exp(-z), rtol=1e-14)
    np.testing.assert_array_equal(Logistic().value(np.zeros(3), z), z)


def test_agreement_with_scipy_and_scikit_learn():
    y, z = sample(HalfSquared())
    np.testing.assert_allclose(Huber(0.7).value(y, z), scipy.special.huber(0.7, z - y), rtol=1e-13)
    np.testing.assert_allclose(
        Quantile(0.2).value(y, z).mean(), sklearn.metrics.mean_pinball_loss(y, z, alpha=0.2), rtol=1e-12
    )
    c, z = sample(Logistic())
    np.testing.assert_allclose(Logistic().value(c, z), -scipy.special.log_expit((2 * c - 1) * z), rtol=1e-13)
    np.testing.assert_allclose(
        SquaredLogistic().value(c, z).mean(),
        0.5 * sklearn.metrics.brier_score_loss(c, scipy.special.expit(z)),
        rtol=1e-12,
    )
    np.testing.assert_allclose(Hinge().value(2 * c - 1, z).mean(), sklearn.metrics.hinge_loss(c, z), rtol=1e-12)
    for power in (0, 1, 1.5, 2, 3):
        y, z = sample(Tweedie(power))
        gap = Tweedie(power).value(y, z).mean() - Tweedie(power).value(y, np.log(y)).mean()
        deviance = sklearn.metrics.mean_tweedie_deviance(y, np.exp(z), power=power)
        assert gap == pytest.approx(0.5 * deviance, rel=1e-10)


def test_tweedie_meets_poisson_and_gamma():
    y, z = sample(Poisson())
    for one, other in ((Tweedie(1), Poisson()), (Tweedie(2), Gamma())):
        for a, b in zip(one.value_grad_hess(y, z), other.value_grad_hess(y, z)):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("k", [2, 5, 40])
def test_softmax_against_log_softmax_and_finite_differences(k, order):
    rng = np.random.default_rng(0)
    z = np.asarray(rng.normal(size=(30, k)) * 3, order=order)
    y = rng.integers(0, k, size=30)
    z.flags.writeable = False
    value, gradient = Softmax().value_grad(y, z)
    np.testing.assert_allclose(value, -scipy.special.log_softmax(z, axis=1)[np.arange(30), y], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(Softmax().probabilities(z), scipy.special.softmax(z, axis=1), rtol=1e-12)
    for j in range(k):
        step = np.zeros(k)
        step[j] = 1e-6
        slope = (Softmax().value(y, z + step) - Softmax().value(y, z - step)) / 2e-6
        np.testing.assert_allclose(gradient[:, j], slope, atol=1e-8)
    one_hot = np.eye(k)[y]
    for a, b in zip(Softmax().value_grad(one_hot, z), (value, gradient)):
        np.testing.assert_allclose(a, b, atol=1e-14)


def test_softmax_of_two_classes_is_logistic():
    y, z = sample(Logistic())
    scores = np.column_stack([np.zeros_like(z), z])
    value, gradient = Softmax().value_grad(y.astype(int), scores)
    np.testing.assert_allclose(value, Logistic().value(y, z), rtol=1e-12)
    np.testing.assert_allclose(gradient[:, 1], Logistic().gradient(y, z), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-15)


def test_softmax_extremes_and_single_precision():
    z = np.array([[1e3, -1e3, 0], [-1e3, -1e3, -1e3], [1e3, 1e3, 1e3]], dtype=np.float32)
    value, gradient = Softmax().value_grad(np.array([1, 0, 2]), z)
    assert value.dtype == gradient.dtype == np.float32
    np.testing.assert_allclose(value, [2000, math.log(3), math.log(3)], rtol=1e-6)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("loss", [Softmax(), SquaredSoftmax()], ids=repr)
def test_softmax_losses_take_no_rows(loss):
    value, gradient = loss.value_grad(np.zeros(0, dtype=int), np.zeros((0, 3)))
    assert value.shape == (0,)
    assert gradient.shape == (0, 3)


def test_squared_softmax():
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(30, 4)) * 2, rng.integers(0, 4, size=30)
    loss = SquaredSoftmax()
    value, gradient = loss.value_grad(y, z)
    p = scipy.special.softmax(z, axis=1)
    np.testing.assert_allclose(value, 0.5 * np.sum((p - np.eye(4)[y]) ** 2, axis=1), rtol=1e-12)
    jacobian = np.einsum("ij,jk->ijk", p, np.eye(4)) - np.einsum("ij,ik->ijk", p, p)
    for j in range(4):
        step = 1e-6 * np.eye(4)[j]
        slope = (loss.value(y, z + step) - loss.value(y, z - step)) / 2e-6
        np.testing.assert_allclose(gradient[:, j], slope, atol=1e-8)
        for k in range(4):
            np.testing.assert_allclose(loss.pair_curvature(p, j, k), (jacobian @ jacobian)[:, j, k], atol=1e-14)


@everyone
def test_torch_tensors_give_the_same_numbers(loss):
    torch = pytest.importorskip("torch")
    y, z = sample(loss)
    for tensor, array in zip(
        loss.value_grad_hess(torch.asarray(y), torch.asarray(z)), loss.value_grad_hess(y, z), strict=True
    ):
        np.testing.assert_allclose(tensor.numpy(), array, rtol=1e-12, atol=1e-14)


def test_losses_are_values():
    assert HalfSquared() == HalfSquared()
    assert HalfSquared() != Absolute()
    assert not HalfSquared() == ()  # noqa: SIM201
    assert Huber(1.0) != Quantile(0.5)
    assert Huber(2) == Huber(2.0)
    assert len({*LOSSES, *LOSSES}) == len(LOSSES)
    assert all(LOSSES)
    assert pickle.loads(pickle.dumps(LOSSES)) == LOSSES
    assert repr(Huber(0.5)) == "Huber(delta=0.5)"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Huber(0),
        lambda: Quantile(1),
        lambda: EpsilonInsensitive(-1),
        lambda: SquaredEpsilonInsensitive(-1),
        lambda: Tweedie(0.5),
    ],
)
def test_parameters_without_meaning_are_refused(make):
    with pytest.raises(ParameterError):
        make()
