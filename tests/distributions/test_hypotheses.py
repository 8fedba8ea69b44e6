"""Bayes' rule over hypotheses: the candy bags as recomputed, and bad input."""

import numpy as np
import pytest

from didact.core.errors import InputError, ParameterError
from didact.distributions import posterior

LIMES = [0.0, 0.25, 0.5, 0.75, 1.0]
PRIOR = [0.1, 0.2, 0.4, 0.2, 0.1]


def draw(p, x):
    return p if x == "lime" else 1 - p


def test_ten_limes():
    bags = posterior(LIMES, PRIOR, draw, ["lime"] * 10)
    assert bags.evidence == pytest.approx(0.111653519, abs=5e-10)
    np.testing.assert_allclose(bags.probabilities, [0, 1.708275e-6, 0.003498546, 0.100871903, 0.895627842], atol=5e-10)
    assert bags.map == bags.ml == 1.0
    assert bags.predict("lime") == pytest.approx(0.973031470, abs=5e-10)
    assert bags.predict("lime", "map") == bags.predict("lime", "ml") == 1.0


@pytest.mark.parametrize(("n", "best", "chance"), [(1, 0.5, 0.65), (2, 0.75, 0.730769), (3, 1.0, 0.796053)])
def test_the_first_limes(n, best, chance):
    bags = posterior(LIMES, PRIOR, draw, ["lime"] * n)
    assert bags.map == best
    assert bags.predict("lime") == pytest.approx(chance, abs=5e-7)


def test_mixed_draws_and_a_table_of_likelihoods():
    bags = posterior(LIMES, PRIOR, draw, ["cherry", "lime", "lime"])
    assert bags.evidence == pytest.approx(0.0875)
    np.testing.assert_allclose(bags.probabilities, [0, 3 / 28, 4 / 7, 9 / 28, 0])
    assert bags.predict("lime") == pytest.approx(31 / 56)
    table = np.array([[1 - p, p] for p in LIMES])
    np.testing.assert_allclose(posterior(LIMES, PRIOR, table, [0, 1, 1]).probabilities, bags.probabilities)


def test_nothing_seen_is_the_prior():
    np.testing.assert_allclose(posterior(LIMES, PRIOR, draw, []).probabilities, PRIOR)


def test_very_much_data_does_not_underflow():
    bags = posterior(LIMES, PRIOR, draw, ["lime", "cherry"] * 5000)
    assert bags.map == 0.5
    assert np.isfinite(bags.log_evidence)


def test_bad_input():
    with pytest.raises(ParameterError, match="5 probabilities"):
        posterior(LIMES, [0.5, 0.5], draw, [])
    with pytest.raises(InputError, match="impossible"):
        posterior([0.0, 1.0], [0.5, 0.5], draw, ["lime", "cherry"])
    with pytest.raises(InputError, match="no probability"):
        posterior(LIMES, PRIOR, lambda h, x: -1.0, ["lime"])
    table = np.array([[1 - p, p] for p in LIMES])
    for wrong in (table[:3], table.T, table[0]):
        with pytest.raises(ParameterError, match="a row for each of the 5 hypotheses"):
            posterior(LIMES, PRIOR, wrong, [0, 1])
    for x in (-1, 2, 0.5, "lime", np.nan, None):
        with pytest.raises(InputError, match=r"values 0 … 1, and an observation is"):
            posterior(LIMES, PRIOR, table, [0, x])
        with pytest.raises(InputError, match=r"values 0 … 1, and an observation is"):
            posterior(LIMES, PRIOR, table, [0]).predict(x)
    with pytest.raises(ParameterError, match="how"):
        posterior(LIMES, PRIOR, draw, ["lime"]).predict("lime", "mean")
