"""Support vector machines: optimality conditions, a quadratic program, scikit-learn, weights as repetition, limits."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.optimize import minimize
from sklearn import svm
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from didact.core.errors import InputError
from didact.engines.gram import smo
from didact.kernels import RBF, Linear
from didact.svm import SVC, SVR, OneClassSVM
from didact.svm.calibration import coupled, sigmoid

X, Y = load_iris(return_X_y=True)
TWO, LABELS = X[50:, :2], Y[50:]


def kkt(model, K, y, bound):
    """The largest violation of the conditions of the soft margin, from the definition."""
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0] * sign[model.support_]
    margin = sign * (K @ (sign * alpha) + model.intercept_[0]) - 1.0
    assert (alpha >= 0).all()
    assert (alpha <= bound).all()
    assert abs(sign @ alpha) < 1e-9 * bound.max()
    return max(
        np.maximum(-margin, 0.0)[alpha == 0].max(initial=0.0),
        abs(margin)[(alpha > 0) & (alpha < bound)].max(initial=0.0),
        np.maximum(margin, 0.0)[alpha == bound].max(initial=0.0),
    )


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("C", [0.1, 1.0, 1000.0])
def test_the_optimality_conditions_hold_to_the_tolerance(C, tol):
    model = SVC(C=C, tol=tol, gamma=0.5).fit(TWO, LABELS)
    assert model.kkt_residual_ <= tol
    assert kkt(model, RBF(1.0)(TWO), LABELS, np.full(100, C)) <= tol


def test_the_solution_is_that_of_a_quadratic_program():
    """Of the dual, by another method (SLSQP) on 20 rows."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    sign = 2.0 * labels - 1.0
    Q = np.outer(sign, sign) * RBF(1.0)(rows)
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(20),
        jac=lambda a: Q @ a - 1.0,
        bounds=[(0, 2.0)] * 20,
        constraints={"type": "eq", "fun": lambda a: sign @ a, "jac": lambda a: sign},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    model = SVC(C=2.0, gamma=0.5, tol=1e-9).fit(rows, labels)
    alpha = np.zeros(20)
    alpha[model.support_] = abs(model.dual_coef_[0])
    assert 0.5 * alpha @ Q @ alpha - alpha.sum() <= found.fun + 1e-9
    np.testing.assert_allclose(alpha, found.x, atol=1e-5)


@pytest.mark.parametrize(
    "params",
    [{}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}, {"class_weight": "balanced"}, {"break_ties": True}],
    ids=str,
)
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_classes_agree_with_scikit_learn(params, shape):
    if params.get("break_ties") and shape == "ovo":
        params = {}
    params = {**params, "tol": 1e-8, "decision_function_shape": shape}
    ours, theirs = SVC(**params).fit(X, Y), svm.SVC(**params).fit(X, Y)
    # libsvm rounds the kernel to single precision
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=1e-3)


def test_one_against_the_rest_is_each_class_alone():
    model = SVC(strategy="ovr", tol=1e-8).fit(X, Y)
    for k in range(3):
        alone = SVC(tol=1e-8).fit(X, k == Y)
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-6)


def test_the_hard_margin_by_hand():
    """Points 1 and 2 are nearest to each other: the boundary is 1.5, and the margin reaches 0.5 to either side."""
    model = SVC(C=np.inf, kernel="linear", tol=1e-10).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    np.testing.assert_allclose([model.coef_[0, 0], model.intercept_[0], model.margins_[0]], [2.0, -3.0, 0.5])
    np.testing.assert_array_equal(model.support_, [1, 2])
    np.testing.assert_allclose(model.slack_, 0.0, atol=1e-9)


def test_what_cannot_be_separated_has_no_hard_margin():
    with pytest.raises(InputError, match="cannot be separated"):
        SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_weights_are_repetitions(kernel):
    w = np.random.default_rng(0).integers(0, 4, 100)
    weighted = SVC(kernel=kernel, tol=1e-9).fit(TWO, LABELS, w)
    repeated = SVC(kernel=kernel, tol=1e-9).fit(np.repeat(TWO, w, axis=0), np.repeat(LABELS, w))
    np.testing.assert_allclose(weighted.decision_function(TWO), repeated.decision_function(TWO), atol=1e-6)


@pytest.mark.parametrize("params", [{"C": 100.0}, {"kernel": "linear", "C": 10.0}, {"epsilon": 0.0}], ids=str)
def test_regression_agrees_with_scikit_learn(params):
    rows, y = load_diabetes(return_X_y=True)
    ours, theirs = SVR(tol=1e-6, **params).fit(rows, y), svm.SVR(tol=1e-6, **params).fit(rows, y)
    np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), atol=1e-3)


def test_the_tube_of_regression():
    """Inside the tube β = 0, on its edge 0 < |β| < C, outside |β| = C."""
    rows, y = load_diabetes(return_X_y=True)
    model = SVR(C=50.0, epsilon=20.0, tol=1e-8).fit(rows, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    error = y - model.predict(rows)
    assert abs(beta.sum()) < 1e-8
    assert (abs(error[beta == 0]) <= 20.0 + 1e-7).all()
    np.testing.assert_allclose(error[abs(beta) == 50.0] * np.sign(beta[abs(beta) == 50.0]) >= 20.0 - 1e-7, True)
    free = (beta != 0) & (abs(beta) < 50.0)
    np.testing.assert_allclose(error[free], 20.0 * np.sign(beta[free]), atol=1e-6)


def test_several_targets_are_fitted_one_by_one():
    rows, y = load_diabetes(return_X_y=True)
    both = SVR(tol=1e-7).fit(rows, np.column_stack([y, -2 * y])).predict(rows)
    np.testing.assert_allclose(both[:, 1], SVR(tol=1e-7).fit(rows, -2 * y).predict(rows), atol=1e-5)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.9])
def test_nu_bounds_outliers_and_support_vectors(nu):
    rows = np.random.default_rng(0).normal(size=(397, 3))  # no share of them is whole, so that ρ is unique
    model, theirs = OneClassSVM(nu=nu, tol=1e-8).fit(rows), svm.OneClassSVM(nu=nu, tol=1e-8).fit(rows)
    assert (model.predict(rows) < 0).mean() <= nu <= len(model.support_) / 397
    np.testing.assert_allclose(model.decision_function(rows), theirs.decision_function(rows), atol=1e-3)


def test_shrinking_and_a_small_cache_change_nothing(monkeypatch):
    """Working sets of 40 variables, and a cache for twice as many rows."""
    monkeypatch.setattr(smo, "WORKING_SET", 40)
    rows, y = make_classification(600, 8, n_informative=5, flip_y=0.1, random_state=0)
    plain = SVC(tol=1e-8, shrinking=False).fit(rows, y)
    shrunk = SVC(tol=1e-8, cache_size=1e-3).fit(rows, y)
    np.testing.assert_allclose(shrunk.decision_function(rows), plain.decision_function(rows), atol=1e-6)
    assert shrunk.kkt_residual_ <= 1e-8


def test_kernels_functions_matrices_and_names_agree():
    expected = SVC(gamma=0.5, tol=1e-8).fit(X, Y).decision_function(X)
    K = RBF(1.0)(X)
    for kernel, rows in ((RBF(1.0), X), (lambda A, B: RBF(1.0)(A, B), X), ("precomputed", K)):
        found = SVC(kernel=kernel, tol=1e-8).fit(rows, Y).decision_function(rows)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    sparse = SVC(gamma=0.5, tol=1e-8).fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), expected, atol=1e-6)
    tensors = SVC(gamma=0.5, tol=1e-8).fit(torch.asarray(X), Y).decision_function(torch.asarray(X))
    np.testing.assert_allclose(tensors.numpy(), expected, atol=1e-6)


def test_limits_end_honestly():
    rows, y = make_classification(500, 10, flip_y=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"violated by .*iteration limit"):
        model = SVC(C=100.0, max_iter=20).fit(rows, y)
    assert (model.fit_status_, model.n_iter_[0]) == (1, 20)
    assert model.kkt_residual_ > model.tol
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        SVC(C=100.0, time_limit=1e-9).fit(rows, y)


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="at least two classes"):
        SVC().fit(X, np.zeros(150))
    with pytest.raises(InputError, match="square kernel matrix"):
        SVC(kernel="precomputed").fit(X, Y)
    with pytest.raises(InputError, match="NaN or infinity for row"):
        SVC(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, Y)
    with pytest.raises(InputError, match=r"returned shape \(1, 1\)"):
        SVC(kernel=lambda A, B: np.ones((1, 1))).fit(X, Y)
    with pytest.raises(ValueError, match="'C' parameter"):
        SVC(C=0.0).fit(X, Y)


def test_a_kernel_that_is_not_positive_semidefinite_still_ends():
    """Its dual is not convex, so that a stationary point is all that can be found."""
    model = SVC(kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(TWO, LABELS)
    assert np.isfinite(model.decision_function(TWO)).all()


def test_linear_kernels_have_weights():
    model = SVC(kernel=Linear(), tol=1e-8).fit(TWO, LABELS)
    np.testing.assert_allclose(TWO @ model.coef_[0] + model.intercept_[0], model.decision_function(TWO), atol=1e-9)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = SVC().fit(TWO, LABELS).coef_


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated")
@pytest.mark.parametrize("strategy", ["ovo", "ovr"])
def test_probabilities_are_calibrated(strategy):
    """On rows held out they are as good as scikit-learn's, which come from other folds."""
    rows, y = make_classification(900, 6, n_informative=4, n_classes=3, flip_y=0.15, random_state=1)
    train, test = slice(0, 500), slice(500, None)
    ours = SVC(probability=True, random_state=0, strategy=strategy).fit(rows[train], y[train])
    theirs = svm.SVC(probability=True, random_state=0).fit(rows[train], y[train])
    found = ours.predict_proba(rows[test])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(found), ours.predict_log_proba(rows[test]))
    assert log_loss(y[test], found) < 1.05 * log_loss(y[test], theirs.predict_proba(rows[test]))


def test_a_sigmoid_that_is_known_is_found():
    rng = np.random.default_rng(0)
    f = rng.normal(size=40_000)
    positive = rng.random(40_000) < 1.0 / (1.0 + np.exp(-2.0 * f + 0.5))
    np.testing.assert_allclose(sigmoid(f, positive, np.ones(40_000)), (-2.0, 0.5), atol=0.06)


def test_pairs_that_agree_give_the_probabilities_they_came_from():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 10)
    r = np.stack([p[:, i] / (p[:, i] + p[:, j]) for i, j in combinations(range(4), 2)], axis=1)
    np.testing.assert_allclose(coupled(r, 4), p, atol=1e-10)


def test_probabilities_have_to_be_asked_for():
    assert not hasattr(SVC(), "predict_proba")
    with pytest.warns(FutureWarning, match="`probability` parameter was deprecated"):
        model = SVC(probability=True).fit(TWO, LABELS)
    assert hasattr(model, "predict_proba")
