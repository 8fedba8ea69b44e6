"""Editing and condensing: the rules row by row, what they promise, and kinds of tables."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.neighbors import CondensedNearestNeighbor, EditedNearestNeighbors, KNeighborsClassifier


def problem(seed=0, n=400, noise=0.4, minority=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.array(["a", "b", "c"])[
        np.searchsorted([-0.4, 1.2 if minority else 0.4], X[:, 0] + noise * rng.normal(size=n))
    ]
    return X, y


def leave_one_out(X, y, kept, k=1):
    """The share of rows whose own class the k nearest of the kept rows, without the row itself, choose."""
    D = ((X[:, None] - X[None, kept]) ** 2).sum(axis=2)
    D[kept, np.arange(len(kept))] = np.inf
    near = y[kept][np.argsort(D, axis=1, kind="stable")[:, :k]]
    names = np.unique(y)
    votes = (near[:, :, None] == names).sum(axis=1)
    return np.mean(names[votes.argmax(axis=1)] == y)


# ------------------------------------------------------------------------------------------------ condensing


@pytest.mark.parametrize("how", [{}, {"shuffle": True, "random_state": 3}, {"n_seeds": 5}])
def test_the_kept_rows_classify_all_rows(how):
    X, y = problem()
    model = CondensedNearestNeighbor(**how).fit(X, y)
    rows, labels = X[model.sample_indices_], y[model.sample_indices_]
    assert KNeighborsClassifier(1).fit(rows, labels).score(X, y) == 1
    assert model.score(X, y) == 1
    assert len(rows) < len(X)
    assert set(labels) == set(y)
    assert model.accuracy_before_ == pytest.approx(leave_one_out(X, y, np.arange(len(y))))
    assert model.accuracy_after_ == pytest.approx(leave_one_out(X, y, model.sample_indices_))


def test_separated_classes_need_a_row_each():
    X = np.concatenate([np.random.default_rng(0).normal(size=(50, 2)) + c for c in (0, 40, 80)])
    model = CondensedNearestNeighbor().fit(X, np.repeat([0, 1, 2], 50))
    assert model.sample_indices_.tolist() == [0, 50, 100]
    assert model.accuracy_before_ == 1


def test_the_order_matters_and_is_drawn_by_the_seed():
    X, y = problem()
    drawn = [CondensedNearestNeighbor(shuffle=True, random_state=s).fit(X, y).sample_indices_ for s in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    given = CondensedNearestNeighbor().fit(X, y).sample_indices_
    backwards = CondensedNearestNeighbor().fit(X[::-1], y[::-1]).sample_indices_
    assert not np.array_equal(np.sort(len(y) - 1 - backwards), given)


@pytest.mark.parametrize("k", [3, 5])
def test_condensing_by_votes(k):
    X, y = problem()
    model = CondensedNearestNeighbor(n_neighbors=k).fit(X, y)
    others = np.setdiff1d(np.arange(len(y)), model.sample_indices_)
    assert model.score(X[others], y[others]) == 1
    assert model.accuracy_before_ == pytest.approx(leave_one_out(X, y, np.arange(len(y)), k))


@pytest.mark.parametrize("strategy", ["not minority", "auto", ["a", "b"]])
def test_classes_that_lose_no_rows(strategy):
    X, y = problem(minority=True)
    kept = CondensedNearestNeighbor(sampling_strategy=strategy).fit(X, y).sample_indices_
    assert np.isin(np.flatnonzero(y == "c"), kept).all(), "c is the smallest class"
    assert len(kept) < len(y)
    largest = CondensedNearestNeighbor(sampling_strategy="majority").fit(X, y).sample_indices_
    names, counts = np.unique(y, return_counts=True)
    assert np.isin(np.flatnonzero(y != names[counts.argmax()]), largest).all()
    with pytest.raises(ParameterError, match="'d'"):
        CondensedNearestNeighbor(sampling_strategy=["d"]).fit(X, y)


METRICS = [{"metric": "manhattan"}, {"metric": "cosine"}, {"metric": "mahalanobis"}, {"p": 3.0}]
METRICS += [{"feature_weights": [1.0, 0.5, 0.0]}, {"metric": lambda a, b: np.abs(a - b).max()}]


@pytest.mark.parametrize("how", METRICS)
def test_other_metrics(how):
    X, y = problem(n=120)
    model = CondensedNearestNeighbor(**how).fit(X, y)
    assert model.score(X, y) == 1
    kept = model.sample_indices_
    metric = {"metric_params": {"V": np.cov(X, rowvar=False)}} if how.get("metric") == "mahalanobis" else {}
    assert KNeighborsClassifier(1, **how, **metric).fit(X[kept], y[kept]).score(X, y) == 1
    EditedNearestNeighbors(**how).fit(X, y)


def test_sparse_rows_are_condensed_as_dense_ones():
    X, y = problem()
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    for model in (CondensedNearestNeighbor(), EditedNearestNeighbors()):
        dense = model.fit(X, y).sample_indices_
        rows, labels = model.fit_resample(sp.csr_array(X), y)
        np.testing.assert_array_equal(model.sample_indices_, dense)
        np.testing.assert_array_equal(rows.toarray(), X[dense])
        np.testing.assert_array_equal(labels, y[dense])
    with pytest.raises(ParameterError, match="dense rows"):
        CondensedNearestNeighbor(n_neighbors=3).fit(sp.csr_array(X), y)


def test_equal_rows_with_different_labels_are_all_kept():
    X, y = [[0.0], [0.0], [0.0], [1.0]], ["a", "b", "a", "b"]
    assert CondensedNearestNeighbor().fit(X, y).sample_indices_.tolist() == [0, 1, 2, 3]


# ------------------------------------------------------------------------------------------------ editing


def edit_oracle(X, y, k, kind):
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    near = y[np.argsort(D, axis=1, kind="stable")[:, :k]]
    if kind == "all":
        return (near == y[:, None]).all(axis=1)
    names = np.unique(y)
    votes = (near[:, :, None] == names).sum(axis=1)
    return votes[np.arange(len(y)), np.searchsorted(names, y)] == votes.max(axis=1)


@pytest.mark.parametrize("kind", ["mode", "all"])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_editing_is_wilson_s_rule(k, kind):
    X, y = problem()
    model = EditedNearestNeighbors(n_neighbors=k, kind_sel=kind).fit(X, y)
    np.testing.assert_array_equal(model.sample_indices_, np.flatnonzero(edit_oracle(X, y, k, kind)))
    assert model.accuracy_before_ == pytest.approx(leave_one_out(X, y, np.arange(len(y))))
    assert model.accuracy_after_ == pytest.approx(leave_one_out(X, y, model.sample_indices_))
    assert model.accuracy_after_ > model.accuracy_before_


def test_repeated_editing_stops_when_nothing_is_removed():
    X, y = problem()
    model = EditedNearestNeighbors(n_passes=None).fit(X, y)
    left, passes = np.arange(len(y)), 0
    while True:
        stays = edit_oracle(X[left], y[left], 3, "mode")
        left, passes = left[stays], passes + 1
        if stays.all():
            break
    np.testing.assert_array_equal(model.sample_indices_, left)
    assert model.n_iter_ == passes > 2
    twice = EditedNearestNeighbors(n_passes=2).fit(X, y).sample_indices_
    once = EditedNearestNeighbors().fit(X, y).sample_indices_
    assert set(left) < set(twice) < set(once)


def test_a_class_never_vanishes():
    X, y = [[0.0], [0.1], [0.2], [0.3], [0.15]], ["a", "a", "a", "a", "b"]
    assert EditedNearestNeighbors().fit(X, y).sample_indices_.tolist() == [0, 1, 2, 3, 4]
    few = EditedNearestNeighbors(n_neighbors=1).fit([[0.0], [1.0]], ["a", "b"])
    assert few.sample_indices_.tolist() == [0, 1]


def test_editing_leaves_some_classes_alone():
    X, y = problem(minority=True)
    kept = EditedNearestNeighbors(sampling_strategy="not minority").fit(X, y).sample_indices_
    assert np.isin(np.flatnonzero(y == "c"), kept).all()


def test_editing_and_then_condensing_keeps_few_rows_and_the_accuracy():
    X, y = problem(n=2000, noise=0.3)
    new, truth = problem(seed=1, n=2000, noise=0.3)
    edited = EditedNearestNeighbors(n_neighbors=7)
    rows, labels = edited.fit_resample(X, y)
    both = CondensedNearestNeighbor().fit(rows, labels)
    alone = CondensedNearestNeighbor().fit(X, y)
    assert len(both.sample_indices_) < 0.3 * len(alone.sample_indices_)
    everything = KNeighborsClassifier(1).fit(X, y).score(new, truth)
    assert edited.score(new, truth) > everything
    assert both.score(new, truth) > everything > alone.score(new, truth)


# ------------------------------------------------------------------------------------------------ tables


@pytest.mark.parametrize("model", [CondensedNearestNeighbor(), EditedNearestNeighbors()])
def test_rows_come_back_as_the_table_that_came_in(model):
    X, y = problem(n=80)
    kept = model.fit(X, y).sample_indices_
    names = ["u", "v", "w"]
    frame, column = model.fit_resample(pd.DataFrame(X, columns=names), pd.Series(y))
    assert list(frame.index) == list(kept) == list(column.index)
    rows, labels = model.fit_resample(pl.DataFrame(X, schema=names), pl.Series(y))
    np.testing.assert_array_equal(rows.to_numpy(), X[kept])
    assert labels.to_list() == y[kept].tolist()
    rows, labels = model.fit_resample(pa.table(dict(zip(names, X.T, strict=True))), pa.array(y))
    assert rows.num_rows == len(labels) == len(kept)
    rows, labels = model.fit_resample(X.tolist(), y.tolist())
    np.testing.assert_array_equal(rows, X[kept])
    batches = Batches(lambda: ((X[k : k + 30], y[k : k + 30]) for k in range(0, 80, 30)))
    np.testing.assert_array_equal(model.fit(batches).sample_indices_, kept)
    with pytest.raises(InputError, match="in memory"):
        model.fit_resample(batches, None)


def test_it_works_as_a_sampler_with_the_tags_of_a_classifier():
    X, y = problem(n=80)
    model = CondensedNearestNeighbor().fit(X, y)
    assert model.predict(X[:3]).tolist() == y[:3].tolist()
    with pytest.raises(ValueError, match="precomputed"):
        CondensedNearestNeighbor(metric="precomputed").fit(X, y)


@pytest.mark.parametrize("model", [CondensedNearestNeighbor(n_neighbors=4), EditedNearestNeighbors(n_neighbors=4)])
def test_more_neighbours_than_other_rows_are_refused(model):
    X, y = np.arange(5.0)[:, None], [0, 0, 1, 1, 1]
    model.fit(X, y)
    with pytest.raises(InputError, match=r"n_neighbors is 4: it must be less than .*n_samples = 4"):
        model.fit(X[:4], y[:4])
