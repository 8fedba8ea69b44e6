"""Passive-aggressive steps, the modified Huber loss, weights that run away, unknown labels, sparse coefficients."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import SGDClassifier as TheirClassifier
from sklearn.linear_model import SGDRegressor as TheirRegressor

import didact
from didact.linear_model import LogisticRegression, LogisticRegressionCV, Perceptron, SGDClassifier, SGDRegressor


def regression(n, p=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=p) + 0.7 + 0.5 * rng.normal(size=n)


def labels(n, p=5):
    X, y = regression(n, p)
    return X, (y > 0.7).astype(int)


@pytest.mark.parametrize("rate", ["pa1", "pa2"])
@pytest.mark.parametrize("penalty", [None, "l2", "l1"])
def test_passive_aggressive_steps_are_scikit_learns(rate, penalty):
    X, y = labels(300)
    how = {"learning_rate": rate, "eta0": 0.3, "penalty": penalty, "alpha": 0.01, "shuffle": False, "max_iter": 3}
    ours = SGDClassifier(tol=None, **how).fit(X, y)
    theirs = TheirClassifier(tol=None, **how).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
    X, y = regression(300)
    ours = SGDRegressor("epsilon_insensitive", tol=None, **how).fit(X, y)
    theirs = TheirRegressor("epsilon_insensitive", tol=None, **how).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)


def test_a_passive_aggressive_step_takes_the_loss_of_its_row_to_zero():
    X, how = np.array([[3.0, 4.0]]), {"penalty": None, "fit_intercept": False}
    model = SGDClassifier(learning_rate="pa1", eta0=1.0, **how).partial_fit(X, [1], classes=[0, 1])
    np.testing.assert_allclose(model.decision_function(X), [1.0])  # y·z = 1: the hinge loss is 0
    model = SGDClassifier(learning_rate="pa1", eta0=0.01, **how).partial_fit(X, [1], classes=[0, 1])
    np.testing.assert_allclose(model.coef_, 0.01 * X)
    model = SGDRegressor("epsilon_insensitive", epsilon=0.5, learning_rate="pa2", eta0=0.1, **how).partial_fit(
        X, [-2.0]
    )
    np.testing.assert_allclose(model.coef_, -1.5 / (25 + 5) * X[0])  # ℓ/(‖x‖² + 1/(2C))
    empty = SGDClassifier(learning_rate="pa1", **how).partial_fit(0 * X, [1], classes=[0, 1])
    assert not empty.coef_.any()


def test_passive_aggressive_steps_are_refused_where_they_mean_nothing():
    X, y = labels(50)
    with pytest.raises(ValueError, match="only works with loss 'hinge'"):
        SGDClassifier("log_loss", learning_rate="pa1").fit(X, y)
    with pytest.raises(ValueError, match="only works with loss 'epsilon_insensitive'"):
        SGDRegressor(learning_rate="pa2").fit(X, y)
    with pytest.raises(ValueError, match="leave batch_size=1"):
        SGDClassifier(learning_rate="pa2", batch_size="full").fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_modified_huber_loss_and_its_probabilities_are_scikit_learns(classes):
    X, _ = labels(400)
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.4, 0.4][: classes - 1])
    how = {"learning_rate": "constant", "eta0": 0.05, "shuffle": False, "max_iter": 2, "tol": None}
    ours = SGDClassifier("modified_huber", **how).fit(X, y)
    theirs = TheirClassifier("modified_huber", **how).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    far = np.vstack([X, 100 * X, 1e6 * X])  # some rows that all classes reject
    np.testing.assert_allclose(ours.predict_proba(far), theirs.predict_proba(far), atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(far).sum(axis=1), 1.0)
    np.testing.assert_array_equal(np.exp(ours.predict_log_proba(far)) > 0, ours.predict_proba(far) > 0)


def test_weights_that_run_away_are_reported():
    """Steps that are too long for columns in the thousands: the weights grow and grow, though no number overflows."""
    X, y = regression(300)
    far = 1000 * X + 5
    with pytest.warns(ConvergenceWarning, match="far above that of a model with all weights 0.*StandardScaler"):
        model = SGDRegressor(random_state=0).fit(far, y)
    assert np.abs(model.coef_).max() > 1e6
    with pytest.warns(ConvergenceWarning, match="far above"):
        SGDRegressor(random_state=0, max_iter=3, tol=None).fit(far, y)
    with pytest.warns(ConvergenceWarning, match="far above"):
        SGDRegressor(random_state=0).partial_fit(far, y)
    with pytest.warns(ConvergenceWarning, match="far above"):
        SGDClassifier("squared_hinge", random_state=0).fit(far, y > 0)
    for share in (0.001, 1000.0):  # relative to the data: no warning for what is small or large alone
        SGDRegressor(random_state=0).fit(X, share * y, sample_weight=np.full(300, share))


@pytest.mark.parametrize("wrong", [-7, 2, 9, 10_000_000])
@pytest.mark.parametrize("model", [SGDClassifier(), Perceptron()])
def test_a_label_that_partial_fit_was_not_told_of_is_named(model, wrong):
    X, y = labels(50)
    model = clone(model).partial_fit(X, y, classes=[0, 1, 5])
    y[7] = wrong
    with pytest.raises(ValueError, match=rf"the label {wrong}, which is not among the classes \[0 1 5\]"):
        model.partial_fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        SGDClassifier(penalty="l1", alpha=0.03, random_state=0),
        SGDRegressor(penalty="l1", alpha=0.3, random_state=0),
        LogisticRegression(l1_ratio=1.0, C=0.01),
        LogisticRegressionCV(Cs=2, cv=2, l1_ratios=(1.0,)),
        Perceptron(penalty="l1", alpha=0.03, variant="averaged", max_iter=5, tol=None),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.filterwarnings("ignore:.*Still mistakes")
def test_sparsified_coefficients_predict_the_same(model, tmp_path):
    X, y = labels(400, p=12)
    targets = [X[:, 0] - y] if isinstance(model, SGDRegressor) else [y, np.digitize(X[:, 0], [-0.5, 0.5])]
    for target in targets:
        model = clone(model).fit(X, target)
        coef, expected = model.coef_, model.predict(X)
        assert model.sparsify() is model
        assert sp.issparse(model.coef_)
        assert model.coef_.nnz == np.count_nonzero(coef)
        for rows in (X, sp.csr_array(X), sp.csr_matrix(X.astype(np.float32))):
            np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-4, atol=1e-4)
        didact.save(model, tmp_path / "sparse.didact")
        np.testing.assert_allclose(didact.load(tmp_path / "sparse.didact").predict(X), expected)
        np.testing.assert_array_equal(model.sparsify().densify().coef_, coef)
        assert model.coef_.shape == coef.shape
        if "warm_start" in model.get_params():
            again = model.sparsify().set_params(warm_start=True).fit(X, target)
            assert again.coef_.shape == coef.shape
    with pytest.raises(NotFittedError):
        clone(model).sparsify()
