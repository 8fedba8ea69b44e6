"""The Gaussian classifiers: the identities between them (worked examples, row 98), Friedman's path, gaps, draws."""

import dask.array as da
import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_iris

import didact
from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.discriminant_analysis import GaussianClassifier
from didact.distributions import MultivariateGaussian
from didact.linear_model import LogisticRegression
from didact.naive_bayes import GaussianNB

RNG = np.random.default_rng(0)
X, y = load_iris(return_X_y=True)
W = RNG.uniform(0.5, 2.0, 150)
GAPS = np.where(RNG.uniform(size=X.shape) < 0.2, np.nan, X)
NAMES = ("full", "shared", "diagonal", "shared_diagonal", "isotropic", "shared_isotropic", "mahalanobis", "euclidean")


def fitted(*arguments, **parameters):
    return GaussianClassifier(**parameters).fit(*(arguments or (X, y)))


def covariance(model, k):
    C = model.covariance_[min(k, len(model.covariance_) - 1)]
    return C if C.ndim == 2 else np.diag(C)


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_the_densities_of_the_classes(name):
    model = fitted(X, y, W, covariance=name)
    found = model.predict_joint_log_proba(X)
    for k in range(3):
        d = MultivariateGaussian(model.means_[k], covariance(model, k))
        np.testing.assert_allclose(found[:, k], np.log(model.priors_[k]) + d.log_prob(X), rtol=1e-8)
        assert model.class_distribution(k) == d
    np.testing.assert_allclose(model.score_samples(X), np.log(np.exp(found).sum(axis=1)), rtol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_no_other_covariance_of_the_form_is_more_likely(name):
    model = fitted(covariance=name)

    def likelihood(change):
        return sum(
            MultivariateGaussian(model.means_[k], covariance(model, k) + change(k)).log_prob(X[y == k]).sum()
            for k in range(3)
        )

    best = likelihood(lambda k: 0.0)
    matrix, shared = name in ("full", "shared", "mahalanobis"), model.covariance_.shape[0] == 1
    for seed in range(10):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(3, 4, 4)) * 1e-3
        A = A + A.transpose(0, 2, 1) if matrix else np.stack([np.diag(np.diag(a)) for a in A])
        if name in ("isotropic", "shared_isotropic", "euclidean"):
            A = np.stack([a[0, 0] * np.eye(4) for a in A])
        assert likelihood(lambda k, A=A: A[0 if shared else k]) < best


# ------------------------------------------------------------------------------------------------ identities, row 98


def test_shared_covariance_is_logistic_in_x():
    model = fitted(X[:100], y[:100], covariance="shared")
    P = np.linalg.inv(model.covariance_[0])
    w = P @ (model.means_[1] - model.means_[0])
    c = -0.5 * (model.means_[1] @ P @ model.means_[1] - model.means_[0] @ P @ model.means_[0])
    z = X @ w + c + np.log(model.priors_[1] / model.priors_[0])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-z)), rtol=1e-7, atol=1e-300)
    np.testing.assert_allclose(model.decision_function(X), z, rtol=1e-7)


def test_own_covariances_are_quadratic_in_x():
    """Third differences along any line vanish, second ones are constant and not zero."""
    model = fitted(X[:100], y[:100])
    line = X[0] + np.linspace(-2, 2, 9)[:, None] * RNG.normal(size=4)
    values = model.decision_function(line)
    second = np.diff(values, 2)
    np.testing.assert_allclose(second, second[0], rtol=1e-6)
    assert abs(second[0]) > 1e-3
    linear = fitted(X[:100], y[:100], covariance="shared").decision_function(line)
    np.testing.assert_allclose(np.diff(linear, 2), 0.0, atol=1e-8)


def test_diagonal_covariances_are_naive_bayes():
    ours, bayes = fitted(X, y, W, covariance="diagonal"), GaussianNB(var_smoothing=0.0).fit(X, y, W)
    np.testing.assert_allclose(ours.covariance_, bayes.var_, rtol=1e-10)
    np.testing.assert_allclose(ours.predict_joint_log_proba(GAPS), bayes.predict_joint_log_proba(GAPS), rtol=1e-10)


def test_equal_priors_give_the_nearest_mean_in_mahalanobis_distance():
    model = fitted(X[:120], y[:120], covariance="mahalanobis")
    P = np.linalg.inv(model.covariance_[0])
    D = X[:, None] - model.means_
    distance = np.einsum("nkp,pq,nkq->nk", D, P, D)
    np.testing.assert_array_equal(model.predict(X), distance.argmin(axis=1))
    same = fitted(X[:120], y[:120], covariance="shared", priors="equal")
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X))


def test_isotropic_covariances_give_the_nearest_mean():
    model = fitted(covariance="euclidean")
    distance = ((X[:, None] - model.means_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(X), distance.argmin(axis=1))
    template = X @ model.means_.T - 0.5 * (model.means_**2).sum(axis=1)
    np.testing.assert_array_equal(model.predict(X), template.argmax(axis=1))
    variances = np.stack([X[y == k].var(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.covariance_, np.full((1, 4), variances.mean()), rtol=1e-10)


def test_means_of_unit_length_give_the_largest_dot_product():
    Z = X - X.mean(axis=0)
    model = fitted(Z, y, covariance="dot_product")
    np.testing.assert_allclose(np.linalg.norm(model.means_, axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(Z), (Z @ model.means_.T).argmax(axis=1))
    for k in range(3):
        np.testing.assert_allclose(model.means_[k], Z[y == k].mean(axis=0) / np.linalg.norm(Z[y == k].mean(axis=0)))
    variance = ((Z - model.means_[y]) ** 2).mean()
    np.testing.assert_allclose(model.covariance_, variance, rtol=1e-10)
    with pytest.raises(InputError, match="no direction"):
        fitted(np.array([[1.0], [-1.0], [2.0], [3.0]]), [0, 0, 1, 1], covariance="dot_product")


def test_it_is_not_logistic_regression_but_close_where_its_assumption_holds():
    rng = np.random.default_rng(5)
    t = rng.integers(0, 2, 4000)
    Z = rng.normal(size=(4000, 2)) + np.outer(t, [1.5, 0.5])
    model = fitted(Z, t, covariance="shared")
    other = LogisticRegression(C=np.inf).fit(Z, t)
    slope = model.decision_function(np.eye(2)) - model.decision_function(np.zeros((1, 2)))
    np.testing.assert_allclose(slope, other.coef_[0], atol=0.1)
    assert not np.allclose(slope, other.coef_[0], rtol=1e-4)


# ------------------------------------------------------------------------------------------------ the path


def test_friedmans_formula_and_the_ends_of_the_path():
    S = np.stack([(X[y == k] - X[y == k].mean(axis=0)).T @ (X[y == k] - X[y == k].mean(axis=0)) for k in range(3)])
    rows = np.concatenate([np.arange(50), np.arange(50, 80), np.arange(100, 150)])  # classes of unequal size
    part = np.stack([np.cov(X[rows][y[rows] == k].T, bias=True) * (y[rows] == k).sum() for k in range(3)])
    count = np.bincount(y[rows])
    for pooling, shrinkage in [(0.3, 0.2), (0.0, 0.5), (1.0, 0.0), (0.7, 1.0)]:
        model = fitted(X[rows], y[rows], pooling=pooling, shrinkage=shrinkage)
        mixed = (1 - pooling) * part + pooling * part.sum(axis=0)
        mixed = mixed / ((1 - pooling) * count + pooling * count.sum())[:, None, None]
        trace = np.trace(mixed, axis1=1, axis2=2)[:, None, None] / 4
        np.testing.assert_allclose(model.covariance_, (1 - shrinkage) * mixed + shrinkage * trace * np.eye(4))
    np.testing.assert_allclose(
        fitted(pooling=1.0).predict_proba(X), fitted(covariance="shared").predict_proba(X), rtol=1e-7, atol=1e-12
    )
    np.testing.assert_allclose(
        fitted(pooling=1.0, shrinkage=1.0).predict_proba(X),
        fitted(covariance="shared_isotropic").predict_proba(X), rtol=1e-7, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(
        fitted(covariance="diagonal", pooling=1.0).predict_proba(X),
        fitted(covariance="shared_diagonal").predict_proba(X), rtol=1e-7, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(fitted(covariance="shared").covariance_[0], S.sum(axis=0) / 150)


def test_automatic_shrinkage_is_ledoit_and_wolfs():
    model = fitted(shrinkage="auto")
    pooled = fitted(covariance="shared", shrinkage="auto")
    for k in range(3):
        Z = X[y == k] - X[y == k].mean(axis=0)
        s = Z.std(axis=0)
        np.testing.assert_allclose(model.covariance_[k], np.outer(s, s) * ledoit_wolf(Z / s)[0], rtol=1e-8)
    D = np.concatenate([X[y == k] - X[y == k].mean(axis=0) for k in range(3)])
    s = D.std(axis=0)
    expected = np.outer(s, s) * ledoit_wolf(D / s, assume_centered=True)[0]
    np.testing.assert_allclose(pooled.covariance_[0], expected, rtol=1e-8)
    few = RNG.permutation(150)[:18]
    with pytest.raises(InputError, match="not full rank"):
        fitted(np.column_stack([X, X @ RNG.normal(size=(4, 3))])[few], y[few])
    for rule in ("auto", "oas"):
        assert np.isfinite(
            fitted(np.column_stack([X, X @ RNG.normal(size=(4, 3))])[few], y[few], shrinkage=rule).means_
        ).all()


# ------------------------------------------------------------------------------------------------ gaps


@pytest.mark.parametrize("name", ["full", "shared", "diagonal", "isotropic"])
def test_predictions_marginalise(name):
    model = fitted(covariance=name)
    hole = X.copy()
    hole[::2, 1], hole[::3, 3], hole[::5, 0] = np.nan, np.nan, np.nan
    found = model.predict_joint_log_proba(hole)
    for k in range(3):
        d = model.class_distribution(k)
        expected = [d.marginal(np.flatnonzero(~np.isnan(r))).log_prob(r[~np.isnan(r)]) for r in hole]
        np.testing.assert_allclose(found[:, k], np.log(model.priors_[k]) + expected, rtol=1e-8)
    np.testing.assert_allclose(model.predict_proba(np.full((2, 4), np.nan)), [model.priors_] * 2)


@pytest.mark.parametrize("name", ["full", "shared"])
def test_em_raises_the_likelihood_above_that_of_the_complete_rows(name):
    model = fitted(GAPS, y, covariance=name)
    complete = ~np.isnan(GAPS).any(axis=1)
    other = fitted(GAPS[complete], y[complete], covariance=name)
    assert model.n_iter_ > 1

    def likelihood(m):
        joint = m.predict_joint_log_proba(GAPS) - np.log(m.priors_)
        return joint[np.arange(150), y].sum()

    assert likelihood(model) > likelihood(other)


@pytest.mark.parametrize("parameters", [{}, {"covariance": "shared"}, {"covariance": "diagonal"}], ids=str)
def test_a_few_gaps_change_little_and_weights_repeat_rows(parameters):
    hole = X.copy()
    hole[3, 1] = hole[77, 0] = np.nan
    near, whole = fitted(hole, y, **parameters), fitted(**parameters)
    np.testing.assert_allclose(near.covariance_, whole.covariance_, atol=0.02)
    w = RNG.integers(1, 4, 150)
    weighted = fitted(GAPS, y, w.astype(float), **parameters)
    repeated = fitted(np.repeat(GAPS, w, axis=0), np.repeat(y, w), **parameters)
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-7)


def test_em_says_when_it_is_not_done_and_callbacks_hear_of_it():
    with pytest.warns(Warning, match="max_iter"):
        fitted(GAPS, y, max_iter=1)
    stopped = GaussianClassifier().set_callbacks(didact.EarlyStopping(patience=1, min_delta=1e9)).fit(GAPS, y)
    assert stopped.n_iter_ == 2
    assert np.isfinite(fitted(GAPS, y, shrinkage="auto").covariance_).all()


@pytest.mark.parametrize("name", ["full", "shared", "diagonal"])
def test_gaps_in_batches_and_on_dask(name):
    memory = fitted(GAPS, y, covariance=name)
    order = np.arange(150)
    batches = Batches(lambda: ((GAPS[k : k + 60], y[k : k + 60]) for k in range(0, 150, 60)))
    collection = da.from_array(GAPS, chunks=(60, 4)), da.from_array(y, chunks=60)
    for model in (fitted(batches, covariance=name), fitted(*collection, covariance=name)):
        np.testing.assert_allclose(model.covariance_, memory.covariance_, rtol=1e-8)
        np.testing.assert_allclose(model.predict_proba(GAPS[order]), memory.predict_proba(GAPS), rtol=1e-7, atol=1e-10)


# ------------------------------------------------------------------------------------------------ draws and refusals


@pytest.mark.parametrize("name", ["full", "shared", "diagonal", "isotropic"])
def test_draws_have_the_moments_of_the_model(name):
    model = fitted(X[:130], y[:130], covariance=name)
    rows, labels = model.sample(40_000, random_state=0)
    share = np.array([(labels == k).mean() for k in range(3)])
    np.testing.assert_allclose(share, model.priors_, atol=4 * np.sqrt(0.25 / 40_000))
    for k in range(3):
        drawn, C = rows[labels == k], covariance(model, k)
        sigma = np.sqrt(np.diag(C))
        assert (np.abs(drawn.mean(axis=0) - model.means_[k]) < 5 * sigma / np.sqrt(len(drawn))).all()
        error = (np.cov(drawn.T) - C) / np.outer(sigma, sigma)
        assert np.abs(error).max() < 5 * np.sqrt(2 / len(drawn))
    again, _ = model.sample(40_000, random_state=0)
    np.testing.assert_array_equal(rows, again)
    np.testing.assert_allclose(fitted(rows, labels, covariance=name).priors_, share)


def test_refusals():
    for parameters, sentence in [
        ({"covariance": "shared", "pooling": 0.5}, "leave pooling at 0"),
        ({"covariance": "euclidean", "priors": [0.2, 0.3, 0.5]}, "leave priors at None"),
        ({"shrinkage": "auto", "pooling": 0.5}, "goes with pooling=0"),
    ]:
        with pytest.raises(ParameterError, match=sentence):
            fitted(**parameters)
    for parameters, sentence in [
        ({"priors": [0.5, 0.4, 0.2]}, "sum of the priors"),
        ({"priors": [0.5, 0.5]}, "Number of priors"),
        ({"shrinkage": "strong"}, "shrinkage"),
        ({"shrinkage": 1.5}, "shrinkage"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            fitted(**parameters)
    for name, sentence in [
        ("full", "of class 0 is not full rank.*shrinkage"),
        ("shared", "that the classes share is not full rank"),
        ("diagonal", "of class 0 is not full rank"),
    ]:
        with pytest.raises(InputError, match=sentence):
            fitted(np.column_stack([X, np.ones(150)]), y, covariance=name)
    one = np.where(np.arange(150) == 7, 9, y)
    with pytest.raises(InputError, match="only 1 sample in class 9"):
        fitted(X, one)
    with pytest.raises(InputError, match="of class 9 is not full rank"):
        fitted(X, one, covariance="diagonal")
    with pytest.raises(InputError, match="only 1 sample in class 'c'"):
        fitted(X, np.array(["a", "b", "c"], object)[np.where(one == 9, 2, one % 2)])
    assert np.isfinite(fitted(X, one, covariance="shared").predict_proba(X)).all()
    assert np.isfinite(fitted(X, one, pooling=0.1).predict_proba(X)).all()
    for name in ("full", "diagonal"):
        with pytest.raises(InputError, match="got 1 class"):
            fitted(X, np.zeros(150), covariance=name)
        with pytest.raises(InputError, match="Column 2 has no value in class 1"):
            fitted(np.where((y == 1)[:, None] & (np.arange(4) == 2), np.nan, X), y, covariance=name)
