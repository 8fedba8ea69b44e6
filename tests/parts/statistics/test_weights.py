"""Weights as numbers of cases: the rule, and that no constant factor changes what it gives."""

import numpy as np
import pytest

from didact.parts.statistics.weights import in_cases

FACTORS = [1e-300, 1e-9, 1 / 150, 0.001, 3.7, 1000.0, 1e300]


@pytest.mark.parametrize("factor", FACTORS)
def test_equal_weights_are_one_case_each(factor):
    cases, unit = in_cases(np.full(7, factor))
    np.testing.assert_array_equal(cases, np.ones(7))
    assert unit == factor


@pytest.mark.parametrize("factor", FACTORS)
def test_whole_numbers_with_a_one_among_them_are_repetitions(factor):
    w = np.array([0.0, 3.0, 1.0, 2.0, 0.0, 1.0, 4_000_001.0])
    np.testing.assert_array_equal(in_cases(w * factor)[0], w)


@pytest.mark.parametrize("factor", FACTORS)
def test_other_weights_sum_to_the_number_of_rows_that_have_weight(factor):
    w = np.random.default_rng(0).uniform(0.1, 2.0, size=50)
    w[::7] = 0.0
    cases, unit = in_cases(w * factor)
    np.testing.assert_allclose(cases.sum(), np.count_nonzero(w), rtol=1e-12)
    np.testing.assert_allclose(cases * unit, w * factor, rtol=1e-12)


def test_a_tiny_weight_is_not_taken_for_a_case():
    """Every number is nearly a whole multiple of a tiny one; the others keep their size."""
    cases, _ = in_cases(np.array([1.0, 1.3, 0.7, 1e-13]))
    np.testing.assert_allclose(cases.sum(), 4.0)
