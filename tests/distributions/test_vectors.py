"""Distributions of vectors and choices: enumeration, SciPy, identities of Gaussians."""

import itertools

import dask.array as da
import numpy as np
import pytest
from scipy import stats

from didact import Batches
from didact import distributions as d
from didact.core.errors import InputError, ParameterError
from didact.parts.statistics.components import components

MEAN = np.array([1.0, -0.5, 2.0])
COVARIANCE = np.array([[2.0, 0.6, -0.3], [0.6, 1.5, 0.4], [-0.3, 0.4, 1.0]])
GAUSSIAN = d.MultivariateGaussian(MEAN, COVARIANCE)
P = np.array([0.2, 0.5, 0.3])


def compositions(n, k):
    """All vectors of k counts that add up to n."""
    return np.array([c for c in itertools.product(range(n + 1), repeat=k) if sum(c) == n], dtype=float)


@pytest.mark.parametrize("ours", [d.Multinomial(5, P), d.DirichletMultinomial(5, [1.0, 2.5, 0.7])])
def test_counts_by_enumeration(ours):
    x = compositions(5, 3)
    p = ours.prob(x)
    assert p.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(p @ x, ours.mean)
    np.testing.assert_allclose((x - ours.mean).T @ (p[:, None] * (x - ours.mean)), ours.variance, atol=1e-12)
    assert -(p @ np.log(p)) == pytest.approx(float(ours.entropy()))
    assert ours.log_prob([1.0, 1.0, 1.0]) == -np.inf
    draws = ours.sample(40000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=0), ours.mean, rtol=0.03)


def test_multinomial_is_scipys_and_its_predictive_averages():
    x = compositions(4, 3)
    np.testing.assert_allclose(d.Multinomial(4, P).log_prob(x), stats.multinomial(4, P).logpmf(x), rtol=1e-9)
    prior = d.Dirichlet([1.0, 2.0, 3.0])
    np.testing.assert_allclose(
        d.Multinomial.predictive(prior, n=4).prob(x), stats.dirichlet_multinomial([1.0, 2.0, 3.0], 4).pmf(x), rtol=1e-9
    )
    after = d.Multinomial.posterior(d.Multinomial.stats([[1, 2, 1], [0, 4, 0]]), prior)
    np.testing.assert_allclose(after.alpha, [2.0, 8.0, 4.0])


@pytest.mark.parametrize("estimate", [d.Multinomial.bayes, d.Multinomial.map])
def test_every_estimate_of_a_multinomial_reads_the_number_of_draws_off_the_rows(estimate):
    rows, prior = [[1, 2, 0], [0, 3, 0]], d.Dirichlet([2.0, 1.0, 1.0])
    assert estimate(rows, prior).n == estimate(rows, prior, n=3).n == d.Multinomial.fit(rows).n == 3
    assert estimate(rows, prior, [0.0, 0.0], n=4).n == 4, "nothing is seen, but n is known"
    np.testing.assert_allclose(d.Multinomial.bayes(rows, prior).p, [0.3, 0.6, 0.1])
    with pytest.raises(InputError, match="add up to 3"):
        estimate(rows, prior, n=2)


def test_multinomial_of_known_n_is_an_exponential_family():
    ours, x = d.Multinomial(4, P), compositions(4, 3)
    eta = ours.natural()
    assert d.Multinomial.from_natural(eta, n=4).n == 4
    np.testing.assert_allclose(d.Multinomial.from_natural(eta, n=4).p, P)
    total = d.Multinomial.log_partition(eta, n=4)
    np.testing.assert_allclose(
        d.Multinomial.log_base(x) + d.Multinomial.sufficient(x) @ eta - total, ours.log_prob(x), rtol=1e-10
    )
    step = np.eye(2) * 1e-5
    slope = [np.subtract(*(d.Multinomial.log_partition(eta + s * e, n=4) for s in (1, -1))) / 2e-5 for e in step]
    np.testing.assert_allclose(slope, ours.expected_sufficient(), rtol=1e-8)


def test_categorical():
    one = d.Categorical(P)
    np.testing.assert_allclose(one.prob([0, 1, 2, 3]), [0.2, 0.5, 0.3, 0.0])
    assert float(one.entropy()) == pytest.approx(stats.entropy(P))
    rows = d.Categorical(np.array([[0.2, 0.8], [0.6, 0.4]]))
    np.testing.assert_allclose(rows.prob([[0, 1], [1, 0]]), [[0.2, 0.4], [0.8, 0.6]])
    x = one.sample(50000, random_state=0)
    np.testing.assert_allclose(np.bincount(x.astype(int)) / len(x), P, atol=0.01)
    eta = one.natural()
    assert d.Categorical.from_natural(eta) == d.Categorical(d.Categorical.from_natural(eta).p)
    np.testing.assert_allclose(d.Categorical.from_natural(eta).p, P)
    T = d.Categorical.sufficient(np.arange(3.0))
    np.testing.assert_allclose(T @ eta - d.Categorical.log_partition(eta), np.log(P))
    two = d.Categorical([0.3, 0.7])
    assert two.natural()[0] == pytest.approx(-d.Bernoulli(0.7).natural()[0]), "two values are a Bernoulli"
    np.testing.assert_allclose(d.Categorical.map([0, 1, 1], d.Dirichlet([2.0, 2.0])).p, [2 / 5, 3 / 5])


def test_dirichlet():
    ours, theirs = d.Dirichlet([1.5, 2.0, 4.0]), stats.dirichlet([1.5, 2.0, 4.0])
    x = ours.sample(3000, random_state=0)
    np.testing.assert_allclose(ours.log_prob(x), theirs.logpdf(x.T), rtol=1e-9)
    np.testing.assert_allclose(ours.mean, theirs.mean())
    np.testing.assert_allclose(ours.variance, theirs.cov())
    assert float(ours.entropy()) == pytest.approx(theirs.entropy())
    fit = d.Dirichlet.fit(x)
    np.testing.assert_allclose(fit.alpha, ours.alpha, rtol=0.1)
    np.testing.assert_allclose(fit.expected_sufficient(), np.log(x).mean(axis=0), rtol=1e-9)
    two = x[:, :2] / x[:, :2].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(d.Dirichlet.fit(two).alpha, d.Beta.fit(two[:, 0]), rtol=1e-9)


def test_gaussian_is_scipys():
    x = GAUSSIAN.sample(500, random_state=0)
    theirs = stats.multivariate_normal(MEAN, COVARIANCE)
    np.testing.assert_allclose(GAUSSIAN.log_prob(x), theirs.logpdf(x), rtol=1e-10)
    assert GAUSSIAN.entropy() == pytest.approx(theirs.entropy())
    fit = d.MultivariateGaussian.fit(x)
    np.testing.assert_allclose(fit.covariance, np.cov(x.T, bias=True))
    np.testing.assert_allclose(
        d.MultivariateGaussian([0.7], [[2.25]]).log_prob([[1.0], [2.0]]), d.Gaussian(0.7, 2.25).log_prob([1.0, 2.0])
    )


def test_weights_are_repetitions_and_moments_merge():
    x = GAUSSIAN.sample(40, random_state=1)
    w = np.random.default_rng(0).integers(0, 3, 40)
    weighted = d.MultivariateGaussian.fit(x, w)
    repeated = d.MultivariateGaussian.fit(np.repeat(x, w, axis=0))
    S = d.MultivariateGaussian.stats(x[:15], w[:15]).merge(d.MultivariateGaussian.stats(x[15:], w[15:]))
    for other in (repeated, d.MultivariateGaussian.from_stats(S)):
        np.testing.assert_allclose(other.mean, weighted.mean)
        np.testing.assert_allclose(other.covariance, weighted.covariance)


def test_chain_rule_of_marginals_and_conditionals():
    x = np.array([0.3, 0.1, 1.2])
    given = GAUSSIAN.conditional([2, 0], x[[2, 0]])
    joint = GAUSSIAN.marginal([2, 0]).log_prob(x[[2, 0]]) + given.log_prob(x[[1]])
    assert joint == pytest.approx(float(GAUSSIAN.log_prob(x)))
    example = d.MultivariateGaussian([1.0, 2.0], [[4.0, 3.0], [3.0, 9.0]]).conditional([1], [5.0])
    np.testing.assert_allclose([example.mean[0], example.covariance[0, 0]], [2.0, 3.0])
    precision = np.linalg.inv(COVARIANCE)
    np.testing.assert_allclose(
        GAUSSIAN.conditional([2], [0.0]).covariance, np.linalg.inv(precision[:2, :2]), err_msg="inverse of V_AA"
    )


def test_affine_maps_and_products():
    A, b = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]]), np.array([0.5, 1.0])
    image = GAUSSIAN.affine(A, b)
    np.testing.assert_allclose(image.mean, A @ MEAN + b)
    np.testing.assert_allclose(image.covariance, A @ COVARIANCE @ A.T)
    other = d.MultivariateGaussian([0.0, 1.0, 1.0], np.diag([1.0, 2.0, 0.5]))
    product, log_integral = GAUSSIAN.product(other)
    for x in (np.zeros(3), np.array([1.0, -1.0, 2.0])):
        both = GAUSSIAN.log_prob(x) + other.log_prob(x)
        assert float(product.log_prob(x)) + log_integral == pytest.approx(float(both))


def test_gaussian_as_an_exponential_family():
    eta = GAUSSIAN.natural()
    back = d.MultivariateGaussian.from_natural(eta)
    np.testing.assert_allclose(back.covariance, COVARIANCE, atol=1e-12)
    x = GAUSSIAN.sample(4, random_state=0)
    cls = d.MultivariateGaussian
    np.testing.assert_allclose(
        cls.log_base(x) + cls.sufficient(x) @ eta - cls.log_partition(eta), GAUSSIAN.log_prob(x), rtol=1e-10
    )


def test_bayes_of_a_vector_mean():
    x = GAUSSIAN.sample(9, random_state=3)
    prior = d.MultivariateGaussian(np.zeros(3), 2.0 * np.eye(3))
    after = d.MultivariateGaussian.posterior(d.MultivariateGaussian.stats(x), prior, covariance=COVARIANCE)
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 2.0]])
    ratio = [
        prior.log_prob(m) + d.MultivariateGaussian(m, COVARIANCE).log_prob(x).sum() - after.log_prob(m) for m in points
    ]
    assert ratio[0] == pytest.approx(ratio[1])
    predicted = d.MultivariateGaussian.predictive(after, covariance=COVARIANCE)
    np.testing.assert_allclose(predicted.covariance, after.covariance + COVARIANCE)


def test_normal_inverse_wishart():
    x = GAUSSIAN.sample(10, random_state=4)
    prior = d.NormalInverseWishart(np.zeros(3), 1.5, np.diag([1.0, 2.0, 3.0]), 6.0)
    after = d.MultivariateGaussian.posterior(d.MultivariateGaussian.stats(x), prior)
    pairs = [(np.zeros(3), np.eye(3)), (MEAN, COVARIANCE)]
    ratio = [prior.log_prob(p) + d.MultivariateGaussian(*p).log_prob(x).sum() - after.log_prob(p) for p in pairs]
    assert ratio[0] == pytest.approx(ratio[1])
    means, covariances = after.sample(4000, random_state=0)
    np.testing.assert_allclose(covariances.mean(axis=0), after.mean[1], rtol=0.1, atol=0.05)
    averaged = np.mean([d.MultivariateGaussian(m, S).prob(MEAN) for m, S in zip(means, covariances, strict=True)])
    predicted = d.MultivariateGaussian.predictive(after)
    assert float(predicted.prob(MEAN)) == pytest.approx(averaged, rel=0.05)
    theirs = stats.multivariate_t(predicted.location, predicted.scale, predicted.dof)
    np.testing.assert_allclose(predicted.log_prob(x), theirs.logpdf(x))
    assert predicted.entropy() == pytest.approx(float(theirs.entropy()))
    np.testing.assert_allclose(d.MultivariateGaussian.map(x, prior).covariance, after.mode[1])
    one = d.NormalInverseWishart([0.5], 2.0, [[10.0]], 6.0)
    same = d.NormalInverseGamma(0.5, 2.0, 3.0, 5.0)
    assert one.log_prob((np.array([0.8]), np.array([[3.0]]))) == pytest.approx(float(same.log_prob([0.8, 3.0])))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: d.MultivariateGaussian([0.0, 0.0], np.ones((2, 2))), "not positive definite"),
        (lambda: d.MultivariateGaussian.fit([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), "not positive definite"),
        (lambda: d.MultivariateGaussian([0.0, 0.0], np.eye(3)), "does not go with"),
        (lambda: d.MultivariateGaussian([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (lambda: GAUSSIAN.conditional([0], [1.0, 2.0]), "1 columns need 1"),
        (lambda: d.Categorical([0.5, 0.6]), "add up to 1"),
        (lambda: d.Categorical.fit([0, 5], n_values=3), "only 3 values"),
        (lambda: d.Categorical.bayes([0, 5], d.Dirichlet([1.0, 1.0])), "prior knows 2"),
        (lambda: d.Multinomial.fit([[1, 1], [2, 1]]), "same sum"),
        (lambda: d.Multinomial.bayes([[1, 1]], d.Beta(1, 1)), "prior of Multinomial is Dirichlet, not Beta"),
        (lambda: d.Categorical.predictive(d.Beta(1, 1)), "prior of Categorical is Dirichlet, not Beta"),
        (lambda: d.MultivariateGaussian.bayes([[1.0]], d.Gaussian(0.0, 1.0)), "NormalInverseWishart, not Gaussian"),
        (lambda: d.MultivariateGaussian.predictive(d.Gaussian(0.0, 1.0)), "NormalInverseWishart, not Gaussian"),
        (lambda: d.Multinomial.fit([[1, 1]], n=3), "add up to 2"),
        (lambda: d.Dirichlet.fit([[0.2, 0.9]]), "add up to 1"),
        (lambda: d.Dirichlet.fit([[0.5, 0.5], [0.5, 0.5]]), "All observations are the same"),
        (lambda: d.NormalInverseWishart(np.zeros(3), 1.0, np.eye(3), 1.0), "above p"),
    ],
)
def test_a_clear_sentence(make, sentence):
    with pytest.raises((InputError, ParameterError), match=sentence):
        make()


@pytest.mark.parametrize("name", ["Gaussian", "MultivariateGaussian", "Poisson", "Categorical", "StudentT", "Uniform"])
def test_batches_and_dask_give_the_same_fit(name):
    cls = getattr(d, name)
    rng = np.random.default_rng(0)
    x = (
        rng.poisson(2.0, (60, 3)).astype(float)
        if name != "MultivariateGaussian"
        else GAUSSIAN.sample(60, random_state=0)
    )
    w = rng.uniform(0.5, 2.0, 60)
    known = {"n_values": 12} if name == "Categorical" else {}
    whole = cls.fit(x, w, **known)
    batches = cls.fit(Batches(lambda: ((x[s], None, w[s]) for s in (slice(0, 25), slice(25, 60)))), **known)
    cluster = cls.fit(da.from_array(x, chunks=(20, 3)), da.from_array(w, chunks=20), **known)
    for other in (batches, cluster):
        for a, b in zip(other, whole, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8)


def test_gaussians_read_the_statistic_of_components():
    """Of labels or responsibilities: one Gaussian for each component and column, or one of vectors."""
    rng = np.random.default_rng(0)
    X, R = rng.normal(size=(200, 3)) + 5.0, rng.dirichlet(np.ones(2), 200)
    for given_by, shares in ((R, R.T), (R.argmax(axis=1), np.eye(2)[R.argmax(axis=1)].T)):
        columns = d.Gaussian.from_stats(components(X, given_by, "diagonal"))
        full = components(X, given_by, "full")
        for k, w in enumerate(shares):
            alone, vectors = d.Gaussian.fit(X, w), d.MultivariateGaussian.fit(X, w)
            np.testing.assert_allclose(columns.mean[k], alone.mean, rtol=1e-12)
            np.testing.assert_allclose(columns.variance[k], alone.variance, rtol=1e-10)
            one = d.MultivariateGaussian.from_stats(full.component(k))
            np.testing.assert_allclose(one.mean, vectors.mean, rtol=1e-12)
            np.testing.assert_allclose(one.covariance, vectors.covariance, rtol=1e-10)
