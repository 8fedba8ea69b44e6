"""Nonlinear regression: agreement with SciPy and with the linear model, weights, intervals, bounds, refusals."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from scipy import optimize, stats

import didact
from didact import Batches
from didact.linear_model import LinearRegression, NonlinearRegressor
from didact.linear_model.nonlinear import linear, linear_jacobian


def decay(X, a, rate, floor):
    return a * np.exp(-rate * X[:, 0]) + floor


def decay_jacobian(X, a, rate, floor):
    e = np.exp(-rate * X[:, 0])
    return np.column_stack([e, -a * X[:, 0] * e, np.ones(len(X))])


def data(n=60, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, size=(n, 1))
    return X, decay(X, 2.5, 1.3, 0.5) + noise * rng.normal(size=n)


@pytest.mark.parametrize("jac", [None, "central", "forward", "complex", decay_jacobian])
@pytest.mark.parametrize("method", ["lm", "gauss-newton"])
def test_equals_scipys_curve_fit(jac, method):
    X, y = data()
    expected, covariance = optimize.curve_fit(lambda X, *b: decay(X, *b), X, y, p0=[1, 1, 1])
    model = NonlinearRegressor(decay, p0=[1.0, 1.0, 1.0], jac=jac, method=method).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-5)
    np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-4)
    np.testing.assert_allclose(model.standard_errors_, np.sqrt(np.diag(covariance)), rtol=1e-4)
    np.testing.assert_allclose(model.predict(X), decay(X, *expected), rtol=1e-5)
    assert model.dof_ == 57
    np.testing.assert_allclose(model.residual_variance_, np.sum((y - model.predict(X)) ** 2) / 57, rtol=1e-9)


def test_a_linear_function_is_linear_regression():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    w = rng.integers(0, 4, size=40)
    plain = LinearRegression().fit(X, y, sample_weight=w)
    known = plain.inference(X, y, sample_weight=w)
    new = rng.normal(size=(5, 3))
    for model in (NonlinearRegressor(), NonlinearRegressor(linear), NonlinearRegressor(linear, jac=linear_jacobian)):
        model.fit(X, y, sample_weight=w)
        np.testing.assert_allclose(model.coef_, [plain.intercept_, *plain.coef_], rtol=1e-7)
        np.testing.assert_allclose(model.covariance_, known.covariance, rtol=1e-6)
        np.testing.assert_allclose(model.interval(0.9), known.interval(0.9), rtol=1e-6)
        for kind in ("mean", "observation"):
            for got, expected in zip(
                model.predict_interval(new, 0.9, kind), known.predict(new, 0.9, kind), strict=True
            ):
                np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_weights_are_repetitions():
    X, y = data()
    w = np.random.default_rng(1).integers(0, 4, size=len(y))
    weighted = NonlinearRegressor(decay).fit(X, y, sample_weight=w)
    repeated = NonlinearRegressor(decay).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-6)
    assert weighted.dof_ == repeated.dof_ == w.sum() - 3


def test_large_data_in_blocks_batches_and_dask():
    X, y = data(n=7000)
    whole = optimize.curve_fit(lambda X, *b: decay(X, *b), X, y, p0=[1, 1, 1], xtol=1e-12, ftol=1e-14)
    memory = NonlinearRegressor(decay, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(memory.coef_, whole[0], rtol=1e-6)
    np.testing.assert_allclose(memory.covariance_, whole[1], rtol=1e-4)
    pieces = [slice(k, k + 900) for k in range(0, len(y), 900)]
    batches = NonlinearRegressor(decay, tol=1e-10).fit(Batches(lambda: ((X[s], y[s]) for s in pieces)))
    cluster = NonlinearRegressor(decay, tol=1e-10).fit(da.from_array(X, chunks=(1000, 1)), da.from_array(y, chunks=800))
    for other in (batches, cluster):
        np.testing.assert_allclose(other.coef_, memory.coef_, rtol=1e-8)
        np.testing.assert_allclose(other.covariance_, memory.covariance_, rtol=1e-6)
    answer = np.concatenate(list(batches.predict(Batches(lambda: (X[s] for s in pieces)))))
    np.testing.assert_allclose(answer, memory.predict(X), rtol=1e-7)


def test_intervals_cover_as_often_as_they_say():
    truth, new = np.array([2.5, 1.3, 0.5]), np.array([[0.5], [3.0]])
    inside, means, observations = [], [], []
    rng = np.random.default_rng(0)
    for seed in range(200):
        X, y = data(n=40, seed=seed, noise=0.2)
        model = NonlinearRegressor(decay, p0=truth).fit(X, y)
        limits = model.interval(0.8)
        inside.append((limits[:, 0] < truth) & (truth < limits[:, 1]))
        mean = model.predict_interval(new, 0.8)
        means.append((mean.lower < decay(new, *truth)) & (decay(new, *truth) < mean.upper))
        wide = model.predict_interval(new, 0.8, "observation")
        fresh = decay(new, *truth) + 0.2 * rng.normal(size=2)
        observations.append((wide.lower < fresh) & (fresh < wide.upper))
    for covered in (inside, means, observations):
        share = np.mean(covered, axis=0)
        assert ((share > 0.7) & (share < 0.9)).all(), share


def test_intervals_by_formula():
    X, y = data()
    model = NonlinearRegressor(decay).fit(X, y)
    q = stats.t(57).ppf(0.975)
    np.testing.assert_allclose(model.interval()[:, 1], model.coef_ + q * model.standard_errors_, rtol=1e-12)
    g = decay_jacobian(X[:4], *model.coef_)
    error = np.sqrt(np.sum(g @ model.covariance_ * g, axis=1))
    got = model.predict_interval(X[:4])
    np.testing.assert_allclose(got.standard_error, error, rtol=1e-6)
    np.testing.assert_allclose(got.upper - got.mean, q * error, rtol=1e-6)
    wide = model.predict_interval(X[:4], kind="observation")
    np.testing.assert_allclose(wide.standard_error**2, error**2 + model.residual_variance_, rtol=1e-6)


def test_bounds_hold():
    X, y = data()
    model = NonlinearRegressor(decay, bounds=([0, 0, 0.6], [np.inf, np.inf, 5])).fit(X, y)
    expected, _ = optimize.curve_fit(
        lambda X, *b: decay(X, *b), X, y, p0=[1, 1, 1], bounds=([0, 0, 0.6], [np.inf, np.inf, 5]), xtol=1e-12
    )
    assert model.coef_[2] == 0.6
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-4)


def test_starts_come_from_the_signature():
    X, y = data()

    def curve(X, a=2.0, rate=1.0, floor=0.3):
        return decay(X, a, rate, floor)

    with pytest.warns(match="max_iter"):
        short = NonlinearRegressor(curve, max_iter=1).fit(X, y)
    with pytest.warns(match="max_iter"):
        given = NonlinearRegressor(decay, p0=[2.0, 1.0, 0.3], max_iter=1).fit(X, y)
    np.testing.assert_allclose(short.coef_, given.coef_, rtol=1e-10)
    assert NonlinearRegressor(lambda X, *b: b[0] + b[1] * X[:, 0]).fit(X, y).coef_.shape == (2,)


def test_the_function_cannot_change_the_rows():
    X, y = data()

    def greedy(X, a):
        X[:] = 0
        return a * X[:, 0]

    with pytest.raises(ValueError, match="read-only"):
        NonlinearRegressor(greedy).fit(X, y)


def test_sparse_rows_reach_the_function_as_dense_blocks():
    X, y = data()
    dense, sparse = NonlinearRegressor(decay).fit(X, y), NonlinearRegressor(decay).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), rtol=1e-9)


def test_parameters_that_the_data_do_not_determine():
    X, y = data()
    model = NonlinearRegressor(lambda X, a, b, rate: (a + b) * np.exp(-rate * X[:, 0])).fit(X, y)
    assert np.isinf(model.standard_errors_[:2]).all()
    assert np.isfinite(model.standard_errors_[2])
    assert np.isinf(model.interval()[:2]).all()
    single = NonlinearRegressor(decay, p0=[1.0, 1.0, 1.0]).fit(X[:3], y[:3])
    assert np.isinf(single.standard_errors_).all()
    assert np.isinf(single.predict_interval(X[:2]).upper).all()


def test_a_model_with_a_function_is_not_saved(tmp_path):
    X, y = data()
    with pytest.raises(ValueError, match="cannot be saved"):
        didact.save(NonlinearRegressor(decay).fit(X, y), tmp_path / "model.didact")
    didact.save(NonlinearRegressor().fit(X, y), tmp_path / "model.didact")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"function": lambda X, a: a * X},
            r"one number for each of the 60 rows, the shape \(60,\); it returned .*60, 1",
        ),
        ({"function": lambda X, a: a}, r"the shape \(60,\)"),
        ({"function": lambda X, a: np.full(len(X), np.nan)}, r"not finite at the start p0 = \(1\)"),
        ({"function": decay, "jac": lambda X, *b: np.ones((3, len(X)))}, r"the shape \(60, 3\); it returned \(3, 60\)"),
        ({"function": decay, "jac": lambda X, *b: np.full((60, 3), np.nan)}, "Jacobian of the function is not finite"),
        ({"function": decay, "p0": [1.0, 2.0]}, "p0 has 2 entries, but the function has 3 parameters"),
        ({"p0": [1.0, 2.0, 3.0]}, "a linear function of the columns has 2"),
        ({"function": decay, "p0": [1.0, np.nan, 1.0]}, "p0 must be finite; its entry 1"),
        ({"function": decay, "bounds": (2.0, 3.0)}, "within the bounds"),
        ({"function": decay, "bounds": [1.0, 2.0, 3.0]}, "bounds must be a pair"),
        ({"function": lambda X: X[:, 0]}, "p0 must be a vector with at least one entry"),
        ({"function": 3.0}, "function"),
        ({"jac": "backward"}, "jac"),
    ],
)
def test_bad_parameters_get_a_sentence(arguments, sentence):
    X, y = data()
    with pytest.raises(ValueError, match=sentence):
        NonlinearRegressor(**arguments).fit(X, y)


def test_bad_questions_get_a_sentence():
    X, y = data()
    model = NonlinearRegressor(decay).fit(X, y)
    with pytest.raises(ValueError, match="level must be"):
        model.interval(95)
    with pytest.raises(ValueError, match="kind must be"):
        model.predict_interval(X, kind="both")
    with pytest.raises(ValueError, match="in memory"):
        model.predict_interval(Batches(lambda: [X]))
