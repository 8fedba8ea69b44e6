"""Quantile regression: subgradient optimality, the same linear program by HiGHS, equivariance, degenerate data."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import QuantileRegressor as Reference

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.core.rows import MemoryRows
from didact.engines.constrained.quantile_program import lowest_constant, quantile_program
from didact.linear_model import QuantileRegressor


def problem(n=150, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 3.0
    return X, 2 * X[:, 0] - X[:, 1] + rng.standard_t(2, size=n), rng.integers(0, 4, size=n).astype(float)


def loss(X, y, w, quantile, alpha, model):
    r = y - X @ model.coef_ - model.intercept_
    return np.average(np.maximum(quantile * r, (quantile - 1) * r), weights=w) + alpha * np.abs(model.coef_).sum()


@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_subgradient_optimality(quantile, alpha, fit_intercept):
    """0 is in the subdifferential: the rows on the fit can balance all others and the penalty.

    Rows beside the fit have slopes τ or τ − 1; those on it, and coefficients at zero, any slope between, which must
    solve Zᵀ(wψ) = Wα·sign(b) within bounds.
    """
    X, y, w = problem()
    model = QuantileRegressor(quantile=quantile, alpha=alpha, fit_intercept=fit_intercept).fit(X, y, w)
    Z = np.column_stack([X, np.ones(len(y))]) if fit_intercept else X
    r = y - model.predict(X)
    on = (np.abs(r) < 1e-9) & (w > 0)
    zero = np.flatnonzero(model.coef_ == 0)
    assert on.sum() + len(zero) == Z.shape[1]
    psi = np.where(r > 0, quantile, quantile - 1.0)
    penalty = np.append(alpha * np.sign(model.coef_), np.zeros(Z.shape[1] - X.shape[1]))
    left = penalty - Z[~on].T @ (w * psi / w.sum())[~on]
    slopes = np.linalg.solve(np.column_stack([Z[on].T, -np.eye(Z.shape[1])[:, zero]]), left)
    inner, outer = slopes[: on.sum()] * w.sum() / w[on], slopes[on.sum() :]
    assert ((inner >= quantile - 1 - 1e-9) & (inner <= quantile + 1e-9)).all()
    assert (np.abs(outer) <= alpha + 1e-9).all()


@pytest.mark.parametrize("solver", ["interior-point", "highs", "highs-ipm", "revised simplex"])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_equals_scikit_learn(solver, alpha):
    X, y, w = problem()
    ours = QuantileRegressor(quantile=0.3, alpha=alpha, solver=solver).fit(X, y, w)
    theirs = Reference(quantile=0.3, alpha=alpha).fit(X, y, w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-9)
    sparse = QuantileRegressor(quantile=0.3, alpha=alpha, solver=solver).fit(sp.csr_array(X), y, w)
    np.testing.assert_allclose(sparse.coef_, ours.coef_, rtol=1e-8, atol=1e-10)


def integers(seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, size=(120, 4)).astype(float), rng.integers(0, 5, size=120).astype(float)


DEGENERATE = {
    "ties": lambda X, y: (X, y, None),
    "dependent columns": lambda X, y: (np.column_stack([X, X[:, 0], np.ones(len(X))]), y, None),
    "a constant target": lambda X, y: (X, np.full(len(X), 7.0), None),
    "an exact fit": lambda X, y: (X, X @ [1.0, 2.0, 3.0, 4.0] + 5.0, None),
    "one row": lambda X, y: (X[:1], y[:1], None),
    "one row of weight": lambda X, y: (X, y, (np.arange(len(y)) == 5) * 1.0),
    "more columns than rows": lambda X, y: (X.reshape(20, 24), y[:20], None),
    "far from zero": lambda X, y: (X + 1e6, y, None),
    "an outlier": lambda X, y: (X, np.where(np.arange(len(y)) == 9, 1e9, y), None),
}


@pytest.mark.parametrize("quantile", [0.001, 0.5, 0.9])
@pytest.mark.parametrize("alpha", [0.0, 0.03])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_rows_reach_the_least_loss(name, alpha, quantile):
    """Where several fits are best, their losses are equal."""
    X, y, w = DEGENERATE[name](*integers())
    ours = QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, y, w)
    theirs = Reference(quantile=quantile, alpha=alpha).fit(X, y, w)
    least = loss(X, y, w, quantile, alpha, theirs)
    assert loss(X, y, w, quantile, alpha, ours) <= least + 1e-9 * (least + 1.0)


def test_weights_are_repetitions_and_their_scale_does_not_matter():
    X, y, w = problem()
    model = QuantileRegressor(quantile=0.3, alpha=0.02)
    expected = model.fit(X, y, w).coef_
    np.testing.assert_allclose(
        model.fit(np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int))).coef_, expected
    )
    for scale in (1e-3, 1e3):
        np.testing.assert_allclose(model.fit(X, y, scale * w).coef_, expected, rtol=1e-9)


def test_equivariance():
    """Quantiles of −y are those of y from the other end; units of x, y and shifts pass through."""
    X, y, _ = problem()
    model = QuantileRegressor(quantile=0.2, alpha=0.0)
    coef, intercept = model.fit(X, y).coef_, model.intercept_
    other = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, -y)
    np.testing.assert_allclose(other.coef_, -coef, rtol=1e-9)
    moved = model.fit(X * [1.0, 1e160, 1.0, 1e-160], 1e5 * (y + X @ [1.0, 0.0, 0.0, 2.0]) + 3e5)
    np.testing.assert_allclose(moved.coef_ * [1.0, 1e160, 1.0, 1e-160], 1e5 * (coef + [1.0, 0.0, 0.0, 2.0]), rtol=1e-8)
    np.testing.assert_allclose(moved.intercept_, 1e5 * (intercept + 3.0), rtol=1e-8)
    largest = model.fit(X, y * 1e305)
    np.testing.assert_allclose(largest.coef_, coef * 1e305, rtol=1e-9)


def test_the_right_share_of_rows_lies_below():
    X, y, _ = problem(n=1000)
    for quantile in (0.1, 0.5, 0.95):
        below = (y < QuantileRegressor(quantile=quantile, alpha=0.0).fit(X, y).predict(X) - 1e-9).mean()
        assert quantile - 5 / 1000 <= below <= quantile


def test_batches_and_dask_equal_memory():
    X, y, w = problem()
    model = QuantileRegressor(quantile=0.7, alpha=0.02)
    expected = model.fit(X, y, w).coef_
    pieces = np.array_split(np.arange(len(y)), 4)
    np.testing.assert_allclose(
        model.fit(Batches(lambda: ((X[k], y[k], w[k]) for k in pieces))).coef_, expected, rtol=1e-9
    )
    cut = [da.from_array(a, chunks=(50, *a.shape[1:])) for a in (X, y, w)]
    np.testing.assert_allclose(model.fit(*cut).coef_, expected, rtol=1e-9)
    with pytest.raises(InputError, match="in memory"):
        QuantileRegressor(solver="highs").fit(Batches(lambda: ((X[k], y[k]) for k in pieces)))


def test_few_iterations_and_a_gap_that_bounds_the_distance():
    X, y, _ = problem(n=5000, p=10)
    result = quantile_program(MemoryRows(X, y, None), 0.3, 0.01, True)
    assert result.converged
    assert result.n_iter <= 30
    assert result.optimality <= 1e-12
    early = quantile_program(MemoryRows(X, y, None), 0.3, 0.01, True, max_iter=4)
    assert early.status == "iteration limit"
    assert 0 <= early.value - result.value <= early.optimality * early.value


def test_options_and_wide_rows():
    X, y, _ = problem()
    with pytest.raises(ParameterError, match="tol and max_iter"):
        QuantileRegressor(solver_options={"presolve": True}).fit(X, y)
    QuantileRegressor(solver="highs", solver_options={"presolve": False}).fit(X, y)
    wide = np.random.default_rng(0).normal(size=(2, 3000))
    model = QuantileRegressor(alpha=0.001).fit(wide, [1.0, 5.0])
    np.testing.assert_allclose(model.predict(wide), [1.0, 5.0], atol=1e-6)


@pytest.mark.parametrize("quantile", [0.02, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("order", ["random", "sorted", "many equal", "one far"])
def test_the_lowest_constant_is_that_of_all_residuals_in_order(quantile, order):
    rng = np.random.default_rng(3)
    r, w = rng.standard_normal(5000), rng.integers(1, 4, 5000).astype(float)
    r = {"random": r, "sorted": np.sort(r), "many equal": np.round(r), "one far": np.where(r < 0.1, r, 7.0)}[order]
    every = np.sort(np.repeat(r, w.astype(int)))
    found = lowest_constant(r, quantile * w, (1 - quantile) * w)
    assert found == every[int(np.ceil(quantile * len(every) * (1 - 1e-12))) - 1]
