"""Trees from batches and Dask collections: read as bins, in passes or as codes, they are as good as in memory."""

import dask
import dask.array as da
import numpy as np
import pytest

from didact import Batches
from didact.engines.trees.growers import passes
from didact.ensemble import RandomForestClassifier, RandomForestRegressor
from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor, tree_base


def table(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    z = np.nan_to_num(X)
    y = 2 * (z[:, 0] > 0.3) + z[:, 1] * (z[:, 2] > 0) + 0.3 * rng.normal(size=n)
    return X, y, np.array(["a", "b", "c"])[np.digitize(y, [0.3, 1.8])], rng.integers(0, 3, n).astype(float)


def batches(X, y, w=None):
    parts = [slice(k, k + 130) for k in range(0, len(y), 130)]
    return Batches(lambda: ((X[s], y[s]) if w is None else (X[s], y[s], w[s]) for s in parts))


def same_splits(a, b, X):
    """Thresholds may differ where a node has no rows between two bins, sides of missing values where it has none."""
    np.testing.assert_array_equal(a.apply(X), b.apply(X))
    for name in ("children_left", "feature", "n_node_samples"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in ("impurity", "weighted_n_node_samples", "value"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-12, err_msg=name)


class Gone(Exception):
    pass


@pytest.fixture
def nothing_gathered(monkeypatch):
    def refuse(*args, **kwargs):
        raise Gone

    for name in ("gather", "whole"):
        monkeypatch.setattr(f"didact.core.rows.Rows.{name}", refuse)
    monkeypatch.setattr("didact.tree.decision_tree.coded_rows", refuse)


# Values have one decimal, so 255 bins are all midpoints: the tree in passes is the exact tree in memory.
@pytest.mark.parametrize("limits", [{"max_depth": 4}, {"max_leaf_nodes": 9, "min_samples_leaf": 5}])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_labels_in_passes(limits, criterion, nothing_gathered, request):
    X, _, y, w = table()
    model = DecisionTreeClassifier(criterion=criterion, max_bins=255, class_weight={"a": 2.0}, **limits)
    found = model.fit(batches(X, y, w)).tree_
    assert model.classes_.tolist() == ["a", "b", "c"]
    request.getfixturevalue("monkeypatch").undo()
    same_splits(found, DecisionTreeClassifier(criterion=criterion, max_bins=None, class_weight={"a": 2.0}, **limits)
                .fit(X, y, w).tree_, X[w > 0])  # fmt: skip


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_values_in_passes(criterion, outputs, nothing_gathered, request):
    X, y, _, w = table()
    y = np.round(y - y.min() + 0.5, 2)
    y = y if outputs == 1 else np.column_stack([y, np.round(np.abs(np.nan_to_num(X[:, 3])) + 0.1, 2)])
    model = DecisionTreeRegressor(criterion=criterion, max_bins=255, max_depth=4).fit(batches(X, y + 100.0, w))
    request.getfixturevalue("monkeypatch").undo()
    memory = DecisionTreeRegressor(criterion=criterion, max_bins=None, max_depth=4).fit(X, y + 100.0, w)
    same_splits(model.tree_, memory.tree_, X[w > 0])
    np.testing.assert_allclose(model.feature_importances_, memory.feature_importances_, rtol=1e-7)


@pytest.mark.cluster
def test_dask_in_passes(nothing_gathered, request):
    X, y, labels, _ = table()
    blocks = da.from_array(X, chunks=(200, 4))
    with dask.config.set(scheduler="synchronous"):
        a = DecisionTreeClassifier(max_bins=255, max_depth=3).fit(blocks, da.from_array(labels, chunks=200)).tree_
        b = DecisionTreeRegressor(max_bins=255, max_depth=3).fit(blocks, da.from_array(y, chunks=200)).tree_
    request.getfixturevalue("monkeypatch").undo()
    same_splits(a, DecisionTreeClassifier(max_bins=None, max_depth=3).fit(X, labels).tree_, X)
    same_splits(b, DecisionTreeRegressor(max_bins=None, max_depth=3).fit(X, y).tree_, X)


def test_a_tree_without_limits_is_grown_from_codes(monkeypatch):
    monkeypatch.setattr(passes, "HISTOGRAM_BYTES", 1)
    X, y, labels, w = table()
    a = DecisionTreeClassifier(max_bins=40).fit(batches(X, labels, w)).tree_
    same_splits(a, DecisionTreeClassifier(max_bins=40).fit(X, labels, w).tree_, X[w > 0])
    b = DecisionTreeRegressor(max_bins=40).fit(batches(X, y, w)).tree_
    same_splits(b, DecisionTreeRegressor(max_bins=40).fit(X, y, w).tree_, X[w > 0])


def test_many_rows_are_binned_by_themselves(monkeypatch):
    monkeypatch.setattr(tree_base, "FEW", 500)
    X, _, labels, _ = table()
    a = DecisionTreeClassifier(max_depth=5).fit(batches(X, labels)).tree_
    same_splits(a, DecisionTreeClassifier(max_depth=5).fit(X, labels).tree_, X)


def test_poisson_refuses_negative_targets_and_zeros_alone_in_passes():
    X, y, _, _ = table()
    model = DecisionTreeRegressor(criterion="poisson", max_bins=16, max_depth=2)
    with pytest.raises(ValueError, match=r"negative.*poisson"):
        model.fit(batches(X, y))
    with pytest.raises(ValueError, match=r"Sum of y is not positive.*poisson"):
        model.fit(batches(X, 0 * y))


@pytest.mark.parametrize("bins", ["auto", 20])
def test_forests_of_batches_keep_codes_alone(bins, monkeypatch):
    X, y, labels, w = table()
    options = {"n_estimators": 5, "random_state": 3, "max_bins": bins, "oob_score": False}
    memory = [RandomForestClassifier(**options).fit(X, labels, w), RandomForestRegressor(**options).fit(X, y, w)]
    monkeypatch.setattr("didact.core.rows.Rows.whole", None)
    for model, target in zip(memory, (labels, y), strict=True):
        other = type(model)(**options).fit(batches(X, target, w))
        np.testing.assert_allclose(
            getattr(other, "predict_proba", other.predict)(X), getattr(model, "predict_proba", model.predict)(X)
        )


def test_out_of_bag_scores_and_quantiles_from_codes():
    X, y, labels, _ = table()
    options = {"n_estimators": 40, "random_state": 3, "oob_score": True}
    a, b = (RandomForestClassifier(**options).fit(*data) for data in ((X, labels), (batches(X, labels),)))
    assert a.oob_score_ == b.oob_score_
    a, b = (RandomForestRegressor(quantiles=True, **options).fit(*data) for data in ((X, y), (batches(X, y),)))
    assert a.oob_score_ == pytest.approx(b.oob_score_, rel=1e-12)
    np.testing.assert_allclose(a.predict_quantiles(X), b.predict_quantiles(X))
