"""A tree from batches or a Dask collection is the tree of the same rows in memory, bit for bit."""

import dask
import dask.array as da
import numpy as np
import pytest
from histogram_cases import grow, label_channels, value_channels

from didact import Batches
from didact.core.rows import BatchRows, Block, ClusterRows
from didact.engines.trees.growers.blocks import grow_rows, learn_bins_rows
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.bins import bin_codes, learn_bins
from didact.parts.criteria.impurity import Gini, SquaredError


def check(X, y=None, w=None):
    return Block(X, y, w)


def rows_of(kind, X, y, w):
    if kind == "batches":
        source = Batches(lambda: ((X[k : k + 70], y[k : k + 70], w[k : k + 70]) for k in range(0, len(y), 70)))
        rows = BatchRows(source, check)
    else:
        columns = [da.from_array(a, chunks=(90, *a.shape[1:])) for a in (X, y, w)]
        rows = ClusterRows(columns, check, X.shape[1], X.dtype)
    rows.missing = True
    return rows


def value_words(block, scale, shift):
    y, w = block.y, block.weight
    columns = np.column_stack([w * y, w])
    words = np.rint(columns * scale).astype(np.int64)
    words[:, -1] += 1 << shift
    return words, None


def label_words(block, scale, shift):
    y, w = block.y, block.weight
    words = np.rint(w * scale[0]).astype(np.int64) + (1 << shift)
    return words[:, None], y.astype(np.int32)[:, None]


@pytest.mark.parametrize("kind", ["batches", "dask"])
@pytest.mark.parametrize("limits", [Limits(max_depth=4), Limits(max_leaf_nodes=12, min_samples_leaf=5)])
@pytest.mark.parametrize("labels", [False, True])
def test_same_tree_as_in_memory(kind, limits, labels):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(500, 2)), rng.integers(0, 6, 500)])
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) * 2 + (np.nan_to_num(X[:, 2]) % 2) + rng.normal(size=500)
    y = np.digitize(y, [0.0, 2.0]).astype(float) if labels else y
    w = rng.integers(0, 3, 500).astype(float)
    rows = rows_of(kind, X, y, w)
    with dask.config.set(scheduler="synchronous"):
        bins, count = learn_bins_rows(rows, 40, np.array([0, 0, 6]))
        keep = w > 0
        assert count == keep.sum()
        for a, b in zip(bins, learn_bins(X, w, 40, np.array([0, 0, 6])), strict=True):
            np.testing.assert_array_equal(a, b)
        if labels:
            channels, criterion = label_channels(y[keep].astype(int), 3, w[keep]), Gini()
        else:
            channels, criterion = value_channels(np.column_stack([w * y, w])[keep]), SquaredError()
        memory = grow(bin_codes(X[keep], bins), bins, channels, criterion, limits, 5).tree
        args = (1.0 / channels.inverse, channels.shift)
        words = label_words if labels else value_words
        other = grow_rows(rows, words, args, channels, count, bins, criterion, limits, 5).tree
    assert memory.node_count > 8
    for name in memory._fields:
        np.testing.assert_array_equal(getattr(other, name), getattr(memory, name), err_msg=name)
