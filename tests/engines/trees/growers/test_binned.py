"""The grower of best cuts from codes: against the plain CART, against exact growth, on any number of threads."""

from typing import Any

import numpy as np
import pytest

from didact.core.jit import jit, lowest_bit
from didact.engines.trees.cart import best_test
from didact.engines.trees.growers import binned, growth
from didact.engines.trees.growers.binned import coded, grow_on
from didact.engines.trees.growers.exact import grow_exact, presort
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.bins import bin_codes, learn_bins
from didact.engines.trees.rows.targets import label_targets, value_targets
from didact.parts.criteria.impurity import (
    AbsoluteError,
    Entropy,
    Gini,
    Misclassification,
    PoissonDeviance,
    SquaredError,
)

LABELS = {"gini": Gini, "entropy": Entropy, "misclassification": Misclassification}


def mixed_rows(n: int, seed: int, missing: bool = True) -> np.ndarray:
    """Numbers with many values, with few, a column that mostly holds one value, one of zeros and ones, a constant."""
    rng = np.random.default_rng(seed)
    few, rare = rng.integers(0, 9, n) * 3.0, np.where(rng.random(n) < 0.8, 2.0, rng.integers(0, 6, n))
    X = np.column_stack([rng.normal(size=n), few, rare, rng.random(n) < 0.1, np.ones(n)])
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
        X[:, 4] = 1.0
    return X


def table_of(X: np.ndarray, max_bins: int = 255, **options: Any) -> Any:
    bins = learn_bins(X, max_bins=max_bins, **options)
    return coded(bin_codes(X, bins), bins)


def same(a: Any, b: Any) -> None:
    for name in a._fields:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize(("classes", "weights"), [(2, "whole"), (3, None), (6, "whole"), (6, "any")])
def test_every_cut_is_the_best(name: str, classes: int, weights: str | None) -> None:
    rng = np.random.default_rng(classes)
    X, n, leaf = mixed_rows(90, 3), 90, 3
    y = ((np.nan_to_num(X[:, 0]) > 0) + rng.integers(0, classes, n) * (np.nan_to_num(X[:, 1]) > 8)) % classes
    w = None if weights is None else rng.integers(1, 4, n) * (1.0 if weights == "whole" else 0.37)
    table = table_of(X)
    tree = grow_on(1, table, label_targets(y, classes, w, LABELS[name]()), Limits(min_samples_leaf=leaf))
    stack, counts = [(0, np.arange(n))], np.ones(n) if w is None else w
    while stack:
        node, rows = stack.pop()
        shares = np.bincount(y[rows], counts[rows], classes) / counts[rows].sum()
        np.testing.assert_allclose(tree.value[node, 0], shares, atol=1e-12)
        if tree.children_left[node] < 0:
            continue
        codes = np.where(table.n_bins == table.codes.T, np.nan, table.codes.T)[rows]
        best = best_test(codes, y[rows], counts[rows], LABELS[name](), Limits(min_samples_leaf=leaf), np.zeros(5, int))
        _, f, left, test = best
        assert tree.feature[node] == f
        cut = test["threshold"]  # codes are whole numbers: the midpoint's code, or all that are present
        assert tree.threshold[node] == (np.inf if cut == np.inf else table.thresholds[f, int(np.ceil(cut)) - 1])
        stack += [(tree.children_left[node], rows[left]), (tree.children_right[node], rows[~left])]
    assert tree.node_count > 9


def settings() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    n = 3000
    X, noise = mixed_rows(n, 5), rng.normal(size=n)
    signal = np.nan_to_num(X[:, 0]) + (np.nan_to_num(X[:, 1]) > 12) + 0.5 * noise
    labels = np.digitize(signal, [-1.0, 0.0, 1.0, 2.0])
    C = np.column_stack([X, rng.integers(0, 70, n)])
    kinds = np.array([0, 0, 0, 0, 0, 70])
    w = rng.integers(0, 3, n).astype(float)
    return {
        "five classes": (X, None, label_targets(labels, 5, None, Gini()), Limits()),
        "weights": (X, None, label_targets(labels, 5, w * 0.3, Entropy()), Limits(min_samples_leaf=2)),
        "two classes": (X, None, label_targets(labels // 3, 2, w, Gini()), Limits(max_depth=9)),
        "two outputs": (X, None, label_targets(np.column_stack([labels, labels % 2]), 5, None, Gini()), Limits()),
        "drawn": (X, None, label_targets(labels, 5, None, Gini()), Limits(max_features=2)),
        "categories": (C, kinds, label_targets(labels, 5, None, Gini()), Limits()),
        "numbers": (X, None, value_targets(signal, None, SquaredError()), Limits(min_samples_leaf=4)),
        "counts": (X, None, value_targets(labels * 1.0, w, PoissonDeviance()), Limits()),
        "two numbers": (X, None, value_targets(np.column_stack([signal, noise]), None, SquaredError()), Limits()),
        "few leaves": (X, None, label_targets(labels, 5, None, Gini()), Limits(max_leaf_nodes=60)),
        "medians": (X, None, value_targets(np.round(signal, 1), w, AbsoluteError()), Limits(min_samples_leaf=9)),
        "uint16 codes": (X, None, label_targets(labels, 5, None, Gini()), Limits()),
    }


@pytest.mark.parametrize("name", settings())
def test_threads_and_copies_do_not_change_a_tree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, kinds, targets, limits = settings()[name]
    table = table_of(X, 1000 if "16" in name else 60, categorical=kinds)
    monkeypatch.setattr(binned, "CACHE", 1 << 30)  # all of it near a core but the root
    one = grow_on(1, table, targets, limits, 7)
    monkeypatch.setattr(binned, "CACHE", 0)
    same(grow_on(1, table, targets, limits, 7), one)
    for large, threads in ((100, 2), (900, 3)):
        monkeypatch.setattr(growth, "LARGE_NODE", large)
        same(grow_on(threads, table, targets, limits, 7), one)
    assert one.node_count > 50


def test_common_codes_are_left_out_without_a_change() -> None:
    X = mixed_rows(2000, 2)
    y = (np.nan_to_num(X[:, 2]) + 2 * np.nan_to_num(X[:, 3])).astype(int) + (X[:, 0] > 0)
    table = table_of(X)
    whole, halves = (label_targets(y, 9, np.full(len(y), w), Gini()) for w in (1.0, 0.5))
    assert (binned.common_codes(table, whole) >= 0).sum() == 3
    assert (binned.common_codes(table, halves) < 0).all()
    a, b = grow_on(1, table, whole, Limits()), grow_on(1, table, halves, Limits())
    for name in ("children_left", "feature", "threshold", "missing_go_to_left", "value"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("criterion", [AbsoluteError(), SquaredError(), PoissonDeviance()])
def test_no_value_lost_no_tree_changed(criterion: Any) -> None:
    """With a bin for each value the tree is the exact one; scores aside, which add up in another order."""
    rng = np.random.default_rng(4)
    X = np.round(mixed_rows(250, 8), 1)
    y = np.exp(np.nan_to_num(X[:, 0])) + rng.random(250)
    targets, limits = value_targets(y, None, criterion), Limits(max_depth=4, min_samples_leaf=5)
    binned_tree, exact = grow_on(1, table_of(X), targets, limits), grow_exact(presort(X), targets, limits)
    np.testing.assert_array_equal(binned_tree.feature, exact.feature)
    np.testing.assert_allclose(binned_tree.value, exact.value, rtol=1e-12)
    np.testing.assert_array_equal(binned_tree.apply(X), exact.apply(X))


def test_lowest_bit() -> None:
    @jit
    def lowest(word: Any) -> int:
        return lowest_bit(word)

    for k in range(64):
        assert lowest(np.uint64(1) << np.uint64(k)) == k
        assert lowest(~np.uint64(0) << np.uint64(k)) == k
