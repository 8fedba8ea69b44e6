"""Statistics by class: the sparse loop against a product with indicators; merging in any grouping."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.parts.statistics.class_sums import ClassSums, by_class, class_sums, one_hot


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 8), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_sparse_sums_are_a_product(seed, n, p, K):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, (n, p)).astype(rng.choice([np.float32, np.float64]))
    codes, w = rng.integers(0, K, n), rng.uniform(size=n)
    expected = one_hot(codes, w, K).T @ X
    np.testing.assert_allclose(class_sums(sp.csr_array(X), codes, w, K), expected, rtol=1e-6, atol=1e-12)


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
