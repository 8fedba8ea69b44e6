"""Least squares: normal equations, least norm, weights, several outputs, nonnegative fits, worked examples."""

import tracemalloc
from fractions import Fraction

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model as reference
from sklearn.base import clone

from didact import Batches
from didact.core.backend import namespace
from didact.linear_model import LinearRegression, Ridge


def data(n=120, p=5, k=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    B = rng.normal(size=(p, k)) if k else rng.normal(size=p)
    return X, X @ B + 1.5 + rng.normal(size=(n, k) if k else n)


def centred(X, y, w=None):
    return X - np.average(X, axis=0, weights=w), y - np.average(y, axis=0, weights=w)


# ------------------------------------------------------------------------------------------------ optimality


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_are_orthogonal_to_the_columns(fit_intercept, k, weighted):
    X, y = data(k=k)
    w = np.random.default_rng(1).uniform(0.1, 3, size=len(y)) if weighted else np.ones(len(y))
    model = LinearRegression(fit_intercept=fit_intercept).fit(X, y, sample_weight=w if weighted else None)
    residual = (y - model.predict(X)).reshape(len(y), -1) * w[:, None]
    np.testing.assert_allclose(X.T @ residual, 0.0, atol=1e-10)
    if fit_intercept:
        np.testing.assert_allclose(residual.sum(axis=0), 0.0, atol=1e-10)
    assert model.coef_.shape == (5,) if k is None else (k, 5)
    assert np.shape(model.intercept_) == (() if k is None else (k,)) or not fit_intercept


def test_a_known_solution_is_found():
    """Integers: y = 2 + 3a − b exactly."""
    X = np.array([[0, 1], [1, 0], [2, 5], [4, 1], [1, 1]])
    model = LinearRegression().fit(X, 2 + 3 * X[:, 0] - X[:, 1])
    np.testing.assert_allclose(model.coef_, [3.0, -1.0], rtol=1e-13)
    np.testing.assert_allclose(model.intercept_, 2.0, rtol=1e-13)


def test_xor_gives_the_constant_one_half():
    """Worked example 24."""
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-15)
    np.testing.assert_allclose(model.intercept_, 0.5, rtol=1e-15)


def test_least_squares_is_the_gaussian_maximum_likelihood():
    """Worked example 82: no other coefficients have a higher likelihood, whatever the variance."""
    X, y = data()
    model = LinearRegression().fit(X, y)
    best = -np.sum((y - model.predict(X)) ** 2)
    rng = np.random.default_rng(2)
    for _ in range(50):
        other = X @ (model.coef_ + 0.01 * rng.normal(size=5)) + model.intercept_ + 0.01 * rng.normal()
        assert -np.sum((y - other) ** 2) < best


def test_through_the_origin():
    """Worked example 59: x = (1, 2, 3), y = (1, 3, 2) gives 13/14."""
    model = LinearRegression(fit_intercept=False).fit([[1.0], [2.0], [3.0]], [1.0, 3.0, 2.0])
    np.testing.assert_allclose(model.coef_, [13 / 14], rtol=1e-14)
    assert model.intercept_ == 0.0


# ------------------------------------------------------------------------------------------------ rank


DEFICIENT = {
    "duplicate": lambda X: np.column_stack([X, X[:, 0]]),
    "sum of two": lambda X: np.column_stack([X, X[:, 0] + X[:, 1]]),
    "constant": lambda X: np.column_stack([X, np.full(len(X), 0.1)]),
    "zero": lambda X: np.column_stack([X, np.zeros(len(X))]),
    "all dummies": lambda X: np.column_stack([X, np.eye(3)[np.arange(len(X)) % 3]]),
    "wide": lambda X: X[:4],
    "one row": lambda X: X[:1],
}


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("case", DEFICIENT)
def test_rank_deficient_data_give_the_least_norm(case, convert):
    X, y = data()
    X = DEFICIENT[case](X)
    y = y[: len(X)]
    Xc, yc = centred(X, y)
    model = LinearRegression().fit(convert(X), y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(Xc, rtol=1e-10) @ yc, rtol=1e-8, atol=1e-9)
    assert model.rank_ == np.linalg.matrix_rank(Xc, rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, y.mean() - X.mean(axis=0) @ model.coef_, rtol=1e-8)


@pytest.mark.parametrize("case", ["duplicate", "sum of two", "constant"])
def test_rank_deficient_batches_give_the_same(case):
    X, y = data(n=300)
    X = DEFICIENT[case](X)
    pieces = [slice(k, k + 70) for k in range(0, 300, 70)]
    model = LinearRegression().fit(Batches(lambda: ((X[s], y[s]) for s in pieces)))
    memory = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=1e-9, atol=1e-10)
    assert model.rank_ == memory.rank_


def wide_forms(X, y):
    """The rows in memory, in batches, on a cluster, and as tensors."""
    torch = pytest.importorskip("torch")
    namespace(torch.zeros(1))  # what is imported on first use counts for no fit
    yield "batches", (Batches(lambda: ((X[i : i + 2], y[i : i + 2]) for i in range(0, len(X), 2))),)
    yield "dask", [da.from_array(a, chunks=(3, *a.shape[1:])) for a in (X, y)]
    yield "tensors", (torch.asarray(X), torch.asarray(y))
    yield "memory", (X, y)


@pytest.mark.parametrize(("fit_intercept", "positive"), [(True, False), (False, False), (True, True)])
def test_few_rows_of_many_columns_take_little_memory(fit_intercept, positive):
    """p × p would be 800 MB; the solution of least norm is a combination of the centred rows."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 10_000)) + 3.0, rng.normal(size=6)
    Xc = X - X.mean(axis=0) if fit_intercept else X
    for kind, rows in wide_forms(X, y):
        tracemalloc.start()
        model = LinearRegression(fit_intercept=fit_intercept, positive=positive).fit(*rows)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50e6, kind
        np.testing.assert_allclose(X @ model.coef_ + model.intercept_, y, rtol=1e-9, atol=1e-9, err_msg=kind)
        if not positive:
            along = np.linalg.lstsq(Xc.T, model.coef_)[0]
            np.testing.assert_allclose(Xc.T @ along, model.coef_, atol=1e-12, err_msg=kind)
            assert model.rank_ == 6 - fit_intercept
            np.testing.assert_allclose(model.singular_, np.linalg.svd(Xc, compute_uv=False), atol=1e-8)


@pytest.mark.parametrize("condition", [1e4, 1e6, 1e8, 1e10])
def test_ill_conditioned_data_keep_digits_like_an_svd(condition):
    """Normal equations alone would lose κ² of them."""
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.normal(size=(200, 6)))[0], np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = (U * np.geomspace(1, 1 / condition, 6)) @ V.T
    b = rng.normal(size=6)
    coef = LinearRegression(fit_intercept=False).fit(X, X @ b).coef_
    np.testing.assert_allclose(coef, b, rtol=1e-14 * condition * 100, atol=1e-14 * condition * 10)


def solve_exactly(A, b):
    """The solution of a square system in rational arithmetic, rounded once."""
    rows = [[*map(Fraction, row), Fraction(v)] for row, v in zip(A, b, strict=True)]
    for i in range(len(rows)):
        top = next(r for r in range(i, len(rows)) if rows[r][i])
        rows[i], rows[top] = rows[top], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(len(rows)):
            if r != i and rows[r][i]:
                rows[r] = [u - rows[r][i] * v for u, v in zip(rows[r], rows[i], strict=True)]
    return np.array([float(row[-1]) for row in rows])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("degree", [2, 6, 9])
def test_solutions_are_those_of_exact_arithmetic(degree, weighted, fit_intercept):
    """Polynomials of whole numbers with noise a hundred times the signal, and conditions up to 1e11."""
    rng = np.random.default_rng(degree)
    t = rng.permutation(24) - 3
    X, Y = np.array([[int(v) ** d for d in range(1, degree + 1)] for v in t]), rng.integers(-999, 1000, size=(24, 2))
    w = rng.integers(1, 5, size=24) if weighted else np.ones(24, int)
    design = np.array([[1] * fit_intercept + list(map(int, row)) for row in X], object)
    gram, sides = (design.T * w.astype(object)) @ design, (design.T * w.astype(object)) @ Y.astype(object)
    expected = np.array([solve_exactly(gram, side) for side in sides.T])
    model = LinearRegression(fit_intercept=fit_intercept).fit(X, Y, w if weighted else None)
    got = np.column_stack([model.intercept_, model.coef_]) if fit_intercept else model.coef_
    np.testing.assert_allclose(got, expected, rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e154, 1e160, 1e300])
@pytest.mark.parametrize("shape", [(50, 3), (3, 50)])
def test_numbers_whose_squares_are_out_of_range(shape, scale):
    X, y = data(*shape)
    expected = LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(LinearRegression().fit(X * scale, y).predict(X * scale), expected, rtol=1e-9)
    if scale > 1:  # the penalty is nothing beside them
        for solver in ("auto", "svd"):
            found = Ridge(solver=solver).fit(X * scale, y).predict(X * scale)
            np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(alpha=1e-12)], ids=repr)
@pytest.mark.parametrize("condition", [1e3, 1e4, 5e4, 1e6])
def test_collections_agree_up_to_a_condition_of_a_million(condition, model):
    """In memory and out of core to 1e-8."""
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.normal(size=(400, 6)))[0], np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = (U * np.geomspace(1, 1 / condition, 6)) @ V.T
    y = X @ rng.normal(size=6) + 0.01 * X @ rng.normal(size=6) / condition
    pieces = [slice(k, k + 90) for k in range(0, 400, 90)]
    memory = clone(model).fit(X, y).coef_
    batches = clone(model).fit(Batches(lambda: ((X[s], y[s]) for s in pieces))).coef_
    np.testing.assert_allclose(batches, memory, rtol=1e-8, atol=1e-8 * np.abs(memory).max())


@pytest.mark.parametrize("shift", [1e3, 1e6, 1e9])
def test_data_far_from_zero(shift):
    X, y = data()
    near = LinearRegression().fit(X, y)
    far = LinearRegression().fit(X + shift, y + shift)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=max(1e-9, 100 * shift * np.finfo(float).eps))


def test_units_do_not_matter():
    X, y = data()
    D = np.array([1e-9, 1.0, 1e5, 1e9, 1e-3])
    np.testing.assert_allclose(
        LinearRegression().fit(X * D, y).coef_ * D, LinearRegression().fit(X, y).coef_, rtol=1e-9
    )


def test_singular_values_and_rank():
    X, y = data()
    model = LinearRegression().fit(X, y)
    assert model.rank_ == 5
    np.testing.assert_allclose(model.singular_, np.linalg.svd(X - X.mean(axis=0), compute_uv=False), rtol=1e-9)


# ------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("k", [None, 2])
def test_positive_satisfies_the_kkt_conditions(fit_intercept, k):
    X, y = data(k=k)
    w = np.random.default_rng(1).uniform(0.1, 3, size=len(y))
    model = LinearRegression(positive=True, fit_intercept=fit_intercept).fit(X, y, sample_weight=w)
    coef = np.atleast_2d(model.coef_)
    residual = np.reshape(model.predict(X) - y, (len(y), -1))
    gradient = (X.T * w) @ residual
    assert (coef >= 0).all()
    assert (coef == 0).any(), "the constraint binds, else the test would show nothing"
    assert (gradient >= -1e-8).all()
    np.testing.assert_allclose(coef.T * gradient, 0.0, atol=1e-8)
    if fit_intercept:
        np.testing.assert_allclose(w @ residual, 0.0, atol=1e-9)


@pytest.mark.parametrize("k", [None, 3])
def test_wide_sparse_data_by_conjugate_gradients(k):
    rng = np.random.default_rng(0)
    X = sp.random_array((3000, 1600), density=0.005, rng=rng, format="csr")
    X = sp.csr_array(X + sp.diags_array(np.full(3000, 0.5)).tocsr()[:, :1600])
    y = rng.normal(size=(3000, k)) if k else rng.normal(size=3000)
    model = LinearRegression(tol=1e-12).fit(X, y)
    Xc, yc = centred(X.toarray(), y)
    gradient = Xc.T @ (yc - Xc @ model.coef_.T)
    assert np.abs(gradient).max() < 1e-9
    dense = LinearRegression().fit(X.toarray(), y)
    np.testing.assert_allclose(model.predict(X), dense.predict(X.toarray()), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kwargs", [{}, {"fit_intercept": False}, {"positive": True}])
def test_equals_scikit_learn(kwargs):
    X, y = data(k=2)
    w = np.random.default_rng(1).uniform(0.1, 3, size=len(y))
    ours = LinearRegression(**kwargs).fit(X, y, sample_weight=w)
    theirs = reference.LinearRegression(**kwargs).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-10)
    assert ours.score(X, y, w) == pytest.approx(theirs.score(X, y, w), rel=1e-10)


def test_outputs_do_not_mix():
    X, Y = data(k=3)
    together = LinearRegression().fit(X, Y)
    for j in range(3):
        np.testing.assert_allclose(together.coef_[j], LinearRegression().fit(X, Y[:, j]).coef_, rtol=1e-12)


def test_one_column_of_several_outputs_keeps_its_shape():
    X, Y = data(k=1)
    model = LinearRegression().fit(X, Y)
    assert model.coef_.shape == (1, 5)
    assert model.predict(X).shape == (120, 1)
