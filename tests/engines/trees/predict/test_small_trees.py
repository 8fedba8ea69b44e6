"""Small trees as tests of blocks of rows give bit by bit what a slow walk gives; what does not fit is walked."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.core.errors import InputError
from didact.engines.trees.predict.packed import pack, predict_sum
from didact.engines.trees.predict.packed_loops import Packed
from didact.engines.trees.predict.small_trees import FEW_TO_WALK, LEAVES, RUNS, Trees, add_small, small_trees
from didact.engines.trees.tree import TreeBuilder

P = 4  # the last two columns hold categories, the last one in some trees numbers


def random_tree(rng, leaves, n_categories, n_thresholds=20):
    builder = TreeBuilder(-(-n_categories // 64))
    open_ = [builder.add(-1, True, 0.0, 1, 1.0, rng.normal())]
    mixed = rng.random() < 0.5
    for _ in range(leaves - 1):
        node = open_.pop(rng.integers(len(open_)))
        f, sides = int(rng.integers(P)), bool(rng.integers(2))
        if f == 2 or (f == 3 and mixed):
            share = rng.choice([0.0, 0.1, 0.5, 1.0])
            builder.split(node, f, missing_left=sides, categories=np.flatnonzero(rng.random(n_categories) < share))
        else:
            builder.split(node, f, float(rng.integers(n_thresholds)) / n_thresholds * 4 - 2, sides)
        open_ += [builder.add(node, side, 0.0, 1, 1.0, rng.normal()) for side in (True, False)]
    return builder.build()


def random_rows(rng, n, n_categories, kind):
    numbers = np.round(rng.normal(size=(n, 2)), 1)
    categories = rng.integers(-2, n_categories + 3, (n, 2)) + rng.choice([0.0, 0.5, -0.25], (n, 2))
    X = np.hstack([numbers, categories]).astype(kind)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.02] = 1e12
    return X


def slow_sum(packed, X, out):
    """One row, one tree, one node after the other."""
    nodes, limit = packed.nodes, 64 * packed.category_sets.shape[1]
    for root, column in zip(packed.roots, packed.output, strict=True):
        for i, row in enumerate(X.astype(np.float64)):
            node = root
            while nodes[node]["left"] != node:
                f, to_left = divmod(int(nodes[node]["feature"]), 2)
                x, s = row[f], packed.sets[node] if len(packed.sets) else -1
                if np.isnan(x):
                    left = to_left == 1
                elif s < 0:
                    left = x <= nodes[node]["threshold"]
                else:
                    left = 0 <= x < limit and bool(int(packed.category_sets[s, int(x) // 64]) >> int(x) % 64 & 1)
                node = nodes[node]["left"] + (not left)
            out[i, column] += packed.values[node, 0]
    return out


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 90),
    leaves=st.integers(1, 40),
    n_categories=st.sampled_from([1, 3, 60, 200, 300]),
    kind=st.sampled_from([np.float32, np.float64]),
)
def test_as_a_slow_walk(seed, n, leaves, n_categories, kind):
    rng = np.random.default_rng(seed)
    X = random_rows(rng, n, n_categories, kind)
    packed = pack([random_tree(rng, leaves, n_categories) for _ in range(6)], [0, 1, 2, 0, 1, 2])
    start = rng.normal(size=(n, 3))
    expected = slow_sum(packed, X, start.copy())
    np.testing.assert_array_equal(add_small(small_trees(packed), X, start.copy()), expected)
    np.testing.assert_array_equal(predict_sum(packed, X, start.copy()), expected)


@pytest.mark.parametrize("n", [FEW_TO_WALK - 1, FEW_TO_WALK, 1023, 1024, 1025, 40_000])
def test_blocks_of_rows_and_sparse_rows(n):
    rng = np.random.default_rng(n)
    X = random_rows(rng, n, 90, np.float64)
    trees = Trees.of(pack([random_tree(rng, 31, 90) for _ in range(8)]))
    assert trees.small is not None
    expected = predict_sum(trees.packed, X, np.zeros((n, 1)))
    np.testing.assert_array_equal(trees.add(X, np.zeros((n, 1))), expected)
    np.testing.assert_array_equal(trees.add(sp.csr_array(X), np.zeros((n, 1))), expected)
    with pytest.raises(InputError, match="column"):
        trees.add(X[:, :2], np.zeros((n, 1)))


def test_runs_and_tables_of_categories():
    rng = np.random.default_rng(0)
    few, many = (small_trees(pack([random_tree(rng, 31, k) for _ in range(8)])) for k in (2 * RUNS - 2, 300))
    begin, end = few.tests[:, 3].astype(int), few.tests[:, 4].astype(int)
    assert (end - begin).max() > 1
    assert len(few.tables) == np.count_nonzero(begin == end)
    assert len(many.tables) > 10


def test_many_thresholds_need_wide_codes():
    rng = np.random.default_rng(1)
    X = random_rows(rng, 3000, 5, np.float64)
    X[:, :2] = rng.normal(size=(3000, 2))
    packed = pack([random_tree(rng, 100, 5, n_thresholds=100_000) for _ in range(20)])
    small = small_trees(packed)
    assert small.missing.max() > 256
    expected = predict_sum(packed, X, np.zeros((3000, 1)))
    np.testing.assert_array_equal(add_small(small, X, np.zeros((3000, 1))), expected)


@pytest.mark.parametrize("leaves", [LEAVES, LEAVES + 1])
def test_large_trees_are_walked(leaves):
    rng = np.random.default_rng(2)
    X, packed = random_rows(rng, 300, 5, np.float64), pack([random_tree(rng, leaves, 5)])
    assert (small_trees(packed) is None) == (leaves > LEAVES)
    expected = slow_sum(packed, X, np.zeros((300, 1)))
    np.testing.assert_array_equal(Trees.of(packed).add(X, np.zeros((300, 1))), expected)


def test_trees_that_share_nodes_are_walked():
    rng = np.random.default_rng(3)
    X, packed = random_rows(rng, 200, 5, np.float64), pack([random_tree(rng, 20, 5) for _ in range(3)])
    shared = packed.nodes.copy()
    inner = np.flatnonzero(shared["left"] > np.arange(len(shared)))
    shared["left"][inner[0]] = shared["left"][inner[1]]
    for forged in (packed._replace(nodes=shared), packed._replace(roots=packed.roots[[0, 0, 2]])):
        forged = Packed(*forged)
        assert small_trees(forged) is None
        expected = slow_sum(forged, X, np.zeros((200, 1)))
        np.testing.assert_array_equal(Trees.of(forged).add(X, np.zeros((200, 1))), expected)
