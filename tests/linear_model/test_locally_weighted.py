"""Locally weighted regression: LOWESS of statsmodels, reproduced polynomials, global limits, bandwidths, robustness."""

import numpy as np
import pytest
import sklearn.linear_model as peer
from sklearn.preprocessing import PolynomialFeatures
from statsmodels.nonparametric.kernel_regression import KernelReg
from statsmodels.nonparametric.smoothers_lowess import lowess

from didact import Batches, ProgressLog
from didact.core.errors import ParameterError
from didact.linear_model import LocallyWeightedRegression


def curve(n=300, seed=0, heavy=False):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    return x, np.sin(x) + 0.3 * (rng.standard_t(1.5, n) if heavy else rng.normal(size=n))


@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize("span", [0.1, 2 / 3, 1.0])
def test_it_is_lowess(span, rounds):
    x, y = curve(heavy=True)
    x[:40] = np.round(x[:40])  # ties
    expected = lowess(y, x, frac=span, it=rounds, delta=0.0, return_sorted=False)
    model = LocallyWeightedRegression(span=span, robust_rounds=rounds).fit(x[:, None], y)
    np.testing.assert_allclose(model.predict(x[:, None]), expected, atol=1e-9)
    new = np.linspace(0.5, 9.5, 30)
    between = lowess(y, x, frac=span, it=rounds, xvals=new)
    np.testing.assert_allclose(model.predict(new[:, None]), between, atol=1e-9)
    assert model.neighbors_ == int(span * 300 + 1e-10)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(("degree", "kind"), [(0, "lc"), (1, "ll")])
def test_gaussian_weights_are_kernel_regression(degree, kind):
    x, y = curve(n=80)
    theirs = KernelReg(y, x, "c", reg_type=kind, bw=[0.6]).fit(np.linspace(0, 10, 15))[0]
    model = LocallyWeightedRegression(kernel="gaussian", bandwidth=0.6, degree=degree).fit(x[:, None], y)
    np.testing.assert_allclose(model.predict(np.linspace(0, 10, 15)[:, None]), theirs, atol=1e-8)


@pytest.mark.parametrize("kernel", ["tricube", "gaussian"])
@pytest.mark.parametrize("features", [1, 3])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_polynomials_of_the_degree_are_reproduced(degree, features, kernel):
    rng = np.random.default_rng(0)
    X, Q = rng.uniform(-1, 1, size=(200, features)), rng.uniform(-1, 1, size=(20, features))
    powers = PolynomialFeatures(degree)
    coef = rng.normal(size=powers.fit_transform(X).shape[1])
    model = LocallyWeightedRegression(degree=degree, kernel=kernel, span=0.3).fit(X, powers.transform(X) @ coef)
    np.testing.assert_allclose(model.predict(Q), powers.transform(Q) @ coef, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kernel", ["tricube", "gaussian"])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_a_wide_bandwidth_is_one_polynomial_for_all(degree, kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y, w = rng.normal(size=100), rng.uniform(0.5, 2.0, 100)
    Z = PolynomialFeatures(degree).fit_transform(X)
    expected = peer.LinearRegression(fit_intercept=False).fit(Z, y, w).predict(Z)
    model = LocallyWeightedRegression(degree=degree, kernel=kernel, bandwidth=1e4).fit(X, y, w)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)


def test_outliers_lose_their_weight():
    x, y = curve()
    y[::10] += 20.0
    plain = LocallyWeightedRegression(span=0.2).fit(x[:, None], y)
    robust = LocallyWeightedRegression(span=0.2, robust_rounds=3).fit(x[:, None], y)
    error = [np.abs(m.predict(x[:, None]) - np.sin(x)).mean() for m in (plain, robust)]
    assert error[1] < 0.15 < 1.0 < error[0]
    planted = np.isin(robust.y_fit_, y[::10])
    np.testing.assert_array_equal(robust.robustness_[planted], 0.0)
    assert robust.robustness_[~planted].mean() > 0.8


def test_several_features_robustly():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    truth = np.sin(3 * X[:, 0]) * X[:, 1]
    y = truth + 0.05 * rng.normal(size=400)
    y[::9] -= 30.0
    model = LocallyWeightedRegression(span=0.1, degree=2, robust_rounds=4).fit(X, y)
    assert np.median(np.abs(model.predict(X) - truth)) < 0.05


@pytest.mark.parametrize("name", ["bandwidth", "span"])
def test_the_bandwidth_of_least_leave_one_out_error_is_taken(name):
    x, y = curve()
    model = LocallyWeightedRegression(**{name: "cv"}).fit(x[:, None], y)
    assert len(model.grid_) > 5
    for value, error in zip(model.grid_, model.cv_errors_, strict=True):
        one = LocallyWeightedRegression(**{name: int(value) if name == "span" else value}).fit(x[:, None], y)
        np.testing.assert_allclose(np.mean((one.y_fit_ - one.leave_one_out()) ** 2), error, rtol=1e-9)
    best = model.grid_[np.argmin(model.cv_errors_)]
    assert best == (model.bandwidth_ if name == "bandwidth" else model.neighbors_)
    assert model.grid_[0] < best < model.grid_[-1]
    assert np.abs(model.predict(x[:, None]) - np.sin(x)).mean() < 0.12


def test_grids_are_the_users():
    x, y = curve()
    model = LocallyWeightedRegression(bandwidth="cv", grid=[0.5, 5.0], robust_rounds=1).fit(x[:, None], y)
    np.testing.assert_array_equal(model.grid_, [0.5, 5.0])
    assert model.bandwidth_ == 0.5
    absolute = LocallyWeightedRegression(bandwidth=0.5).fit(x[:, None], y)
    np.testing.assert_allclose(model.cv_errors_[0], np.abs(absolute.y_fit_ - absolute.leave_one_out()).mean())
    model = LocallyWeightedRegression(span="cv", grid=[0.1, 200]).fit(x[:, None], y)
    np.testing.assert_array_equal(model.grid_, [30, 200])
    assert not hasattr(model.set_params(span=0.5).fit(x[:, None], y), "grid_")


def test_scaling_takes_units_out():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(150, 2)), rng.integers(1, 3, 150)
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    model = LocallyWeightedRegression(span=0.2, scale=True).fit(X, y, w)
    other = LocallyWeightedRegression(span=0.2, scale=True).fit(X * [1.0, 1000.0], y, w)
    np.testing.assert_allclose(other.predict(X * [1.0, 1000.0]), model.predict(X), rtol=1e-8)
    np.testing.assert_allclose(model.scale_, np.repeat(X, w, axis=0).std(axis=0))
    plain = LocallyWeightedRegression(span=0.2).fit(X * [1.0, 1000.0], y, w)
    assert np.abs(plain.predict(X * [1.0, 1000.0]) - model.predict(X)).max() > 0.1


@pytest.mark.parametrize("parameters", [{"span": 0.2, "robust_rounds": 2}, {"bandwidth": 0.8, "kernel": "gaussian"}])
@pytest.mark.parametrize("features", [1, 2])
def test_weights_count_rows(parameters, features):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(120, features)), rng.integers(0, 4, 120)
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)
    weighted = LocallyWeightedRegression(**parameters).fit(X, y, w)
    repeated = LocallyWeightedRegression(**parameters).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8, atol=1e-10)
    loo = repeated.leave_one_out()
    assert len(loo) == w.sum()
    np.testing.assert_allclose(np.sort(np.repeat(weighted.leave_one_out(), w[w > 0][_order(X[w > 0])])), np.sort(loo),
                               rtol=1e-7, atol=1e-9)  # fmt: skip


def _order(X):
    return np.argsort(X[:, 0], kind="stable") if X.shape[1] == 1 else slice(None)


def test_far_from_all_points_the_nearest_decide():
    x, y = curve()
    far = np.array([[-50.0], [80.0]])
    for kernel in ("tricube", "gaussian"):
        model = LocallyWeightedRegression(bandwidth=0.5, degree=0, kernel=kernel).fit(x[:, None], y)
        near = y[[np.argmin(x), np.argmax(x)]]
        np.testing.assert_allclose(model.predict(far), near, atol=0.6)
        assert np.isfinite(
            LocallyWeightedRegression(bandwidth=0.5, kernel=kernel).fit(x[:, None], y).predict(far)
        ).all()


def test_ties_of_all_neighbours_give_their_mean():
    x = np.repeat([0.0, 1.0, 2.0], 10)[:, None]
    y = np.arange(30.0)
    np.testing.assert_allclose(LocallyWeightedRegression(span=5).fit(x, y).predict([[1.0]]), 14.5)
    one = LocallyWeightedRegression().fit([[1.0]], [7.0])
    np.testing.assert_allclose(one.predict([[1.0], [5.0]]), 7.0)


def test_batches_are_gathered_and_progress_is_reported(capsys):
    x, y = curve()
    expected = LocallyWeightedRegression(span=0.2, robust_rounds=1).fit(x[:, None], y)
    batches = Batches(lambda: ((x[k : k + 70, None], y[k : k + 70]) for k in range(0, 300, 70)))
    model = LocallyWeightedRegression(span=0.2, robust_rounds=1).set_callbacks(ProgressLog()).fit(batches)
    np.testing.assert_allclose(model.predict(x[:, None]), expected.predict(x[:, None]), rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"degree": 3}, "degree is 0, 1 or 2"),
        ({"span": 1.5}, "share of the rows"),
        ({"span": "cv", "grid": [2.5]}, "grid is a list"),
        ({"bandwidth": "cv", "grid": [-1.0]}, "grid is a list"),
        ({"bandwidth": "cv", "grid": []}, "grid is a list"),
    ],
)
def test_bad_parameters_are_refused_in_words(parameters, sentence):
    x, y = curve()
    with pytest.raises(ParameterError, match=sentence):
        LocallyWeightedRegression(**parameters).fit(x[:, None], y)
