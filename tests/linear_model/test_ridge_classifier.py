"""Ridge classification: ridge on ±1, scikit-learn, refitting without each row, tables of labels."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as reference
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import accuracy_score

from didact import Batches
from didact.linear_model import LeastSquaresClassifier, Ridge, RidgeClassifier, RidgeClassifierCV

ALPHAS = [0.01, 1.0, 100.0, 1e4]


def make(n, p, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal(p)
    score = X[:, 0] - X[:, 1] + rng.standard_normal(n)
    y = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    return X, np.array(["low", "mid", "top"])[y], rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("shape", [(150, 6), (30, 60)])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("how", [{}, {"class_weight": "balanced"}, {"class_weight": {"low": 3.0}, "alpha": 7.0}])
def test_is_ridge_on_signs_and_scikit_learns(shape, classes, sparse, how):
    X, y, w = make(*shape, classes)
    w = None if how.get("class_weight") == "balanced" else w  # scikit-learn balances numbers of rows, not weights
    data = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)) if sparse else X
    ours = RidgeClassifier(**how).fit(data, y, w)
    theirs = reference.RidgeClassifier(tol=1e-12, **how).fit(data, y, w)
    np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(ours.predict(data), theirs.predict(data))
    np.testing.assert_allclose(ours.decision_function(data), theirs.decision_function(data), atol=1e-6)
    if not how:
        signs = np.where(y[:, None] == np.unique(y), 1.0, -1.0)[:, 1 if classes == 2 else slice(None)]
        ridge = Ridge().fit(data, signs, w)
        np.testing.assert_allclose(ours.coef_, np.atleast_2d(ridge.coef_), atol=1e-10)


def test_identities():
    X, y, w = make(120, 5)
    ridge, plain = RidgeClassifier(alpha=2.0).fit(X, y, w), LeastSquaresClassifier(alpha=2.0).fit(X, y, w)
    np.testing.assert_allclose(ridge.coef_, 2 * plain.coef_, rtol=1e-8)  # codes of ±1 against 0 and 1
    np.testing.assert_array_equal(ridge.predict(X), plain.predict(X))
    batches = Batches(lambda: ((X[a : a + 50], y[a : a + 50], w[a : a + 50]) for a in range(0, 120, 50)))
    np.testing.assert_allclose(RidgeClassifier(alpha=2.0).fit(batches).coef_, ridge.coef_, rtol=1e-9)


def test_a_class_without_weight_stays():
    X, y, w = make(90, 4)
    w[y == "mid"] = 0.0
    for model in (RidgeClassifier(), RidgeClassifier(class_weight="balanced"), RidgeClassifierCV(ALPHAS)):
        model.fit(X, y, w)
        assert model.classes_.tolist() == ["low", "mid", "top"]
        assert np.isfinite(model.coef_).all()
        assert "mid" not in model.predict(X)


@pytest.mark.parametrize("how", [{}, {"class_weight": "balanced"}])
def test_tables_of_labels(how):
    X, Y = make_multilabel_classification(80, 6, n_classes=4, random_state=0)
    ours, theirs = RidgeClassifier(**how).fit(X, Y), reference.RidgeClassifier(tol=1e-12, **how).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.score(X, Y) == accuracy_score(Y, ours.predict(X))
    chosen, peer = RidgeClassifierCV(ALPHAS).fit(X, Y), reference.RidgeClassifierCV(ALPHAS).fit(X, Y)
    assert chosen.alpha_ == peer.alpha_
    np.testing.assert_array_equal(chosen.predict(X), peer.predict(X))
    with pytest.raises(ValueError, match="multioutput target data"):
        RidgeClassifier().fit(X, Y + Y[:, ::-1])


@pytest.mark.parametrize("shape", [(60, 5), (25, 40)])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refitting_without_each_row(shape, classes, scoring, weighted):
    X, y, w = make(*shape, classes)
    w = w if weighted else np.ones(len(y))
    model = RidgeClassifierCV(ALPHAS, scoring=scoring, store_cv_results=True).fit(X, y, w)
    signs = np.where(y[:, None] == np.unique(y), 1.0, -1.0)[:, (1,) if classes == 2 else slice(None)]
    held = np.empty((len(y), signs.shape[1], len(ALPHAS)))
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        for a, alpha in enumerate(ALPHAS):
            held[i, :, a] = Ridge(alpha=alpha).fit(X[others], signs[others], w[others]).predict(X[[i]])
    if scoring is None:
        expected = w[:, None, None] * (signs[:, :, None] - held) ** 2
        scores = -expected.mean(axis=(0, 1))
    else:
        expected = held
        found = (held[:, 0] > 0).astype(int) if classes == 2 else held.argmax(axis=1)
        scores = [np.average(np.unique(y)[found[:, a]] == y, weights=w) for a in range(len(ALPHAS))]
    np.testing.assert_allclose(model.cv_results_, expected, rtol=1e-6, atol=1e-8)
    assert model.alpha_ == ALPHAS[int(np.argmax(scores))]
    assert model.best_score_ == pytest.approx(np.max(scores))
    np.testing.assert_allclose(model.coef_, RidgeClassifier(alpha=model.alpha_).fit(X, y, w).coef_, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("how", [{}, {"cv": 4}, {"cv": 3, "scoring": "balanced_accuracy"}])
def test_the_choice_is_scikit_learns(classes, how):
    X, y, _ = make(100, 30, classes)
    alphas = np.geomspace(1e-2, 1e3, 9)
    ours = RidgeClassifierCV(alphas, **how).fit(X, y)
    theirs = reference.RidgeClassifierCV(alphas, **how).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), rtol=1e-6, atol=1e-8)


def test_sentences():
    X, y, _ = make(30, 4)
    with pytest.raises(ValueError, match="belongs to leave-one-out"):
        RidgeClassifierCV(cv=3, store_cv_results=True).fit(X, y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        RidgeClassifier().fit(X, np.full(30, "one"))
    with pytest.raises(ValueError, match="rows in memory"):
        RidgeClassifierCV().fit(Batches(lambda: [(X, y)]))
