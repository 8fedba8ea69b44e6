"""The multi-task lasso and elastic net: optimality conditions, closed forms, identities and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.linear_model as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from didact import Batches
from didact.core.errors import InputError
from didact.engines.linear.coordinate_descent_loops import descend_blocks
from didact.linear_model import (
    Lasso,
    LinearRegression,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
    Ridge,
)


def make(n, p, T=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal(p)
    Y = X[:, :5] @ rng.standard_normal((5, T)) + rng.standard_normal((n, T)) + np.arange(T)
    return X, Y, rng.integers(0, 4, n).astype(float)


def violation(model, X, Y, w, l1, l2):
    """Largest violation of the optimality conditions, and of the balance of the residuals."""
    X = X.toarray() if sp.issparse(X) else X
    B, R = model.coef_.T, w[:, None] * (Y - X @ model.coef_.T - model.intercept_) / w.sum()
    inner, length = X.T @ R - l2 * B, np.linalg.norm(B, axis=1)
    used = length > 0
    moved = np.linalg.norm(inner[used] - l1 * B[used] / length[used][:, None], axis=1)
    idle = np.maximum(np.linalg.norm(inner[~used], axis=1) - l1, 0.0)
    return max(moved.max(initial=0.0), idle.max(initial=0.0)), np.abs(R.sum(axis=0)).max()


@pytest.mark.parametrize("shape", [(300, 20), (60, 200), (80, 700)])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("sparse", [False, True])
def test_optimality_conditions(shape, ratio, sparse):
    X, Y, w = make(*shape)
    X = sp.csr_array(np.where(np.abs(X) > 1, X, 0.0)) if sparse else X
    model = MultiTaskElasticNet(alpha=0.2, l1_ratio=ratio, tol=1e-13).fit(X, Y, w)
    wrong, balance = violation(model, X, Y, w, 0.2 * ratio, 0.2 * (1 - ratio))
    assert wrong < 1e-5
    assert balance < 1e-8
    used = model.coef_.any(axis=0)
    assert 0 < used.sum() < shape[1] + (shape[1] == 20)
    np.testing.assert_array_equal(model.coef_[:, used] != 0, True)  # all targets use the same features
    assert model.sparse_coef_.shape == (3, shape[1])


def test_orthogonal_design_shortens_every_row():
    X = np.linalg.qr(np.random.default_rng(1).standard_normal((50, 4)))[0] * np.sqrt(50)
    B = np.array([[3.0, 4.0], [0.06, 0.08], [0.0, -1.0], [0.3, -0.4]])
    model = MultiTaskLasso(alpha=0.2, fit_intercept=False, tol=1e-14).fit(X, X @ B)
    lengths = np.linalg.norm(B, axis=1, keepdims=True)
    np.testing.assert_allclose(model.coef_.T, B * np.maximum(0, 1 - 0.2 / lengths), atol=1e-10)


@pytest.mark.parametrize("shape", [(120, 15), (60, 150)])
@pytest.mark.parametrize("ratio", [1.0, 0.7])
def test_equals_scikit_learn(shape, ratio):
    X, Y, _ = make(*shape)
    ours = MultiTaskElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-13).fit(X, Y)
    theirs = reference.MultiTaskElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-13, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


def test_duality_gap_bounds_the_distance_to_the_optimum():
    X, Y, _ = make(60, 300)
    best = MultiTaskLasso(alpha=0.2, tol=1e-14).fit(X, Y)

    def value(m):
        return 0.5 * np.sum((Y - m.predict(X)) ** 2) / 60 + 0.2 * np.linalg.norm(m.coef_, axis=0).sum()

    for tol in (1e-1, 1e-2, 1e-4):
        rough = MultiTaskLasso(alpha=0.2, tol=tol).fit(X, Y)
        assert -1e-12 <= value(rough) - value(best) <= rough.dual_gap_ + 1e-12
        assert rough.dual_gap_ <= tol * np.sum((Y - Y.mean(axis=0)) ** 2) / 60


@pytest.mark.parametrize("shape", [(100, 12), (30, 40)])
def test_identities_between_models(shape):
    X, Y, w = make(*shape)
    w = w + 1
    one = MultiTaskLasso(alpha=0.1, tol=1e-13).fit(X, Y[:, :1], w)
    np.testing.assert_allclose(one.coef_[0], Lasso(alpha=0.1, tol=1e-13).fit(X, Y[:, 0], w).coef_, atol=1e-7)
    smooth = MultiTaskElasticNet(alpha=0.1, l1_ratio=0.0).fit(X, Y, w)
    np.testing.assert_allclose(smooth.coef_, Ridge(alpha=0.1 * w.sum()).fit(X, Y, w).coef_, atol=1e-8)
    free, plain = MultiTaskLasso(alpha=0.0).fit(X, Y, w), LinearRegression().fit(X, Y, w)
    np.testing.assert_allclose(free.predict(X), plain.predict(X), atol=1e-7)
    net, lasso = MultiTaskElasticNet(alpha=0.1, l1_ratio=1.0), MultiTaskLasso(alpha=0.1)
    np.testing.assert_array_equal(net.fit(X, Y, w).coef_, lasso.fit(X, Y, w).coef_)
    turned = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]  # lengths of rows do not change
    rotated = MultiTaskLasso(alpha=0.1, tol=1e-13).fit(X, Y @ turned, w)
    np.testing.assert_allclose(rotated.coef_, turned.T @ lasso.set_params(tol=1e-13).fit(X, Y, w).coef_, atol=1e-6)


def test_batches_repeated_rows_and_a_warm_start_give_the_same_answer():
    X, Y, w = make(200, 30)
    model = MultiTaskLasso(alpha=0.1, tol=1e-13, warm_start=True).fit(X, Y)
    batches = Batches(lambda: ((X[a : a + 70], Y[a : a + 70]) for a in range(0, 200, 70)))
    np.testing.assert_allclose(MultiTaskLasso(alpha=0.1, tol=1e-13).fit(batches).coef_, model.coef_, atol=1e-8)
    before = model.coef_
    np.testing.assert_allclose(model.fit(X, Y).coef_, before, atol=1e-8)
    times = w.astype(int)
    repeated = MultiTaskLasso(alpha=0.1, tol=1e-13).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(MultiTaskLasso(alpha=0.1, tol=1e-13).fit(X, Y, w).coef_, repeated.coef_, atol=1e-8)


@pytest.mark.parametrize("ratios", [1.0, [0.5, 1.0]])
def test_cross_validated_choice_is_scikit_learns(ratios):
    X, Y, _ = make(80, 30)
    ours = MultiTaskElasticNetCV(l1_ratio=ratios, alphas=20, tol=1e-8).fit(X, Y)
    theirs = reference.MultiTaskElasticNetCV(l1_ratio=ratios, alphas=20, tol=1e-9, max_iter=100_000).fit(X, Y)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    assert ours.l1_ratio_ == theirs.l1_ratio_
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    if ratios == 1.0:
        np.testing.assert_array_equal(MultiTaskLassoCV(alphas=20, tol=1e-8).fit(X, Y).coef_, ours.coef_)


@pytest.mark.parametrize("model", [MultiTaskLasso(), MultiTaskElasticNetCV()])
def test_one_column_is_refused_in_a_sentence(model):
    X, Y, _ = make(30, 6)
    with pytest.raises(ValueError, match="several targets"):
        model.fit(X, Y[:, 0])
    with pytest.raises(InputError, match="several targets need a two-dimensional y"):
        model.fit(X, pd.Series(list(Y)))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**20), st.floats(0, 3))
def test_compiled_sweeps_equal_the_slow_twin(p, T, seed, l1):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((p + 2, p))
    H, U, C = A.T @ A, rng.standard_normal((p, T)), rng.standard_normal((p, T))
    Q, slow = H @ U - C, U.copy()
    for _ in range(3):
        for j in range(p):
            v = slow[j] - (H[j] @ slow - C[j]) / H[j, j]
            slow[j] = v * max(0.0, 1 - l1 / (H[j, j] * np.linalg.norm(v)))
    descend_blocks(H, U, Q, l1, 3)
    np.testing.assert_allclose(U, slow, atol=1e-8)
    np.testing.assert_allclose(Q, H @ U - C, atol=1e-8)
