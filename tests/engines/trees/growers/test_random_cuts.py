"""Trees with random cuts, grown from codes."""

import numpy as np
import pytest

from didact.core.jit import jit
from didact.engines.trees.growers.binned import grow_random_cuts, random_cuts
from didact.engines.trees.limits import Limits
from didact.engines.trees.predict.coded_walk import code_trees, predict_coded
from didact.engines.trees.rows.bins import bin_codes, learn_bins
from didact.engines.trees.rows.targets import label_targets, value_targets
from didact.engines.trees.splits.random_cut_loops import place_cut
from didact.engines.trees.tree import apply, decision_path
from didact.parts.criteria.impurity import AbsoluteError, Entropy, Gini, SquaredError


@jit
def every_place(table, f, pairs, shares, out):
    for i in range(pairs.shape[0]):
        out[i] = place_cut(table, f, pairs[i, 0], pairs[i, 1], shares[i])


def drawn(X, categorical=None, max_bins=255, monotone=None):
    bins = learn_bins(X, max_bins=max_bins, categorical=categorical)
    return random_cuts(bin_codes(X, bins), bins, monotone)


@pytest.mark.parametrize("kind", ["normal", "uneven", "few", "large"])
def test_a_cut_is_the_threshold_nearest_to_the_place_that_was_drawn(kind):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(3000)
    x = {"normal": x, "uneven": np.exp(4 * x), "few": np.round(x), "large": x}[kind]
    table = drawn(x[:, None], max_bins=1000 if kind == "large" else 255)
    cuts = table.thresholds[0, : table.n_bins[0] - 1]
    pairs = np.sort(np.array([rng.choice(len(cuts) + 1, 2, replace=False) for _ in range(2000)]), axis=1)
    shares, found = rng.random(2000), np.empty(2000, np.int64)
    shares[:10] = 0.0
    every_place(table, 0, pairs, shares, found)
    for (low, high), share, cut in zip(pairs, shares, found, strict=True):
        between = cuts[low:high]
        place = between[0] + share * (between[-1] - between[0])
        assert low <= cut < high
        assert abs(cuts[cut] - place) == np.abs(between - place).min()


def problem(n=600):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 5))
    X[:, 2] = rng.integers(0, 7, n)
    X[rng.random((n, 5)) < 0.1] = np.nan
    X[:, 4] = 3.0
    f = np.nan_to_num(X[:, 0]) + (X[:, 2] == 3) + np.isnan(X[:, 1])
    return X, f + rng.standard_normal(n), rng.integers(0, 4, n) * rng.random(n)


@pytest.mark.parametrize("kind", ["two classes", "four classes", "one target", "two targets", "medians"])
@pytest.mark.parametrize("limits", [Limits(), Limits(max_leaf_nodes=40), Limits(min_samples_leaf=7, max_features=2)])
def test_nodes_describe_the_rows_that_reach_them(kind, limits):
    X, y, w = problem()
    labels = np.searchsorted([-0.5, 0.5, 1.5], y) if kind == "four classes" else (y > 0.5).astype(int)
    targets = {
        "two classes": lambda: label_targets(labels, 2, w, Gini()),
        "four classes": lambda: label_targets(labels, 4, w, Gini()),
        "one target": lambda: value_targets(y, w, SquaredError()),
        "two targets": lambda: value_targets(np.column_stack([y, y**2]), w, SquaredError()),
        "medians": lambda: value_targets(y, w, AbsoluteError()),
    }[kind]()
    table = drawn(X, categorical=np.array([0, 0, 1, 0, 0], bool))
    tree = grow_random_cuts(table, targets, limits._replace(random_splits=True), 3)
    tree.check()
    used = w > 0
    paths = decision_path(tree, X[used]).toarray().astype(bool)
    assert np.array_equal(paths.sum(axis=0), tree.n_node_samples)
    np.testing.assert_allclose(w[used] @ paths, tree.weighted_n_node_samples, rtol=1e-12)
    assert not (tree.feature == 4).any()  # a constant
    assert tree.node_count > 1
    assert tree.n_node_samples.min() >= limits.min_samples_leaf
    if limits.max_leaf_nodes:
        assert tree.n_leaves == limits.max_leaf_nodes
    leaf, W = tree.children_left < 0, tree.weighted_n_node_samples
    if kind in ("two classes", "four classes"):
        shares = np.stack([(w[used] * (labels[used] == k)) @ paths / W for k in range(labels.max() + 1)], axis=1)
        np.testing.assert_allclose(tree.value[:, 0], shares, atol=1e-12)
        np.testing.assert_allclose(tree.impurity, 1 - (shares**2).sum(axis=1), atol=1e-12)
    elif kind == "one target":
        mean = (w * y)[used] @ paths / W
        np.testing.assert_allclose(tree.value[:, 0, 0], mean, atol=1e-10)
        np.testing.assert_allclose(tree.impurity, (w * y * y)[used] @ paths / W - mean**2, atol=1e-10)
    if limits == Limits():  # grown out: nothing is left to be divided
        assert (tree.impurity[leaf] < 1e-9).all()


def test_a_smaller_limit_gives_the_top_of_the_same_tree():
    X, y, _ = problem()
    targets, table = label_targets((y > 0.5).astype(int), 2, None, Gini()), drawn(X)
    rules = Limits(max_features=2, random_splits=True)
    whole, top = (
        grow_random_cuts(table, targets, rules, 5),
        grow_random_cuts(table, targets, rules._replace(max_depth=3), 5),
    )
    waiting = [(0, 0)]
    while waiting:
        node, other = waiting.pop()
        if top.children_left[node] >= 0:
            assert (top.feature[node], top.threshold[node]) == (whole.feature[other], whole.threshold[other])
            waiting += [(top.children_left[node], whole.children_left[other])]
            waiting += [(top.children_right[node], whole.children_right[other])]


def test_thresholds_are_uniform_in_value_and_features_are_drawn_alike():
    rng = np.random.default_rng(2)
    X = np.exp(rng.standard_normal((400, 4)))
    y = rng.integers(0, 2, 400)
    table, targets = drawn(X), label_targets(y, 2, None, Gini())
    rules = Limits(max_depth=1, max_features=1, random_splits=True)
    roots = [grow_random_cuts(table, targets, rules, seed) for seed in range(2000)]
    feature, threshold = (np.array([getattr(t, name)[0] for t in roots]) for name in ("feature", "threshold"))
    assert np.abs(np.bincount(feature, minlength=4) / 2000 - 0.25).max() < 0.04
    for f in range(4):
        cuts = table.thresholds[f, : table.n_bins[f] - 1]
        share = (threshold[feature == f] - cuts[0]) / (cuts[-1] - cuts[0])
        for level in (0.25, 0.5, 0.75):  # the share of draws below a level is the share of the way, but for the bins
            nearest = cuts[np.abs(cuts - (cuts[0] + level * (cuts[-1] - cuts[0]))).argmin()]
            assert abs((share < level).mean() - level) < 0.08 + abs(nearest - cuts[0] - level * np.ptp(cuts)) / np.ptp(
                cuts
            )


def test_monotone_constraints_hold():
    X, y, _ = problem(2000)
    X = np.nan_to_num(X)
    targets = value_targets(y, None, SquaredError())
    table = drawn(X, monotone=np.array([1, 0, 0, 0, 0], np.int8))
    tree = grow_random_cuts(table, targets, Limits(random_splits=True, min_samples_leaf=5), 1)
    at = X[:50].copy()
    values = []
    for x in np.linspace(-3, 3, 30):
        at[:, 0] = x
        values.append(tree.value[apply(tree, at), 0, 0])
    assert (np.diff(values, axis=0) >= -1e-12).all()


@pytest.mark.parametrize(("max_bins", "classes"), [(255, 2), (255, 3), (4000, 2)])
def test_large_trees_on_codes_agree_with_walks_down_each(max_bins, classes):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((4000, 6))
    y = rng.integers(0, classes, 4000)  # noise: trees of thousands of nodes
    table, targets = drawn(X, max_bins=max_bins), label_targets(y, classes, None, Gini())
    trees = [grow_random_cuts(table, targets, Limits(max_features=2, random_splits=True), seed) for seed in range(5)]
    assert min(tree.node_count for tree in trees) > 1000
    best = grow_random_cuts(
        table, targets, Limits(max_leaf_nodes=900, random_splits=True)
    )  # hundreds of nodes are open
    assert best.n_leaves == 900
    packed = code_trees(trees, 6, [tree.value[:, 0] for tree in trees])
    narrow = max_bins == 255
    assert (packed.nodes.dtype, packed.values.dtype) == ((np.uint32, np.uint8) if narrow else (np.uint64, np.float64))
    halves = code_trees(trees, 6, [0.5 * tree.value[:, 0] for tree in trees])
    assert halves.values.dtype == np.float64
    new = rng.standard_normal((1003, 6))
    expected = np.mean([tree.value[apply(tree, new), 0] for tree in trees], axis=0)
    np.testing.assert_allclose(predict_coded(packed, new), expected, atol=1e-13)
    np.testing.assert_allclose(predict_coded(halves, new), 0.5 * expected, atol=1e-13)


@pytest.mark.parametrize("p", [1, 5, 31, 32, 63])
@pytest.mark.parametrize(
    "limits",
    [
        Limits(),
        Limits(max_features=3),
        Limits(max_features=1, min_samples_leaf=4),
        Limits(max_features=2, min_weight_leaf=2.5, min_gain=0.1),
        Limits(max_leaf_nodes=50, max_features=2),
        Limits(max_depth=4, min_samples_split=9),
    ],
)
def test_records_give_the_trees_of_rows_that_are_gathered(p, limits):
    rng = np.random.default_rng(p)
    X = rng.standard_normal((1500, p))
    X[:, p // 2] = np.round(X[:, p // 2])
    X[:, 3:4] = 1.0
    y = rng.integers(0, 2, 1500) | (X[:, 0] > 1)
    table, rules = drawn(X), limits._replace(random_splits=True, max_features=min(p, limits.max_features))
    assert table.lines.shape[1] > p
    for criterion in (Gini(), Entropy()):
        mine, other = (
            grow_random_cuts(table, label_targets(y, 2, weights, criterion), rules, 7)
            for weights in (None, np.ones(1500))
        )
        mine.check()
        assert mine.node_count > 1
        for name in mine._fields:
            if name != "n_features":
                np.testing.assert_array_equal(getattr(mine, name), getattr(other, name))


def test_what_records_cannot_hold_is_gathered():
    X = problem()[0]
    full = np.nan_to_num(X)
    assert drawn(full).lines.shape[1] == 32
    assert drawn(X).lines.shape[1] == 5
    assert drawn(full, categorical=np.array([0, 0, 1, 0, 0], bool)).lines.shape[1] == 5
    assert drawn(full, monotone=np.array([1, 0, 0, 0, 0], np.int8)).lines.shape[1] == 5
    assert drawn(np.tile(full, 13)).lines.shape[1] == 65
    assert drawn(full, max_bins=400).lines.shape[1] == 5
