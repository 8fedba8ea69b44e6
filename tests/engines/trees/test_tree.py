"""The tree value: walks against a slow twin, paths, pruning, refusal of forged arrays; walks on codes."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.errors import InputError
from didact.engines.trees.predict.coded_walk import code_trees, predict_coded
from didact.engines.trees.splits.random_loops import child_state, next_state, uniform
from didact.engines.trees.splits.sort_loops import sort_keys, sort_packed
from didact.engines.trees.tree import TreeBuilder, apply, decision_path, importances, leaf_values, pruned


def example():
    """x0 ≤ 1, then on the right: category of x1 in {0, 2}."""
    builder = TreeBuilder()
    root = builder.add(-1, False, 1.0, 10, 10.0, [0.0])
    builder.split(root, 0, 1.0, missing_left=True)
    builder.add(root, True, 0.0, 4, 4.0, [1.0])
    right = builder.add(root, False, 0.5, 6, 6.0, [2.0])
    builder.split(right, 1, categories=[0, 2])
    builder.add(right, True, 0.0, 3, 3.0, [3.0])
    builder.add(right, False, 0.0, 3, 3.0, [4.0])
    return builder.build()


def random_tree(rng, n_features=3, depth=5):
    builder = TreeBuilder()

    def grow(parent, is_left, level):
        node = builder.add(parent, is_left, 1.0, 1, 1.0, [rng.normal()])
        if level < depth and rng.random() < 0.8:
            builder.split(node, int(rng.integers(n_features)), float(rng.integers(-3, 4)), bool(rng.integers(2)))
            grow(node, True, level + 1)
            grow(node, False, level + 1)

    grow(-1, False, 0)
    return builder.build()


def slow_leaf(tree, x):
    node = 0
    while tree.children_left[node] >= 0:
        value, chosen = x[tree.feature[node]], tree.category_set[node]
        if np.isnan(value):
            left = tree.missing_go_to_left[node]
        elif chosen >= 0:
            left = int(tree.category_sets[chosen, 0]) >> int(value) & 1
        else:
            left = value <= tree.threshold[node]
        node = tree.children_left[node] if left else tree.children_right[node]
    return node


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_walk_equals_its_slow_twin(kind):
    rng = np.random.default_rng(0)
    for tree in (example(), *(random_tree(rng) for _ in range(5))):
        X = rng.integers(-3, 4, (200, 3)).astype(kind)
        X[:, 1] = np.abs(X[:, 1])
        X[rng.random(X.shape) < 0.1] = np.nan
        expected = [slow_leaf(tree, row) for row in X]
        np.testing.assert_array_equal(apply(tree, X), expected)
        np.testing.assert_array_equal(leaf_values(tree, X)[:, 0, 0], tree.value[expected, 0, 0])
        path = decision_path(tree, X)
        assert (path[np.arange(200), expected] == 1).all()
        np.testing.assert_array_equal(np.asarray(path.sum(axis=1)).ravel() > 0, True)


def test_sparse_rows_are_read():
    X = sp.csr_array(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0]]))
    np.testing.assert_array_equal(apply(example(), X), [1, 3, 4])


def test_shape_importances_and_pruning():
    tree = example()
    assert (tree.node_count, tree.n_leaves, tree.max_depth, tree.n_outputs) == (5, 3, 2, 1)
    np.testing.assert_allclose(importances(tree, 2), [7 / 10, 3 / 10])
    small = pruned(tree, np.array([True, False, False, False, False]))
    assert small.children_left.tolist() == [1, -1, -1]
    assert small.feature.tolist() == [0, -2, -2]
    assert len(small.category_sets) == 0
    with pytest.raises(InputError, match="column 1"):
        apply(tree, np.zeros((1, 1)))


@pytest.mark.parametrize(
    "forged",
    [
        {"children_left": np.array([0, -1, 3, -1, -1], np.int32)},
        {"children_right": np.array([9, -1, 4, -1, -1], np.int32)},
        {"feature": np.array([-5, -2, 1, -2, -2], np.int32)},
        {"category_set": np.array([-1, -1, 7, -1, -1], np.int32)},
        {"threshold": np.zeros(2)},
    ],
)
def test_forged_arrays_are_refused(forged):
    example().check()
    with pytest.raises(InputError, match=r"tree"):
        example()._replace(**forged).check()


def test_walk_on_codes_is_the_mean_of_the_walks():
    rng = np.random.default_rng(1)
    trees = [random_tree(rng, depth=7) for _ in range(12)]
    packed = code_trees(trees, 3, [tree.value[:, 0] for tree in trees])
    for n in (1, 7, 8, 1030):
        X = rng.integers(-4, 5, (n, 3)).astype(float)
        expected = np.mean([leaf_values(tree, X)[:, 0, 0] for tree in trees], axis=0)
        np.testing.assert_allclose(predict_coded(packed, X)[:, 0], expected, atol=1e-13)
    X[3, 1] = np.nan
    assert predict_coded(packed, X) is None
    assert code_trees([example()], 2, [example().value[:, 0]]) is None


def test_small_sorts():
    rng = np.random.default_rng(0)
    for n in (1, 5, 48, 49, 300):
        line = rng.integers(0, 50, n)
        expected = np.sort(line)
        sort_packed(line, n)
        np.testing.assert_array_equal(line, expected)
        keys, order = rng.integers(0, 9, n).astype(float), np.empty(n, np.int64)
        sort_keys(keys, order)
        np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))


def test_random_numbers_are_uniform_and_streams_differ():
    state, drawn = np.uint64(7), []
    for _ in range(4000):
        state = np.uint64(next_state(state))  # Numba hands Python's own whole numbers back
        drawn.append(uniform(state))
    assert np.mean(drawn) == pytest.approx(0.5, abs=0.02)
    assert np.var(drawn) == pytest.approx(1 / 12, abs=0.005)
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.05
    assert len({int(child_state(np.uint64(s), k)) for s in range(50) for k in range(50)}) == 2500
