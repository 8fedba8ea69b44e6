"""Distributions of a number: densities, moments, draws and estimators against SciPy, integrals and optimality."""

from itertools import pairwise

import numpy as np
import pytest
from distribution_cases import CONJUGATE, DISCRETE, ESTIMATED, FAMILIES, KNOWN, OTHERS, PRIORS, SINGLE
from scipy import integrate, stats

from didact import distributions as d
from didact.core.errors import InputError, ParameterError

ALL = {name: ours for name, (ours, _, _) in SINGLE.items()} | OTHERS


@pytest.mark.parametrize("name", SINGLE)
def test_density_is_scipys(name):
    ours, theirs, x = SINGLE[name]
    expected = theirs.logpmf(x) if name in DISCRETE else theirs.logpdf(x)
    np.testing.assert_allclose(ours.log_prob(x), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.prob(x), np.exp(expected), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", SINGLE)
def test_moments_and_entropy_are_scipys(name):
    ours, theirs, _ = SINGLE[name]
    np.testing.assert_allclose([ours.mean, ours.variance], theirs.stats("mv"), rtol=1e-9)
    np.testing.assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_others_integrate_to_their_moments(name):
    ours = OTHERS[name]
    edges = [-np.inf, 0.3, 2.5, np.inf] if name == "DoubleLomax" else [0.5, 2.5, np.inf]

    def integral(f):
        return sum(integrate.quad(f, a, b, limit=200)[0] for a, b in pairwise(edges))

    def p(x):
        return float(ours.prob(x))

    assert integral(p) == pytest.approx(1.0)
    assert integral(lambda x: x * p(x)) == pytest.approx(float(ours.mean), rel=1e-6)
    assert integral(lambda x: (x - float(ours.mean)) ** 2 * p(x)) == pytest.approx(float(ours.variance), rel=1e-4)
    assert integral(lambda x: -p(x) * float(ours.log_prob(x))) == pytest.approx(float(ours.entropy()), rel=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_draws_follow_the_distribution(name):
    ours = ALL[name]
    x = ours.sample(20000, random_state=3)
    assert x.shape == (20000,)
    np.testing.assert_array_equal(x, ours.sample(20000, random_state=3))
    assert np.isfinite(ours.log_prob(x)).all()
    # The mean of −log p(x) over draws tends to the entropy: a check of draws and density together.
    surprise = -ours.log_prob(x)
    assert abs(surprise.mean() - ours.entropy()) < 5 * surprise.std() / np.sqrt(len(x)) + 1e-9
    if name in SINGLE and name not in DISCRETE:
        assert stats.kstest(x, SINGLE[name][1].cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", ALL)
def test_nothing_outside_the_support(name):
    ours = ALL[name]
    outside = {"StudentT": [], "Gaussian": [], "Laplace": [], "DoubleLomax": []}.get(name, [-1.5])
    outside += [0.5] if name in DISCRETE else [1.2] if name == "Beta" else []
    for x in outside:
        assert ours.log_prob(x) == -np.inf, x


@pytest.mark.parametrize("name", ESTIMATED)
def test_fit_has_the_greatest_likelihood(name):
    ours, _, _ = SINGLE[name]
    cls, known = type(ours), KNOWN.get(name, {})
    x = ours.sample(400, random_state=1)
    w = np.random.default_rng(2).integers(1, 4, 400).astype(float)
    best = cls.fit(x, w, **known)
    value = w @ best.log_prob(x)
    for k, parameter in enumerate(best):
        if cls._fields[k] in known:
            continue
        for factor in (1 - 1e-3, 1 + 1e-3, 0.9, 1.1):
            other = best._replace(**{cls._fields[k]: parameter * factor})
            with np.errstate(invalid="ignore"):
                assert not w @ other.log_prob(x) > value + 1e-9


@pytest.mark.parametrize("name", ESTIMATED)
def test_weights_are_repetitions_and_statistics_merge(name):
    ours, _, _ = SINGLE[name]
    cls, known = type(ours), KNOWN.get(name, {})
    x = ours.sample(60, random_state=4)
    w = np.random.default_rng(5).integers(0, 3, 60)
    weighted = cls.fit(x, w, **known)
    repeated = cls.fit(np.repeat(x, w), **known)
    merged = cls.from_stats(cls.stats(x[:20], w[:20]).merge(cls.stats(x[20:], w[20:])), **known)
    np.testing.assert_allclose(repeated, weighted, rtol=1e-7)
    np.testing.assert_allclose(merged, weighted, rtol=1e-7)


@pytest.mark.parametrize("name", ESTIMATED)
def test_columns_are_independent(name):
    ours, _, _ = SINGLE[name]
    cls, known = type(ours), KNOWN.get(name, {})
    x = ours.sample((80, 2), random_state=6)
    both = cls.fit(x, **known)
    np.testing.assert_allclose(both.log_prob(x)[:, 1], cls.fit(x[:, 1], **known).log_prob(x[:, 1]), rtol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_exponential_family(name):
    ours, _, x = SINGLE[name]
    cls, eta = type(ours), ours.natural()
    back, about, total, base = FAMILIES[name]
    np.testing.assert_allclose(cls.from_natural(eta, **back), ours, rtol=1e-12)
    rebuilt = cls.log_base(x, **base) + cls.sufficient(x, **about) @ eta - cls.log_partition(eta, **total)
    inside = np.isfinite(ours.log_prob(x))
    np.testing.assert_allclose(rebuilt[inside], ours.log_prob(x)[inside], rtol=1e-10, atol=1e-12)
    # a′ = E[T] and a″ = Cov[T]
    step = 1e-5
    E = np.eye(len(eta)) * step
    slope = [(cls.log_partition(eta + e, **total) - cls.log_partition(eta - e, **total)) / (2 * step) for e in E]
    np.testing.assert_allclose(slope, ours.expected_sufficient(), rtol=1e-6)
    T = cls.sufficient(ours.sample(200000, random_state=0), **about)

    def mean(at):
        return cls.from_natural(at, **back).expected_sufficient()

    bend = [(mean(eta + e) - mean(eta - e)) / (2 * step) for e in E]
    np.testing.assert_allclose(bend, np.cov(T.T).reshape(len(eta), -1), rtol=0.1, atol=0.02)


@pytest.mark.parametrize("name", [n for n in SINGLE if n not in FAMILIES])
def test_no_exponential_family_says_so(name):
    ours, _, _ = SINGLE[name]
    with pytest.raises(ParameterError, match="exponential family"):
        ours.natural()


def grid_of(prior, points=20001):
    """A grid that covers a prior's support, for integrals by the trapezoidal rule."""
    draws = prior.sample(4000, random_state=0)
    low, high = draws.min(), draws.max()
    if isinstance(prior, d.Beta):
        return np.linspace(1e-6, 1 - 1e-6, points)
    if isinstance(prior, d.Pareto):
        return np.geomspace(float(prior.scale), 1e4, points)
    return np.linspace(max(low / 50, 1e-6) if low > 0 else 3 * low - high, 3 * high, points)


@pytest.mark.parametrize(("name", "known", "prior"), PRIORS)
def test_posterior_and_predictive_by_integration(name, known, prior):
    ours, _, points = SINGLE[name]
    cls = type(ours)
    x = ours.sample(6, random_state=8)
    after = cls.posterior(cls.stats(x), prior, **known)
    grid = grid_of(prior)
    each = sum(cls._of_parameters(grid, **known).log_prob(point) for point in x)
    joint = np.exp(each - each.max()) * prior.prob(grid)
    density = joint / np.trapezoid(joint, grid)
    np.testing.assert_allclose(after.prob(grid)[1:-1], density[1:-1], rtol=2e-3, atol=2e-3 * density.max())
    predicted = cls.predictive(after, **known)
    for point in points[::4]:
        expected = np.trapezoid(cls._of_parameters(grid, **known).prob(point) * density, grid)
        assert float(predicted.prob(point)) == pytest.approx(expected, rel=1e-2, abs=1e-4)


@pytest.mark.parametrize(("name", "known", "prior"), PRIORS)
def test_map_and_bayes_are_mode_and_mean_of_the_posterior(name, known, prior):
    ours, _, _ = SINGLE[name]
    cls = type(ours)
    x = ours.sample(30, random_state=9)
    after = cls.posterior(cls.stats(x), prior, **known)
    assert cls.bayes(x, prior, **known) == cls._of_parameters(after.mean, **known)
    top = after.log_prob(after.mode)
    assert top >= after.log_prob(np.asarray(after.mode) * 1.001) - 1e-12
    assert cls.map(x, prior, **known) == cls._of_parameters(after.mode, **known)


@pytest.mark.parametrize("name", CONJUGATE)
def test_a_prior_of_another_kind_is_named(name):
    known, prior = CONJUGATE[name]
    cls, wrong = getattr(d, name), d.StudentT(3.0, 0.0, 1.0)
    for make in (
        lambda: cls.bayes(SINGLE[name][0].sample(3, 0), wrong, **known),
        lambda: cls.predictive(wrong, **known),
    ):
        with pytest.raises(ParameterError, match=f"prior of {name} is .*{type(prior).__name__}.*, not StudentT"):
            make()


def test_unknown_mean_and_variance():
    x = d.Gaussian(1.0, 4.0).sample(12, random_state=0)
    prior = d.NormalInverseGamma(0.5, 2.0, 3.0, 5.0)
    after = d.Gaussian.posterior(d.Gaussian.stats(x), prior)
    # Bayes' rule holds at any two points
    points = np.array([[0.8, 3.0], [1.4, 5.5]])
    ratio = [prior.log_prob(p) + d.Gaussian(*p).log_prob(x).sum() - after.log_prob(p) for p in points]
    assert ratio[0] == pytest.approx(ratio[1], rel=1e-12)
    predicted = d.Gaussian.predictive(after)
    draws = after.sample(200000, random_state=1)
    averaged = d.Gaussian(draws[:, 0], draws[:, 1]).prob(2.0).mean()
    assert float(predicted.prob(2.0)) == pytest.approx(averaged, rel=1e-2)
    assert float(d.Gaussian.bayes(x, prior).variance) == pytest.approx(float(after.scale / (after.shape - 1)))
    mode = after.log_prob(np.array(after.mode))
    for shift in ([1e-2, 0], [-1e-2, 0], [0, 1e-2], [0, -1e-2]):
        assert after.log_prob(np.array(after.mode) + shift) < mode
    assert -after.log_prob(draws).mean() == pytest.approx(float(after.entropy()), abs=0.02)


def test_worked_examples():
    assert float(d.Bernoulli.fit([1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]).p) == pytest.approx(4 / 11)
    assert float(d.Bernoulli.fit([0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]).p) == pytest.approx(2 / 11)
    sample = [5, 10, 4, 6, 5, 4, 6, 11, 10, 9, 5, 7, 3]
    fit = d.Gaussian.fit(sample)
    assert float(fit.mean) == pytest.approx(85 / 13)
    assert float(fit.variance) == pytest.approx(6.402367, abs=5e-7)
    assert float(np.sqrt(fit.variance)) == pytest.approx(2.530290, abs=5e-7)
    assert fit.log_prob(sample).sum() == pytest.approx(-30.514541, abs=5e-7)
    four = [3.0, 3.0, 1.0, 5.0]
    assert float(d.Gaussian.bayes(four, d.Gaussian(0.0, 1.0), variance=4.0).mean) == pytest.approx(1.5)
    assert float(d.Bernoulli.bayes([1] * 3 + [0] * 5, d.Beta(1, 1)).p) == pytest.approx(0.4)


def test_bayes_estimate_of_a_mean_tends_to_the_average():
    x = d.Gaussian(3.0, 4.0).sample(50, random_state=0)
    wide = d.Gaussian.bayes(x, d.Gaussian(0.0, 1e12), variance=4.0)
    assert float(wide.mean) == pytest.approx(x.mean(), rel=1e-9)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: d.Gaussian(0.0, 0.0), "variance must be positive"),
        (lambda: d.Bernoulli(1.5), "between 0 and 1"),
        (lambda: d.Gamma(-1.0, 1.0), "shape must be positive"),
        (lambda: d.Uniform(1.0, 1.0), "below high"),
        (lambda: d.Gaussian.fit([2.0, 2.0]), "All observations are the same"),
        (lambda: d.Gamma.fit([2.0, 2.0]), "All observations are the same"),
        (lambda: d.Beta.fit([0.5, 0.5]), "All observations are the same"),
        (lambda: d.StudentT.fit([1.0, 1.0]), "All observations are the same"),
        (lambda: d.Gaussian.fit([]), "empty"),
        (lambda: d.Gaussian.fit([1.0, 2.0], [0.0, 0.0]), "weights are zero"),
        (lambda: d.Gaussian.fit([1.0, np.nan]), "not possible"),
        (lambda: d.Poisson.fit([1.0, 0.5]), "not possible"),
        (lambda: d.Binomial.fit([3.0, 12.0, 12.0], n=5), "larger than"),
        (lambda: d.Gaussian.fit([1.0, 2.0], [1.0]), "Weights must be 2"),
        (lambda: d.Gaussian.bayes([1.0], d.Gaussian(0.0, 1.0)), "known variance"),
        (lambda: d.Gaussian.bayes([1.0], d.InverseGamma(2.0, 1.0)), "variance alone: give the known mean"),
        (lambda: d.Gaussian.bayes([1.0], d.InverseGamma(2.0, 1.0), variance=1.0), "give the known mean"),
        (lambda: d.Gaussian.bayes([1.0], d.NormalInverseGamma(0.0, 1.0, 2.0, 1.0), variance=1.0), "neither"),
        (lambda: d.Gamma.bayes([1.0], d.Gamma(1.0, 1.0)), "known shape"),
        (lambda: d.Laplace.bayes([1.0], d.InverseGamma(1.0, 1.0)), "known location"),
        (lambda: d.Beta.bayes([0.5, 0.6], d.Beta(1, 1)), "no conjugate prior"),
        (lambda: d.Uniform.bayes([-1.0], d.Pareto(1.0, 1.0)), "below the known"),
        (lambda: d.BetaPrime.fit([1.0]), "no estimator"),
        (lambda: d.Beta(1.0, 1.0).mode, "peak"),
    ],
)
def test_a_clear_sentence(make, sentence):
    with pytest.raises((InputError, ParameterError), match=sentence):
        make()


def test_values_are_equal_by_class_and_parameters():
    assert d.Beta(1.0, 2.0) == d.Beta(1.0, 2.0)
    assert d.Beta(1.0, 2.0) != d.Gamma(1.0, 2.0)
    assert d.Gaussian(np.zeros(2), np.ones(2)) == d.Gaussian(np.zeros(2), np.ones(2))


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, -1 / 3])
def test_a_sample_without_variance_is_refused_whatever_the_rounding_of_its_mean(value):
    with pytest.raises(InputError, match="All observations are the same"):
        d.Gaussian.fit(np.full(50, value), np.linspace(0.1, 2.0, 50))
