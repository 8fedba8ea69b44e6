"""The histogram grower: every split is the best by brute force, limits hold, and threads change nothing."""

from itertools import chain, combinations

import numpy as np
import pytest
from histogram_cases import grow, label_channels, unit_channels, value_channels
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import didact
from didact.core import threads
from didact.engines.trees.growers import histogram as module
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.bins import bin_codes, learn_bins
from didact.engines.trees.tree import importances
from didact.parts.criteria.gradient import Gradient
from didact.parts.criteria.impurity import Entropy, Gini, PoissonDeviance, SquaredError


def problem(seed, n=60, kinds="nnc", missing=0.15):
    """Rows with few distinct values, one categorical column per 'c', two values per 'b', some values missing."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(0, {"c": 5, "b": 2}[kind], n) if kind in "cb" else np.round(rng.normal(size=n), 1)
        for kind in kinds
    ]
    X = np.column_stack(columns).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    y = np.nan_to_num(X[:, 0]) + (np.nan_to_num(X[:, -1]) % 2) + 0.3 * rng.normal(size=n) + np.isnan(X[:, 1])
    w = rng.integers(1, 4, n).astype(float)
    return X, y, w, np.array([kind == "c" for kind in kinds])


def score(criterion, sums):
    """The score of a node from its sums, by the noun's own scalar method."""
    return criterion.score1(sums, 0, len(sums) - (not getattr(criterion, "labels", False)))


def all_splits(X, categorical, rows):
    """Every way to send rows left by one feature: thresholds and subsets, missing values on either side."""
    for f in range(X.shape[1]):
        x = X[rows, f]
        seen = np.unique(x[~np.isnan(x)])
        if categorical[f]:
            subsets = chain.from_iterable(combinations(seen, k) for k in range(len(seen) + 1))
            lefts = [np.isin(x, s) for s in subsets]
        else:
            lefts = [x <= t for t in seen]
        for left in lefts:
            for side in {False, bool(np.isnan(x).any())}:
                yield left | np.isnan(x) if side else left


def best_gain(X, categorical, rows, columns, criterion, min_leaf):
    """The largest gain of all splits of these rows."""
    parent = score(criterion, columns[rows].sum(axis=0))
    best = -np.inf
    for left in all_splits(X, categorical, rows):
        if min(left.sum(), (~left).sum()) >= min_leaf:
            a, b = columns[rows[left]].sum(axis=0), columns[rows[~left]].sum(axis=0)
            best = max(best, score(criterion, a) + score(criterion, b) - parent)
    return best


def check_tree(X, categorical, columns, criterion, grown, min_leaf):
    """Rows reach the leaves they are said to reach, sums are right, and each split has the best gain."""
    tree, leaves = grown.tree, grown.leaves(len(X))
    np.testing.assert_array_equal(tree.apply(X), leaves)
    path = tree.decision_path(X).toarray().astype(bool)
    for node in range(tree.node_count):
        rows = np.flatnonzero(path[:, node])
        np.testing.assert_allclose(grown.sums[node], columns[rows].sum(axis=0), rtol=1e-9, atol=1e-9)
        assert tree.n_node_samples[node] == len(rows)
        best = best_gain(X, categorical, rows, columns, criterion, min_leaf)
        if tree.children_left[node] < 0:
            continue
        children = [tree.children_left[node], tree.children_right[node]]
        gain = sum(score(criterion, grown.sums[c]) for c in children) - score(criterion, grown.sums[node])
        np.testing.assert_allclose(gain, best, rtol=1e-9, atol=1e-9)
        assert tree.n_node_samples[children].min() >= min_leaf


@given(seed=st.integers(0, 10_000), kinds=st.sampled_from(["nn", "nnc", "ncc"]), missing=st.sampled_from([0.0, 0.2]))
def test_values_split_best_of_all(seed, kinds, missing):
    X, y, w, categorical = problem(seed, kinds=kinds, missing=missing)
    bins = learn_bins(X, w, 255, categorical)
    columns = np.column_stack([w * y, w])
    for criterion in (SquaredError(), Gradient(0.0)):
        grown = grow(bin_codes(X, bins), bins, value_channels(columns), criterion, Limits(max_leaf_nodes=8,
                     min_samples_leaf=3), seed)  # fmt: skip
        check_tree(X, categorical, columns, criterion, grown, 3)


@given(seed=st.integers(0, 10_000), classes=st.sampled_from([2, 3]))
def test_labels_split_best_of_all(seed, classes):
    X, y, w, categorical = problem(seed, kinds="nn" if classes == 3 else "nnc")
    codes = np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y)
    columns = np.eye(classes)[codes] * w[:, None]
    bins = learn_bins(X, w, 255, categorical)
    for criterion in (Gini(), Entropy()):
        channels = label_channels(codes, classes, w)
        grown = grow(bin_codes(X, bins), bins, channels, criterion, Limits(max_depth=3, min_samples_leaf=2))
        check_tree(X, categorical, columns, criterion, grown, 2)


@given(seed=st.integers(0, 10_000))
def test_unit_words_grow_the_tree_of_two_words(seed):
    X, y, _, categorical = problem(seed)
    y = y - y.mean()
    bins = learn_bins(X, None, 255, categorical)
    codes, limits = bin_codes(X, bins), Limits(max_leaf_nodes=6)
    one = grow(codes, bins, unit_channels(y), Gradient(1.0), limits)
    two = grow(codes, bins, value_channels(np.column_stack([y, np.ones(len(y))])), Gradient(1.0), limits)
    np.testing.assert_array_equal(one.tree.feature, two.tree.feature)
    np.testing.assert_allclose(one.sums, two.sums, rtol=1e-9, atol=1e-9)


def test_equals_scikit_learn_where_every_midpoint_is_a_bin():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(2000, 5)), 1)
    y = X[:, 0] * X[:, 1] + rng.normal(size=2000)
    bins = learn_bins(X)
    codes, columns = bin_codes(X, bins), np.column_stack([y, np.ones(2000)])
    ours = grow(codes, bins, value_channels(columns), SquaredError(), Limits(max_depth=6, min_samples_leaf=5)).tree
    theirs = DecisionTreeRegressor(max_depth=6, min_samples_leaf=5).fit(X, y)
    np.testing.assert_allclose(ours.predict(X)[:, 0], theirs.predict(X), rtol=1e-9, atol=1e-9)
    labels = (y > 0).astype(int)
    ours = grow(codes, bins, label_channels(labels, 2), Gini(), Limits(max_depth=6)).tree
    theirs = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, labels)
    errors = [np.mean(np.argmax(p, axis=1) != labels) for p in (ours.predict(X), theirs.predict_proba(X))]
    assert abs(errors[0] - errors[1]) < 0.005
    np.testing.assert_allclose(importances(ours, 5), theirs.feature_importances_, atol=0.02)


def test_several_outputs_and_poisson():
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(400, 3)), 1)
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3]).astype(int)
    bins = learn_bins(X)
    codes = bin_codes(X, bins)
    tree = grow(codes, bins, label_channels(Y, 2), Gini(outputs=2), Limits()).tree
    np.testing.assert_array_equal(tree.predict(X).argmax(axis=2), Y)
    columns = np.column_stack([Y, np.ones(400)])
    tree = grow(codes, bins, value_channels(columns), SquaredError(outputs=2), Limits()).tree
    np.testing.assert_allclose(tree.value[tree.apply(X)][:, :, 0], Y, atol=1e-12)
    counts = rng.poisson(np.exp(X[:, 0])).astype(float)
    channels = value_channels(np.column_stack([counts, np.ones(400)]))
    tree = grow(codes, bins, channels, PoissonDeviance(), Limits(max_leaf_nodes=5)).tree
    theirs = DecisionTreeRegressor(criterion="poisson", max_leaf_nodes=5).fit(X, counts)
    np.testing.assert_allclose(tree.predict(X)[:, 0], theirs.predict(X), rtol=1e-9)


def equal(a, b):
    """Two trees are the same, and their leaves hold the same rows in the same order."""
    for name in a.tree._fields:
        np.testing.assert_array_equal(getattr(a.tree, name), getattr(b.tree, name), err_msg=name)
    for name in ("order", "starts", "stops", "sums", "bounds"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.fixture
def many_threads(two_threads, monkeypatch):
    """A machine with eight threads, which all help to grow small trees."""
    monkeypatch.setattr(threads, "_machine_limit", lambda: 8)
    monkeypatch.setattr(module, "CODES_PER_THREAD", 100)
    with threadpool_limits(8, user_api="blas"):
        yield


LIMITS = [
    Limits(max_leaf_nodes=31, min_samples_leaf=5), Limits(max_depth=7), Limits(min_samples_leaf=3),
    Limits(max_leaf_nodes=20, max_features=2), Limits(max_leaf_nodes=20, random_splits=True),
    Limits(max_leaf_nodes=300),
]  # fmt: skip


@pytest.mark.parametrize("limits", LIMITS)
def test_threads_and_order_change_nothing(limits, many_threads):
    X, y, w, categorical = problem(3, n=12_000, kinds="nnncc")
    order = np.random.default_rng(0).permutation(len(X))
    bins = learn_bins(X, w, 255, categorical)
    found = []
    for rows, count in [(slice(None), 1), (slice(None), 2), (slice(None), 3), (slice(None), 8), (order, 8)]:
        didact.set_threads(count)
        channels = value_channels(np.column_stack([w * y, w])[rows])
        found.append(grow(bin_codes(X[rows], bins), bins, channels, SquaredError(), limits, 7))
    for grown in found[1:4]:
        equal(grown, found[0])
    for name in found[0].tree._fields:
        np.testing.assert_array_equal(getattr(found[4].tree, name), getattr(found[0].tree, name), err_msg=name)


@pytest.mark.parametrize("seed", range(12))
def test_threads_change_nothing_whatever_is_asked(seed, many_threads, monkeypatch):
    rng = np.random.default_rng(seed)
    if seed % 2:
        monkeypatch.setattr(module, "BUNDLE_FROM", 100)  # columns of few values are joined
    kinds = "nnccb"[seed % 3 :]
    X, y, w, categorical = problem(seed, n=int(rng.choice([500, 9000])), kinds=kinds, missing=0.1 * (seed % 2))
    n, p = X.shape
    y = np.round(y) if seed % 4 == 0 else y  # gains that are equal
    bins = learn_bins(X, w, 255, categorical)
    asked = {
        "monotone": rng.integers(-1, 2, p) * ~categorical if seed % 3 == 1 else None,
        "interactions": [[0, 1], [1, p - 1]] if seed % 3 == 2 else None,
        "rows": np.flatnonzero(rng.random(n) < 0.7) if seed % 4 == 1 else None,
        "features": np.arange(0, p, 2) if seed % 5 == 4 else None,
    }
    channels, criterion = [
        (unit_channels(y - y.mean()), Gradient(1.0)),
        (value_channels(np.column_stack([w * (y - 1), w])), Gradient(0.0)),
        (label_channels(np.digitize(y, [0.0, 1.0]), 3, w), Gini()),
    ][seed % 3 if seed % 3 != 1 else seed % 2]
    limits = Limits(max_leaf_nodes=int(rng.choice([0, 6, 31])), min_samples_leaf=5)
    found = []
    for count in (1, 2, 3, 8):
        didact.set_threads(count)
        found.append(grow(bin_codes(X, bins), bins, channels, criterion, limits, seed, **asked))
        equal(found[-1], found[0])
    assert found[0].tree.node_count > 1


def test_a_thread_that_fails_stops_the_others(many_threads, monkeypatch):
    X, y, w, categorical = problem(3, n=12_000, kinds="nnncc")
    bins = learn_bins(X, w, 255, categorical)
    loop = module.grow_together

    def failing(k, *args):
        if k == 1:
            raise RuntimeError("no memory")
        return loop(k, *args)

    monkeypatch.setattr(module, "grow_together", failing)
    channels = value_channels(np.column_stack([w * y, w]))
    with pytest.raises(RuntimeError, match="no memory"):
        grow(bin_codes(X, bins), bins, channels, SquaredError(), Limits(max_leaf_nodes=31))


def test_monotone_trees_are_monotone():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 2))
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 0] - np.cos(2 * X[:, 1]) * X[:, 1] + 0.1 * rng.normal(size=3000)
    bins = learn_bins(X)
    channels = value_channels(np.column_stack([-y, np.ones(3000)]))
    tree = grow(bin_codes(X, bins), bins, channels, Gradient(0.0), Limits(max_leaf_nodes=60), monotone=[1, -1]).tree
    grid = np.linspace(-3, 3, 200)
    for other in (-1.5, 0.0, 1.5):
        rising = tree.predict(np.column_stack([grid, np.full(200, other)]))[:, 0]
        falling = tree.predict(np.column_stack([np.full(200, other), grid]))[:, 0]
        assert (np.diff(rising) >= 0).all()
        assert np.ptp(rising) > 0
        assert (np.diff(falling) <= 0).all()


def test_interactions_stay_within_groups():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 4))
    y = X[:, 0] * X[:, 2] + X[:, 1] * X[:, 3] + X[:, 0] + X[:, 1]
    bins = learn_bins(X)
    groups = [[0, 1], [2, 3], [1, 2]]
    channels = value_channels(np.column_stack([y, np.ones(2000)]))
    tree = grow(bin_codes(X, bins), bins, channels, SquaredError(), Limits(max_depth=5), interactions=groups).tree
    path = tree.decision_path(X).toarray().astype(bool)
    for nodes in np.unique(path, axis=0):
        used = set(tree.feature[nodes][tree.feature[nodes] >= 0].tolist())
        assert any(used <= set(group) for group in groups)
    assert tree.node_count > 20


def test_limits():
    X, y, w, categorical = problem(5, n=500)
    bins = learn_bins(X, w, 255, categorical)
    codes, columns = bin_codes(X, bins), np.column_stack([w * y, w])
    tree = grow(codes, bins, value_channels(columns), SquaredError(), Limits(min_weight_leaf=40.0)).tree
    assert tree.weighted_n_node_samples.min() >= 40
    full = grow(codes, bins, value_channels(columns), SquaredError(), Limits(min_gain=5.0))
    s, tree = full.sums, full.tree
    inner = np.flatnonzero(tree.children_left >= 0)
    scores = s[:, 0] ** 2 / s[:, 1]
    gains = scores[tree.children_left[inner]] + scores[tree.children_right[inner]] - scores[inner]
    assert len(inner)
    assert gains.min() >= 5.0
    rows = np.arange(0, 500, 3)
    grown = grow(codes, bins, value_channels(columns), SquaredError(), Limits(max_depth=2), rows=rows)
    assert grown.tree.n_node_samples[0] == len(rows)
    assert (grown.leaves(500)[rows] >= 0).all()
    assert (np.delete(grown.leaves(500), rows) == -1).all()


def test_constant_targets_and_features_make_a_single_leaf():
    X = np.column_stack([np.arange(50.0), np.full(50, np.nan)])
    bins = learn_bins(X)
    codes = bin_codes(X, bins)
    for columns in (np.ones((50, 2)), np.column_stack([np.full(50, 1e9), np.ones(50)])):
        assert grow(codes, bins, value_channels(columns), SquaredError(), Limits()).tree.node_count == 1
    assert grow(codes, bins, label_channels(np.zeros(50, int), 2), Gini(), Limits()).tree.node_count == 1
    same = learn_bins(np.ones((50, 1)))
    channels = value_channels(np.column_stack([np.arange(50.0), np.ones(50)]))
    assert grow(bin_codes(np.ones((50, 1)), same), same, channels, SquaredError(), Limits()).tree.node_count == 1
