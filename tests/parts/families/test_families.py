"""Families: likelihoods from SciPy, variances and deviances from statsmodels, and the two identities of the score."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from scipy.integrate import quad

from didact.core.errors import ParameterError
from didact.parts.families import (
    FAMILIES,
    Bernoulli,
    Beta,
    Binomial,
    Exponential,
    Gamma,
    Gaussian,
    GLMLoss,
    InverseGaussian,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Tweedie,
    get_family,
)
from didact.parts.links import Identity, Inverse, InverseSquared, Log, Logit, Power

ALL = [
    Gaussian(),
    Bernoulli(),
    Binomial(),
    Poisson(),
    Gamma(),
    Exponential(),
    InverseGaussian(),
    Tweedie(1.5),
    NegativeBinomial(0.7),
    Beta(3.0),
]
DEVIANT = [*ALL, Tweedie(0), Tweedie(1), Tweedie(2), Tweedie(3), Tweedie(-1), Tweedie(2.5)]
LINKS_OF = {
    "real": ["identity", "log", "sqrt", "inverse"],
    "positive": ["log", "identity", "sqrt", "inverse", "inverse_squared", Power(0.3)],
    "unit": ["logit", "probit", "cloglog", "cauchit", "log", "identity"],
}
PAIRS = [(family, link) for family in DEVIANT for link in LINKS_OF[family.mean]]
pairs = pytest.mark.parametrize(("family", "link"), PAIRS, ids=lambda x: repr(x))


def draw(family, n=60, seed=0):
    """Pairs of y and μ in the family's domain."""
    rng = np.random.default_rng(seed)
    if family.mean == "unit":
        y = rng.integers(0, 2, n).astype(float) if family == Bernoulli() else rng.uniform(0.02, 0.98, n)
        return y, rng.uniform(0.05, 0.9, n)
    y = rng.normal(size=n) if family.support == "any number" else rng.gamma(2.0, size=n)
    if family.support == "y ≥ 0":
        y[:5] = 0
    if isinstance(family, (Poisson, NegativeBinomial)):
        y = np.round(y)
    return y, rng.gamma(5.0, size=n) * 0.3


STATSMODELS = [
    (Gaussian(), sm.families.Gaussian()),
    (Bernoulli(), sm.families.Binomial()),
    (Binomial(), sm.families.Binomial()),
    (Poisson(), sm.families.Poisson()),
    (Gamma(), sm.families.Gamma()),
    (Exponential(), sm.families.Gamma()),
    (InverseGaussian(), sm.families.InverseGaussian()),
    (NegativeBinomial(0.7), sm.families.NegativeBinomial(alpha=0.7)),
    (Tweedie(1.5), sm.families.Tweedie(var_power=1.5, eql=True)),
]


@pytest.mark.parametrize(("family", "other"), STATSMODELS, ids=lambda x: type(x).__name__)
def test_variance_and_deviance_agree_with_statsmodels(family, other):
    y, mu = draw(family)
    np.testing.assert_allclose(family.variance(mu), other.variance(mu), rtol=1e-12)
    np.testing.assert_allclose(family.deviance(y, mu), other.resid_dev(y, mu) ** 2, rtol=1e-7, atol=1e-9)


def scipy_log_density(family, y, mu, phi):
    s = scipy.stats
    return {
        Gaussian: lambda: s.norm.logpdf(y, mu, np.sqrt(phi)),
        Bernoulli: lambda: s.bernoulli.logpmf(y, mu),
        Poisson: lambda: s.poisson.logpmf(y, mu),
        Gamma: lambda: s.gamma.logpdf(y, 1 / phi, scale=mu * phi),
        Exponential: lambda: s.expon.logpdf(y, scale=mu),
        InverseGaussian: lambda: s.invgauss.logpdf(y, mu * phi, scale=1 / phi),
        NegativeBinomial: lambda: s.nbinom.logpmf(y, 1 / 0.7, 1 / (1 + 0.7 * mu)),
        Beta: lambda: s.beta.logpdf(y, 3 * mu, 3 * (1 - mu)),
    }[type(family)]()


@pytest.mark.parametrize("phi", [1.0, 0.4, 2.5])
@pytest.mark.parametrize("family", [f for f in ALL if f not in (Binomial(), Tweedie(1.5))], ids=repr)
def test_log_likelihood_agrees_with_scipy(family, phi):
    y, mu = draw(family)
    w = np.arange(len(y)) % 3 + 1.0
    expected = w * scipy_log_density(family, y, mu, phi)
    np.testing.assert_allclose(family.log_likelihood(y, mu, w, phi), expected, rtol=1e-10, atol=1e-12)


def test_binomial_weights_are_trials():
    trials = np.array([1.0, 4.0, 10.0, 10.0, 3.0])
    hits = np.array([1.0, 2.0, 0.0, 10.0, 1.0])
    mu = np.array([0.3, 0.5, 0.1, 0.8, 0.99])
    expected = scipy.stats.binom.logpmf(hits, trials, mu)
    np.testing.assert_allclose(Binomial().log_likelihood(hits / trials, mu, trials), expected, rtol=1e-11)


def test_negative_binomial_meets_poisson():
    y, mu = draw(Poisson())
    for a, b in zip((1e-6, 1e-9), (1e-4, 1e-7)):
        np.testing.assert_allclose(
            NegativeBinomial(a).log_likelihood(y, mu), Poisson().log_likelihood(y, mu), rtol=b, atol=b
        )


def total(family, mu, f, phi=1.0):
    """E[f(y)] under the family: a sum for counts, an integral for densities, both for the Tweedie family."""

    def density(y):
        return np.exp(family.log_likelihood(np.array([y]), np.array([mu]), 1.0, phi)[0])

    if isinstance(family, (Bernoulli, Binomial)):
        return sum(density(y) * f(y) for y in (0.0, 1.0))
    if isinstance(family, (Poisson, NegativeBinomial)):
        y = np.arange(400.0)
        return np.sum(np.exp(family.log_likelihood(y, np.full_like(y, mu), 1.0, phi)) * f(y))
    low, high = {"any number": (-30, 30), "0 < y < 1": (0, 1)}.get(family.support, (0, 200))
    edges = np.unique([low, *np.clip(mu * np.array([1e-6, 1e-3, 0.1, 0.5, 1, 2, 5, 10]), low, high), high])
    at_zero = density(0.0) * f(0.0) if family == Tweedie(1.5) else 0.0
    pieces = (quad(lambda y: density(y) * f(y), a, b, epsabs=1e-12)[0] for a, b in pairwise(edges))
    return at_zero + sum(pieces)


@pytest.mark.parametrize("mu", [0.2, 0.7])
@pytest.mark.parametrize("family", ALL, ids=repr)
def test_score_has_mean_zero_and_variance_information(family, mu):
    def score(y):
        return family.score(np.asarray(y), np.full(np.shape(y), mu))

    assert total(family, mu, lambda y: np.ones_like(y)) == pytest.approx(1, rel=1e-7)
    assert total(family, mu, lambda y: y) == pytest.approx(mu, rel=1e-6)
    assert total(family, mu, lambda y: (y - mu) ** 2) == pytest.approx(float(family.variance(np.array(mu))), rel=1e-6)
    information = float(family.information(np.array(mu)))
    assert total(family, mu, score) == pytest.approx(0, abs=1e-6 * np.sqrt(information))
    assert total(family, mu, lambda y: score(y) ** 2) == pytest.approx(information, rel=1e-6)


@pytest.mark.parametrize(("power", "phi"), [(1.05, 0.5), (1.2, 1.0), (1.5, 0.05), (1.9, 2.0)])
def test_tweedie_series_integrates_to_one_with_its_moments(power, phi):
    family, mu = Tweedie(power), 1.3
    log_y = np.linspace(-400, 5.5, 40001)  # in log y, since the density may have a pole at 0
    y = np.exp(log_y)
    density = y * np.exp(family.log_likelihood(y, np.full_like(y, mu), 1.0, phi))
    mass = np.exp(family.log_likelihood(np.zeros(1), np.array([mu]), 1.0, phi))[0]
    assert np.trapezoid(density, log_y) + mass == pytest.approx(1, rel=1e-6)
    assert np.trapezoid(density * y, log_y) == pytest.approx(mu, rel=1e-6)
    variance = np.trapezoid(density * (y - mu) ** 2, log_y) + mass * mu**2
    assert variance == pytest.approx(phi * mu**power, rel=1e-5)


def test_tweedie_series_against_the_compound_sum():
    """The density by its meaning: Poisson many gamma amounts."""
    power, phi, mu = 1.6, 0.8, 2.0
    rate = mu ** (2 - power) / (phi * (2 - power))
    shape, scale = (2 - power) / (power - 1), phi * (power - 1) * mu ** (power - 1)
    y, n = np.array([0.01, 0.5, 2.0, 9.0]), np.arange(1, 200)[:, None]
    expected = np.sum(scipy.stats.poisson.pmf(n, rate) * scipy.stats.gamma.pdf(y, n * shape, scale=scale), axis=0)
    got = np.exp(Tweedie(power).log_likelihood(y, np.full(4, mu), 1.0, phi))
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_tweedie_refuses_a_density_it_does_not_have():
    with pytest.raises(ParameterError, match=r"2\.5"):
        Tweedie(2.5).log_likelihood(np.ones(1), np.ones(1))
    y, mu = draw(Gamma())
    np.testing.assert_allclose(Tweedie(2).log_likelihood(y, mu, 1, 0.3), Gamma().log_likelihood(y, mu, 1, 0.3))


@pytest.mark.parametrize("family", DEVIANT, ids=repr)
def test_score_is_half_the_slope_of_the_deviance(family):
    y, mu = draw(family)
    h = 1e-6 * mu
    slope = (family.deviance(y, mu + h) - family.deviance(y, mu - h)) / (2 * h)
    np.testing.assert_allclose(family.score(y, mu), -0.5 * slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("family", DEVIANT, ids=repr)
def test_deviance_is_never_negative_and_zero_at_the_best_mean(family):
    y, mu = draw(family)
    assert (family.deviance(y, mu) >= -1e-12).all()
    if isinstance(family, Beta):
        grid = np.linspace(0.001, 0.999, 4001)
        least = [family.deviance(np.full_like(grid, v), grid).min() for v in y[:10]]
        np.testing.assert_allclose(least, 0, atol=1e-5)
    else:
        best = family.inside(y)
        inner = best == y
        np.testing.assert_allclose(family.deviance(y, best)[inner & (y != 0)], 0, atol=1e-12)
        assert np.isfinite(family.deviance(y, mu)).all()


@pytest.mark.parametrize("family", DEVIANT, ids=repr)
def test_domains_and_starts(family):
    y, _ = draw(family)
    assert family.in_domain(y).all()
    probes = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, np.nan, np.inf])
    expected = {
        "any number": [1, 1, 1, 1, 1, 0, 0],
        "y ≥ 0": [0, 1, 1, 1, 1, 0, 0],
        "y > 0": [0, 0, 1, 1, 1, 0, 0],
        "y is 0 or 1": [0, 1, 0, 1, 0, 0, 0],
        "0 ≤ y ≤ 1": [0, 1, 1, 1, 0, 0, 0],
        "0 < y < 1": [0, 0, 1, 0, 0, 0, 0],
    }[family.support]
    np.testing.assert_array_equal(family.in_domain(probes), np.array(expected, bool))
    for target in (y, np.zeros(3)) if family.in_domain(np.zeros(1)).all() else (y,):
        start = family.start(target)
        assert np.isfinite(start).all()
        assert family.mean == "real" or (start > 0).all()
        assert family.mean != "unit" or (start < 1).all()


def test_canonical_links():
    expected = {
        Gaussian(): Identity(),
        Bernoulli(): Logit(),
        Poisson(): Log(),
        Gamma(): Inverse(),
        InverseGaussian(): InverseSquared(),
        Tweedie(1.5): Power(-0.5),
        Tweedie(1): Log(),
    }
    assert {family: family.canonical for family in expected} == expected


def linear_predictor(loss, n=60):
    """z whose means are inside the domain, away from its borders."""
    _, mu = draw(loss.family, n)
    return loss.link.link(mu)


@pairs
def test_glm_gradient_and_curvature(family, link):
    loss = GLMLoss(family, link)
    y, mu = draw(family)
    z = linear_predictor(loss)
    h = 1e-6 * np.maximum(np.abs(z), 0.1)
    value, gradient, curvature = loss.value_grad_hess(y, z)
    slope = (loss.value(y, z + h) - loss.value(y, z - h)) / (2 * h)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient, -family.score(y, mu) * loss.link.derivative(z), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(curvature, family.information(mu) * loss.link.derivative(z) ** 2, rtol=1e-9)
    np.testing.assert_allclose(value + loss.constant(y), 0.5 * family.deviance(y, mu), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("family", [f for f in DEVIANT if not isinstance(f, (Beta, NegativeBinomial))], ids=repr)
def test_canonical_curvature_is_the_second_derivative(family):
    loss = GLMLoss(family)
    y, _ = draw(family)
    z = linear_predictor(loss)
    h = 1e-6 * np.maximum(np.abs(z), 0.1)
    slope = (loss.gradient(y, z + h) - loss.gradient(y, z - h)) / (2 * h)
    # A canonical link is only so up to a factor, and 1/μ falls: the curvature is positive all the same.
    np.testing.assert_allclose(loss.grad_hess(y, z)[1], slope, rtol=1e-6, atol=1e-8)


@pairs
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_glm_loss_is_a_number_at_every_predictor(family, link, dtype):
    loss = GLMLoss(family, link)
    y = draw(family)[0][:12].astype(dtype)
    z = np.array([-1e3, -60, -9, -1, -0.1, -1e-12, 0, 1e-12, 0.1, 9, 60, 1e3], dtype=dtype)
    with np.errstate(over="ignore"):
        parts = loss.value_grad_hess(y, z)
        mu = loss.mean(z)
    for part in (*parts, mu, loss.start(y)):
        assert part.dtype == dtype
        assert not np.isnan(part).any()
    assert (parts[2] >= 0).all()
    assert family.mean == "real" or (mu > 0).all()
    assert family.mean != "unit" or (mu < 1).all()
    exact = loss.value_grad_hess(y.astype(np.float64), loss.start(y).astype(np.float64))
    for single, double in zip(loss.value_grad_hess(y, loss.start(y)), exact):
        np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("family", "link"),
    [(Poisson(), "identity"), (Gamma(), "inverse"), (Bernoulli(), "log"), (Bernoulli(), "identity")],
    ids=repr,
)
def test_outside_the_domain_the_slope_is_true_and_newton_leads_back(family, link):
    loss = GLMLoss(family, link)
    y = np.array([1.0, 1.0, 1.0])
    z = np.array([0.5, 1.5, 4.0]) if link == "log" else np.array([-0.5, -1.5, -4.0])
    value, gradient, curvature = loss.value_grad_hess(y, z)
    h = 1e-4
    slope = (loss.value(y, z + h) - loss.value(y, z - h)) / (2 * h)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6)
    back = z - gradient / curvature
    np.testing.assert_allclose(
        np.clip(loss.link.inverse(back), 0, 1 if family.mean == "unit" else None), loss.mean(back)
    )
    assert (loss.value(y, back) < value).all()


FITS = [
    (Gaussian(), "log"),
    (Poisson(), "log"),
    (Poisson(), "identity"),
    (Poisson(), "sqrt"),
    (Gamma(), "log"),
    (Gamma(), "inverse"),
    (InverseGaussian(), "inverse_squared"),
    (InverseGaussian(), "log"),
    (Bernoulli(), "logit"),
    (Bernoulli(), "probit"),
    (Bernoulli(), "cloglog"),
    (Bernoulli(), "cauchit"),
    (NegativeBinomial(0.7), "log"),
    (Tweedie(1.5), "log"),
]


@pytest.mark.filterwarnings("ignore:The .* link function does not respect the domain")
@pytest.mark.parametrize(("family", "link"), FITS, ids=repr)
def test_fisher_scoring_reaches_the_fit_of_statsmodels(family, link):
    """Ten lines of damped Newton on value, gradient and curvature alone."""
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(300), rng.uniform(size=(300, 2))])
    loss = GLMLoss(family, link)
    mu = loss.mean(X @ np.array([0.5, 0.4, 0.3]))
    if isinstance(family, Bernoulli):
        y = (rng.uniform(size=300) < mu).astype(float)
    else:
        y = rng.poisson(mu).astype(float) if family.support == "y ≥ 0" else rng.gamma(3.0, mu / 3)
    coef = np.array([loss.link.link(np.array([y.mean()]))[0], 0.0, 0.0])
    for _ in range(100):
        value, gradient, curvature = (part for part in loss.value_grad_hess(y, X @ coef))
        step = np.linalg.solve(X.T @ (curvature[:, None] * X), X.T @ gradient)
        while loss.value(y, X @ (coef - step)).sum() > value.sum() + 1e-9:
            step = step / 2
        coef = coef - step
    np.testing.assert_allclose(X.T @ loss.gradient(y, X @ coef), 0, atol=1e-6)
    other = {type(a): b for a, b in STATSMODELS}[type(family)]
    names = {"inverse": "InversePower", "inverse_squared": "InverseSquared", "cloglog": "CLogLog", "cauchit": "Cauchy"}
    reference_link = getattr(sm.families.links, names.get(link, link.capitalize()))()
    options = {"var_power": 1.5} if isinstance(family, Tweedie) else {}
    options |= {"alpha": 0.7} if isinstance(family, NegativeBinomial) else {}
    reference = sm.GLM(y, X, family=type(other)(link=reference_link, **options))
    np.testing.assert_allclose(coef, reference.fit(start_params=coef * 1.001, tol=1e-12).params, rtol=1e-5, atol=1e-7)


def test_multinomial():
    rng = np.random.default_rng(0)
    trials = np.array([3.0, 7.0, 1.0])
    mu = rng.dirichlet(np.ones(4), size=3)
    counts = np.array([rng.multinomial(int(n), p) for n, p in zip(trials, mu)])
    y = counts / trials[:, None]
    family = Multinomial()
    expected = [scipy.stats.multinomial.logpmf(c, int(n), p) for c, n, p in zip(counts, trials, mu)]
    np.testing.assert_allclose(family.log_likelihood(y, mu, trials), expected, rtol=1e-10)
    eta = np.log(mu) + 5
    np.testing.assert_allclose(family.inverse(eta), mu, rtol=1e-12)
    value, gradient = family.value_grad(y, eta)
    np.testing.assert_allclose(gradient, mu - y, atol=1e-14)
    entropy = np.where(y > 0, y * np.log(np.where(y > 0, y, 1)), 0).sum(axis=1)
    np.testing.assert_allclose(2 * (value + entropy), family.deviance(y, mu), rtol=1e-10)
    binary = np.column_stack([1 - mu[:, 0], mu[:, 0]])
    ones = np.column_stack([1 - y[:, 0], y[:, 0]])
    np.testing.assert_allclose(family.deviance(ones, binary), Binomial().deviance(y[:, 0], mu[:, 0]), rtol=1e-10)
    assert family.in_domain(y).all()
    assert not family.in_domain(np.array([[0.5, 0.6], [-0.5, 1.5], [np.nan, 1.0]])).any()
    np.testing.assert_allclose(family.start(y).sum(axis=1), 1)


def test_lookup_by_name_and_by_value():
    assert {type(f) for f in FAMILIES.values()} == {type(f) for f in ALL} | {Multinomial}
    assert get_family("poisson") == Poisson()
    assert get_family(Tweedie(1.2)) == Tweedie(1.2)
    assert GLMLoss("gamma") == GLMLoss(Gamma(), Inverse())
    assert hash(GLMLoss("gamma", "log")) == hash(GLMLoss(Gamma(), Log()))
    with pytest.raises(ParameterError, match=r"Unknown family 'poison'.*gaussian.*poisson.*beta"):
        get_family("poison")
    with pytest.raises(ParameterError, match="multinomial"):
        GLMLoss("multinomial")


@pytest.mark.parametrize("make", [lambda: Tweedie(0.5), lambda: NegativeBinomial(0), lambda: Beta(0)])
def test_parameters_without_meaning_are_refused(make):
    with pytest.raises(ParameterError):
        make()


@pairs
def test_torch_tensors_give_the_same_numbers(family, link):
    torch = pytest.importorskip("torch")
    loss = GLMLoss(family, link)
    y, mu = draw(family)
    z = np.append(linear_predictor(loss)[:-4], [-30.0, -0.5, 2.0, 30.0])
    tensors = torch.asarray(y), torch.asarray(z)
    for tensor, array in zip(loss.value_grad_hess(*tensors), loss.value_grad_hess(y, z)):
        np.testing.assert_allclose(tensor.numpy(), array, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(loss.start(tensors[0]).numpy(), loss.start(y), rtol=1e-12)
    deviance = family.deviance(tensors[0], torch.asarray(mu))
    np.testing.assert_allclose(deviance.numpy(), family.deviance(y, mu), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(family.in_domain(tensors[1]).numpy(), family.in_domain(z))
