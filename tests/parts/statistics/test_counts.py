"""Labels, their weights and codes: of any kind, merged in any grouping; classes weighed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.core.errors import InputError
from didact.core.rows import Block
from didact.parts.statistics.counts import COUNTED_ROWS, Counts, label_codes, label_counts, labels_of, weigh_classes

LABELS = [
    np.array(["b", "a", "b", "c", "a", "b"]),
    np.array(["b", "a", "b", "c", "a", "b"], dtype=object),
    np.array([3, -1, 3, 7, -1, 3]),
    np.array([3, 1, 3, 7, 1, 3], dtype=np.uint8),
    np.array([3.5, -1.0, 3.5, 7.0, -1.0, 3.5]),
    np.array([10**15, 0, 10**15, 2 * 10**15, 0, 10**15]),
    np.array([True, False, True, True, False, True]),
]


@pytest.mark.parametrize("y", LABELS, ids=lambda y: str(y.dtype))
def test_labels(y):
    w = np.array([1.0, 2.0, 0.0, 1.0, 0.5, 1.0])
    values, weights = label_counts(Block(None, y, w))
    expected = np.unique(y)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_allclose(weights, [w[y == v].sum() for v in expected])
    np.testing.assert_array_equal(label_counts(Block(None, y, None)).weights, [(y == v).sum() for v in expected])
    merged = label_counts(Block(None, y[:2], w[:2])).merge(label_counts(Block(None, y[2:], w[2:])))
    np.testing.assert_array_equal(merged.values, values)
    np.testing.assert_allclose(merged.weights, weights)
    assert values.dtype == y.dtype
    np.testing.assert_array_equal(label_codes(y, values), np.searchsorted(expected, y))


@given(st.lists(st.lists(st.integers(-3, 3), max_size=6), min_size=3, max_size=3))
def test_counts_merge_in_any_grouping(lists):
    a, b, c = (label_counts(Block(None, np.array(v, dtype=np.int64), None)) for v in lists)
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    np.testing.assert_array_equal(left.values, right.values)
    np.testing.assert_array_equal(left.weights, right.weights)
    everything = np.concatenate([np.array(v, dtype=np.int64) for v in lists])
    values, counts = np.unique(everything, return_counts=True)
    np.testing.assert_array_equal(left.values, values)
    np.testing.assert_array_equal(left.weights, counts)
    nothing = Counts(np.empty(0, np.int64), np.empty(0))
    np.testing.assert_array_equal(left.merge(nothing).values, left.values)


def test_balanced_class_weights_leave_classes_without_weight_out():
    """A class whose rows have no weight is as if it were not there: the others are equal in sum, nothing overflows."""
    counts = Counts(np.array(["a", "b", "c"]), np.array([6.0, 0.0, 2.0]))
    factors = weigh_classes("balanced", counts)
    np.testing.assert_allclose(factors, [8 / (2 * 6), 0.0, 8 / (2 * 2)])
    present = Counts(np.array(["a", "c"]), np.array([6.0, 2.0]))
    np.testing.assert_array_equal(factors[[0, 2]], weigh_classes("balanced", present))


def test_rows_of_a_table_at_many_positions():
    codes = np.random.default_rng(0).integers(0, 3, 2 * COUNTED_ROWS)
    for table in (np.array([0.5, -1.0, 2.0]), np.arange(12.0).reshape(3, 4)):
        np.testing.assert_array_equal(labels_of(codes, table), table[codes])


def test_one_label_with_weight_is_refused_by_name():
    Counts(np.array(["a", "b"]), np.array([1.0, 2.0])).require_two("Model")
    with pytest.raises(InputError, match=r"Model needs samples of at least 2 classes.*'b'"):
        Counts(np.array(["a", "b"]), np.array([0.0, 2.0])).require_two("Model")
