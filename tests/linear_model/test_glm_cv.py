"""GeneralizedLinearRegressorCV: every deviance is that of a model fitted to the fold, and the choice follows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNetCV, LassoCV
from sklearn.metrics import mean_absolute_error, mean_poisson_deviance
from sklearn.model_selection import KFold

from didact import Batches, EarlyStopping
from didact.core.errors import InputError, ParameterError
from didact.engines.linear.objective import LinearObjective
from didact.linear_model import GeneralizedLinearRegressor, GeneralizedLinearRegressorCV
from didact.parts.families import NegativeBinomial, Tweedie

FOLDS = KFold(3, shuffle=True, random_state=0)


def rows(n=120, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    eta = 0.5 * X[:, 0] - 0.3 * X[:, 1] + 0.2
    return X, eta, rng.integers(1, 4, n).astype(float), rng


def targets(family):
    X, eta, w, rng = rows()
    n = len(X)
    y = {
        "gaussian": lambda: eta + rng.normal(size=n),
        "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(eta)),
        "binomial": lambda: rng.binomial(3, 1 / (1 + np.exp(-eta))) / 3,
        "multinomial": lambda: rng.multinomial(4, [0.2, 0.3, 0.5], size=n).astype(float),
    }[family]()
    return X, y, w


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma", "binomial", "multinomial"])
@pytest.mark.parametrize("l1_ratio", [0.0, (0.0, 0.5, 1.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_deviances_are_those_of_fits_to_each_fold(family, l1_ratio, weighted):
    X, y, w = targets(family)
    link = {"gamma": "log"}.get(family, "auto")
    w = w if weighted else None
    common = {"family": family, "link": link, "tol": 1e-9}
    model = GeneralizedLinearRegressorCV(**common, alphas=[1.0, 0.01, 0.1], l1_ratio=l1_ratio, cv=FOLDS).fit(X, y, w)
    ratios = np.atleast_1d(l1_ratio)
    assert model.deviance_path_.shape == (len(ratios), 3, 3)
    for f, (train, test) in enumerate(FOLDS.split(X)):
        for r, ratio in enumerate(ratios):
            for a, alpha in enumerate([1.0, 0.01, 0.1]):
                alone = GeneralizedLinearRegressor(**common, alpha=alpha, l1_ratio=ratio)
                alone.fit(X[train], y[train], None if w is None else w[train])
                noun = alone._model()[0]
                target, weights = y[test], np.ones(len(test)) if w is None else w[test]
                if family == "multinomial":
                    weights = weights * target.sum(axis=1)
                    target = target / target.sum(axis=1, keepdims=True)
                expected = np.average(noun.deviance(target, alone.predict(X[test])), weights=weights)
                np.testing.assert_allclose(model.deviance_path_[r, a, f], expected, rtol=1e-6)
    means = model.deviance_path_.mean(axis=2)
    r, a = np.unravel_index(means.argmin(), means.shape)
    assert (model.alpha_, model.l1_ratio_) == ([1.0, 0.01, 0.1][a], ratios[r])
    best = GeneralizedLinearRegressor(**common, alpha=model.alpha_, l1_ratio=model.l1_ratio_).fit(X, y, w)
    np.testing.assert_allclose(model.coef_, best.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), best.predict(X), rtol=1e-12)
    assert model.loss_ == best.loss_
    assert model.n_iter_ == best.n_iter_


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
def test_the_gaussian_path_is_scikit_learns(l1_ratio):
    X, y, _ = targets("gaussian")
    alphas = np.geomspace(1.0, 1e-3, 8)
    theirs = ElasticNetCV(l1_ratio=l1_ratio, alphas=alphas, cv=FOLDS, tol=1e-10, max_iter=100_000).fit(X, y)
    ours = GeneralizedLinearRegressorCV(alphas=alphas, l1_ratio=l1_ratio, cv=FOLDS, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.deviance_path_[0], theirs.mse_path_, rtol=1e-6)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma", "binomial", "multinomial"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_automatic_grid_starts_where_all_coefficients_are_zero(family, fit_intercept):
    X, y, w = targets(family)
    link = {"gamma": "log"}.get(family, "auto")
    common = {"family": family, "link": link, "fit_intercept": fit_intercept}
    model = GeneralizedLinearRegressorCV(**common, alphas=4, l1_ratio=0.7, cv=2, tol=1e-8).fit(X, y, w)
    top = model.alphas_[0]
    np.testing.assert_allclose(model.alphas_, top * np.geomspace(1, 1e-4, 4))
    above, below = (
        GeneralizedLinearRegressor(**common, alpha=scale * top, l1_ratio=0.7, tol=1e-10).fit(X, y, w).coef_
        for scale in (1 + 1e-6, 1 - 1e-3)
    )
    assert not above.any()
    assert below.any()


def test_automatic_grids():
    X, y, _ = targets("gaussian")
    lasso = LassoCV(alphas=5, eps=1e-4, cv=3).fit(X, y)
    model = GeneralizedLinearRegressorCV(alphas=5, l1_ratio=[1.0, 0.0], cv=3).fit(X, y)
    np.testing.assert_allclose(model.alphas_[0], lasso.alphas_, rtol=1e-9)
    np.testing.assert_allclose(model.alphas_[1], np.geomspace(10, 1e-5, 5))
    assert GeneralizedLinearRegressorCV(cv=2).fit(X, y).alphas_.shape == (30,)


def test_offset_and_exposure_reach_the_folds():
    X, eta, w, rng = rows(300)
    exposure = rng.uniform(0.5, 20.0, 300)
    y = rng.poisson(exposure * np.exp(eta)).astype(float)
    common = {"family": "poisson", "tol": 1e-9}
    model = GeneralizedLinearRegressorCV(**common, alphas=[0.01, 3.0], cv=FOLDS).fit(X, y, w, exposure=exposure)
    logs = np.log(exposure)
    for f, (train, test) in enumerate(FOLDS.split(X)):
        alone = GeneralizedLinearRegressor(**common, alpha=0.01).fit(X[train], y[train], w[train], offset=logs[train])
        expected = mean_poisson_deviance(y[test], alone.predict(X[test], offset=logs[test]), sample_weight=w[test])
        np.testing.assert_allclose(model.deviance_path_[0, 0, f], expected, rtol=1e-6)
    assert model.alpha_ == 0.01
    by_offset = GeneralizedLinearRegressorCV(**common, alphas=[0.01, 3.0], cv=FOLDS).fit(X, y, w, offset=logs)
    np.testing.assert_allclose(by_offset.coef_, model.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.predict(X, exposure=exposure), exposure * model.predict(X), rtol=1e-10)
    for scoring in ("neg_mean_poisson_deviance", lambda model, A, t: model.score(A, t)):
        chosen = GeneralizedLinearRegressorCV(**common, alphas=[0.01], cv=FOLDS, scoring=scoring).fit(X, y, offset=logs)
        train, test = next(iter(FOLDS.split(X)))
        alone = GeneralizedLinearRegressor(**common, alpha=0.01).fit(X[train], y[train], offset=logs[train])
        means = alone.predict(X[test], offset=logs[test])
        expected = alone.score(X[test], y[test], offset=logs[test])
        expected = -mean_poisson_deviance(y[test], means) if isinstance(scoring, str) else expected
        np.testing.assert_allclose(chosen.scores_[0, 0, 0], expected, rtol=1e-6)


def test_score_takes_the_exposure():
    X, eta, w, rng = rows(300)
    exposure = rng.uniform(0.5, 20.0, 300)
    y = rng.poisson(exposure * np.exp(eta)).astype(float)
    chosen = GeneralizedLinearRegressorCV(family="poisson", alphas=[0.0], cv=FOLDS, tol=1e-9).fit(
        X, y, w, exposure=exposure
    )
    plain = GeneralizedLinearRegressor(family="poisson", tol=1e-9).fit(X, y, w, exposure=exposure)
    expected = plain.inference(X, y, w, exposure=exposure).r_squared
    assert chosen.score(X, y, w, exposure=exposure) == pytest.approx(expected, rel=1e-7)
    assert chosen.dispersion_ == 1.0


def test_an_estimated_parameter_is_judged_by_the_likelihood():
    """The negative binomial's deviance falls with its overdispersion: comparable is only the likelihood."""
    X, eta, _, rng = rows(400)
    y = rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, 400)).astype(float)
    model = GeneralizedLinearRegressorCV("negative_binomial", link="log", alphas=[0.001, 5.0], cv=FOLDS).fit(X, y)
    assert model.alpha_ == 0.001
    assert 0.2 < model.loss_.family.alpha < 1.0
    train, test = next(iter(FOLDS.split(X)))
    alone = GeneralizedLinearRegressor(family="negative_binomial", link="log", alpha=5.0).fit(X[train], y[train])
    likelihood = alone.loss_.family.log_likelihood(y[test], alone.predict(X[test])).mean()
    np.testing.assert_allclose(model.deviance_path_[0, 1, 0], -2 * likelihood, rtol=1e-4)
    given = GeneralizedLinearRegressorCV(NegativeBinomial(0.5), link="log", alphas=[0.001, 5.0], cv=FOLDS).fit(X, y)
    assert given.loss_.family == NegativeBinomial(0.5)


def test_scoring_takes_the_place_of_the_deviance():
    X, y, w = targets("poisson")
    model = GeneralizedLinearRegressorCV("poisson", alphas=[0.01, 1.0], cv=FOLDS, scoring="neg_mean_absolute_error")
    model.fit(X, y, w)
    train, test = next(iter(FOLDS.split(X)))
    alone = GeneralizedLinearRegressor(family="poisson", alpha=1.0).fit(X[train], y[train], w[train])
    expected = -mean_absolute_error(y[test], alone.predict(X[test]), sample_weight=w[test])
    np.testing.assert_allclose(model.scores_[0, 1, 0], expected, rtol=1e-5)
    assert model.alpha_ == [0.01, 1.0][model.scores_[0].mean(axis=1).argmax()]


def test_sparse_input_and_other_families():
    X, y, w = targets("gamma")
    y[::7] = 0.0
    options = {"family": Tweedie(1.5), "link": "log", "alphas": 4, "l1_ratio": 0.5, "cv": 3, "tol": 1e-9}
    dense, sparse = (GeneralizedLinearRegressorCV(**options).fit(A, y, w) for A in (X, sp.csr_array(X)))
    np.testing.assert_allclose(sparse.deviance_path_, dense.deviance_path_, rtol=1e-6)
    np.testing.assert_allclose(sparse.alphas_, dense.alphas_, rtol=1e-9)
    assert 0 < dense.score(X, y, w) < 1


def test_what_cannot_be_is_refused_with_a_sentence():
    X, y, _ = targets("poisson")
    with pytest.raises(InputError, match=r"in memory.*GeneralizedLinearRegressor\(alpha"):
        GeneralizedLinearRegressorCV().fit(Batches(lambda: [(X, y)]))
    for wrong in ({"alphas": [-1.0]}, {"alphas": []}, {"l1_ratio": [0.5, 1.5]}):
        with pytest.raises(ParameterError, match=r"must be (a number|>|<)"):
            GeneralizedLinearRegressorCV(**wrong).fit(X, y)
    with pytest.raises(InputError, match="valid range"):
        GeneralizedLinearRegressorCV("poisson").fit(X, -y - 1)


def test_a_callback_can_stop():
    X, y, _ = targets("poisson")
    model = GeneralizedLinearRegressorCV("poisson", alphas=5, cv=3)
    model.set_callbacks(EarlyStopping(patience=1, min_delta=100.0)).fit(X, y)
    assert np.isfinite(model.deviance_path_).sum() == 2
    assert model.alpha_ in model.alphas_[:2]


def test_sparse_rows_are_left_as_they_came():
    """Unsorted indices and duplicates, which taking rows for the folds would sort and sum in place."""
    data, indices, indptr = (
        np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        np.array([2, 0, 0, 1, 1, 0]),
        np.array([0, 2, 4, 6]),
    )
    X = sp.csr_matrix((data.copy(), indices.copy(), indptr.copy()), shape=(3, 3))
    model = GeneralizedLinearRegressorCV(cv=3, alphas=[0.1]).fit(X, [1.0, 2.0, 3.0])
    for found, given in ((X.data, data), (X.indices, indices), (X.indptr, indptr)):
        np.testing.assert_array_equal(found, given)
    np.testing.assert_allclose(model.coef_, model.fit(X.toarray(), [1.0, 2.0, 3.0]).coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("power", [150, 200])
def test_columns_of_all_sizes_take_few_iterations(power, monkeypatch):
    """One look at the slope at the start shows that units are wanted: no fit runs into its limit first."""
    calls, evaluate = [], LinearObjective.value_gradient_hessian
    monkeypatch.setattr(LinearObjective, "value_gradient_hessian", lambda self, x: calls.append(0) or evaluate(self, x))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X @ [1.0, 0.5, -0.3, 0.2] + 0.1 * rng.normal(size=60)
    model = GeneralizedLinearRegressorCV(alphas=[10.0, 1.0, 1e-5], cv=2).fit(X * np.logspace(-power, power, 4), y)
    expected = GeneralizedLinearRegressorCV(alphas=[0.0], cv=2).fit(X[:, 2:], y).coef_  # no penalty is left of these
    np.testing.assert_allclose(model.coef_[2:] * np.logspace(-power, power, 4)[2:], expected, rtol=1e-6)
    assert len(calls) < 60
