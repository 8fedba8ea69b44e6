"""Weighted quantiles: those of repeated values, by both of NumPy's rules, and safe from zeros and huge values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.parts.statistics.weighted_quantile import weighted_quantile

RULES = {True: "averaged_inverted_cdf", False: "inverted_cdf"}
pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=12)


@pytest.mark.parametrize("averaged", RULES)
@given(pairs, st.sampled_from([0.05, 0.25, 0.5, 0.75, 0.9]))
def test_the_quantile_is_that_of_repeated_values(averaged, values_and_weights, q):
    values, w = np.asarray(values_and_weights, float).T
    w[0] += 1
    repeated = np.repeat(values, w.astype(int))
    expected = np.quantile(repeated, q, method=RULES[averaged])
    assert weighted_quantile(values, w, q, averaged) == expected
    assert weighted_quantile(values, 0.1 * w, q, averaged) == expected
    assert weighted_quantile(repeated, None, q, averaged) == expected


@pytest.mark.parametrize("averaged", RULES)
def test_rows_share_the_weights(averaged):
    rng = np.random.default_rng(0)
    table, w = rng.normal(size=(5, 8)), rng.integers(0, 3, 8) + 0.5
    for q in (0.3, 0.5):
        each = [weighted_quantile(row, w, q, averaged) for row in table]
        np.testing.assert_array_equal(weighted_quantile(table, w, q, averaged), each)
        each = [weighted_quantile(row, None, q, averaged) for row in table]
        np.testing.assert_array_equal(weighted_quantile(table, None, q, averaged), each)


def test_halfway_between_huge_values_is_finite():
    huge = np.array([1.6e308, 1.7e308])
    for w in (None, np.ones(2)):
        assert huge[0] < weighted_quantile(huge, w, 0.5) < huge[1]
