"""Least-squares classifier: XOR, discriminants, scikit-learn's ridge classifier, one-hot sums, weights."""

import numpy as np
import pytest
import sklearn.linear_model as peer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from didact.core.errors import InputError, ParameterError
from didact.linear_model import LeastSquaresClassifier, LinearRegression, Ridge


def blobs(classes=3, n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    centres = 2.0 * rng.normal(size=(classes, 4))
    return centres[y] + rng.normal(size=(n, 4)), np.array(["a", "b", "c"])[y]


def test_exclusive_or_gives_the_constant_one_half():
    """Worked example 24: on the scale of 0 and 1, where ±1 is the code; at most 3 of 4 are right."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = LeastSquaresClassifier().fit(X, [0, 1, 1, 0])
    np.testing.assert_allclose((1 + model.decision_function(X)) / 2, 0.5, atol=1e-12)
    np.testing.assert_allclose(LinearRegression().fit(X, [0, 1, 1, 0]).predict(X), 0.5, atol=1e-12)
    assert model.score(X, [0, 1, 1, 0]) <= 0.75
    for table in ([0, 0, 0, 1], [0, 1, 1, 1]):
        assert LeastSquaresClassifier().fit(X, table).score(X, table) == 1.0


@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_it_is_regression_on_the_codes(alpha, fit_intercept):
    X, y = blobs(2)
    model = LeastSquaresClassifier(alpha=alpha, fit_intercept=fit_intercept).fit(X, y)
    ridge = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd").fit(X, np.where(y == "b", 1.0, -1.0))
    np.testing.assert_allclose(model.decision_function(X), ridge.predict(X), rtol=1e-8)
    assert model.coef_.shape == (1, 4)
    X, y = blobs(3)
    model = LeastSquaresClassifier(alpha=alpha, fit_intercept=fit_intercept).fit(X, y)
    codes = (y[:, None] == np.array(["a", "b", "c"])).astype(float)
    ridge = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd").fit(X, codes)
    np.testing.assert_allclose(model.decision_function(X), ridge.predict(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(ridge.predict(X), axis=1)])
    if fit_intercept:
        np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 1.0, rtol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced", {"a": 3.0}])
def test_predictions_are_those_of_the_ridge_classifier(classes, class_weight):
    X, y = blobs(classes)
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    w = None if class_weight == "balanced" else w  # theirs balances the numbers of rows, ours the sums of weights
    ours = LeastSquaresClassifier(alpha=1.0, class_weight=class_weight).fit(X, y, sample_weight=w)
    theirs = peer.RidgeClassifier(alpha=1.0, class_weight=class_weight).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    scores = ours.decision_function(X)  # theirs codes each class as ±1
    np.testing.assert_allclose(scores if classes == 2 else 2 * scores - 1, theirs.decision_function(X), rtol=1e-8)


def test_the_direction_of_two_classes_is_the_discriminant():
    X, y = blobs(2, n=80)
    keep = np.arange(80) < 70  # classes of unequal size
    w = LeastSquaresClassifier().fit(X[keep], y[keep]).coef_[0]
    v = LinearDiscriminantAnalysis(solver="lsqr").fit(X[keep], y[keep]).coef_[0]
    np.testing.assert_allclose(w / np.linalg.norm(w), v / np.linalg.norm(v), rtol=1e-8)


def test_bad_labels_are_refused_in_words():
    X, y = blobs(2)
    with pytest.raises(InputError, match="only one class"):
        LeastSquaresClassifier().fit(X, np.full(len(y), "a"))
    with pytest.raises(InputError, match="only one class"):
        LeastSquaresClassifier().fit(X, y, sample_weight=(y == "a").astype(float))
    with pytest.raises(ParameterError, match="'z'"):
        LeastSquaresClassifier(class_weight={"z": 1.0}).fit(X, y)
