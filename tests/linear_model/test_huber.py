"""Huber's regression: optimality, differences, scikit-learn, least squares as a limit, outliers, exact fits."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._huber import _huber_loss_and_gradient as their_objective

from didact.core.rows import MemoryRows
from didact.linear_model import HuberRegressor, LinearRegression, Ridge
from didact.linear_model.huber import Objective, minimise


def problem(n=200, p=4, seed=0, every=7, far=50.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 1.0
    coef = rng.normal(size=p)
    y = X @ coef + 2.0 + 0.5 * rng.normal(size=n)
    y[::every] += far
    return X, y, coef


def vector(model):
    return np.concatenate([model.coef_, [model.intercept_] if model.fit_intercept else [], [model.scale_]])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1e-4, 3.0])
def test_the_gradient_of_scikit_learns_objective_vanishes(fit_intercept, weighted, alpha):
    X, y, _ = problem()
    w = np.random.default_rng(1).uniform(0, 2, len(y)) if weighted else np.ones(len(y))
    model = HuberRegressor(alpha=alpha, fit_intercept=fit_intercept, tol=1e-10, epsilon=1.5).fit(X, y, w)
    value, gradient = their_objective(vector(model), X, y, 1.5, alpha, w)
    assert np.abs(gradient).max() / w.sum() < 1e-9
    theirs = peer.HuberRegressor(alpha=alpha, fit_intercept=fit_intercept, tol=1e-10, epsilon=1.5, max_iter=5000)
    theirs.fit(X, y, w)
    assert value <= their_objective(vector(theirs), X, y, 1.5, alpha, w)[0] * (1 + 1e-12)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_array_equal(model.outliers_, theirs.outliers_)


def test_it_agrees_with_scikit_learn_where_that_converges():
    """Theirs stops at a small relative decrease; the units of y are chosen so that this comes late."""
    X, y, _ = problem(far=5.0)
    ours = HuberRegressor(tol=1e-10).fit(X, y)
    theirs = peer.HuberRegressor(tol=1e-10, max_iter=10_000)
    theirs.fit(X, y)
    for _ in range(20):  # again from where it stopped
        theirs.set_params(warm_start=True).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose([ours.intercept_, ours.scale_], [theirs.intercept_, theirs.scale_], atol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_gradient_and_curvature_are_differences(kind):
    X, y, _ = problem(n=50)
    w = np.random.default_rng(0).uniform(0.5, 2.0, 50)
    objective = Objective(
        rows=MemoryRows(kind(X), y, w), epsilon=1.35, alpha=0.1, weight=float(w.sum()), fit_intercept=True, exact=1e-10
    )
    x = np.array([0.3, -0.2, 0.5, 0.1, 2.0, 1.7])
    _, gradient, hessian = objective.value_gradient(x, 0.0)
    step = 1e-6
    for j in range(6):
        e = step * (np.arange(6) == j)
        up, down = objective.value_gradient(x + e), objective.value_gradient(x - e)
        np.testing.assert_allclose(gradient[j], (up[0] - down[0]) / (2 * step), atol=1e-7)
        np.testing.assert_allclose(hessian[j], (up[1] - down[1]) / (2 * step), atol=1e-6)
    bent = objective.value_gradient(x, 1.0)[2]
    assert np.linalg.eigvalsh(bent - hessian).min() > -1e-12, "reweighting bends rows outside upwards"


def test_wide_epsilon_is_ridge_regression():
    X, y, _ = problem(far=0.0)
    model = HuberRegressor(epsilon=100.0, alpha=0.0, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-8)
    np.testing.assert_allclose(model.scale_, np.sqrt(np.mean((y - model.predict(X)) ** 2)), rtol=1e-8)
    # At the optimal scale the loss r²/σ + α‖w‖² is a ridge regression with penalty ασ.
    model = HuberRegressor(epsilon=100.0, alpha=5.0, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, Ridge(alpha=5.0 * model.scale_).fit(X, y).coef_, rtol=1e-8)


def test_planted_outliers_do_not_spoil_it():
    X, y, coef = problem(n=1000, far=1e6)
    model = HuberRegressor().fit(X, y)
    np.testing.assert_allclose(model.coef_, coef, atol=0.08)
    assert model.outliers_[::7].all()
    assert model.outliers_.mean() < 0.4
    assert np.abs(LinearRegression().fit(X, y).coef_ - coef).max() > 1000


def test_units_of_y_do_not_matter():
    X, y, _ = problem()
    model = HuberRegressor(alpha=0.0).fit(X, y)
    for unit in (1e-8, 1e8):
        other = HuberRegressor(alpha=0.0).fit(X, unit * y)
        np.testing.assert_allclose(other.coef_, unit * model.coef_, rtol=1e-6)
        np.testing.assert_allclose(other.scale_, unit * model.scale_, rtol=1e-6)


def test_many_features_go_by_lbfgs(monkeypatch):
    X, y, _ = problem()
    expected = HuberRegressor(tol=1e-10).fit(X, y)
    monkeypatch.setattr("didact.linear_model.huber.NEWTON_FEATURES", 2)
    model = HuberRegressor(tol=1e-8, max_iter=2000).fit(X, y)
    assert model.n_iter_ > expected.n_iter_
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-5)
    np.testing.assert_allclose(model.scale_, expected.scale_, rtol=1e-5)


@pytest.mark.parametrize("shape", [(15, 30), (30, 30), (50, 3)])
def test_exact_fits_end_with_a_scale_of_zero(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = X @ rng.normal(size=shape[1]) + 1.0
    model = HuberRegressor(alpha=0.0).fit(X, y)
    assert 0 < model.scale_ < 1e-4 * y.std()
    np.testing.assert_allclose(model.predict(X), y, atol=1e-4)
    y[:2] += 100.0  # exact but for two rows
    if shape == (50, 3):
        model = HuberRegressor(alpha=0.0).fit(X, y)
        np.testing.assert_allclose(model.predict(X[2:]), y[2:], atol=1e-6)
        assert model.outliers_[:2].all()


def test_constant_targets():
    X, _, _ = problem()
    model = HuberRegressor().fit(X, np.full(len(X), 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0)
    assert not model.outliers_.any()


def test_warm_start_is_at_the_solution():
    X, y, _ = problem()
    model = HuberRegressor(warm_start=True, tol=1e-8).fit(X, y)
    assert model.n_iter_ > 2
    again = model.fit(X, y)
    assert again.n_iter_ == 1
    model.fit(X[:, :2], y)
    assert model.coef_.shape == (2,)


def test_the_iteration_limit_warns():
    X, y, _ = problem()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        HuberRegressor(max_iter=2).fit(X, y)


def test_no_step_raises_the_objective():
    X, y, _ = problem(n=40, p=20, every=3)
    objective, start = HuberRegressor()._objective(MemoryRows(X, y, None))
    result = minimise(objective, start, 1e-8, 200)
    assert (np.diff(result.history) <= 1e-14 * np.abs(result.history[0])).all()
