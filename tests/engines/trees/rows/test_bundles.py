"""Columns that are counted together: every histogram, and so every tree, stays the same."""

import numpy as np
import pytest
from histogram_cases import label_channels, unit_channels, value_channels

from didact.engines.trees.growers import histogram as module
from didact.engines.trees.growers.histogram import Grower
from didact.engines.trees.growers.histogram_node_loops import FEATURE_FIELDS
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.bins import bin_codes, learn_bins
from didact.engines.trees.rows.bundles import MOST_CODES, join_columns, unbundled
from didact.engines.trees.rows.bundles_loops import number_pairs, unbundle
from didact.engines.trees.splits.histogram_loops import count_columns
from didact.parts.criteria.gradient import Gradient
from didact.parts.criteria.impurity import Gini


def table(codes):
    """Codes by row and by column, and the first slot of each feature."""
    counts = codes.max(axis=0).astype(np.int64) + 1
    return codes, np.ascontiguousarray(codes.T), np.cumsum(counts) - counts, int(counts.sum())


def histograms(codes, bundles, slots, fixed):
    hist = np.zeros((slots + bundles.n_codes, fixed.shape[1]), np.int64)
    rows = np.arange(0, len(codes), 3, dtype=np.uint32)
    count_columns(bundles.codes, fixed, None, rows, 0, len(bundles.first), bundles.first, hist)
    for f in range(codes.shape[1]):
        unbundle(f, f + 1, np.zeros(0, FEATURE_FIELDS), bundles, hist, hist[:0])
    return hist[:slots]


@pytest.mark.parametrize("code", [np.uint8, np.uint16])
@pytest.mark.parametrize("fixed", [1, 2, 3])
def test_histograms_are_those_of_the_columns(code, fixed):
    rng = np.random.default_rng(0)
    group, wide = rng.integers(0, 12, 4000), rng.integers(0, 200, 4000)
    pairs = rng.integers(0, 6, (4000, 4))
    codes, columns, first, slots = table(np.column_stack([np.eye(12)[group], wide, group // 3, pairs]).astype(code))
    bundles = join_columns(codes, columns, first, slots)
    assert 2 <= len(bundles.first) <= 8  # the wide column, and the 17 others in a few bundles
    numbers = rng.integers(-(2**40), 2**40, (4000, fixed))
    expected = histograms(codes, unbundled(codes, first), slots, numbers)
    np.testing.assert_array_equal(histograms(codes, bundles, slots, numbers), expected)


def test_columns_of_many_values_stay_alone():
    codes, columns, first, slots = table(np.random.default_rng(0).integers(0, 100, (5000, 6)).astype(np.uint8))
    bundles = join_columns(codes, columns, first, slots)
    assert bundles.n_codes == 0
    assert bundles.codes is codes


def test_a_pair_that_only_later_rows_show_is_not_joined():
    # The rows that are looked at first have few pairs of codes, all rows together too many.
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 60, (40_000, 2)).astype(np.uint8)
    codes[::4] = 0
    codes[1] = 59
    codes, columns, first, slots = table(codes)
    assert join_columns(codes, columns, first, slots).n_codes == 0


def test_join():
    a, b = np.array([3, 3, 0, 3], np.uint8), np.array([1, 2, 1, 1], np.uint8)
    numbers, places, out = np.full(1 << 16, -1, np.int32), np.empty(MOST_CODES, np.uint64), np.empty(4, np.uint8)
    assert number_pairs(a, b, MOST_CODES, numbers, places, out) == 3
    assert out.tolist() == [0, 1, 2, 0]
    assert number_pairs(a, b, 2, numbers, places, np.empty(0, np.uint8)) == 3  # one too many
    assert number_pairs(a[::2].copy(), b[::2].copy(), MOST_CODES, numbers, places, np.empty(0, np.uint8)) == 2
    assert (numbers == -1).all()


@pytest.mark.parametrize("threads", [1, 7])
@pytest.mark.parametrize("kind", ["values", "unit", "labels", "drawn features", "some features"])
def test_same_tree(kind, threads, monkeypatch):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 8, 3000)
    wide = rng.integers(-100, 100, 3000) / 50.0
    # The first column, in a bundle, has a split that the last one, alone, has, too.
    X = np.column_stack([wide > 0, np.eye(8)[group], group % 3, rng.normal(size=3000), wide])
    X[rng.random(3000) < 0.05, 3] = np.nan
    y = np.sin(group) + X[:, -1] + 3 * X[:, 0] + rng.normal(size=3000)
    bins = learn_bins(X)
    codes = bin_codes(X, bins)
    channels, criterion = unit_channels(y), Gradient(1.0)
    if kind == "values":
        channels = value_channels(np.column_stack([y, 0.5 + rng.random(3000)]))
    if kind == "labels":
        channels, criterion = label_channels((y > 0).astype(int), 2), Gini()
    limits, found = Limits(max_leaf_nodes=25, min_samples_leaf=5, max_features=4 if kind == "drawn features" else 0), []
    some = np.array([1, 2, 7, 8, 9, 10]) if kind == "some features" else None
    monkeypatch.setattr(module, "thread_count", lambda: threads)
    monkeypatch.setattr(module, "CODES_PER_THREAD", 100)
    for many in (100, 10**9):
        monkeypatch.setattr(module, "BUNDLE_FROM", many)
        grower = Grower(codes, bins, channels, criterion, limits, features=some)
        assert (grower.bundles.n_codes > 0) == (many == 100)
        assert grower.threads == threads
        found.append(grower.grow(channels, 5).tree)
    assert found[0].node_count > 15
    assert found[0].feature[0] == 0 or kind in ("drawn features", "some features")
    for name in found[0]._fields:
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name), err_msg=name)
