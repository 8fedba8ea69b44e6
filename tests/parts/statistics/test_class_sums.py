"""Statistics by class: the sparse loop against a product with indicators; merging in any grouping."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.core.errors import InputError
from didact.parts.statistics.class_sums import (
    ClassSums,
    by_class,
    category_counts,
    dense_class_sums,
    one_hot,
    sparse_class_sums,
)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 8), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_sparse_sums_are_a_product(seed, n, p, K):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, (n, p)).astype(rng.choice([np.float32, np.float64]))
    codes, w = rng.integers(0, K, n), rng.uniform(size=n)
    expected = one_hot(codes, w, K).T @ X
    np.testing.assert_allclose(sparse_class_sums(sp.csr_array(X), codes, w, K), expected, rtol=1e-6, atol=1e-12)
    sums, absent, least = dense_class_sums(X, codes, w, K)
    np.testing.assert_allclose(sums, expected, rtol=1e-6, atol=1e-12)
    assert least == 0
    assert not absent.any()


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 8), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_dense_sums_with_gaps_and_a_threshold(seed, n, p, K):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(rng.choice([np.float32, np.float64]))
    X[rng.random(X.shape) < 0.2] = np.nan
    codes, w = rng.integers(0, K, n), rng.uniform(size=n)
    hot = one_hot(codes, w, K).T
    for threshold, values in ((np.nan, X), (0.3, (X > 0.3) * 1.0)):
        sums, absent, least = dense_class_sums(np.asfortranarray(X), codes, w, K, threshold)
        np.testing.assert_allclose(sums, hot @ np.where(np.isnan(X), 0.0, values), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(absent, hot @ np.isnan(X), rtol=1e-6, atol=1e-12)
        assert least == np.fmin.reduce(X, axis=None, initial=0.0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 8), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_counts_of_categories(seed, n, p, K):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, p)).astype(rng.choice([np.float32, np.float64]))
    X[rng.random(X.shape) < 0.2] = np.nan
    codes, w = rng.integers(0, K, n), rng.uniform(size=n) * (rng.random(n) < 0.8)
    for column, found in zip(X.T, category_counts(X, codes, w, K), strict=True):
        there = ~np.isnan(column) & (w > 0)
        assert found.shape == (K, int(column[there].max(initial=0)) + 1)
        for k, t in np.ndindex(found.shape):
            np.testing.assert_allclose(found[k, t], w[there & (codes == k) & (column == t)].sum(), atol=1e-12)


def test_room_is_made_for_values_that_come_late():
    rng, n = np.random.default_rng(0), 2000
    X = np.column_stack([np.arange(n) // 7, rng.integers(0, 3, n), np.where(np.arange(n) == n - 1, 5000, 1)]) * 1.0
    X[rng.random(n) < 0.1, 1] = np.nan
    codes, w = rng.integers(0, 3, n), rng.integers(0, 3, n) * 1.0
    for column, found in zip(X.T, category_counts(X, codes, w, 3), strict=True):
        there = ~np.isnan(column) & (w > 0)
        np.testing.assert_array_equal(
            found,
            [
                np.bincount(column[there & (codes == k)].astype(int), w[there & (codes == k)], found.shape[1])
                for k in range(3)
            ],
        )


@pytest.mark.parametrize(
    ("bad", "sentence"), [(-1.0, "Negative"), (0.5, "fractions"), (2e6, "holds the number 2000000"), (1e300, "number")]
)
def test_numbers_that_are_no_categories(bad, sentence):
    with pytest.raises(InputError, match=sentence):
        category_counts(np.array([[0.0], [bad]]), np.zeros(2, np.int64), np.ones(2), 1)


def test_sums_of_unequal_width_and_labels():
    a = ClassSums(np.array([0]), np.array([2.0]), (np.array([[1.0, 2.0]]),))
    b = ClassSums(np.array([0, 1]), np.array([1.0, 3.0]), (np.array([[1.0, 1.0, 5.0], [0.0, 2.0, 2.0]]),))
    merged = a.merge(b)
    np.testing.assert_array_equal(merged.weight, [3.0, 3.0])
    np.testing.assert_array_equal(merged.sums[0], [[2.0, 3.0, 5.0], [0.0, 2.0, 2.0]])


@pytest.mark.parametrize("labels", [np.array([3, 1, 3]), np.array(["b", "a", "b"])])
def test_codes_point_at_labels(labels):
    classes, codes, w, weight = by_class(labels, None)
    np.testing.assert_array_equal(classes[codes], labels)
    np.testing.assert_array_equal(weight, [1.0, 2.0])
    np.testing.assert_array_equal(w, np.ones(3))
