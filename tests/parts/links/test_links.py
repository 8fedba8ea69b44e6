"""Links: inverses undo them, derivatives by finite differences and from statsmodels, means stay inside their range."""

import numpy as np
import pytest
from statsmodels.genmod.families import links as reference

from didact.core.errors import ParameterError
from didact.parts.links import (
    LINKS,
    Cauchit,
    CLogLog,
    Identity,
    Inverse,
    InverseSquared,
    Link,
    Log,
    Logit,
    Power,
    Probit,
    Sqrt,
    get_link,
)

PAIRS = [
    (Identity(), reference.Identity()),
    (Log(), reference.Log()),
    (Logit(), reference.Logit()),
    (Probit(), reference.Probit()),
    (CLogLog(), reference.CLogLog()),
    (Cauchit(), reference.Cauchy()),
    (Inverse(), reference.InversePower()),
    (InverseSquared(), reference.InverseSquared()),
    (Sqrt(), reference.Sqrt()),
    (Power(0.3), reference.Power(0.3)),
    (Power(-1.5), reference.Power(-1.5)),
]
ALL = [link for link, _ in PAIRS]
everyone = pytest.mark.parametrize("link", ALL, ids=repr)


def means(link):
    if link.mean == "unit":
        return np.array([1e-6, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-6])
    positive = np.array([1e-4, 0.05, 0.7, 1.0, 3.0, 250.0])
    return np.append(positive, -positive) if link.mean == "real" else positive


@everyone
def test_inverse_undoes_the_link(link):
    mu = means(link)
    np.testing.assert_allclose(link.inverse(link.link(mu)), mu, rtol=1e-9)


@everyone
def test_derivative_is_the_slope_of_the_inverse(link):
    eta = link.link(means(link))
    h = 1e-6 * np.maximum(np.abs(eta), 1e-3)
    slope = (link.inverse(eta + h) - link.inverse(eta - h)) / (2 * h)
    np.testing.assert_allclose(link.derivative(eta), slope, rtol=1e-6, atol=1e-8)


@everyone
def test_fused_form_is_the_two_together(link):
    eta = link.link(means(link))
    mu, slope = link.inverse_derivative(eta)
    np.testing.assert_array_equal(mu, link.inverse(eta))
    np.testing.assert_array_equal(slope, link.derivative(eta))


@pytest.mark.parametrize(("link", "other"), PAIRS, ids=lambda x: type(x).__name__)
def test_agreement_with_statsmodels(link, other):
    mu = means(link)
    eta = link.link(mu)
    np.testing.assert_allclose(eta, other(mu), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(link.inverse(eta), other.inverse(eta), rtol=1e-9)
    np.testing.assert_allclose(link.derivative(eta), other.inverse_deriv(eta), rtol=1e-7)


@everyone
def test_links_are_monotone(link):
    mu = np.sort(means(link))
    steps = np.diff(link.link(mu))
    assert (steps > 0).all() or (steps < 0).all()


@everyone
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_stay_inside_and_slopes_finite_at_every_predictor(link, dtype):
    eta = np.array([-1e30, -1e3, -50, -9, -1, -1e-30, 0, 1e-30, 1, 9, 50, 1e3, 1e30], dtype=dtype)
    with np.errstate(over="ignore"):  # η² of the tails
        mu, slope = link.inverse_derivative(eta)
    assert mu.dtype == slope.dtype == dtype
    assert np.isfinite(mu).all()
    assert np.isfinite(slope).all()
    if link.mean != "real":
        assert (mu > 0).all()
    if link.mean == "unit":
        assert (mu < 1).all()
        assert (np.diff(mu) >= 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("link", [Logit(), Probit(), CLogLog(), Cauchit()], ids=repr)
def test_means_never_fall_where_rounding_is_coarser_than_the_slope(link, dtype):
    step = 0.01 * np.finfo(dtype).eps
    for centre in (0.0, -1.0):  # μ = ½; and where the two forms of the Cauchy tail meet
        eta = (centre + step * np.arange(-300, 301)).astype(dtype)
        assert (np.diff(link.inverse(eta)) >= 0).all()
    if not isinstance(link, CLogLog):
        assert link.inverse(np.zeros(1, dtype))[0] == 0.5


@everyone
def test_single_precision_stays(link):
    mu = means(link)[2:5].astype(np.float32)
    eta = link.link(mu)
    assert eta.dtype == np.float32
    np.testing.assert_allclose(eta, link.link(mu.astype(np.float64)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(link.inverse(eta), mu, rtol=1e-5)


def test_power_links_meet_the_named_ones():
    mu, eta = means(Sqrt()), np.array([0.2, 1.0, 3.0])
    for power, named in ((1, Identity()), (-1, Inverse()), (-2, InverseSquared()), (0.5, Sqrt())):
        np.testing.assert_allclose(Power(power).link(mu), named.link(mu), rtol=1e-13)
        np.testing.assert_allclose(Power(power).inverse(eta), named.inverse(eta), rtol=1e-13)
        np.testing.assert_allclose(Power(power).derivative(eta), named.derivative(eta), rtol=1e-13)


def test_lookup_by_name_and_by_value():
    assert {type(get_link(name)) for name in LINKS} == {type(link) for link in ALL} - {Power}
    assert get_link(Power(2)) == Power(2.0)
    with pytest.raises(ParameterError, match=r"Unknown link 'logg'.*identity.*logit.*cauchit.*sqrt"):
        get_link("logg")
    with pytest.raises(ParameterError):
        Power(0)
    assert all(isinstance(link, Link) for link in ALL)


@pytest.mark.parametrize("link", [Identity(), Log(), Logit(), Inverse(), Sqrt(), Probit()], ids=repr)
def test_torch_tensors_give_the_same_numbers(link):
    torch = pytest.importorskip("torch")
    mu = means(link)
    eta = link.link(torch.asarray(mu))
    np.testing.assert_allclose(eta.numpy(), link.link(mu), rtol=1e-12)
    for tensor, array in zip(link.inverse_derivative(eta), link.inverse_derivative(eta.numpy())):
        np.testing.assert_allclose(tensor.numpy(), array, rtol=1e-12)
