"""Generalized linear models: score equations, statsmodels, offsets, binomial trials, multinomial, own parameters."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import statsmodels.api as sm
from scipy import stats
from sklearn import linear_model as reference
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import KFold, cross_validate
from statsmodels.othermod.betareg import BetaModel

import didact.parts.families as families
from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.core.rows import Block
from didact.linear_model import (
    GammaRegressor,
    GeneralizedLinearRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from didact.linear_model.glm_base import target_sums
from didact.parts.families import NegativeBinomial, Tweedie
from didact.parts.links import LINKS, Power

TIGHT = {"tol": 1e-10}
pytestmark = pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")
links = sm.families.links
SM_LINKS = {
    "identity": links.Identity(), "log": links.Log(), "logit": links.Logit(), "probit": links.Probit(),
    "cloglog": links.CLogLog(), "cauchit": links.Cauchy(), "inverse": links.InversePower(),
    "inverse_squared": links.InverseSquared(), "sqrt": links.Sqrt(),
}  # fmt: skip

# Every family with every link that suits it.
PAIRS = [
    *(("gaussian", link) for link in ("identity", "log", "inverse")),
    *(("bernoulli", link) for link in ("logit", "probit", "cloglog", "cauchit")),
    *(("poisson", link) for link in ("log", "identity", "sqrt")),
    *(("gamma", link) for link in ("inverse", "log", "identity")),
    *(("exponential", link) for link in ("inverse", "log")),
    *(("inverse_gaussian", link) for link in ("inverse_squared", "log", "inverse", "identity")),
    *(("tweedie", link) for link in ("log", "identity")),
    *(("negative_binomial", link) for link in ("log", "identity", "sqrt")),
]


def sm_family(name, link):
    link = SM_LINKS[link]
    return {
        "gaussian": sm.families.Gaussian, "bernoulli": sm.families.Binomial, "poisson": sm.families.Poisson,
        "gamma": sm.families.Gamma, "exponential": sm.families.Gamma,
        "inverse_gaussian": sm.families.InverseGaussian,
        "tweedie": lambda link: sm.families.Tweedie(link, var_power=1.5),
        "negative_binomial": lambda link: sm.families.NegativeBinomial(link, alpha=0.7),
    }[name](link)  # fmt: skip


def draw(name, mu, rng):
    """y with mean mu."""
    if name == "tweedie":  # sums of Poisson many gammas: power 1.5, dispersion 0.5
        counts = rng.poisson(4 * np.sqrt(mu))
        return np.array([rng.gamma(1.0, 1.0, size=k).sum() for k in counts]) * np.sqrt(mu) / 4
    return {
        "gaussian": lambda: mu + 0.1 * rng.normal(size=len(mu)),
        "bernoulli": lambda: (rng.uniform(size=len(mu)) < mu).astype(float),
        "poisson": lambda: rng.poisson(mu).astype(float),
        "gamma": lambda: rng.gamma(3.0, mu / 3),
        "exponential": lambda: rng.exponential(mu),
        "inverse_gaussian": lambda: rng.wald(mu, 5.0),
        "negative_binomial": lambda: rng.poisson(mu * rng.gamma(1 / 0.7, 0.7, size=len(mu))).astype(float),
    }[name]()


def data(name, link, n=400, seed=0):
    """Linear predictors between ½ and 2, where all links have possible means."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    eta = 0.5 + X @ [0.7, 0.5, 0.3]
    if link in ("logit", "probit", "cauchit", "cloglog"):
        eta = 2 * (eta - 1.2)
    return X, draw(name, LINKS[link].inverse(eta), rng)


def family_of(name):
    return NegativeBinomial(0.7) if name == "negative_binomial" else name


@pytest.mark.parametrize(("name", "link"), PAIRS)
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_statsmodels(name, link, weighted):
    X, y = data(name, link)
    w = np.random.default_rng(1).integers(1, 4, size=len(y)).astype(float) if weighted else None
    model = GeneralizedLinearRegressor(family=family_of(name), link=link, **TIGHT).fit(X, y, sample_weight=w)
    other = sm.GLM(y, sm.add_constant(X), family=sm_family(name, link), freq_weights=w)
    start = None if link != "identity" else np.array([y.mean(), 0, 0, 0])
    expected = other.fit(tol=1e-13, maxiter=300, tol_criterion="params", start_params=start)
    np.testing.assert_allclose(model.coef_, expected.params[1:], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, expected.params[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), expected.predict(), rtol=1e-6)


@pytest.mark.parametrize(("name", "link"), PAIRS)
def test_score_equations(name, link):
    """Σ w (y − μ)/V(μ)·dμ/dη·x = 0, written out from the family's own parts."""
    X, y = data(name, link)
    w = np.random.default_rng(1).uniform(0.2, 3, size=len(y))
    model = GeneralizedLinearRegressor(family=family_of(name), link=link, **TIGHT).fit(X, y, sample_weight=w)
    eta = X @ model.coef_ + model.intercept_
    mu = LINKS[link].inverse(eta)
    slope = (LINKS[link].inverse(eta + 1e-6) - LINKS[link].inverse(eta - 1e-6)) / 2e-6
    variance = {
        "gaussian": np.ones_like, "bernoulli": lambda m: m * (1 - m), "poisson": lambda m: m,
        "gamma": lambda m: m**2, "exponential": lambda m: m**2, "inverse_gaussian": lambda m: m**3,
        "tweedie": lambda m: m**1.5, "negative_binomial": lambda m: m + 0.7 * m**2,
    }[name](mu)  # fmt: skip
    score = w * (y - mu) / variance * slope
    assert np.abs(np.column_stack([X, np.ones(len(y))]).T @ score).max() / w.sum() < 1e-8


@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "poisson", "gamma", "inverse_gaussian"])
def test_canonical_links(name):
    """Worked example 88: the gradient is Σ(y − μ)x, so totals and sums along columns are reproduced."""
    family = families.get_family(name)
    X, y = data(name, {v: k for k, v in LINKS.items()}[family.canonical])
    model = GeneralizedLinearRegressor(family=name, **TIGHT).fit(X, y)
    residual = y - model.predict(X)
    np.testing.assert_allclose(X.T @ residual / len(y), 0.0, atol=1e-8)
    np.testing.assert_allclose(residual.mean(), 0.0, atol=1e-8)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
@pytest.mark.parametrize(
    ("name", "link"), [("poisson", "log"), ("gamma", "log"), ("gamma", "inverse"), ("bernoulli", "probit")]
)
def test_solvers_agree(solver, name, link):
    X, y = data(name, link)
    auto = GeneralizedLinearRegressor(family=name, link=link, **TIGHT).fit(X, y)
    other = GeneralizedLinearRegressor(family=name, link=link, solver=solver, **TIGHT).fit(X, y)
    np.testing.assert_allclose(other.coef_, auto.coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "poisson", "gamma"])
def test_without_intercept(name):
    link = {v: k for k, v in LINKS.items()}[families.get_family(name).canonical]
    X, y = data(name, link)
    model = GeneralizedLinearRegressor(family=name, fit_intercept=False, **TIGHT).fit(X, y)
    expected = sm.GLM(y, X, family=sm_family(name, link)).fit(tol=1e-13, tol_criterion="params")
    np.testing.assert_allclose(model.coef_, expected.params, rtol=1e-6)
    assert model.intercept_ == 0.0


# ------------------------------------------------------------------------------------------------ other models


def test_gaussian_identity_is_least_squares_and_ridge():
    X, y = data("gaussian", "identity")
    np.testing.assert_allclose(
        GeneralizedLinearRegressor(**TIGHT).fit(X, y).coef_, LinearRegression().fit(X, y).coef_, rtol=1e-9
    )
    ridge = Ridge(alpha=0.3 * len(y)).fit(X, y)
    np.testing.assert_allclose(GeneralizedLinearRegressor(alpha=0.3, **TIGHT).fit(X, y).coef_, ridge.coef_, rtol=1e-8)


@pytest.mark.parametrize("penalty", [{}, {"alpha": 0.1}, {"alpha": 0.05, "l1_ratio": 0.5}])
def test_bernoulli_is_logistic_regression(penalty):
    X, y = data("bernoulli", "logit")
    glm = GeneralizedLinearRegressor(family="bernoulli", **penalty, **TIGHT).fit(X, y)
    C = 1 / (len(y) * penalty["alpha"]) if penalty else np.inf
    logistic = LogisticRegression(C=C, l1_ratio=penalty.get("l1_ratio", 0.0), **TIGHT).fit(X, y)
    np.testing.assert_allclose(glm.coef_, logistic.coef_[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(glm.predict(X), logistic.predict_proba(X)[:, 1], rtol=1e-7)


def test_names_are_families():
    for model, general in [
        (PoissonRegressor(alpha=0.1), {"family": "poisson"}),
        (GammaRegressor(alpha=0.1), {"family": "gamma", "link": "log"}),
        (TweedieRegressor(alpha=0.1, power=1.5), {"family": Tweedie(1.5), "link": "log"}),
        (TweedieRegressor(alpha=0.1, power=0), {"family": "gaussian"}),
        (TweedieRegressor(alpha=0.1, power=1), {"family": "poisson"}),
        (TweedieRegressor(alpha=0.1, power=2), {"family": "gamma", "link": "log"}),
        (TweedieRegressor(alpha=0.1, power=3), {"family": "inverse_gaussian", "link": "log"}),
        (TweedieRegressor(alpha=0.1, power=1.5, link="identity"), {"family": Tweedie(1.5), "link": "identity"}),
    ]:
        X, y = data("gamma", "log")
        same = GeneralizedLinearRegressor(alpha=0.1, **general, **TIGHT).fit(X, y)
        np.testing.assert_allclose(
            model.set_params(**TIGHT).fit(X, y).coef_, same.coef_, rtol=1e-7, err_msg=repr(model)
        )


@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (PoissonRegressor(), reference.PoissonRegressor()),
        (GammaRegressor(), reference.GammaRegressor()),
        (TweedieRegressor(power=1.5), reference.TweedieRegressor(power=1.5)),
        (TweedieRegressor(power=0), reference.TweedieRegressor(power=0)),
        (TweedieRegressor(power=3), reference.TweedieRegressor(power=3)),
    ],
    ids=repr,
)
def test_equals_scikit_learn(ours, theirs, alpha):
    X, y = data("gamma", "log")
    w = np.random.default_rng(1).uniform(0.2, 3, size=len(y))
    ours.set_params(alpha=alpha, tol=1e-10).fit(X, y, sample_weight=w)
    theirs.set_params(alpha=alpha, tol=1e-10, solver="newton-cholesky").fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    assert ours.score(X, y, w) == pytest.approx(theirs.score(X, y, w), rel=1e-7)


@pytest.mark.parametrize("ratio", [0.3, 1.0])
@pytest.mark.parametrize(("name", "link"), [("poisson", "log"), ("gaussian", "identity"), ("gamma", "log")])
def test_l1_optimality(ratio, name, link):
    X, y = data(name, link)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    alpha = 0.05
    model = GeneralizedLinearRegressor(family=name, link=link, alpha=alpha, l1_ratio=ratio, **TIGHT).fit(X, y)
    mu = model.predict(X)
    variance = {"poisson": mu, "gaussian": np.ones_like(mu), "gamma": mu**2}[name]
    slope = mu if link == "log" else np.ones_like(mu)
    gradient = -X.T @ ((y - mu) / variance * slope) / len(y) + alpha * (1 - ratio) * model.coef_
    inside = model.coef_ != 0
    np.testing.assert_allclose(gradient[inside], -alpha * ratio * np.sign(model.coef_[inside]), atol=1e-8)
    assert (np.abs(gradient[~inside]) <= alpha * ratio + 1e-8).all()


# ------------------------------------------------------------------------------------------------ offsets


@pytest.mark.parametrize("name", ["poisson", "negative_binomial", "gamma"])
def test_an_exposure_is_an_offset_on_the_log_scale(name):
    X, y = data(name, "log")
    exposure = np.random.default_rng(1).uniform(0.5, 4, size=len(y))
    family = {"family": family_of(name), "link": "log"}
    a = GeneralizedLinearRegressor(**family, **TIGHT).fit(X, y, exposure=exposure)
    b = GeneralizedLinearRegressor(**family, **TIGHT).fit(X, y, offset=np.log(exposure))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_allclose(a.predict(X, exposure=exposure), exposure * a.predict(X), rtol=1e-12)
    np.testing.assert_allclose(a.predict(X, offset=np.log(exposure)), exposure * a.predict(X), rtol=1e-12)
    both = GeneralizedLinearRegressor(**family, **TIGHT).fit(
        X, y, offset=np.log(exposure) / 2, exposure=np.sqrt(exposure)
    )
    np.testing.assert_allclose(both.coef_, a.coef_, rtol=1e-7)


def test_a_poisson_rate_with_exposure_is_a_weighted_rate():
    """Counts over an exposure t = rates with weight t: the same likelihood."""
    X, y = data("poisson", "log")
    t = np.random.default_rng(1).uniform(0.5, 4, size=len(y))
    counts = GeneralizedLinearRegressor(family="poisson", **TIGHT).fit(X, y, exposure=t)
    rates = GeneralizedLinearRegressor(family="poisson", **TIGHT).fit(X, y / t, sample_weight=t)
    np.testing.assert_allclose(counts.coef_, rates.coef_, rtol=1e-7)
    np.testing.assert_allclose(counts.intercept_, rates.intercept_, rtol=1e-7)


def test_offsets_equal_statsmodels():
    X, y = data("poisson", "log")
    offset = np.random.default_rng(1).normal(size=len(y))
    model = GeneralizedLinearRegressor(family="poisson", **TIGHT).fit(X, y, offset=offset)
    expected = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson(), offset=offset).fit(tol=1e-13)
    np.testing.assert_allclose(model.coef_, expected.params[1:], rtol=1e-6)


def test_a_constant_offset_moves_the_intercept_only():
    X, y = data("gaussian", "identity")
    plain = GeneralizedLinearRegressor(**TIGHT).fit(X, y)
    moved = GeneralizedLinearRegressor(**TIGHT).fit(X, y, offset=np.full(len(y), 5.0))
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(moved.intercept_, plain.intercept_ - 5.0, rtol=1e-9)


def test_offsets_in_batches_and_wrong_ones():
    X, y = data("poisson", "log")
    offset = np.random.default_rng(1).normal(size=len(y))
    pieces = [slice(k, k + 90) for k in range(0, len(y), 90)]
    batches = Batches(lambda: ((X[s], y[s], None, offset[s]) for s in pieces))
    model = GeneralizedLinearRegressor(family="poisson", **TIGHT)
    memory = model.fit(X, y, offset=offset).coef_
    np.testing.assert_allclose(model.fit(batches).coef_, memory, rtol=1e-8)
    with pytest.raises(ParameterError, match="log link"):
        GeneralizedLinearRegressor().fit(X, y, exposure=np.ones(len(y)))
    for bad in (0.0, -1.0):
        with pytest.raises(InputError, match="positive"):
            model.fit(X, y, exposure=np.full(len(y), bad))
    with pytest.raises(InputError, match="offset"):
        model.fit(X, y, offset=np.ones(3))


@pytest.mark.parametrize("name", ["poisson", "negative_binomial", "gamma", "inverse_gaussian"])
def test_score_with_an_exposure_is_the_explained_deviance(name):
    """D² against a constant with the same exposure: from statsmodels' two deviances, and from inference."""
    X, y = data(name, "log")
    t = np.random.default_rng(1).uniform(0.1, 20, size=len(y))
    y = np.ceil(y * t) if name in ("poisson", "negative_binomial") else y * t
    w = np.random.default_rng(2).integers(0, 4, size=len(y))
    model = GeneralizedLinearRegressor(family=family_of(name), link="log", **TIGHT).fit(X, y, w, exposure=t)
    expected = sm.GLM(y, sm.add_constant(X), family=sm_family(name, "log"), offset=np.log(t), freq_weights=w)
    found = expected.fit(tol=1e-13)
    assert model.score(X, y, w, exposure=t) == pytest.approx(1 - found.deviance / found.null_deviance, rel=1e-6)
    assert model.score(X, y, w, offset=np.log(t)) == pytest.approx(model.score(X, y, w, exposure=t), rel=1e-12)
    assert model.score(X, y, w, exposure=t) == pytest.approx(model.inference(X, y, w, exposure=t).r_squared, rel=1e-9)
    once = model.score(np.repeat(X, w, axis=0), np.repeat(y, w), exposure=np.repeat(t, w))
    assert once == pytest.approx(model.score(X, y, w, exposure=t), rel=1e-9)
    batches = Batches(lambda: ((X[s], y[s], w[s], np.log(t[s])) for s in (slice(0, 70), slice(70, None))))
    assert model.score(batches) == pytest.approx(once, rel=1e-9)


def test_exposure_and_weights_are_routed_to_cross_validated_scores():
    rng = np.random.default_rng(1)
    X, t = rng.normal(size=(150, 2)), rng.uniform(0.1, 50, size=150)
    y = rng.poisson(t * np.exp(X @ [1.0, -0.5])).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = GeneralizedLinearRegressor(family="poisson")
        model.set_fit_request(exposure=True).set_score_request(exposure=True)
        found = cross_validate(model, X, y, cv=KFold(3), params={"exposure": t})["test_score"]
    for score, (a, b) in zip(found, KFold(3).split(X), strict=True):
        alone = GeneralizedLinearRegressor(family="poisson").fit(X[a], y[a], exposure=t[a])
        mu = alone.predict(X[b], exposure=t[b])
        null = t[b] * y[b].sum() / t[b].sum()  # the best constant rate
        expected = 1 - mean_poisson_deviance(y[b], mu) / mean_poisson_deviance(y[b], null)
        assert score == pytest.approx(expected, rel=1e-7)
        assert score > 0.5 > alone.score(X[b], y[b])


def test_score_uses_the_fitted_family_and_counts_of_classes():
    X, y = data("negative_binomial", "log")
    model = GeneralizedLinearRegressor(family="negative_binomial", link="log", tol=1e-9).fit(X, y)
    assert model.score(X, y) == pytest.approx(model.inference(X, y).r_squared, rel=1e-6)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(7, [0.2, 0.3, 0.5], size=80).astype(float)
    A = rng.normal(size=(80, 2))
    model = GeneralizedLinearRegressor(family="multinomial", tol=1e-9).fit(A, counts)
    assert model.score(A, counts) == pytest.approx(model.inference(A, counts).r_squared, rel=1e-6)
    assert model.score(A, counts / 7, np.full(80, 7.0)) == pytest.approx(model.score(A, counts), rel=1e-9)


# ------------------------------------------------------------------------------------------------ dispersion


@pytest.mark.parametrize(("name", "link"), [("gaussian", "identity"), ("gamma", "log"), ("inverse_gaussian", "log")])
def test_dispersion_is_pearsons_and_weights_count_rows(name, link):
    X, y = data(name, link)
    w = np.random.default_rng(2).integers(0, 4, size=len(y))
    model = GeneralizedLinearRegressor(family=name, link=link, **TIGHT).fit(X, y, w)
    expected = sm.GLM(y, sm.add_constant(X), family=sm_family(name, link), freq_weights=w).fit(tol=1e-13)
    assert model.dispersion_ == pytest.approx(expected.scale, rel=1e-6)
    assert model.dispersion_ == pytest.approx(model.inference(X, y, w).dispersion, rel=1e-9)
    again = GeneralizedLinearRegressor(family=name, link=link, **TIGHT).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert again.dispersion_ == pytest.approx(model.dispersion_, rel=1e-7)


def test_dispersion_where_the_family_fixes_it_is_estimated_on_request():
    X, y = data("poisson", "log")
    model = GeneralizedLinearRegressor(family="poisson", **TIGHT).fit(X, y)
    mu = model.predict(X)
    asked = GeneralizedLinearRegressor(family="poisson", dispersion="estimate", **TIGHT).fit(X, y)
    assert model.dispersion_ == PoissonRegressor().fit(X, y).dispersion_ == 1.0
    assert asked.dispersion_ == pytest.approx(((y - mu) ** 2 / mu).sum() / (len(y) - X.shape[1] - 1), rel=1e-9)
    assert GeneralizedLinearRegressor(dispersion=2.5).fit(X, y).dispersion_ == 2.5
    assert GeneralizedLinearRegressor(family="negative_binomial", link="log").fit(X, y).dispersion_ == 1.0
    assert np.isnan(GeneralizedLinearRegressor().fit(X[:2], y[:2]).dispersion_)
    trials = np.random.default_rng(0).integers(1, 9, size=len(y))
    share = np.random.default_rng(1).binomial(trials, 0.3) / trials
    model = GeneralizedLinearRegressor(family="binomial", dispersion="estimate", **TIGHT).fit(X, share, trials)
    found = model.inference(X, share, trials, dispersion="estimate").dispersion
    assert model.dispersion_ == pytest.approx(found, rel=1e-9)
    model.set_params(family="multinomial").fit(X, np.column_stack([share, 1 - share]), trials)
    assert model.dispersion_ == pytest.approx(found, rel=1e-6)


# ------------------------------------------------------------------------------------------------ binomial, multinomial


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_binomial_trials_are_expanded_bernoulli_rows(link):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    trials = rng.integers(1, 8, size=60)
    hits = rng.binomial(trials, LINKS[link].inverse(0.5 * X @ [1.0, -1.0]))
    grouped = GeneralizedLinearRegressor(family="binomial", link=link, **TIGHT).fit(
        X, hits / trials, sample_weight=trials
    )
    rows = np.repeat(X, trials, axis=0)
    y = np.concatenate([np.repeat([1.0, 0.0], [h, t - h]) for h, t in zip(hits, trials, strict=True)])
    single = GeneralizedLinearRegressor(family="bernoulli", link=link, **TIGHT).fit(rows, y)
    np.testing.assert_allclose(grouped.coef_, single.coef_, rtol=1e-7)
    np.testing.assert_allclose(grouped.intercept_, single.intercept_, rtol=1e-7)


def multinomial(n=200, K=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    P = np.exp(X @ rng.normal(size=(3, K)))
    trials = rng.integers(1, 6, size=n)
    return X, np.array([rng.multinomial(t, p / p.sum()) for t, p in zip(trials, P, strict=True)]).astype(float)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_multinomial_counts_are_softmax_rows(alpha):
    X, Y = multinomial()
    model = GeneralizedLinearRegressor(family="multinomial", alpha=alpha, **TIGHT).fit(X, Y)
    rows = np.repeat(X, Y.sum(axis=1).astype(int), axis=0)
    labels = np.concatenate([np.repeat([0, 1, 2], row.astype(int)) for row in Y])
    C = np.inf if alpha == 0 else 1 / (alpha * len(labels))
    softmax = LogisticRegression(C=C, **TIGHT).fit(rows, labels)
    np.testing.assert_allclose(model.predict(X), softmax.predict_proba(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.coef_, softmax.coef_, rtol=1e-5, atol=1e-7)
    proportions, trials = Y / Y.sum(axis=1, keepdims=True), Y.sum(axis=1)
    again = GeneralizedLinearRegressor(family="multinomial", alpha=alpha, **TIGHT).fit(
        X, proportions, sample_weight=trials
    )
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-6, atol=1e-8)


def test_multinomial_with_two_classes_is_bernoulli():
    """Worked example 88: softmax with K = 2 is the logistic; only the difference of the two vectors counts."""
    X, y = data("bernoulli", "logit")
    two = GeneralizedLinearRegressor(family="multinomial", **TIGHT).fit(X, np.column_stack([1 - y, y]))
    one = GeneralizedLinearRegressor(family="bernoulli", **TIGHT).fit(X, y)
    np.testing.assert_allclose(two.coef_[1] - two.coef_[0], one.coef_, rtol=1e-6)
    np.testing.assert_allclose(two.predict(X)[:, 1], one.predict(X), rtol=1e-6)
    np.testing.assert_allclose(two.coef_.sum(axis=0), 0.0, atol=1e-12)


def test_wrong_targets_are_refused():
    X, y = data("poisson", "log")
    for family, bad in [
        ("poisson", -y - 1),
        ("gamma", 0 * y),
        ("bernoulli", y + 0.5),
        ("beta", y + 1),
        ("binomial", y + 2),
    ]:
        with pytest.raises(InputError, match="out of the valid range"):
            GeneralizedLinearRegressor(family=family).fit(X, bad)
    with pytest.raises(InputError, match="one column for each class"):
        GeneralizedLinearRegressor(family="multinomial").fit(X, y)
    with pytest.raises(InputError, match="positive sum"):
        GeneralizedLinearRegressor(family="multinomial").fit(X, np.zeros((len(y), 2)))
    with pytest.raises(ValueError, match="1d"):
        GeneralizedLinearRegressor().fit(X, np.ones((len(y), 2)))


# ------------------------------------------------------------------------------------------------ own parameters


def test_negative_binomial_with_estimated_dispersion():
    X, y = data("negative_binomial", "log", n=600)
    model = GeneralizedLinearRegressor(family="negative_binomial", **TIGHT).fit(X, y)
    expected = sm.NegativeBinomial(y, sm.add_constant(X)).fit(disp=0, maxiter=500)
    np.testing.assert_allclose(model.coef_, expected.params[1:4], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.loss_.family.alpha, expected.params[4], rtol=1e-4)


def test_estimated_dispersion_is_where_the_profile_likelihood_is_flat():
    X, y = data("negative_binomial", "log", n=600)
    model = GeneralizedLinearRegressor(family="negative_binomial", **TIGHT).fit(X, y)
    mu, alpha = model.predict(X), model.loss_.family.alpha

    def likelihood(a):
        return stats.nbinom.logpmf(y, 1 / a, 1 / (1 + a * mu)).sum()

    step = 1e-4 * alpha
    slope = (likelihood(alpha + step) - likelihood(alpha - step)) / (2 * step)
    assert abs(slope) * alpha < 1e-3
    assert likelihood(alpha) > max(likelihood(0.9 * alpha), likelihood(1.1 * alpha))


def test_dispersion_given_estimated_or_of_the_family():
    X, y = data("negative_binomial", "log", n=600)
    fit = lambda **kwargs: GeneralizedLinearRegressor(**kwargs, **TIGHT).fit(X, y)
    fixed = fit(family=NegativeBinomial(0.3))
    assert fixed.loss_.family.alpha == 0.3
    np.testing.assert_array_equal(fit(family="negative_binomial", dispersion=0.3).coef_, fixed.coef_)
    estimated = fit(family=NegativeBinomial(0.3), dispersion="estimate").loss_.family.alpha
    assert estimated == pytest.approx(fit(family="negative_binomial").loss_.family.alpha, rel=1e-6)


def test_a_negative_binomial_with_little_dispersion_is_poisson():
    X, y = data("poisson", "log")
    near = GeneralizedLinearRegressor(family=NegativeBinomial(1e-9), **TIGHT).fit(X, y)
    np.testing.assert_allclose(
        near.coef_, GeneralizedLinearRegressor(family="poisson", **TIGHT).fit(X, y).coef_, rtol=1e-6
    )


def test_beta_with_estimated_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    mu = 1 / (1 + np.exp(-0.3 - X @ [0.5, -0.8]))
    y = rng.beta(12 * mu, 12 * (1 - mu))
    model = GeneralizedLinearRegressor(family="beta", **TIGHT).fit(X, y)
    expected = BetaModel(y, sm.add_constant(X)).fit(disp=0, maxiter=1000)
    np.testing.assert_allclose(model.coef_, expected.params[1:3], rtol=1e-3)
    np.testing.assert_allclose(model.loss_.family.precision, np.exp(expected.params[3]), rtol=1e-3)


def test_power_links_and_tweedie_powers():
    X, y = data("gamma", "log")
    a = GeneralizedLinearRegressor(family="gamma", link=Power(-1.0), **TIGHT).fit(X, y)
    b = GeneralizedLinearRegressor(family="gamma", link="inverse", **TIGHT).fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6)
    with pytest.raises(ValueError, match=r"[Pp]ower"):
        TweedieRegressor(power=0.5).fit(X, y)


# ------------------------------------------------------------------------------------------------ data and starts


def test_sparse_and_collinear_data():
    X, y = data("poisson", "log")
    X = np.where(X > 0.4, X, 0.0)
    dense = GeneralizedLinearRegressor(family="poisson", **TIGHT).fit(X, y)
    np.testing.assert_allclose(
        GeneralizedLinearRegressor(family="poisson", **TIGHT).fit(sp.csr_array(X), y).coef_, dense.coef_, rtol=1e-7
    )
    twice = np.column_stack([X, X[:, 0]])
    model = GeneralizedLinearRegressor(family="poisson").fit(twice, y)
    np.testing.assert_allclose(model.predict(twice), dense.predict(X), rtol=1e-4)
    np.testing.assert_allclose(model.coef_[0] + model.coef_[3], dense.coef_[0], rtol=1e-4)


def test_warm_start_needs_no_more_steps():
    X, y = data("poisson", "log")
    model = PoissonRegressor(alpha=0.01, warm_start=True).fit(X, y)
    coef = model.coef_
    assert model.fit(X, y).n_iter_ == 1
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-5)


def test_zeros_and_large_counts():
    """A level without any count has the rate 0: the fit ends, finite, with a tiny mean there."""
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat([0.0, 5.0], 20)
    model = GeneralizedLinearRegressor(family="poisson").fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.predict([[0.0]])[0] < 1e-3
    np.testing.assert_allclose(model.predict([[1.0]]), 5.0, rtol=1e-4)
    big = GeneralizedLinearRegressor(family="poisson").fit(X, 1e6 * (1 + X[:, 0]))
    np.testing.assert_allclose(big.predict([[0.0], [1.0]]), [1e6, 2e6], rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("outputs", [(), (3,)])
def test_sums_of_targets(weighted, with_offset, outputs):
    rng = np.random.default_rng(0)
    y, w, offset = rng.random((50, *outputs)), rng.random(50) if weighted else None, rng.normal(size=50)
    offset = offset if with_offset else None
    found = target_sums(Block(np.zeros((50, 1)), y, w, offset)).parts
    each = np.ones(50) if w is None else w
    expected = each.sum(), each @ y, (each * (1.0 if offset is None else np.exp(offset))).sum()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
