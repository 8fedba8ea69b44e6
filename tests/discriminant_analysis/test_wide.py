"""Fewer rows than columns: the numbers of the p × p forms, without p × p; classes without weight; huge numbers."""

import time

import numpy as np
import pytest
from sklearn.base import clone

import didact
from didact.core.errors import InputError, Singular
from didact.discriminant_analysis import (
    GaussianClassifier,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from didact.engines.components import low_rank
from didact.engines.components.low_rank import LowRank, Whitener, wide_scatter
from didact.parts.statistics.shrinkage import auto_shrunk, fourth_moments, scales, shrunk

N, P = 40, 320  # above the number of columns from which rows can be wide
MODELS = {
    "LDA svd": LinearDiscriminantAnalysis(),
    "LDA svd, stored": LinearDiscriminantAnalysis(store_covariance=True, priors=[0.5, 0.25, 0.25]),
    "LDA lsqr": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2),
    "LDA lsqr, auto": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "LDA lsqr, none": LinearDiscriminantAnalysis(solver="lsqr"),
    "LDA eigen": LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.2),
    "LDA eigen, none": LinearDiscriminantAnalysis(solver="eigen"),
    "LDA eigen, auto": LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto", priors=[0.5, 0.25, 0.25]),
    "QDA": QuadraticDiscriminantAnalysis(reg_param=0.1, store_covariance=True),
    "QDA eigen": QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
    "QDA auto": QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    "full": GaussianClassifier(shrinkage=0.1),
    "full, pooled": GaussianClassifier(pooling=0.4, shrinkage="oas"),
    "shared": GaussianClassifier(covariance="shared", shrinkage="auto"),
}


def table(seed=0, n=N, p=P):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, p)) * rng.uniform(0.5, 2.0, p) + rng.normal(size=(3, p))[y] + 3.0
    return X, np.array(["a", "b", "c"])[y], rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_as_with_matrices(name, monkeypatch):
    X, y, w = table()
    X[:, 7] = 1.5  # a constant column
    new = table(1)[0]
    wide = MODELS[name].fit(X, y, w)
    found = {method: getattr(wide, method)(new) for method in ("decision_function", "predict_proba")}
    found["covariance_"] = getattr(wide, "covariance_", None)
    holes = np.where(np.random.default_rng(2).uniform(size=new.shape) < 0.5, np.nan, new)[:2]
    if "transform" in dir(wide) and wide.solver != "lsqr":
        found["transform"] = wide.transform(new)
        found["explained_variance_ratio_"] = wide.explained_variance_ratio_
    with_holes = wide.predict_proba(holes)
    monkeypatch.setattr(low_rank, "NARROW", 10**6)  # never wide
    dense = MODELS[name].fit(X, y, w)
    for method, value in found.items():
        expected = getattr(dense, method, None)
        expected = expected(new) if callable(expected) else expected
        if expected is None:
            assert value is None
        else:
            size = np.abs(expected).max()
            np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-7 * size, err_msg=method)
    np.testing.assert_allclose(with_holes, dense.predict_proba(holes), rtol=1e-5, atol=1e-7)


def test_the_inverse_its_root_and_determinant():
    rng = np.random.default_rng(3)
    C = LowRank(rng.uniform(0.5, 2.0, 30), rng.normal(size=(30, 6)) * np.logspace(0, 1, 6))
    V, dense = Whitener.of(C), C.dense()
    D = rng.normal(size=(5, 30))
    exact = np.linalg.solve(dense, D.T)
    np.testing.assert_allclose(V.squares(D), (D.T * exact).sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(V.solve(D), exact.T, rtol=1e-8, atol=1e-10)
    assert V.log_det == pytest.approx(np.linalg.slogdet(dense)[1], rel=1e-12)
    R = V.half(np.eye(30))
    np.testing.assert_allclose(R @ dense @ R.T, np.eye(30), atol=1e-8)
    np.testing.assert_allclose(V.half_transposed(np.eye(30)), R.T, rtol=1e-10, atol=1e-12)
    W = rng.normal(size=(30, 3))
    np.testing.assert_allclose(C @ W, dense @ W, rtol=1e-10)
    np.testing.assert_allclose(C.form(W), W.T @ dense @ W, rtol=1e-10)


@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto", "oas"])
def test_shrunk_rows_are_shrunk_matrices(shrinkage):
    X, y, w = table()
    rows = didact.core.rows.MemoryRows(X, y, w)
    S = wide_scatter(rows)
    part = y == "b"
    mean = np.average(X[part], axis=0, weights=w[part])
    D = X[part] - mean
    C = (D * w[part, None]).T @ D / w[part].sum()
    if isinstance(shrinkage, str):
        one = didact.core.rows.MemoryRows(X[part], y[part], w[part])
        four = fourth_moments(one, np.array(["b"]), mean[None], scales(C)[None])[0] if shrinkage == "auto" else None
        expected = auto_shrunk(C, w[part].sum(), four)
    else:
        expected = C if shrinkage is None else shrunk(C, shrinkage)
    np.testing.assert_allclose(S.covariance(1, shrinkage).dense(), expected, rtol=1e-9, atol=1e-11)


def test_only_complete_dense_rows_that_are_few_are_wide():
    X, y, w = table()
    memory = didact.core.rows.MemoryRows
    assert wide_scatter(memory(X, y, w)) is not None
    assert wide_scatter(memory(X[:, :39], y, w)) is None
    assert wide_scatter(memory(np.where(X > 6, np.nan, X), y, w)) is None


@pytest.mark.parametrize("name", ["LDA svd", "LDA eigen", "QDA", "full", "shared"])
def test_a_hundred_thousand_columns_take_no_matrix(name, tmp_path):
    X, y, _ = table(n=9, p=100_000)
    begin = time.process_time()
    model = clone(MODELS[name]).set_params(**({} if name in ("full", "shared") else {"store_covariance": False}))
    model.fit(X, y)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-9)
    if name != "LDA svd":  # which sees only the directions in which rows of a class differ
        assert (model.predict(X) == y).all()
    assert time.process_time() - begin < 20
    didact.save(model, tmp_path / "wide.didact")
    np.testing.assert_array_equal(didact.load(tmp_path / "wide.didact").predict_proba(X), shares)


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), GaussianClassifier()])
def test_too_few_rows_are_refused_in_words(model):
    with pytest.raises(InputError, match=r"no variance within|only 1 sample"):
        model.fit(np.random.default_rng(0).normal(size=(2, 3000)), [0, 1])
    if not isinstance(model, LinearDiscriminantAnalysis):
        with pytest.raises(InputError, match="not full rank"):
            model.fit(*table()[:2])


@pytest.mark.parametrize("p", [4, 320])
@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        QuadraticDiscriminantAnalysis(reg_param=0.1, store_covariance=True),
        GaussianClassifier(shrinkage=0.1),
        GaussianClassifier(covariance="shared", shrinkage=0.1),
        GaussianClassifier(covariance="diagonal"),
        GaussianClassifier(covariance="euclidean"),
    ],
)
@pytest.mark.parametrize("lost", ["a", "b"])
def test_a_class_without_weight_stays_with_probability_zero(model, lost, p):
    X, y, w = table(p=p)
    whole = model.fit(X, y, np.where(y == lost, 0.0, w))
    np.testing.assert_array_equal(whole.classes_, ["a", "b", "c"])
    shares, means = whole.predict_proba(X), whole.means_.copy()
    rest = model.fit(X[y != lost], y[y != lost], w[y != lost])
    kept = np.array(["a", "b", "c"]) != lost
    np.testing.assert_allclose(shares[:, kept], rest.predict_proba(X), rtol=1e-7, atol=1e-12)
    assert (shares[:, ~kept] == 0).all()
    np.testing.assert_allclose(means[kept], rest.means_, rtol=1e-10)
    assert np.isfinite(means).all()


def test_a_class_without_weight_has_no_prior():
    X, y, w = table(p=4)
    with pytest.raises(InputError, match="'b' has no row with a positive weight"):
        LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]).fit(X, y, np.where(y == "b", 0.0, w))


@pytest.mark.parametrize("p", [3, 320])
@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        GaussianClassifier(shrinkage=0.1),
        GaussianClassifier(covariance="diagonal"),
    ],
)
def test_values_whose_squares_overflow(model, p):
    X, y, _ = table(p=p)
    huge = X.copy()
    huge[5, 1] = 1e160
    with pytest.raises(InputError, match="X in column 1 has values up to"):
        model.fit(huge, y)
    model.fit(X, y)
    near, far = X[:3] * 1e12, X[:3] * 1e200  # the class far out depends on the direction alone
    np.testing.assert_array_equal(model.predict(far), model.predict(near))
    np.testing.assert_allclose(model.predict_proba(far), model.predict_proba(near), atol=1e-12)


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_a_covariance_without_inverse_is_refused(value):
    """A forged file can hold one, and LAPACK does not come back from infinite entries."""
    with pytest.raises(Singular, match="cannot be inverted"):
        Whitener.of(LowRank(np.array([1.0, value]), np.ones((2, 1))))
