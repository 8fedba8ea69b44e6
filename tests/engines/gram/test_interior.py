"""An interior point where steps on pairs creep: large C, columns of unequal size, Gram matrices of low rank."""

import time

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from didact.engines.gram import rows
from didact.engines.gram.rows import GivenGram, kernel_diagonal, low_rank_features
from didact.engines.gram.smo import Dual, Search, coefficients, interior_start, leap, solve_dual, violation
from didact.kernels import RBF, Linear, Polynomial
from didact.svm import SVC, SVR

CELLS, LABEL = load_breast_cancer(return_X_y=True)
PATIENTS, VALUE = load_diabetes(return_X_y=True, scaled=False)
X = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 50.0, 1e-2]
NEVER = np.inf


def classes(C=1e4, sign=None):
    sign = np.where(LABEL == 1, 1.0, -1.0) if sign is None else sign
    n = len(sign)
    return Dual(row=np.arange(n), sign=sign, linear=-np.ones(n), bound=np.full(n, C), start=np.zeros(n))


def hinge_gap(model, X, sign):
    """The objective of the primal less that of the dual, as a share of it, from decision values and weights alone."""
    w, values = model.coef_[0], sign * model.decision_function(X)
    primal = 0.5 * w @ w + model.C * np.maximum(1.0 - values, 0.0).sum()
    return (primal - (np.abs(model.dual_coef_).sum() - 0.5 * w @ w)) / primal


def test_a_classifier_on_columns_of_unequal_size_is_optimal():
    """Without an interior point: a violation of 9,000, and a warning."""
    model = SVC(kernel="linear", C=1e4).fit(CELLS, LABEL)
    assert model.fit_status_ == 0
    assert model.kkt_residual_ <= 1e-3
    assert 0.0 <= hinge_gap(model, CELLS, np.where(LABEL == 1, 1.0, -1.0)) < 1e-5


def test_a_regression_on_columns_of_unequal_size_is_optimal():
    """Two variables for each row; without an interior point a violation of 5,000."""
    C, epsilon = 1e4, 0.1
    model = SVR(kernel="linear", C=C, epsilon=epsilon).fit(PATIENTS, VALUE)
    assert model.kkt_residual_ <= 1e-3
    w, beta = model.coef_[0], model.dual_coef_[0]
    primal = 0.5 * w @ w + C * np.maximum(np.abs(VALUE - model.predict(PATIENTS)) - epsilon, 0.0).sum()
    dual = VALUE[model.support_] @ beta - epsilon * np.abs(beta).sum() - 0.5 * w @ w
    assert abs(primal - dual) < 1e-6 * primal


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 1e-3, 1.0), RBF(20.0)], ids=repr)
@pytest.mark.parametrize("kind", ["kernel", "function", "given"])
def test_the_leap_ends_at_the_optimum_of_any_kernel(kernel, kind):
    K = kernel(X)
    seen = {"kernel": kernel, "function": lambda A, B: kernel.gram(A, B), "given": GivenGram(K)}[kind]
    sign = np.where(X[:, 0] + 0.02 * X[:, 1] + 0.5 * np.sin(X[:, 1]) > 0, 1.0, -1.0)
    dual = classes(1e4, sign)
    found = leap(seen, K if kind == "given" else X, dual, Search())
    gap, _ = violation(dual, found.alpha, K @ coefficients(dual, found.alpha, len(X)))
    assert gap <= 1e-3
    assert ((found.alpha >= 0) & (found.alpha <= dual.bound)).all()
    assert abs(sign @ found.alpha) <= 1e-12 * found.alpha.sum()


def test_a_sum_that_is_not_zero_stays():
    """One-class machines: Σα = νn, to which centred features add a linear term; rows of weight zero stay out."""
    n = len(X)
    bound = np.where(np.arange(n) % 7 == 0, 0.0, 1.0)
    start = np.where(bound > 0, 0.3, 0.0)
    dual = Dual(row=np.arange(n), sign=np.ones(n), linear=np.zeros(n), bound=bound, start=start)
    kernel = RBF(3.0)
    found = leap(kernel, X, dual, Search(tol=1e-6))
    pairs = solve_dual(kernel, X, dual, Search(tol=1e-9))
    assert found.gap <= 1e-6
    assert found.alpha.sum() == pytest.approx(start.sum(), rel=1e-12)
    assert not found.alpha[bound == 0].any()
    np.testing.assert_allclose(found.u - found.rho, pairs.u - pairs.rho, atol=1e-6)


def test_features_multiply_to_the_gram_matrix():
    K = Linear()(CELLS)
    found = low_rank_features(Linear(), CELLS, len(CELLS), NEVER)
    assert len(found) == CELLS.shape[1]
    np.testing.assert_allclose(found.T @ found, K, atol=1e-12 * K.max())
    np.testing.assert_allclose(kernel_diagonal(lambda A, B: A @ B.T, CELLS), np.diag(K))


def test_a_high_rank_and_a_deadline_are_no_leap(monkeypatch):
    assert interior_start(Linear(), CELLS, classes(), time.monotonic()) is None
    monkeypatch.setattr(rows, "MOST_RANK", 20)
    assert low_rank_features(RBF(0.1), X, len(X), NEVER) is None
    assert leap(RBF(0.1), X, classes(1.0, np.sign(X[:, 0])), Search()) is None


def test_limits_hold_while_pairs_creep():
    found = solve_dual(Linear(), CELLS, classes(), Search(max_iter=1000))
    assert found.status == "iteration limit"
