"""Packed trees give what the trees give one by one, and refuse arrays that lead nowhere."""

import numpy as np
import pytest
import scipy.sparse as sp
from histogram_cases import grow, label_channels, value_channels
from hypothesis import given
from hypothesis import strategies as st

from didact.core.errors import InputError
from didact.engines.trees.limits import Limits
from didact.engines.trees.predict.packed import Packed, join_packs, level_order, pack, predict_sum
from didact.engines.trees.predict.packed_loops import _Arrays
from didact.engines.trees.predict.unpack import unpacked
from didact.engines.trees.rows.bins import bin_codes, learn_bins
from didact.engines.trees.tree import renumbered
from didact.parts.criteria.impurity import Gini, SquaredError


def forest(seed, n=150, kind=np.float64, categories=True, count=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 70, n), rng.normal(size=n)]).astype(kind)
    X[rng.random(X.shape) < 0.1] = np.nan
    bins = learn_bins(X, None, 64, np.array([False, categories, False]))
    codes, trees = bin_codes(X, bins), []
    for _ in range(count):
        columns = np.column_stack([rng.normal(size=n) + np.nan_to_num(X[:, 1]) % 3, np.ones(n)])
        trees.append(grow(codes, bins, value_channels(columns), SquaredError(), Limits(max_depth=4)).tree)
    return X, trees


@given(seed=st.integers(0, 1000), kind=st.sampled_from([np.float32, np.float64]), categories=st.booleans())
def test_sum_is_the_sum_of_the_trees(seed, kind, categories):
    X, trees = forest(seed, n=int(100 + seed % 20), kind=kind, categories=categories)
    expected = sum(tree.predict(X)[:, 0] for tree in trees)
    packed = pack(trees)
    np.testing.assert_allclose(predict_sum(packed, X, np.zeros((len(X), 1)))[:, 0], expected, rtol=1e-12)
    halves = join_packs(pack(trees[:1]), pack(trees[1:]))
    for a, b in zip(halves, packed, strict=True):
        np.testing.assert_array_equal(a, b)
    for again, tree in zip(unpacked(packed), trees, strict=True):
        np.testing.assert_array_equal(again.apply(X), renumbered(tree, level_order(tree)).apply(X))


def test_join_with_and_without_categories():
    X, with_sets = forest(1, categories=True)
    plain = forest(2, categories=False)[1]
    expected = sum(tree.predict(X)[:, 0] for tree in [*plain, *with_sets])
    packed = join_packs(pack(plain), pack(with_sets))
    np.testing.assert_allclose(predict_sum(packed, X, np.zeros((len(X), 1)))[:, 0], expected, rtol=1e-12)


def test_classes_columns_and_sparse_rows():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 4)) < 0.5, 0.0, rng.normal(size=(300, 4)))
    y = rng.integers(0, 3, 300)
    bins = learn_bins(X)
    trees = [grow(bin_codes(X, bins), bins, label_channels(y, 3), Gini(), Limits(max_depth=d)).tree for d in (2, 5)]
    expected = np.sum([tree.predict(X) for tree in trees], axis=0)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(predict_sum(pack(trees), rows, np.zeros((300, 3))), expected, rtol=1e-12)
    out = predict_sum(pack(trees, [0, 3]), X, np.zeros((300, 6)))
    np.testing.assert_allclose(out, np.hstack([tree.predict(X) for tree in trees]), rtol=1e-12)
    with pytest.raises(InputError, match="column"):
        predict_sum(pack(trees), X[:, :1], np.zeros((300, 3)))
    with pytest.raises(InputError, match="outputs"):
        predict_sum(pack(trees), X, np.zeros((300, 2)))


def test_arrays_that_lead_nowhere_are_refused():
    packed = pack(forest(3)[1])
    inner = int(np.flatnonzero(packed.nodes["left"] > np.arange(len(packed.nodes)))[-1])
    for place, value in [("left", 10**6), ("left", 0), ("left", -5), ("feature", -3)]:
        nodes = packed.nodes.copy()
        nodes[inner][place] = value
        with pytest.raises(InputError, match="nowhere"):
            Packed(nodes, *packed[1:])
    with pytest.raises(InputError, match="nowhere"):
        Packed(packed.nodes, packed.roots + 10**6, *packed[2:])
    with pytest.raises(InputError, match="not packed"):
        predict_sum(_Arrays(*packed), forest(3)[0], np.zeros((150, 1)))
