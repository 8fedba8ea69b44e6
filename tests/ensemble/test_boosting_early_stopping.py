"""What early stopping of boosting watches: scorers, weights, given validation rows, and fits that go on."""

import warnings

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.metrics import accuracy_score, get_scorer, log_loss, r2_score

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def mixed(n=2000, seed=0):
    """A category and a number, and labels that need both."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": pd.Categorical(rng.choice(list("xyz"), n)), "b": rng.normal(size=n)})
    return frame, np.where((frame["a"] == "x") ^ (frame["b"] > 0.5), "yes", "no")


def numbers(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 1)  # few distinct values, so that bins lose nothing
    return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc", None])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_scorer_sees_the_model_that_predicts(scoring, weighted):
    frame, y = mixed()
    w = np.random.default_rng(1).integers(1, 5, len(y)).astype(float) if weighted else None
    model = HistGradientBoostingClassifier(
        early_stopping=True, scoring=scoring, max_iter=8, validation_fraction=None, n_iter_no_change=99
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(frame, y, sample_weight=w)
    assert not caught
    scorer = get_scorer(scoring or "accuracy")
    expected = scorer(model, frame, y, sample_weight=w) if weighted else scorer(model, frame, y)
    np.testing.assert_allclose(model.train_score_[-1], expected, rtol=1e-12)
    assert len(model.train_score_) == 9


def test_a_scorer_of_ones_own_may_ask_for_some_rows_and_several_classes():
    frame, _ = mixed()
    y = np.digitize(frame["b"], [-0.5, 0.5])

    def on_odd_rows(model, X, y):
        return accuracy_score(y[1::2], model.predict(X[1::2]))

    how = {"early_stopping": True, "max_iter": 5, "validation_fraction": None}
    model = HistGradientBoostingClassifier(scoring=on_odd_rows, **how).fit(frame, y)
    assert model.train_score_[-1] == accuracy_score(y[1::2], model.predict(frame[1::2]))


def test_scored_training_rows_are_drawn_from_all_when_there_are_many(monkeypatch):
    monkeypatch.setattr("didact.ensemble.hist_gradient_boosting_scores.SCORED", 100)
    X, y = numbers()
    order = np.argsort(y)
    model = HistGradientBoostingClassifier(
        early_stopping=True, scoring="roc_auc", max_iter=3, validation_fraction=None, random_state=0
    )
    model.fit(X[order], y[order] > 0)
    assert np.isfinite(model.train_score_).all(), "the first rows are of one class"


def test_batches_are_scored_too():
    frame, y = mixed(4000)
    batches = Batches(lambda: ((frame[k : k + 1000], y[k : k + 1000]) for k in range(0, 4000, 1000)))
    plain = HistGradientBoostingClassifier(scoring="accuracy", max_iter=3).fit(batches)  # too few rows to stop early
    assert not plain.do_early_stopping_
    how = {"early_stopping": True, "validation_fraction": None, "max_iter": 6, "n_iter_no_change": 99}
    model = HistGradientBoostingClassifier(scoring="accuracy", **how).fit(batches)
    np.testing.assert_allclose(model.train_score_[-1], model.score(frame, y), rtol=1e-12)


def test_rows_that_stay_on_workers_are_watched_by_the_loss_alone(monkeypatch):
    monkeypatch.setattr("didact.ensemble.hist_gradient_boosting_base.GATHERED", 0)
    X, y = numbers()
    DX, Dy = da.from_array(X, chunks=(200, 3)), da.from_array(y, chunks=200)
    few = {"max_iter": 3, "scoring": "r2"}
    assert HistGradientBoostingRegressor(**few).fit(DX, Dy).n_iter_ == 3
    with pytest.raises(InputError, match="scoring='loss'"):
        HistGradientBoostingRegressor(early_stopping=True, **few).fit(DX, Dy)
    given = HistGradientBoostingRegressor(max_iter=5).fit(DX, Dy, X_val=X[:50], y_val=y[:50])
    np.testing.assert_allclose(given.validation_score_[-1], -np.mean((y - given.predict(X))[:50] ** 2) / 2)


def test_given_rows_are_watched_as_in_scikit_learn():
    X, y = numbers(800)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 800)
    fitted, out = slice(0, 500), slice(500, 800)
    how = {"early_stopping": True, "n_iter_no_change": 5, "learning_rate": 0.3}
    rows = {"X_val": X[out], "y_val": y[out], "sample_weight_val": w[out]}
    ours = HistGradientBoostingRegressor(**how).fit(X[fitted], y[fitted], w[fitted], **rows)
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(**how).fit(X[fitted], y[fitted], w[fitted], **rows)
    assert ours.n_iter_ == theirs.n_iter_ < 100
    np.testing.assert_allclose(ours.validation_score_, theirs.validation_score_, rtol=1e-6)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-6)
    auto = HistGradientBoostingRegressor(**how | {"early_stopping": "auto"}).fit(
        X[fitted], y[fitted], w[fitted], **rows
    )
    np.testing.assert_array_equal(auto.predict(X), ours.predict(X))
    scored = HistGradientBoostingRegressor(scoring="r2", **how).fit(X[fitted], y[fitted], **rows)
    np.testing.assert_allclose(
        scored.validation_score_[-1], r2_score(y[out], scored.predict(X[out]), sample_weight=w[out])
    )


def test_given_rows_with_categories_and_labels():
    frame, y = mixed()
    new = frame[1500:].assign(a=frame["a"][1500:].cat.set_categories(["z", "y", "x"]))  # other numbers, same values
    model = HistGradientBoostingClassifier(max_iter=20)
    model.fit(frame[:1500], y[:1500], X_val=new, y_val=y[1500:])
    expected = -log_loss(y[1500:], model.predict_proba(frame[1500:]))
    np.testing.assert_allclose(model.validation_score_[-1], expected)
    np.testing.assert_allclose(model.train_score_[-1], -log_loss(y[:1500], model.predict_proba(frame[:1500])))
    with pytest.raises(InputError, match=r"y_val has the label 'maybe'"):
        model.fit(frame, y, X_val=frame[:2], y_val=["yes", "maybe"])


@pytest.mark.parametrize(
    ("change", "given", "word"),
    [
        ({}, ("X_val",), "y_val"),
        ({}, ("y_val",), "X_val"),
        ({}, ("sample_weight_val",), "X_val"),
        ({"early_stopping": False}, ("X_val", "y_val"), "early_stopping"),
        ({"loss": "poisson"}, ("X_val", "y_val"), "non-negative y"),
    ],
)
def test_given_rows_that_make_no_sense_are_refused(change, given, word):
    X, y = numbers()
    rows = {"X_val": X, "y_val": y - 100, "sample_weight_val": np.ones(len(y))}
    with pytest.raises((InputError, ParameterError), match=word):
        HistGradientBoostingRegressor(**change).fit(X, np.abs(y), **{name: rows[name] for name in given})


def test_given_rows_must_be_in_memory_and_have_the_columns():
    X, y = numbers()
    with pytest.raises(InputError, match="in memory"):
        HistGradientBoostingRegressor().fit(X, y, X_val=da.from_array(X), y_val=da.from_array(y))
    with pytest.raises(ValueError, match="2 features"):
        HistGradientBoostingRegressor().fit(X, y, X_val=X[:, :2], y_val=y)


@pytest.mark.parametrize("scoring", ["loss", "r2"])
def test_scores_go_on_where_the_last_fit_ended(scoring):
    X, y = numbers()
    how = {"early_stopping": True, "scoring": scoring, "random_state": 0, "n_iter_no_change": 99}
    whole = HistGradientBoostingRegressor(max_iter=8, **how).fit(X, y)
    parts = HistGradientBoostingRegressor(max_iter=3, warm_start=True, **how).fit(X, y)
    parts.set_params(max_iter=8).fit(X, y)
    assert parts.n_iter_ == 8
    np.testing.assert_allclose(parts.train_score_, whole.train_score_, rtol=1e-9)
    np.testing.assert_allclose(parts.validation_score_, whole.validation_score_, rtol=1e-9)
    parts.set_params(max_iter=9, early_stopping=False).fit(X, y)
    assert len(parts.train_score_) == 0


@pytest.mark.parametrize(
    ("rows", "max_iter", "watched"), [(10_001, 100, False), (10_001, 101, True), (10_000, 101, False)]
)
def test_auto_holds_rows_out_of_large_and_long_fits_only(rows, max_iter, watched):
    X = np.arange(float(rows))[:, None]
    model = HistGradientBoostingRegressor(max_iter=max_iter, max_leaf_nodes=2, n_iter_no_change=1, tol=1e9)
    model.fit(X, X[:, 0])
    assert model.do_early_stopping_ is watched
    assert (model.n_iter_ == 1) is watched
    assert len(model.validation_score_) == 2 * watched
