"""Quadratic discriminants: scikit-learn's numbers, gaps, batches, bad input."""

import numpy as np
import pytest
import sklearn.discriminant_analysis as peers
from sklearn.covariance import OAS
from sklearn.datasets import load_iris, load_wine

from didact import Batches
from didact.core.errors import InputError
from didact.discriminant_analysis import GaussianClassifier, QuadraticDiscriminantAnalysis

RNG = np.random.default_rng(0)
TABLES = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "two": (RNG.normal(size=(120, 4)) * (1 + np.arange(120)[:, None] % 2), np.arange(120) % 2),
}
IRIS = TABLES["iris"]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"reg_param": 0.2},
        {"solver": "eigen"},
        {"solver": "eigen", "shrinkage": 0.3},
        {"solver": "eigen", "shrinkage": "auto"},
        {"solver": "eigen", "covariance_estimator": OAS()},
        {"priors": "rising"},
    ],
    ids=str,
)
def test_numbers_are_scikit_learns(table, parameters):
    X, y = TABLES[table]
    K = len(np.unique(y))
    if "priors" in parameters:
        parameters = {"priors": np.arange(1, K + 1) / np.arange(1, K + 1).sum()}
    ours = QuadraticDiscriminantAnalysis(store_covariance=True, **parameters).fit(X, y)
    theirs = peers.QuadraticDiscriminantAnalysis(store_covariance=True, **parameters).fit(X, y)
    for name in ("means_", "priors_", "scalings_", "covariance_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-8, err_msg=name)
    for method in ("decision_function", "predict_log_proba"):
        np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for R, C, v in zip(ours.rotations_, ours.covariance_, ours.scalings_):
        np.testing.assert_allclose(R.T @ C @ R, np.diag(v), atol=1e-8 * v[0])


def test_axes_belong_to_the_last_fit():
    X, y = IRIS
    model = QuadraticDiscriminantAnalysis()
    assert not hasattr(model, "scalings_")
    assert not hasattr(model, "rotations_")
    first = model.fit(X, y).scalings_
    again = model.fit(2 * X.astype(np.float32), y)
    assert {part.dtype for part in again.scalings_ + again.rotations_} == {np.dtype(np.float32)}
    np.testing.assert_allclose(again.scalings_, 4 * np.array(first), rtol=1e-4)


def with_variances(values, n=400):
    """Rows of two classes whose covariances have these variances along axes that are no columns."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(n, len(values)))
    Z = np.linalg.qr(Z - Z.mean(axis=0))[0] * np.sqrt(n * np.asarray(values))
    return np.vstack([Z, Z + 1.0]) @ np.linalg.qr(rng.normal(size=(len(values), len(values))))[0], np.repeat([0, 1], n)


@pytest.mark.parametrize("least", [1.001e-4, 0.999e-4])
def test_a_covariance_is_refused_by_its_least_variance(least):
    X, y = with_variances([9.0, 4.0, 1.0, 0.5, least])
    np.testing.assert_allclose(QuadraticDiscriminantAnalysis(tol=0.9e-4).fit(X, y).scalings_[0][-1], least, rtol=1e-8)
    if least > 1e-4:
        QuadraticDiscriminantAnalysis().fit(X, y)
    else:
        with pytest.raises(InputError, match="not full rank"):
            QuadraticDiscriminantAnalysis().fit(X, y)


@pytest.mark.parametrize("times", [0.2, 3.0])
def test_without_a_limit_rounding_is_the_limit(times):
    least = times * 4 * 60 * np.finfo(float).eps
    X, y = with_variances([1.0] * 59 + [least])
    model = QuadraticDiscriminantAnalysis(tol=0.0)
    if times < 1:
        with pytest.raises(InputError, match="not full rank"):
            model.fit(X, y)
    else:
        distances = (-2 * model.fit(X, y).predict_joint_log_proba(X)).min(axis=1)
        assert distances.mean() == pytest.approx(60 * np.log(2 * np.pi) + np.log(least) + 60 + 2 * np.log(2), rel=0.01)


def test_it_is_the_gaussian_classifier_with_full_covariances():
    X, y = IRIS
    hole = X.copy()
    hole[RNG.uniform(size=X.shape) < 0.2] = np.nan
    for Z in (X, hole):
        ours, gauss = QuadraticDiscriminantAnalysis().fit(Z, y), GaussianClassifier().fit(Z, y)
        for method in ("predict_joint_log_proba", "score_samples", "decision_function"):
            np.testing.assert_allclose(getattr(ours, method)(Z), getattr(gauss, method)(Z), rtol=1e-7, atol=1e-7)


def test_batches_with_gaps_are_the_fit_in_memory():
    X, y = IRIS
    hole = X.copy()
    hole[RNG.uniform(size=X.shape) < 0.1] = np.nan
    order = RNG.permutation(150)
    hole, y = hole[order], y[order]
    memory = QuadraticDiscriminantAnalysis().fit(hole, y)
    batches = Batches(lambda: ((hole[k : k + 40], y[k : k + 40]) for k in range(0, 150, 40)))
    streamed = QuadraticDiscriminantAnalysis().fit(batches)
    np.testing.assert_allclose(streamed.predict_proba(hole), memory.predict_proba(hole), rtol=1e-8, atol=1e-10)


def test_refusals():
    X, y = IRIS
    with pytest.raises(InputError, match=r"class 'b' is not full rank.*reg_param"):
        names = np.where(y == 1, "b", "a")
        QuadraticDiscriminantAnalysis().fit(np.column_stack([X, np.where(y == 1, 1.0, X[:, 0] ** 2)]), names)
    with pytest.raises(InputError, match="raise shrinkage"):
        QuadraticDiscriminantAnalysis(solver="eigen").fit(np.column_stack([X, X[:, 0]]), y)
    one = np.where(np.arange(150) == 7, 9, y)
    with pytest.raises(InputError, match="only 1 sample in class 9"):
        QuadraticDiscriminantAnalysis().fit(X, one)
    with pytest.raises(ValueError, match="sum of the priors"):
        QuadraticDiscriminantAnalysis(priors=[0.2, 0.2, 0.2]).fit(X, y)
    with pytest.raises(ValueError, match="not supported with solver='svd'"):
        QuadraticDiscriminantAnalysis(shrinkage=0.1).fit(X, y)
    with pytest.raises(ValueError, match="shrinkage"):
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="strong").fit(X, y)
    with pytest.raises(InputError, match="got 1 class"):
        QuadraticDiscriminantAnalysis().fit(X, np.zeros(150))
    few = RNG.normal(size=(8, 4))
    with pytest.raises(InputError, match="not full rank"):
        QuadraticDiscriminantAnalysis().fit(few, np.arange(8) % 2)


def test_tensors():
    torch = pytest.importorskip("torch")
    X, y = IRIS
    T = torch.as_tensor(X)
    model = QuadraticDiscriminantAnalysis().fit(T, torch.as_tensor(y))
    memory = QuadraticDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(T).numpy(), memory.predict_proba(X), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(model.score_samples(T).numpy(), memory.score_samples(X), rtol=1e-8)
    np.testing.assert_array_equal(model.predict(T), memory.predict(X))
    hole = T.clone()
    hole[0, 0] = float("nan")
    with pytest.raises(InputError, match="tensors"):
        model.predict(hole)
