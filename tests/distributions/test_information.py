"""Information: worked numbers, identities, and divergences against integrals."""

import numpy as np
import pytest
from distribution_cases import DISCRETE, FAMILIES, SINGLE
from scipy import integrate, stats

from didact import distributions as d
from didact.core.errors import InputError, ParameterError
from didact.distributions.information import (
    cross_entropy,
    entropy,
    information_content,
    kl_divergence,
    mutual_information,
)

TABLE = np.array([[3.0, 1.0, 2.0], [0.0, 4.0, 1.0]])


def test_worked_numbers():
    assert float(information_content(1 / 8)) == 3.0
    assert entropy([5, 4]) == pytest.approx(0.991076, abs=5e-7)
    assert entropy(np.ones(8)) == pytest.approx(3.0), "at most log K"


def test_bits_and_nats():
    assert entropy([1, 3], "nats") == pytest.approx(entropy([1, 3]) * np.log(2))
    assert entropy(d.Gaussian(0.0, 1.0), "nats") == pytest.approx(stats.norm.entropy())
    with pytest.raises(ParameterError, match="unit"):
        entropy([1.0], "bans")


def test_identities_of_tables():
    p, q = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.4, 0.2])
    assert cross_entropy(p, q) == pytest.approx(entropy(p) + kl_divergence(p, q))
    assert kl_divergence(p, p) == 0.0
    assert kl_divergence(p, q, "nats") == pytest.approx(stats.entropy(p, q))
    assert kl_divergence([1, 1], [1, 0]) == np.inf
    joint, x, y = entropy(TABLE), entropy(TABLE.sum(axis=1)), entropy(TABLE.sum(axis=0))
    assert mutual_information(TABLE) == pytest.approx(x + y - joint)
    assert mutual_information(np.outer([1, 3], [2, 5])) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("name", FAMILIES)
def test_divergences_of_families(name):
    p, _, _ = SINGLE[name]
    q = type(p)(*(v if k == "n" else np.asarray(v) * 1.25 for k, v in p._asdict().items()))
    if name in DISCRETE:
        x = np.arange({"Bernoulli": 2.0, "Binomial": 12.0}.get(name, 100.0))
        expected = np.sum(p.prob(x) * (p.log_prob(x) - q.log_prob(x)))
    else:
        low, high = {"Gaussian": (-15, 15), "Laplace": (-60, 60), "Beta": (0, 1)}.get(name, (1e-12, 200))
        expected = integrate.quad(lambda t: float(p.prob(t) * (p.log_prob(t) - q.log_prob(t))), low, high, limit=400)[0]
    assert kl_divergence(p, q, "nats") == pytest.approx(expected, rel=1e-5)


def test_other_divergences():
    assert kl_divergence(d.Uniform(0, 1), d.Uniform(0, 4)) == pytest.approx(2.0)
    assert kl_divergence(d.Uniform(0, 4), d.Uniform(0, 1)) == np.inf
    assert kl_divergence(d.Categorical([0.5, 0.5]), d.Categorical([0.25, 0.75])) == pytest.approx(
        kl_divergence([0.5, 0.5], [0.25, 0.75])
    )
    a, b = d.Dirichlet([1.0, 2.0, 3.0]), d.Dirichlet([2.0, 2.0, 2.0])
    x = a.sample(100000, random_state=0)
    assert kl_divergence(a, b, "nats") == pytest.approx((a.log_prob(x) - b.log_prob(x)).mean(), abs=0.02)


ROWS = {  # a row of distributions, and the distributions
    "Bernoulli": (d.Bernoulli([0.2, 0.5]), [d.Bernoulli(0.2), d.Bernoulli(0.5)]),
    "Binomial": (d.Binomial([3, 4], 0.2), [d.Binomial(3, 0.2), d.Binomial(4, 0.2)]),
    "Categorical": (d.Categorical([[0.5, 0.5], [0.9, 0.1]]), [d.Categorical([0.5, 0.5]), d.Categorical([0.9, 0.1])]),
    "Multinomial": (
        d.Multinomial(3, [[0.5, 0.5], [0.9, 0.1]]),
        [d.Multinomial(3, [0.5, 0.5]), d.Multinomial(3, [0.9, 0.1])],
    ),
    "Poisson": (d.Poisson([1.0, 2.0]), [d.Poisson(1.0), d.Poisson(2.0)]),
    "Gaussian": (d.Gaussian([0.0, 1.0], 2.0), [d.Gaussian(0.0, 2.0), d.Gaussian(1.0, 2.0)]),
    "Laplace": (d.Laplace([0.0, 1.0], 2.0), [d.Laplace(0.0, 2.0), d.Laplace(1.0, 2.0)]),
    "Uniform": (d.Uniform([0.0, 0.5], 2.0), [d.Uniform(0.0, 2.0), d.Uniform(0.5, 2.0)]),
}


@pytest.mark.parametrize("name", ROWS)
def test_numbers_of_a_row_of_distributions_add_up(name):
    row, each = ROWS[name]
    assert entropy(row) == pytest.approx(sum(entropy(p) for p in each))
    others = each if name == "Binomial" else each[:1] * 2  # the divergence needs equal n
    q = row if name == "Binomial" else each[0]
    for one in (kl_divergence, cross_entropy):
        assert one(row, q) == pytest.approx(sum(map(one, each, others)))
        assert one(q, row) == pytest.approx(sum(map(one, others, each)))


@pytest.mark.parametrize(
    "row",
    [
        d.StudentT(3.0, [0.0, 1.0], 1.0),
        d.DoubleLomax([0.0, 1.0], 3.0, 1.0),
        d.ParetoUniform([0.0, 1.0], 1.0, 3.0),
        d.NormalInverseGamma([0.0, 1.0], 1.0, 2.0, 2.0),
    ],
)
def test_entropies_of_a_row_of_locations(row):
    one = type(row)(*(v[0] if isinstance(v, list) else v for v in row))
    assert entropy(row) == pytest.approx(2 * entropy(one))


def test_worked_numbers_of_a_pair():
    pair, flat = d.Categorical([[0.5, 0.5], [0.9, 0.1]]), d.Categorical([[0.5, 0.5], [0.5, 0.5]])
    assert kl_divergence(pair, flat) == pytest.approx(0.531004, abs=5e-7)
    assert cross_entropy(pair, flat) == pytest.approx(2.0)


def test_nothing_times_the_logarithm_of_nothing_is_nothing():
    for zero, one in [(0.0, 1.0), (1.0, 0.0)]:
        assert kl_divergence(d.Bernoulli(zero), d.Bernoulli(0.5)) == 1.0
        assert kl_divergence(d.Bernoulli(zero), d.Bernoulli(zero)) == 0.0
        assert kl_divergence(d.Bernoulli(zero), d.Bernoulli(one)) == np.inf
        assert kl_divergence(d.Binomial(3, zero), d.Binomial(3, 0.5)) == 3.0
    assert kl_divergence(d.Poisson(0.0), d.Poisson(2.0), "nats") == 2.0
    assert kl_divergence(d.Multinomial(2, [1.0, 0.0]), d.Multinomial(2, [0.25, 0.75])) == 4.0


def test_divergence_of_multinomials_is_a_sum_over_their_values():
    p, q = d.Multinomial(3, [0.2, 0.5, 0.3]), d.Multinomial(3, [0.4, 0.4, 0.2])
    x = np.array([[a, b, 3 - a - b] for a in range(4) for b in range(4 - a)])
    assert kl_divergence(p, q, "nats") == pytest.approx(np.sum(p.prob(x) * (p.log_prob(x) - q.log_prob(x))))


def test_gaussians():
    S = np.array([[2.0, 0.6, 0.2], [0.6, 1.5, 0.4], [0.2, 0.4, 1.0]])
    p = d.MultivariateGaussian(np.zeros(3), S)
    q = d.MultivariateGaussian(np.ones(3), np.eye(3))
    expected = 0.5 * (np.trace(S) + 3 - 3 - np.linalg.slogdet(S)[1])
    assert kl_divergence(p, q, "nats") == pytest.approx(expected)
    parts = entropy(p.marginal([0])) + entropy(p.marginal([1, 2])) - entropy(p)
    assert mutual_information(p, [0]) == pytest.approx(parts)
    pair = d.MultivariateGaussian([0, 0], [[1.0, 0.8], [0.8, 1.0]])
    assert mutual_information(pair, [0], "nats") == pytest.approx(-0.5 * np.log(1 - 0.64))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: information_content(1.2), "between 0 and 1"),
        (lambda: entropy([-1.0, 2.0]), "at least 0"),
        (lambda: entropy([0.0, 0.0]), "not all"),
        (lambda: kl_divergence([1.0, 1.0], [1.0, 1.0, 1.0]), "2 and 3"),
        (lambda: kl_divergence(d.Categorical([1.0]), d.Categorical([0.5, 0.5])), "1 and 2"),
        (lambda: kl_divergence(d.Binomial(3, 0.5), d.Binomial(4, 0.5)), "n = 3 and n = 4"),
        (lambda: kl_divergence(d.Poisson(1.0), d.Exponential(1.0)), "same kind"),
        (lambda: mutual_information([1.0, 2.0]), "table"),
        (lambda: mutual_information(d.MultivariateGaussian([0.0, 0.0], np.eye(2))), "columns"),
    ],
)
def test_a_clear_sentence(make, sentence):
    with pytest.raises((InputError, ParameterError), match=sentence):
        make()
