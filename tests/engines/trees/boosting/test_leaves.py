"""Leaf values are added to the rows of a range, whatever leaves they are in."""

from itertools import pairwise

import numpy as np
import pytest

from didact.engines.trees.boosting.booster_loops import add_leaves


@pytest.mark.parametrize("cuts", [[0, 100], [0, 1, 37, 100], [0, 50, 50, 100]])
def test_ranges_of_rows_together_get_each_value_once(cuts):
    rng = np.random.default_rng(0)
    leaf = rng.integers(0, 5, 100) % 4  # of each row; a row in twenty is in no leaf
    leaf[rng.random(100) < 0.05] = -1
    members = [np.flatnonzero(leaf == k) for k in range(5)]  # ascending; the last leaf is empty
    stops = np.cumsum([len(rows) for rows in members])
    starts, order = stops - [len(rows) for rows in members], np.concatenate(members).astype(np.uint32)
    values, out = rng.standard_normal(5), np.zeros(100)
    for first, stop in pairwise(cuts):
        before = out.copy()
        add_leaves(starts, stops, values, order, first, stop, out)
        outside = np.r_[0:first, stop:100]
        np.testing.assert_array_equal(out[outside], before[outside])
    np.testing.assert_array_equal(out, np.where(leaf >= 0, values[leaf], 0.0))
