"""LogisticRegressionCV: every score is that of a LogisticRegression fitted to the fold, and the choice follows."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, get_scorer, log_loss
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from didact import Batches, EarlyStopping
from didact.core.errors import InputError, ParameterError
from didact.linear_model import LogisticRegression, LogisticRegressionCV

FOLDS = StratifiedKFold(3)


def labelled(classes=2, n=150, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    codes = np.argmax(X[:, :classes] + rng.gumbel(size=(n, classes)), axis=1)
    return X, np.array(["a", "b", "c", "d"])[codes], rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"l1_ratios": (0.0, 0.5, 1.0), "Cs": [0.03, 0.3, 3.0]},
        {"loss": "squared", "fit_intercept": False},
        {"parametrization": "reference", "scoring": None, "class_weight": {"a": 3.0}},
        {"Cs": [100.0, 0.01, np.inf, 1.0], "scoring": "roc_auc_ovr"},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_fits_to_each_fold(classes, options, weighted):
    X, y, w = labelled(classes)
    model = LogisticRegressionCV(**{"Cs": 4, "cv": FOLDS, "tol": 1e-9, **options}).fit(X, y, w if weighted else None)
    scorer = get_scorer(model.scoring or "accuracy")
    shared = {k: v for k, v in model.get_params().items() if k in LogisticRegression().get_params()}
    assert model.scores_.shape == (3, len(model.l1_ratios_), len(model.Cs_))
    for f, (train, test) in enumerate(FOLDS.split(X, y)):
        for r, l1_ratio in enumerate(model.l1_ratios_):
            for c, C in enumerate(model.Cs_):
                alone = LogisticRegression(C=C, l1_ratio=l1_ratio, **shared)
                alone.fit(X[train], y[train], w[train] if weighted else None)
                weights = {"sample_weight": w[test]} if weighted else {}
                expected = scorer(alone, X[test], y[test], **weights)
                np.testing.assert_allclose(model.scores_[f, r, c], expected, rtol=1e-5, atol=1e-7)
                table = model.coefs_paths_[f, r, c]
                np.testing.assert_allclose(table[:, :4], alone.coef_, rtol=1e-4, atol=1e-5)
                if model.fit_intercept:
                    np.testing.assert_allclose(table[:, 4], alone.intercept_, rtol=1e-4, atol=1e-5)
    means = model.scores_.mean(axis=0)
    assert means[list(model.l1_ratios_).index(model.l1_ratio_), list(model.Cs_).index(model.C_)] == means.max()
    best = LogisticRegression(C=model.C_, l1_ratio=model.l1_ratio_, **shared).fit(X, y, w if weighted else None)
    np.testing.assert_allclose(model.coef_, best.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
@pytest.mark.parametrize("refit", [True, False])
def test_same_as_scikit_learn(classes, scoring, refit):
    X, y, w = labelled(classes)
    common = {"Cs": 5, "cv": FOLDS, "scoring": scoring, "refit": refit, "l1_ratios": (0.0,), "class_weight": "balanced"}
    ours = LogisticRegressionCV(**common, tol=1e-9).fit(X, y, w)
    theirs = peer.LogisticRegressionCV(
        **common, tol=1e-9, max_iter=1000, use_legacy_attributes=False, solver="newton-cholesky"
    ).fit(X, y, w)
    assert pytest.approx(theirs.C_) == ours.C_
    np.testing.assert_allclose(ours.Cs_, theirs.Cs_)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-5)
    np.testing.assert_allclose(ours.coefs_paths_[..., :-1], theirs.coefs_paths_[..., :-1], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(ours.score(X, y, w), theirs.score(X, y, sample_weight=w), rtol=1e-5)


def test_order_of_the_grid_does_not_matter():
    X, y, _ = labelled()
    Cs = np.array([1.0, 0.01, 30.0])
    up, mixed = (LogisticRegressionCV(Cs=c, cv=3, tol=1e-10).fit(X, y) for c in (np.sort(Cs), Cs))
    np.testing.assert_allclose(mixed.scores_, up.scores_[:, :, np.argsort(np.argsort(Cs))], rtol=1e-12)
    assert mixed.C_ == up.C_


def test_warm_starts_save_iterations():
    X, y, _ = labelled(n=400, p=10)
    model = LogisticRegressionCV(Cs=20, cv=3, solver="lbfgs").fit(X, y)
    train = next(iter(StratifiedKFold(3).split(X, y)))[0]
    cold = [LogisticRegression(C=C, solver="lbfgs").fit(X[train], y[train]).n_iter_[0] for C in model.Cs_]
    assert model.n_iter_[0].sum() < 0.8 * np.sum(cold)


def test_first_of_equal_scores_wins():
    X, y, _ = labelled()
    same = LogisticRegressionCV(Cs=[5.0, 0.1, 1.0], l1_ratios=(0.3, 0.0), cv=3, scoring=lambda model, X, y: 0.0).fit(
        X, y
    )
    assert (same.C_, same.l1_ratio_) == (5.0, 0.3)


def test_without_refit_the_folds_are_averaged():
    X, y, _ = labelled(3)
    model = LogisticRegressionCV(Cs=4, cv=3, refit=False).fit(X, y)
    chosen = model.scores_[:, 0].argmax(axis=1)
    np.testing.assert_allclose(model.C_, model.Cs_[chosen].mean())
    mean = model.coefs_paths_[np.arange(3), 0, chosen].mean(axis=0)
    np.testing.assert_allclose(np.column_stack([model.coef_, model.intercept_]), mean)


def test_a_fold_without_one_of_the_labels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.repeat([0, 1, 2], 30)
    y[:3] = 2
    splits = [(np.arange(30, 90), np.arange(30)), (np.r_[:30, 60:90], np.arange(30, 60))]
    model = LogisticRegressionCV(Cs=[0.1, 1.0], cv=splits).fit(X, y)
    table = model.coefs_paths_[0, 0, 1]
    scores = X[:30] @ table[:, :2].T + table[:, 2]
    proba = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.scores_[0, 0, 1], -log_loss(y[:30], proba, labels=[0, 1, 2]), rtol=1e-5)


@pytest.mark.parametrize("scoring", ["f1", "precision", "neg_brier_score", "roc_auc"])
def test_scorers_of_the_positive_label(scoring):
    X, y, _ = labelled()
    model = LogisticRegressionCV(Cs=[0.1, 1.0], cv=3, scoring=scoring).fit(X, y)
    theirs = peer.LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=3, scoring=scoring, l1_ratios=(0.0,), use_legacy_attributes=False, tol=1e-9
    ).fit(X, y)
    np.testing.assert_allclose(model.scores_, theirs.scores_, rtol=1e-4)


def test_sparse_and_float32_input():
    X, y, _ = labelled(3)
    expected = LogisticRegressionCV(Cs=3, cv=3, tol=1e-9).fit(X, y)
    sparse = LogisticRegressionCV(Cs=3, cv=3, tol=1e-9).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.scores_, expected.scores_, rtol=1e-6)
    for refit in (True, False):
        single = LogisticRegressionCV(Cs=3, cv=3, refit=refit).fit(X.astype(np.float32), y)
        assert single.coef_.dtype == single.intercept_.dtype == np.float32
        np.testing.assert_allclose(single.scores_, expected.scores_, rtol=1e-3)


def test_groups_through_a_list_of_splits():
    X, y, _ = labelled()
    groups = np.arange(len(y)) % 5
    splits = list(GroupKFold(5).split(X, y, groups))
    assert LogisticRegressionCV(Cs=2, cv=splits).fit(X, y).scores_.shape == (5, 1, 2)


def test_what_cannot_be_is_refused_with_a_sentence():
    X, y, _ = labelled()
    with pytest.raises(InputError, match=r"in memory.*LogisticRegression\(C"):
        LogisticRegressionCV().fit(Batches(lambda: [(X, y)]))
    for wrong in ({"Cs": [0.0]}, {"Cs": []}, {"l1_ratios": (0.5, 1.5)}):
        with pytest.raises(ParameterError, match=r"must be (a number|>|<)"):
            LogisticRegressionCV(**wrong).fit(X, y)
    with pytest.raises(InputError, match="2 classes"):
        LogisticRegressionCV().fit(X, np.zeros(len(X), dtype=int))
    with pytest.raises(InputError, match="no weight"):
        LogisticRegressionCV(cv=KFold(2)).fit(X, y, np.arange(len(y)) < 75)
    with pytest.raises(ParameterError, match="n_jobs == 0"):
        LogisticRegressionCV(n_jobs=0).fit(X, y)


def test_one_warning_for_all_fits_that_stop_short():
    X, y, _ = labelled()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LogisticRegressionCV(Cs=3, cv=3, max_iter=1, solver="lbfgs", refit=False, tol=1e-12).fit(X, y)
    assert [w.category for w in caught] == [ConvergenceWarning]
    assert "9 of 9 fits" in str(caught[0].message)


def test_a_callback_hears_of_every_fit_and_can_stop():
    X, y, _ = labelled()
    model = LogisticRegressionCV(Cs=5, cv=3).set_callbacks(EarlyStopping(patience=1, min_delta=10.0)).fit(X, y)
    assert np.isfinite(model.scores_).sum() == 2  # the first fit, and one without improvement
    assert model.C_ in model.Cs_[:2]
    assert model.predict(X).shape == y.shape


def test_the_coming_default_of_scoring_is_told_of_by_the_fit_alone():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegressionCV(Cs=[1.0], scoring="warn")
    with pytest.warns(FutureWarning, match="will change from None, i.e. accuracy"):
        model.fit(X, y)
    assert model.score(X, y) == accuracy_score(y, model.predict(X))  # warnings are errors here
