"""Linear discriminants: scikit-learn's numbers for all solvers, Fisher's criterion, singular data, gaps, bad input."""

import numpy as np
import pandas as pd
import pytest
import sklearn.discriminant_analysis as peers
from sklearn.covariance import OAS
from sklearn.datasets import load_iris, load_wine

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.discriminant_analysis import GaussianClassifier, LinearDiscriminantAnalysis

RNG = np.random.default_rng(0)
TABLES = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "two": (RNG.normal(size=(120, 4)) + np.arange(120)[:, None] % 2, np.arange(120) % 2),
}
IRIS = TABLES["iris"]


def both(table, **parameters):
    X, y = TABLES[table]
    return LinearDiscriminantAnalysis(**parameters).fit(X, y), peers.LinearDiscriminantAnalysis(**parameters).fit(X, y)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("own_priors", [False, True])
@pytest.mark.parametrize(
    ("solver", "shrinkage"),
    [("svd", None)] + [(s, g) for s in ("lsqr", "eigen") for g in (None, 0.3, "auto")],
)
def test_numbers_are_scikit_learns(table, own_priors, solver, shrinkage):
    X, y = TABLES[table]
    K = len(np.unique(y))
    priors = np.arange(1, K + 1) / np.arange(1, K + 1).sum() if own_priors else None
    ours, theirs = both(table, solver=solver, shrinkage=shrinkage, priors=priors, store_covariance=True)
    for name in ("coef_", "intercept_", "means_", "priors_", "covariance_"):
        expected = getattr(theirs, name)
        np.testing.assert_allclose(getattr(ours, name), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if solver != "lsqr":
        np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), rtol=1e-6, atol=1e-7)
        if priors is None:
            np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-8)


def test_a_covariance_estimator():
    for solver in ("lsqr", "eigen"):
        ours, theirs = both("wine", solver=solver, covariance_estimator=OAS())
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)
    with pytest.raises(InputError, match="in memory"):
        LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS()).fit(Batches(lambda: [IRIS]))
    with pytest.raises(InputError, match="neither sample_weight"):
        LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS()).fit(*IRIS, np.ones(150))


def test_it_is_the_gaussian_classifier_with_a_shared_covariance():
    X, y = IRIS
    ours = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    gauss = GaussianClassifier(covariance="shared").fit(X, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), gauss.predict_log_proba(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.covariance_, gauss.covariance_[0], rtol=1e-10)


def test_two_classes_have_the_direction_of_the_course():
    """w = Σ⁻¹(μ₁ − μ₂), and the border lies half-way between the means if the classes are equally probable."""
    X, y = TABLES["two"]
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    w = np.linalg.solve(model.covariance_, model.means_[1] - model.means_[0])
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-8)
    np.testing.assert_allclose(model.decision_function([model.means_.mean(axis=0)]), 0.0, atol=1e-10)


def test_the_projection_maximises_fishers_criterion():
    X, y = TABLES["wine"]
    model = LinearDiscriminantAnalysis().fit(X, y)
    D = X - model.means_[y]
    B = model.means_[y] - X.mean(axis=0)

    def criterion(W):
        return np.linalg.slogdet((B @ W).T @ (B @ W))[1] - np.linalg.slogdet((D @ W).T @ (D @ W))[1]

    best = criterion(model.scalings_)
    scale = np.abs(model.scalings_)
    others = [criterion(model.scalings_ + 0.05 * scale * RNG.normal(size=scale.shape)) for _ in range(50)]
    assert max(others) < best
    Z = model.transform(X)
    means = np.array([Z[y == k].mean(axis=0) for k in range(3)])
    within = sum((Z[y == k] - means[k]).T @ (Z[y == k] - means[k]) for k in range(3)) / len(y)
    np.testing.assert_allclose(within, np.eye(2), atol=1e-8)
    one = LinearDiscriminantAnalysis(n_components=1).fit(X, y)
    np.testing.assert_allclose(one.transform(X), Z[:, :1], rtol=1e-10)
    assert one.explained_variance_ratio_.shape == (1,)


def test_frames_come_out_with_names():
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = LinearDiscriminantAnalysis().set_output(transform="pandas").fit(frame, y)
    out = model.transform(frame)
    assert list(out.columns) == ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]
    assert list(model.get_feature_names_out()) == list(out.columns)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_singular_covariances_lose_directions_not_the_fit(solver):
    X, y = IRIS
    twice = np.column_stack([X, X[:, 0] + X[:, 1], np.full(150, 3.0)])
    plain, singular = (LinearDiscriminantAnalysis(solver=solver).fit(Z, y) for Z in (X, twice))
    np.testing.assert_allclose(singular.predict_proba(twice), plain.predict_proba(X), rtol=1e-6, atol=1e-9)
    # a gap in a column that the others make up for says nothing new
    hole = twice.copy()
    hole[:, 4] = np.nan
    np.testing.assert_allclose(singular.predict_proba(hole), plain.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_more_columns_than_rows():
    X = RNG.normal(size=(20, 50))
    y = np.arange(20) % 2
    ours, theirs = LinearDiscriminantAnalysis().fit(X, y), peers.LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-6)


def test_columns_of_very_different_size():
    X, y = IRIS
    unit = np.array([1e6, 1e-6, 1.0, 1e3])
    for solver in ("svd", "lsqr", "eigen"):
        plain, scaled = (LinearDiscriminantAnalysis(solver=solver).fit(Z, y) for Z in (X, X * unit))
        np.testing.assert_allclose(scaled.predict_proba(X * unit), plain.predict_proba(X), rtol=1e-6, atol=1e-10)


def test_predictions_use_the_columns_that_are_there():
    X, y = IRIS
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    hole = X.copy()
    hole[:, [0, 2]] = np.nan
    o = [1, 3]
    P = np.linalg.inv(model.covariance_[np.ix_(o, o)])
    M = model.means_[:, o]
    g = X[:, o] @ P @ M.T - 0.5 * ((M @ P) * M).sum(axis=1)
    expected = np.exp(g) / np.exp(g).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(hole), expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 4), np.nan))[0], model.priors_)


def test_rows_with_gaps_are_projected_where_they_are_expected():
    """E[x | what is there] is the mean over the classes of the conditional means."""
    X, y = IRIS
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    gauss = GaussianClassifier(covariance="shared").fit(X, y)
    hole = X.copy()
    hole[:, 2] = np.nan
    share = model.predict_proba(hole)
    full = X.copy()
    full[:, 2] = [
        sum(p * gauss.class_distribution(k).conditional([0, 1, 3], row[[0, 1, 3]]).mean[0] for k, p in enumerate(P))
        for row, P in zip(hole, share)
    ]
    np.testing.assert_allclose(model.transform(hole), model.transform(full), rtol=1e-6, atol=1e-8)
    singular = LinearDiscriminantAnalysis().fit(np.column_stack([X, X[:, 0]]), y)
    assert np.isnan(singular.transform(np.column_stack([hole, X[:, 0]]))).all()


def test_a_fit_with_gaps_is_the_gaussian_classifiers():
    X, y = IRIS
    hole = X.copy()
    hole[RNG.uniform(size=X.shape) < 0.2] = np.nan
    for parameters in ({}, {"solver": "eigen", "shrinkage": 0.2}):
        ours = LinearDiscriminantAnalysis(**parameters).fit(hole, y)
        gauss = GaussianClassifier(covariance="shared", shrinkage=parameters.get("shrinkage")).fit(hole, y)
        np.testing.assert_allclose(ours.predict_proba(hole), gauss.predict_proba(hole), rtol=1e-6, atol=1e-9)
        assert ours.n_iter_ > 1
    assert np.isfinite(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(hole, y).coef_).all()


def test_refusals():
    X, y = IRIS
    for parameters, sentence in [
        ({"priors": [0.5, 0.5]}, "Number of priors"),
        ({"priors": [1.5, -0.5, 0.0]}, "non-negative"),
        ({"n_components": 3}, "n_components cannot be larger"),
        ({"shrinkage": 0.1}, "not supported with solver='svd'"),
        ({"covariance_estimator": OAS()}, "not supported with solver='svd'"),
        ({"solver": "lsqr", "shrinkage": 0.1, "covariance_estimator": OAS()}, "Only one of the two"),
        ({"solver": "lsqr", "shrinkage": "strong"}, "shrinkage"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            LinearDiscriminantAnalysis(**parameters).fit(X, y)
    with pytest.raises(InputError, match="got 1 class"):
        LinearDiscriminantAnalysis().fit(X, np.zeros(150))
    with pytest.raises(InputError, match="more than the number of classes"):
        LinearDiscriminantAnalysis().fit(X[:3] * 1.0, [0, 1, 2])
    with pytest.raises(NotImplementedError, match="lsqr"):
        LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).transform(X)
    with pytest.raises(ParameterError, match="covariance_ attribute"):
        from sklearn.preprocessing import StandardScaler

        LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=StandardScaler()).fit(X, y)


def test_tensors():
    torch = pytest.importorskip("torch")
    X, y = IRIS
    T = torch.as_tensor(X)
    model, memory = LinearDiscriminantAnalysis().fit(T, torch.as_tensor(y)), LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.predict_proba(T).numpy(), memory.predict_proba(X), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(model.transform(T).numpy(), memory.transform(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(model.predict(T), memory.predict(X))
