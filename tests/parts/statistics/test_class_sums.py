"""Statistics by class: the sparse loop against a product with indicators; merging in any grouping."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.core.rows import Block
from didact.parts.statistics.class_sums import ClassSums, by_class, class_sums, moments_by_class, one_hot


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 8), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_sparse_sums_are_a_product(seed, n, p, K):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, (n, p)).astype(rng.choice([np.float32, np.float64]))
    codes, w = rng.integers(0, K, n), rng.uniform(size=n)
    expected = one_hot(codes, w, K).T @ X
    np.testing.assert_allclose(class_sums(sp.csr_array(X), codes, w, K), expected, rtol=1e-6, atol=1e-12)


def test_moments_merge_to_those_of_all_rows():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(60, 3)) + 100.0, rng.choice(["a", "b", "c"], 60), rng.uniform(size=60)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    y[:20] = "b"
    whole = moments_by_class(Block(X, y, w))
    a, b, c = (moments_by_class(Block(X[s], y[s], w[s])) for s in (slice(0, 20), slice(20, 30), slice(30, 60)))
    for merged in (a.merge(b).merge(c), a.merge(b.merge(c))):
        np.testing.assert_array_equal(merged.classes, whole.classes)
        for name in ("weight", "present", "mean", "scatter"):
            np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-9, err_msg=name)
    for k, label in enumerate(whole.classes):
        rows = X[y == label]
        average = np.nansum(rows * w[y == label, None], axis=0) / (~np.isnan(rows) * w[y == label, None]).sum(axis=0)
        np.testing.assert_allclose(whole.mean[k], average)
    np.testing.assert_allclose(moments_by_class(Block(X, y, None)).total_variance, np.nanvar(X, axis=0), rtol=1e-9)


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
