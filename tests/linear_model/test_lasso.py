"""Lasso and elastic net: optimality conditions, closed forms, identities and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from didact import Batches
from didact.engines.linear.coordinate_descent_loops import descend, descend_sparse
from didact.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV, Ridge, enet_path, lasso_path


def make(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal(p)
    y = X[:, :5] @ rng.standard_normal(5) + rng.standard_normal(n) + 3.0
    return X, y, rng.integers(0, 4, n).astype(float)


def violation(model, X, y, w, l1, l2, positive=False):
    """Largest violation of the optimality conditions of the penalised mean square."""
    X = X.toarray() if sp.issparse(X) else X
    residual = y - X @ model.coef_ - model.intercept_
    gradient = -(X.T @ (w * residual)) / w.sum() + l2 * model.coef_
    at_zero = np.maximum((-gradient if positive else np.abs(gradient)) - l1, 0.0)
    moved = np.abs(gradient + l1 * np.sign(model.coef_))
    return np.where(model.coef_ != 0, moved, at_zero).max(), abs(w @ residual) / w.sum()


@pytest.mark.parametrize("shape", [(300, 20), (60, 200), (80, 700)])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_optimality_conditions(shape, ratio, sparse, positive):
    X, y, w = make(*shape)
    X = sp.csr_array(np.where(np.abs(X) > 1, X, 0.0)) if sparse else X
    model = ElasticNet(alpha=0.05, l1_ratio=ratio, tol=1e-13, positive=positive).fit(X, y, w)
    wrong, balance = violation(model, X, y, w, 0.05 * ratio, 0.05 * (1 - ratio), positive)
    assert wrong < 1e-5
    assert balance < 1e-8
    assert not positive or (model.coef_ >= 0).all()
    assert 0 < np.count_nonzero(model.coef_) < X.shape[1] + (not shape[1] > 20)


def test_orthogonal_design_is_soft_thresholding():
    X = np.linalg.qr(np.random.default_rng(1).standard_normal((50, 8)))[0] * np.sqrt(50)
    b = np.array([3.0, -2.0, 0.5, 0.05, -0.05, 0.0, 1.0, -0.3])
    model = Lasso(alpha=0.2, fit_intercept=False, tol=1e-14).fit(X, X @ b)
    np.testing.assert_allclose(model.coef_, np.sign(b) * np.maximum(np.abs(b) - 0.2, 0), atol=1e-10)


def test_duality_gap_bounds_the_distance_to_the_optimum():
    X, y, _ = make(60, 300)
    best = Lasso(alpha=0.1, tol=1e-14).fit(X, y)

    def value(m):
        return 0.5 * np.mean((y - m.predict(X)) ** 2) + 0.1 * np.abs(m.coef_).sum()

    for tol in (1e-1, 1e-2, 1e-4):
        rough = Lasso(alpha=0.1, tol=tol).fit(X, y)
        assert -1e-12 <= value(rough) - value(best) <= rough.dual_gap_ + 1e-12
        assert rough.dual_gap_ <= tol * np.mean((y - y.mean()) ** 2)


def test_identities_between_models():
    X, y, w = make(100, 12)
    lasso = Lasso(alpha=0.1, tol=1e-12).fit(X, y, w)
    net = ElasticNet(alpha=0.1, l1_ratio=1.0, tol=1e-12).fit(X, y, w)
    np.testing.assert_array_equal(lasso.coef_, net.coef_)
    ridge = Ridge(alpha=0.1 * w.sum()).fit(X, y, w)
    smooth = ElasticNet(alpha=0.1, l1_ratio=0.0, tol=1e-14).fit(X, y, w)
    np.testing.assert_allclose(smooth.coef_, ridge.coef_, rtol=1e-6)
    Y = np.column_stack([y, -2 * y])
    both = Lasso(alpha=0.1, tol=1e-12).fit(X, Y, w)
    np.testing.assert_allclose(both.coef_[0], lasso.coef_, atol=1e-9)
    assert both.dual_gap_.shape == (2,)
    assert both.sparse_coef_.shape == (2, 12)


@pytest.mark.parametrize("shape", [(120, 15), (60, 150)])
def test_path_equals_scikit_learn_and_single_fits(shape):
    X, y, _ = make(*shape)
    X, y = X - X.mean(axis=0), y - y.mean()
    path = lasso_path(X, y, alphas=15, tol=1e-12)
    alphas, coefs, _ = reference.lasso_path(X, y, alphas=15, tol=1e-13, max_iter=100_000)
    np.testing.assert_allclose(path.alphas, alphas)
    np.testing.assert_allclose(path.coefs, coefs, atol=1e-6)
    assert not path.coefs[:, 0].any()
    entered = np.flatnonzero(path.coefs[:, np.flatnonzero(path.coefs.any(axis=0))[0]])
    assert np.argmax(np.abs(X.T @ y)) in entered
    assert set(path.order[: len(entered)]) == set(entered)
    assert set(path.order) == set(np.flatnonzero(path.coefs.any(axis=1)))
    one = Lasso(alpha=path.alphas[7], fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(path.coefs[:, 7], one.coef_, atol=1e-7)


def test_path_plot_names_the_first_features():
    X, y, _ = make(60, 10)
    ax = enet_path(X - X.mean(axis=0), y - y.mean(), alphas=10).plot(names=[f"f{j}" for j in range(10)])
    first = enet_path(X - X.mean(axis=0), y - y.mean(), alphas=10).order[0]
    assert ax.get_legend().get_texts()[0].get_text() == f"f{first}"


@pytest.mark.parametrize("shape", [(150, 12), (60, 120)])
def test_cross_validation_equals_refitting_each_fold(shape):
    X, y, w = make(*shape)
    w = w + 1
    folds = [(np.arange(40, len(y)), np.arange(40)), (np.arange(len(y) - 30), np.arange(len(y) - 30, len(y)))]
    model = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=[0.3, 0.1, 0.03], cv=folds, tol=1e-11).fit(X, y, w)
    for i, ratio in enumerate([0.5, 1.0]):
        for j, alpha in enumerate([0.3, 0.1, 0.03]):
            for k, (train, test) in enumerate(folds):
                one = ElasticNet(alpha=alpha, l1_ratio=ratio, tol=1e-11).fit(X[train], y[train], w[train])
                error = np.average((y[test] - one.predict(X[test])) ** 2, weights=w[test])
                np.testing.assert_allclose(model.mse_path_[i, j, k], error, rtol=1e-5)
    mean = model.mse_path_.mean(axis=-1)
    i, j = np.unravel_index(mean.argmin(), mean.shape)
    assert (model.l1_ratio_, model.alpha_) == ([0.5, 1.0][i], [0.3, 0.1, 0.03][j])
    best = ElasticNet(alpha=model.alpha_, l1_ratio=model.l1_ratio_, tol=1e-11).fit(X, y, w)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-6)


def test_cross_validated_choice_is_scikit_learns():
    X, y, _ = make(200, 30)
    ours, theirs = LassoCV(tol=1e-8).fit(X, y), reference.LassoCV(tol=1e-10, max_iter=100_000).fit(X, y)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)


def test_batches_give_the_same_answer_through_cross_products():
    X, y, _ = make(200, 30)
    batches = Batches(lambda: ((X[a : a + 70], y[a : a + 70]) for a in range(0, 200, 70)))
    np.testing.assert_allclose(
        Lasso(alpha=0.05, tol=1e-12).fit(batches).coef_, Lasso(alpha=0.05, tol=1e-12).fit(X, y).coef_, atol=1e-9
    )


def test_bad_input_is_refused_in_a_sentence():
    X, y, _ = make(20, 5)
    with pytest.raises(ValueError, match="'alpha' parameter of Lasso"):
        Lasso(alpha=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="'selection' parameter of Lasso"):
        Lasso(selection="some").fit(X, y)
    with pytest.raises(ValueError, match="give the list of alphas"):
        enet_path(X, y, l1_ratio=0.0)
    X[:, 1] = 5.0  # a constant column has no coefficient
    assert Lasso(alpha=0.01).fit(X, y).coef_[1] == 0.0


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**20), st.floats(0, 1), st.booleans())
def test_compiled_sweeps_equal_the_slow_twin(p, seed, l1, positive):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((p + 2, p))
    H, u = A.T @ A, rng.standard_normal(p)
    c = rng.standard_normal(p)
    q = H @ u - c
    slow = u.copy()
    for _ in range(3):
        for j in range(p):
            t = slow[j] - (H[j] @ slow - c[j]) / H[j, j]
            slow[j] = np.sign(t) * max(abs(t) - l1 / H[j, j], 0.0)
            slow[j] = max(slow[j], 0.0) if positive else slow[j]
    descend(H, u, q, np.full(p, l1), positive, -1.0, 3)
    np.testing.assert_allclose(u, slow, atol=1e-8)
    np.testing.assert_allclose(q, H @ u - c, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**20), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_compiled_sparse_sweeps_equal_the_slow_twin(p, seed, l1, l2, positive):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((12, p)) < 0.5, rng.standard_normal((12, p)), 0.0)
    w = rng.random(12)
    w /= w.sum()
    mean = w @ X
    Z, y = X - mean, rng.standard_normal(12)
    y -= w @ y
    square, slow = w @ Z**2, np.zeros(p)
    for _ in range(2):
        for j in range(p):
            if square[j] + l2 > 0:
                t = slow[j] + (Z[:, j] @ (w * (y - Z @ slow)) - l2 * slow[j]) / (square[j] + l2)
                bound = l1 / (square[j] + l2)
                slow[j] = np.sign(t) * max(abs(t) - bound, 0.0)
                slow[j] = max(slow[j], 0.0) if positive else slow[j]
    A, u, r = sp.csc_array(X), np.zeros(p), y.copy()
    shift = descend_sparse(A.data, A.indices, A.indptr, mean, square, w, u, r, 0.0, l1, l2, positive, 2)
    np.testing.assert_allclose(u, slow, atol=1e-9)
    np.testing.assert_allclose(r - shift, y - Z @ u, atol=1e-9)


# ------------------------------------------------------------------------------------------------ no penalty, targets


def unpenalised_gradient(model, X, Y, w):
    """Xᵀ W r / Σ w, column by target, and the weighted mean of the residuals."""
    X = X.toarray() if sp.issparse(X) else X
    w = np.ones(len(X)) if w is None else w
    residual = (Y - model.predict(X)).reshape(len(X), -1)
    return X.T @ (w[:, None] * residual) / w.sum(), w @ residual / w.sum()


@pytest.mark.parametrize("shape", [(30, 10), (30, 20), (30, 80)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
def test_without_a_penalty_it_is_least_squares(shape, sparse, weighted, outputs):
    """Fewer than four rows a column, which once gave zeros: residuals must be orthogonal to all columns."""
    X, _, w = make(*shape)
    X, w = np.where(np.abs(X) > 1, X, 0.0), w + 1 if weighted else None
    Y = X[:, :3] @ np.random.default_rng(1).standard_normal((3, outputs)) + np.cos(np.arange(30.0))[:, None]
    Y = Y[:, 0] if outputs == 1 else Y
    data = sp.csr_array(X) if sparse else X
    for model in (Lasso(alpha=0), ElasticNet(alpha=0, l1_ratio=0.3)):
        model.fit(data, Y, w)
        gradient, balance = unpenalised_gradient(model, X, Y, w)
        assert np.abs(gradient).max() < 1e-9 * np.abs(Y).max()
        assert np.abs(balance).max() < 1e-9
        assert np.max(model.dual_gap_) < 1e-9
    coefs = enet_path(data, Y, alphas=[0.1, 0.0], sample_weight=w, l1_ratio=0.3).coefs[..., -1]
    weights = np.ones(30) if w is None else w
    gradient = X.T @ (weights[:, None] * (Y.reshape(30, -1) - X @ np.atleast_2d(coefs).reshape(outputs, -1).T))
    assert np.abs(gradient).max() < 1e-7 * np.abs(Y).max()


@pytest.mark.parametrize("shape", [(30, 10), (30, 80)])
@pytest.mark.parametrize("sparse", [False, True])
def test_without_a_penalty_coefficients_can_be_kept_from_being_negative(shape, sparse):
    """KKT: no column has a positive correlation with the residual, and those in use have none."""
    X, y, w = make(*shape)
    X = np.where(np.abs(X) > 1, X, 0.0) * np.geomspace(1e-3, 1e3, shape[1])  # columns of all sizes
    model = Lasso(alpha=0, positive=True, tol=1e-13).fit(sp.csr_array(X) if sparse else X, y, w)
    gradient = unpenalised_gradient(model, X, y, w)[0][:, 0] / np.abs(X).max(axis=0)
    assert (model.coef_ >= 0).all()
    assert model.coef_.any()
    assert gradient.max() < 1e-5
    assert np.abs(gradient[model.coef_ > 0]).max() < 1e-5


def test_wide_tables_without_an_l1_part_need_no_matrix_of_columns_by_columns():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 30_000)), rng.standard_normal(5)
    model = ElasticNet(alpha=0.1, l1_ratio=0.0).fit(X, y)
    gradient = X.T @ (y - model.predict(X)) / 5 - 0.1 * model.coef_
    assert np.abs(gradient).max() < 1e-9


@pytest.mark.parametrize("model", [LassoCV(alphas=8), ElasticNetCV(alphas=8, l1_ratio=[0.5, 1.0])])
def test_cross_validated_targets_share_the_penalty_of_the_smallest_mean_error(model):
    X, y, w = make(90, 12)
    Y = np.column_stack([y, X[:, 3] - 2 * y, np.cos(y)])
    model.set_params(tol=1e-10).fit(X, Y, w + 1)
    ratios = model.get_params().get("l1_ratio", [1.0])
    alone = [
        type(model)(**{**model.get_params(), "alphas": a}).fit(X, t, w + 1)
        for t in Y.T
        for a in [np.unique(model.alphas_)]
    ]
    if len(ratios) == 1:
        np.testing.assert_allclose(model.mse_path_, np.mean([m.mse_path_ for m in alone], axis=0), rtol=1e-5)
    errors = model.mse_path_.reshape(len(ratios), 8, -1).mean(axis=-1)
    i, j = np.unravel_index(errors.argmin(), errors.shape)
    assert model.l1_ratio_ == ratios[i]
    assert model.alpha_ == np.atleast_2d(model.alphas_)[i, j]
    each = ElasticNet(alpha=model.alpha_, l1_ratio=model.l1_ratio_, tol=1e-12).fit(X, Y, w + 1)
    np.testing.assert_allclose(model.coef_, each.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, each.intercept_, atol=1e-5)
    assert model.dual_gap_.shape == (3,)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(60, 4), (6, 10)])
@pytest.mark.parametrize("model", [Lasso(), LassoCV(alphas=3, cv=3), Lasso(alpha=0), ElasticNet(l1_ratio=0.0)])
def test_values_whose_squares_overflow_are_refused_in_a_sentence(sparse, shape, model):
    """Only least squares and ridge, which have no L1 part, may still find their way: to less than zeros would cost."""
    X, y = np.random.default_rng(0).standard_normal(shape), np.arange(float(shape[0]))
    cell = X.copy()
    cell[3, 1] = 1e160
    for data in (cell, 1e160 * X, np.where(X > 0, 1e308, -1e308)):
        rows = sp.csr_array(data) if sparse else data
        if model.get_params().get("alpha", 1) * model.get_params().get("l1_ratio", 1) > 0:
            with pytest.raises(ValueError, match=r"Input X in columns? \d.* has values up to"):
                model.fit(rows, y)
            continue
        try:
            residual = y - model.fit(rows, y).predict(rows)
        except ValueError:
            continue
        assert residual @ residual <= 2 * y @ y
