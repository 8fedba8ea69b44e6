"""Inference for linear models: against statsmodels, by identities, and the same in memory, in batches and on Dask."""

import dataclasses

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from statsmodels.othermod.betareg import BetaModel

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.linear_model import GeneralizedLinearRegressor as GLM
from didact.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, TweedieRegressor
from didact.parts.families import NegativeBinomial

pytestmark = pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")

N, P = 120, 3
RNG = np.random.default_rng(7)
X = RNG.normal(size=(N, P)) + [0.0, 3.0, -20.0]
Z = np.column_stack([np.ones(N), X])
ETA = 0.4 + 0.5 * X[:, 0] - 0.2 * (X[:, 1] - 3) + 0.1 * (X[:, 2] + 20)
Y = ETA + RNG.normal(size=N) * (0.5 + 0.3 * np.abs(X[:, 0]))
COUNTS = RNG.poisson(np.exp(ETA)).astype(float)
AMOUNTS = RNG.gamma(3.0, np.exp(ETA) / 3.0)
LABELS = (RNG.random(N) < 1 / (1 + np.exp(-2 * ETA + 1))).astype(float)
W = RNG.integers(1, 4, N).astype(float)
GROUPS = RNG.integers(0, 15, N)
OFFSET = RNG.normal(size=N) * 0.3
KINDS = ("response", "pearson", "deviance", "standardized", "studentized", "working")


def glm(family, link="auto", **more):
    return GLM(family=family, link=link, tol=1e-11, **more)


def agree(ours, theirs, rtol=1e-6):
    """Coefficients, standard errors, statistics and p-values of a statsmodels result."""
    assert_allclose(ours.coefficients, theirs.params, rtol=rtol, atol=1e-9)
    assert_allclose(ours.standard_errors, theirs.bse, rtol=rtol)
    assert_allclose(ours.statistics, theirs.tvalues, rtol=rtol, atol=1e-8)
    assert_allclose(ours.p_values, theirs.pvalues, rtol=1e-5, atol=1e-12)
    assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-5, atol=1e-12)
    assert_allclose(ours.interval(0.9), theirs.conf_int(alpha=0.1), rtol=rtol, atol=1e-8)


# least squares ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_is_statsmodels_ols(intercept):
    reference = sm.OLS(Y, Z if intercept else X).fit()
    ours = LinearRegression(fit_intercept=intercept).fit(X, Y).inference(X, Y)
    agree(ours, reference, 1e-9)
    values = (ours.log_likelihood, ours.aic, ours.bic, ours.r_squared, ours.adjusted_r_squared, ours.dispersion)
    expected = (reference.llf, reference.aic, reference.bic, reference.rsquared, reference.rsquared_adj)
    assert_allclose(values, (*expected, reference.scale), rtol=1e-9)
    assert (ours.df_model, ours.df_residual) == (reference.df_model, reference.df_resid)
    assert_allclose(ours.f_test[:2], (reference.fvalue, reference.f_pvalue), rtol=1e-8)
    assert_allclose(ours.f_test[:2], ours.wald_test(["x0", "x1", "x2"])[:2], rtol=1e-8)


def test_least_squares_diagnostics_are_statsmodels():
    influence = sm.OLS(Y, Z).fit().get_influence()
    ours = LinearRegression().fit(X, Y).inference(X, Y)
    assert_allclose(ours.leverage, influence.hat_matrix_diag, rtol=1e-9)
    assert_allclose(ours.cooks_distance, influence.cooks_distance[0], rtol=1e-8)
    assert_allclose(ours.residuals("standardized"), influence.resid_studentized_internal, rtol=1e-8)
    assert_allclose(ours.residuals("studentized"), influence.resid_studentized_external, rtol=1e-8)
    for kind in ("response", "pearson", "deviance", "working"):
        assert_allclose(ours.residuals(kind), influence.resid, rtol=1e-8, atol=1e-12)


def test_least_squares_predictions_are_statsmodels():
    new = X[:10] * 1.5
    reference = sm.OLS(Y, Z).fit().get_prediction(sm.add_constant(new, has_constant="add")).summary_frame(alpha=0.2)
    ours = LinearRegression().fit(X, Y).inference(X, Y)
    mean, observation = ours.predict(new, level=0.8), ours.predict(new, level=0.8, kind="observation")
    columns = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper"]
    assert_allclose(np.column_stack(mean), reference[columns], rtol=1e-9)
    assert_allclose(np.column_stack(observation[2:]), reference[["obs_ci_lower", "obs_ci_upper"]], rtol=1e-9)


def test_cooks_distance_is_a_refit_without_the_row():
    ours = LinearRegression().fit(X, Y).inference(X, Y)
    full = LinearRegression().fit(X, Y).predict(X)
    for i in (0, 17, 63):
        rest = np.arange(N) != i
        moved = LinearRegression().fit(X[rest], Y[rest]).predict(X) - full
        assert ours.cooks_distance[i] == pytest.approx(moved @ moved / (4 * ours.dispersion), rel=1e-9)


def test_several_targets_give_one_inference_each():
    targets = np.column_stack([Y, AMOUNTS])
    both = LinearRegression().fit(X, targets).inference(X, targets)
    for target, ours in zip(targets.T, both, strict=True):
        agree(ours, sm.OLS(target, Z).fit(), 1e-9)


def test_column_far_from_zero_keeps_its_digits():
    far = X + [0.0, 1e7, 0.0]
    near, ours = (LinearRegression().fit(A, Y).inference(A, Y) for A in (X, far))
    assert_allclose(ours.standard_errors[1:], near.standard_errors[1:], rtol=1e-7)
    assert_allclose(ours.leverage, near.leverage, rtol=1e-7)


# robust covariances -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_least_squares_with_robust_errors(kind):
    agree(LinearRegression().fit(X, Y).inference(X, Y, covariance=kind), sm.OLS(Y, Z).fit().get_robustcov_results(kind))


def test_least_squares_with_clusters():
    reference = sm.OLS(Y, Z).fit(cov_type="cluster", cov_kwds={"groups": GROUPS}, use_t=True)
    ours = LinearRegression().fit(X, Y).inference(X, Y, covariance="clustered", groups=GROUPS)
    agree(ours, reference)
    assert_allclose(ours.f_test[:2], (reference.fvalue, reference.f_pvalue), rtol=1e-6)
    named = LinearRegression().fit(X, Y).inference(X, Y, covariance="clustered", groups=[f"g{g}" for g in GROUPS])
    assert_allclose(named.covariance, ours.covariance, rtol=1e-12)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "clustered"])
def test_poisson_with_robust_errors(kind):
    kwds = {"groups": GROUPS} if kind == "clustered" else None
    reference = sm.GLM(COUNTS, Z, sm.families.Poisson()).fit(
        tol=1e-14, cov_type="cluster" if kwds else kind, cov_kwds=kwds
    )
    groups = GROUPS if kwds else None
    ours = glm("poisson").fit(X, COUNTS).inference(X, COUNTS, covariance=kind, groups=groups)
    factor = np.sqrt(N / (N - 4)) if kind == "HC1" else 1.0  # statsmodels leaves it out for GLMs
    assert_allclose(ours.standard_errors, factor * reference.bse, rtol=1e-6)


@pytest.mark.parametrize(("kind", "power"), [("HC2", 1), ("HC3", 2)])
def test_leverage_corrections_of_a_glm(kind, power):
    reference = sm.GLM(AMOUNTS, Z, sm.families.Gamma(sm.families.links.Log())).fit(tol=1e-14)
    leverage = reference.get_hat_matrix_diag(observed=False)
    bread = reference.cov_params() / reference.scale
    r = AMOUNTS / reference.mu - 1.0
    expected = bread @ (Z.T * (r**2 / (1 - leverage) ** power)) @ Z @ bread
    ours = glm("gamma", "log").fit(X, AMOUNTS).inference(X, AMOUNTS, covariance=kind)
    assert_allclose(ours.covariance, expected, rtol=1e-6, atol=1e-12)


# generalized linear models ------------------------------------------------------------------------------------------

links = sm.families.links
FAMILIES = {
    "gaussian identity": (Y, "gaussian", "auto", sm.families.Gaussian()),
    "gaussian log": (np.exp(0.3 * Y), "gaussian", "log", sm.families.Gaussian(links.Log())),
    "poisson log": (COUNTS, "poisson", "auto", sm.families.Poisson()),
    "poisson sqrt": (COUNTS + 3, "poisson", "sqrt", sm.families.Poisson(links.Sqrt())),
    "poisson identity": (COUNTS + 20, "poisson", "identity", sm.families.Poisson(links.Identity())),
    "gamma log": (AMOUNTS, "gamma", "log", sm.families.Gamma(links.Log())),
    "gamma inverse": (AMOUNTS + 9, "gamma", "inverse", sm.families.Gamma(links.InversePower())),
    "inverse gaussian log": (AMOUNTS, "inverse_gaussian", "log", sm.families.InverseGaussian(links.Log())),
    "bernoulli logit": (LABELS, "bernoulli", "auto", sm.families.Binomial()),
    "bernoulli probit": (LABELS, "bernoulli", "probit", sm.families.Binomial(links.Probit())),
    "bernoulli cloglog": (LABELS, "bernoulli", "cloglog", sm.families.Binomial(links.CLogLog())),
    "negative binomial": (COUNTS, NegativeBinomial(0.5), "log", sm.families.NegativeBinomial(alpha=0.5)),
}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_glm_is_statsmodels(name, weighted):
    y, family, link, theirs = FAMILIES[name]
    w = W if weighted else None
    reference = sm.GLM(y, Z, theirs, freq_weights=w).fit(tol=1e-14, maxiter=200)
    ours = glm(family, link).fit(X, y, w).inference(X, y, w)
    if ours.uses_t:  # statsmodels has z here, R and we have t
        assert_allclose(ours.standard_errors, reference.bse, rtol=1e-6)
    else:
        agree(ours, reference)
    assert_allclose([ours.deviance, ours.dispersion], [reference.deviance, reference.scale], rtol=1e-6)
    assert_allclose(ours.null_deviance, reference.null_deviance, rtol=1e-6)
    assert (ours.n, ours.df_residual) == (W.sum() if weighted else N, reference.df_resid)
    if name != "gaussian log":  # statsmodels takes the profile likelihood for the identity link only
        bic = reference.bic_llf if not weighted else -2 * reference.llf + 4 * np.log(W.sum())
        assert_allclose([ours.log_likelihood, ours.aic, ours.bic], [reference.llf, reference.aic, bic], rtol=1e-6)
    if not name.startswith("gaussian"):
        assert_allclose(ours.null_log_likelihood, reference.llnull, rtol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_glm_diagnostics_are_statsmodels(name):
    y, family, link, theirs = FAMILIES[name]
    reference = sm.GLM(y, Z, theirs).fit(tol=1e-14, maxiter=200)
    ours = glm(family, link).fit(X, y).inference(X, y)
    influence = reference.get_influence(observed=False)
    assert_allclose(ours.leverage, influence.hat_matrix_diag, rtol=1e-6)
    assert_allclose(ours.cooks_distance, influence.cooks_distance[0], rtol=1e-5, atol=1e-12)
    for kind in ("response", "pearson", "deviance", "working"):
        assert_allclose(ours.residuals(kind), getattr(reference, f"resid_{kind}"), rtol=1e-5, atol=1e-8)
    assert_allclose(ours.residuals("standardized"), influence.resid_studentized, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
def test_glm_predictions_are_statsmodels(name):
    y, family, link, theirs = FAMILIES[name]
    new = X[:10] * [1.2, 1.0, 1.0]
    reference = sm.GLM(y, Z, theirs).fit(tol=1e-14, maxiter=200, use_t=name.startswith("gaussian"))
    with np.errstate(divide="ignore"):  # statsmodels tries its link at 0
        expected = reference.get_prediction(np.column_stack([np.ones(10), new])).summary_frame(alpha=0.05)
    ours = glm(family, link).fit(X, y).inference(X, y).predict(new)
    assert_allclose(ours.mean, expected["mean"], rtol=1e-7)
    assert_allclose(ours.standard_error, expected["mean_se"], rtol=1e-6)
    ends = np.sort(expected[["mean_ci_lower", "mean_ci_upper"]], axis=1)
    assert_allclose(np.column_stack(ours[2:]), ends, rtol=1e-6)


def test_offset_and_exposure():
    reference = sm.GLM(COUNTS, Z, sm.families.Poisson(), offset=OFFSET).fit(tol=1e-14)
    model = glm("poisson").fit(X, COUNTS, offset=OFFSET)
    ours = model.inference(X, COUNTS, offset=OFFSET)
    agree(ours, reference)
    assert_allclose(ours.null_deviance, reference.null_deviance, rtol=1e-7)
    assert_allclose(ours.null_log_likelihood, reference.llnull, rtol=1e-7)
    same = model.inference(X, COUNTS, exposure=np.exp(OFFSET))
    assert_allclose(same.covariance, ours.covariance, rtol=1e-12)
    expected = reference.get_prediction(Z[:5], offset=OFFSET[:5]).summary_frame()
    assert_allclose(ours.predict(X[:5], exposure=np.exp(OFFSET[:5])).upper, expected["mean_ci_upper"], rtol=1e-6)


def test_binomial_rows_are_observations_of_several_trials():
    trials = RNG.integers(1, 12, N).astype(float)
    hits = RNG.binomial(trials.astype(int), 1 / (1 + np.exp(-ETA))).astype(float)
    reference = sm.GLM(np.column_stack([hits, trials - hits]), Z, sm.families.Binomial()).fit(tol=1e-14)
    ours = glm("binomial").fit(X, hits / trials, trials).inference(X, hits / trials, trials)
    agree(ours, reference)
    values = (ours.deviance, ours.null_deviance, ours.log_likelihood, ours.aic, ours.bic, ours.df_residual)
    expected = (reference.deviance, reference.null_deviance, reference.llf, reference.aic, reference.bic_llf)
    assert_allclose(values, (*expected, reference.df_resid), rtol=1e-7)
    assert_allclose(ours.leverage, reference.get_hat_matrix_diag(observed=False), rtol=1e-6)
    for kind in ("pearson", "deviance"):
        assert_allclose(ours.residuals(kind), getattr(reference, f"resid_{kind}"), rtol=1e-5, atol=1e-8)


def test_estimated_dispersion_of_a_count_model():
    reference = sm.GLM(COUNTS, Z, sm.families.Poisson()).fit(tol=1e-14, scale="X2")
    model = glm("poisson").fit(X, COUNTS)
    agree(model.inference(X, COUNTS, dispersion="estimate"), reference)
    half = model.inference(X, COUNTS, dispersion=0.25)
    assert_allclose(half.standard_errors, 0.5 * model.inference(X, COUNTS).standard_errors, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_negative_binomial_with_estimated_alpha():
    y = RNG.negative_binomial(2, 2 / (2 + np.exp(ETA + 1))).astype(float)
    model = glm("negative_binomial").fit(X, y)
    ours = model.inference(X, y)
    estimates = np.append(ours.coefficients, model.loss_.family.alpha)
    reference = sm.NegativeBinomial(y, Z).fit(start_params=estimates + 1e-3, disp=0, method="newton", tol=1e-10)
    assert_allclose(estimates, reference.params, rtol=1e-6, atol=1e-8)
    assert_allclose([ours.log_likelihood, ours.aic, ours.bic], [reference.llf, reference.aic, reference.bic], rtol=1e-9)
    fixed = sm.families.NegativeBinomial(alpha=model.loss_.family.alpha)
    assert_allclose(ours.standard_errors, sm.GLM(y, Z, fixed).fit(tol=1e-14).bse, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_beta_with_estimated_precision():
    mu = 1 / (1 + np.exp(-ETA))
    y = RNG.beta(mu * 8, (1 - mu) * 8)
    model = glm("beta").fit(X, y)
    ours = model.inference(X, y)
    estimates = np.append(ours.coefficients, np.log(model.loss_.family.precision))
    reference = BetaModel(y, Z).fit(
        start_params=estimates + 1e-3, disp=0, method="newton", tol=1e-10, cov_type="eim", skip_hessian=True
    )
    assert_allclose(estimates, reference.params, rtol=1e-5, atol=1e-7)
    assert_allclose(ours.standard_errors, reference.bse[:4], rtol=1e-6)
    assert_allclose(ours.log_likelihood, reference.llf, rtol=1e-9)
    assert ours.parameters == 5


def test_tweedie_without_a_density_has_no_likelihood():
    ours = TweedieRegressor(power=4, alpha=0, tol=1e-10).fit(X, AMOUNTS).inference(X, AMOUNTS)
    assert np.isnan(ours.log_likelihood)
    assert np.isnan(ours.aic)
    assert np.isfinite(ours.standard_errors).all()
    normal = TweedieRegressor(power=0, alpha=0, tol=1e-12).fit(X, Y).inference(X, Y)
    agree(normal, sm.OLS(Y, Z).fit())


# logistic and softmax regression ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_is_statsmodels_logit(weighted):
    w = W if weighted else None
    repeat = np.repeat(np.arange(N), W.astype(int)) if weighted else np.arange(N)
    reference = sm.Logit(LABELS[repeat], Z[repeat]).fit(disp=0, tol=1e-10)
    names = np.where(LABELS == 1, "yes", "no")
    ours = LogisticRegression(C=np.inf, tol=1e-11).fit(X, names, w).inference(X, names, w)
    agree(ours, reference)
    values = (ours.log_likelihood, ours.null_log_likelihood, ours.aic, ours.bic, ours.r_squared)
    expected = (reference.llf, reference.llnull, reference.aic, reference.bic, reference.prsquared)
    assert_allclose(values, expected, rtol=1e-8)


@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
def test_softmax_is_statsmodels_mnlogit(parametrization):
    y = np.digitize(Y, [-0.2, 0.8])
    reference = sm.MNLogit(2 - y, Z).fit(disp=0, tol=1e-10)  # its reference class is the first
    model = LogisticRegression(C=np.inf, tol=1e-11, parametrization=parametrization).fit(X, y)
    ours = model.inference(X, y)
    assert ours.names[:2] == ("0: (intercept)", "0: x0")
    assert_allclose(ours.coefficients.reshape(2, 4), np.asarray(reference.params).T[::-1], rtol=1e-6, atol=1e-9)
    assert_allclose(ours.standard_errors.reshape(2, 4), np.asarray(reference.bse).T[::-1], rtol=1e-6)
    values = (ours.log_likelihood, ours.null_log_likelihood, ours.aic, ours.bic, ours.r_squared)
    expected = (reference.llf, reference.llnull, reference.aic, reference.bic, reference.prsquared)
    assert_allclose(values, expected, rtol=1e-8)
    assert (ours.df_model, ours.df_residual) == (reference.df_model, reference.df_resid)
    assert_allclose(ours.residuals(), np.eye(3)[y] - model.predict_proba(X), atol=1e-12)


def test_softmax_with_robust_errors():
    y = np.digitize(Y, [-0.2, 0.8])
    model = LogisticRegression(C=np.inf, tol=1e-11).fit(X, y)
    ours, P = model.inference(X, y, covariance="HC0"), model.predict_proba(X)
    S = np.concatenate([(np.eye(3)[y] - P)[:, [k]] * Z for k in range(2)], axis=1)
    H = np.block([[(Z.T * (P[:, k] * ((k == m) - P[:, m]))) @ Z for m in range(2)] for k in range(2)])
    A = np.linalg.inv(H)
    assert_allclose(ours.covariance, A @ S.T @ S @ A, rtol=1e-6, atol=1e-10)
    sums = np.stack([S[GROUPS == g].sum(axis=0) for g in np.unique(GROUPS)])
    factor = len(sums) / (len(sums) - 1) * (N - 1) / (N - 8)
    clustered = model.inference(X, y, covariance="clustered", groups=GROUPS)
    assert_allclose(clustered.covariance, factor * A @ sums.T @ sums @ A, rtol=1e-6, atol=1e-10)


def test_multinomial_counts_are_repeated_labels():
    y = np.digitize(Y, [-0.2, 0.8])
    counts = np.eye(3)[y] * W[:, None]
    ours = glm("multinomial").fit(X, counts).inference(X, counts)
    labels = LogisticRegression(C=np.inf, tol=1e-11).fit(X, y, W).inference(X, y, W)
    assert_allclose(ours.coefficients, labels.coefficients, rtol=1e-6, atol=1e-9)
    assert_allclose(ours.covariance, labels.covariance, rtol=1e-6)
    assert ours.log_likelihood == pytest.approx(labels.log_likelihood, rel=1e-9)
    assert (ours.n, labels.n) == (N, W.sum())


def test_class_probabilities_have_errors_by_the_delta_method():
    y = np.digitize(Y, [-0.2, 0.8])
    model = LogisticRegression(C=np.inf, tol=1e-11).fit(X, y)
    ours = model.inference(X, y)
    prediction = ours.predict(X[:4])
    assert_allclose(prediction.mean, model.predict_proba(X[:4]), rtol=1e-9)

    def probabilities(beta):
        z = np.column_stack([Z[:4] @ beta.reshape(2, 4).T, np.zeros(4)])
        return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)

    step = 1e-5
    J = np.stack([
        (probabilities(ours.coefficients + step * e) - probabilities(ours.coefficients - step * e)) / (2 * step)
        for e in np.eye(8)
    ])  # fmt: skip
    expected = np.sqrt(np.einsum("aij,ab,bij->ij", J, ours.covariance, J))
    assert_allclose(prediction.standard_error, expected, rtol=1e-4)
    assert (prediction.lower < prediction.mean).all()
    assert (prediction.upper <= 1).all()


# tests of hypotheses ------------------------------------------------------------------------------------------------


def test_wald_test_is_statsmodels():
    R, r = np.array([[0, 1, -1, 0], [0, 0, 1, 2.0]]), np.array([0.1, -0.2])
    ols = sm.OLS(Y, Z).fit().wald_test((R, r), scalar=True)
    ours = LinearRegression().fit(X, Y).inference(X, Y).wald_test(R, r)
    assert_allclose(ours, (ols.statistic, ols.pvalue, 2, N - 4), rtol=1e-8)
    poisson = sm.GLM(COUNTS, Z, sm.families.Poisson()).fit(tol=1e-14).wald_test((R, r), scalar=True)
    ours = glm("poisson").fit(X, COUNTS).inference(X, COUNTS).wald_test(R, r)
    assert_allclose(ours[:3], (poisson.statistic, poisson.pvalue, 2), rtol=1e-6)


def test_wald_test_of_one_name_is_its_t_test():
    frame = pd.DataFrame(X, columns=["age", "size", "dose"])
    ours = LinearRegression().fit(frame, Y).inference(frame, Y)
    assert ours.names == ("(intercept)", "age", "size", "dose")
    result = ours.wald_test("size")
    assert_allclose([np.sqrt(result.statistic), result.p_value], [abs(ours.statistics[2]), ours.p_values[2]], rtol=1e-9)
    with pytest.raises(ParameterError, match="no coefficient 'weight'"):
        ours.wald_test(["age", "weight"])
    with pytest.raises(ParameterError, match="independent"):
        ours.wald_test(["age", "age"])


def test_likelihood_ratio():
    large, small = (glm("poisson").fit(A, COUNTS).inference(A, COUNTS) for A in (X, X[:, :1]))
    test = large.likelihood_ratio_test(small)
    theirs = [sm.GLM(COUNTS, A, sm.families.Poisson()).fit(tol=1e-14).llf for A in (Z, Z[:, :2])]
    assert test.statistic == pytest.approx(2 * (theirs[0] - theirs[1]), rel=1e-6)
    assert test == small.likelihood_ratio_test(large)
    assert test.df == 2
    ols = sm.OLS(Y, Z).fit().compare_lr_test(sm.OLS(Y, Z[:, :2]).fit())
    a, b = (LinearRegression().fit(A, Y).inference(A, Y) for A in (X, X[:, :1]))
    assert_allclose(a.likelihood_ratio_test(b)[:3], ols, rtol=1e-8)
    fewer = glm("poisson").fit(X[:100], COUNTS[:100]).inference(X[:100], COUNTS[:100])
    for other in (a, b, large, fewer):
        with pytest.raises(ParameterError, match="nested"):
            large.likelihood_ratio_test(other)


def test_gamma_likelihood_ratio_scales_the_deviance():
    a, b = (glm("gamma", "log").fit(A, AMOUNTS).inference(A, AMOUNTS) for A in (X, X[:, :1]))
    assert a.likelihood_ratio_test(b).statistic == pytest.approx((b.deviance - a.deviance) / a.dispersion)


# identities ---------------------------------------------------------------------------------------------------------

MODELS = {
    "least squares": (LinearRegression(), Y),
    "poisson": (glm("poisson"), COUNTS),
    "gamma": (glm("gamma", "log"), AMOUNTS),
    "logistic": (LogisticRegression(C=np.inf, tol=1e-11), LABELS),
    "softmax": (LogisticRegression(C=np.inf, tol=1e-11), np.digitize(Y, [-0.2, 0.8])),
}


def facts(result):
    numbers = (result.n, result.dispersion, result.deviance, result.null_deviance, result.log_likelihood, result.aic)
    return np.concatenate([result.coefficients, result.covariance.ravel(), numbers, [result.bic, result.r_squared]])


COVARIANCES = ("model", "HC0", "HC1", "HC2", "HC3", "clustered")
CASES = [(m, c) for m in MODELS for c in COVARIANCES if m != "softmax" or c not in ("HC2", "HC3")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_weights_are_repetitions(name, kind):
    model, y = MODELS[name]
    repeat = np.repeat(np.arange(N), W.astype(int))
    groups = GROUPS if kind == "clustered" else None
    weighted = model.fit(X, y, W).inference(X, y, W, covariance=kind, groups=groups)
    groups = GROUPS[repeat] if kind == "clustered" else None
    repeated = model.fit(X[repeat], y[repeat]).inference(X[repeat], y[repeat], covariance=kind, groups=groups)
    assert_allclose(facts(weighted), facts(repeated), rtol=1e-7, atol=1e-10)
    if name != "softmax":
        assert_allclose(weighted.leverage[repeat], repeated.leverage, rtol=1e-7)
        assert_allclose(weighted.cooks_distance[repeat], repeated.cooks_distance, rtol=1e-6, atol=1e-12)
        assert_allclose(
            weighted.residuals("studentized")[repeat], repeated.residuals("studentized"), rtol=1e-6, atol=1e-9
        )
        assert W @ weighted.leverage == pytest.approx(4)


@pytest.mark.parametrize("kind", ["model", "HC3", "clustered"])
@pytest.mark.parametrize("name", MODELS)
def test_memory_batches_dask_and_sparse_agree(name, kind):
    model, y = MODELS[name]
    kind = "HC1" if name == "softmax" and kind == "HC3" else kind
    clustered = kind == "clustered"
    groups = GROUPS if clustered else None
    expected = facts(model.fit(X, y, W).inference(X, y, W, covariance=kind, groups=groups))

    def read():
        for part in np.array_split(np.arange(N), 5):
            yield (X[part], y[part], W[part], *((None, GROUPS[part]) if clustered else ()))

    batches = model.inference(Batches(read), covariance=kind)
    assert_allclose(facts(batches), expected, rtol=1e-8, atol=1e-12)
    cut = [da.from_array(a, chunks=(50, *a.shape[1:])) for a in (X, y, W, GROUPS)]
    for last in (cut[3], GROUPS):
        on_dask = model.inference(*cut[:3], covariance=kind, groups=last if clustered else None)
        assert_allclose(facts(on_dask), expected, rtol=1e-8, atol=1e-12)
    sparse = model.inference(sp.csr_array(X), y, W, covariance=kind, groups=groups)
    assert_allclose(facts(sparse), expected, rtol=1e-8, atol=1e-12)
    with pytest.raises(InputError, match="in memory"):
        batches.residuals()


def test_offset_in_batches():
    model = glm("poisson").fit(X, COUNTS, offset=OFFSET)
    halves = (slice(0, 50), slice(50, None))
    batches = Batches(lambda: ((X[h], COUNTS[h], None, OFFSET[h]) for h in halves))
    ours = model.inference(batches)
    assert_allclose(facts(ours), facts(model.inference(X, COUNTS, offset=OFFSET)), rtol=1e-9, atol=1e-12)


def test_leverages_sum_to_the_number_of_coefficients():
    for name in ("least squares", "poisson", "gamma", "logistic"):
        model, y = MODELS[name]
        assert model.fit(X, y).inference(X, y).leverage.sum() == pytest.approx(4, rel=1e-9)


def test_studentized_residual_of_least_squares_leaves_the_row_out():
    i, rest = 5, np.arange(N) != 5
    ours = LinearRegression().fit(X, Y).inference(X, Y)
    without = LinearRegression().fit(X[rest], Y[rest])
    prediction = without.inference(X[rest], Y[rest]).predict(X[i : i + 1], kind="observation")
    expected = (Y[i] - prediction.mean[0]) / prediction.standard_error[0]
    assert ours.residuals("studentized")[i] == pytest.approx(expected, rel=1e-9)


def test_a_perfect_fit():
    y = 3.0 * X[:, 0] + 1.0
    ours = LinearRegression().fit(X, y).inference(X, y)
    assert ours.standard_errors.max() < 1e-12
    assert ours.r_squared == pytest.approx(1.0)
    assert ours.f_test.p_value < 1e-100
    zero = LinearRegression().fit(X, np.zeros(N)).inference(X, np.zeros(N))
    assert zero.dispersion == 0
    assert zero.log_likelihood == np.inf
    assert "nan" in zero.summary()


def test_single_precision_is_close():
    model = PoissonRegressor(alpha=0, tol=1e-6).fit(X.astype(np.float32), COUNTS)
    ours = model.inference(X.astype(np.float32), COUNTS)
    double = glm("poisson").fit(X, COUNTS).inference(X, COUNTS)
    assert_allclose(ours.standard_errors, double.standard_errors, rtol=1e-4)


# the object, its summary, and refusals ------------------------------------------------------------------------------


def test_summary_shows_what_the_object_holds():
    ours = LinearRegression().fit(X, Y).inference(X, Y)
    text = ours.summary()
    assert str(ours) == repr(ours) == text
    rows = {line.split()[0]: [float(v) for v in line.split()[1:]] for line in text.splitlines() if line.startswith("x")}
    frame = ours.summary_frame()
    for j, name in enumerate(["x0", "x1", "x2"], start=1):
        shown = rows[name]
        expected = [frame[c][j] for c in ("coefficient", "standard_error", "statistic", "p_value", "lower", "upper")]
        assert_allclose(shown, expected, rtol=0.06, atol=6e-4)
    for label, value in [("AIC", ours.aic), ("R²", ours.r_squared), ("Residual df", ours.df_residual)]:
        shown = text.split(f"{label}:")[1].split()[0]
        assert float(shown) == pytest.approx(value, rel=1e-3)
    softmax, y = MODELS["softmax"]
    assert "compared with 2" in softmax.fit(X, y).inference(X, y).summary()
    assert max(map(len, text.splitlines())) <= 80


def test_an_inference_cannot_be_changed():
    model = LinearRegression().fit(X, Y)
    ours = model.inference(X, Y)
    before = ours.predict(X[:3]).mean
    with pytest.raises(dataclasses.FrozenInstanceError):
        ours.n = 3
    with pytest.raises(ValueError, match="read-only"):
        ours.coefficients[0] = 1.0
    model.fit(X, -Y)
    assert_allclose(ours.predict(X[:3]).mean, before)


@pytest.mark.parametrize(
    ("model", "y", "remedy"),
    [
        (LinearRegression(positive=True), Y, "positive=False"),
        (glm("poisson", alpha=0.1), COUNTS, "alpha=0"),
        (LogisticRegression(), LABELS, "C=inf"),
        (LogisticRegression(C=np.inf, class_weight="balanced"), LABELS, "class_weight=None"),
        (LogisticRegression(C=np.inf, loss="squared"), LABELS, "loss='log'"),
    ],
)
def test_penalised_and_unlikely_fits_are_refused(model, y, remedy):
    with pytest.raises(ParameterError, match=remedy):
        model.fit(X, y).inference(X, y)


def test_dependent_columns_are_refused():
    double = np.column_stack([X, X @ [1.0, 2.0, 0.5]])
    with pytest.raises(InputError, match="rank 3 < 4"):
        LinearRegression().fit(double, Y).inference(double, Y)
    constant = np.column_stack([X, np.full(N, 0.1)])
    with pytest.raises(InputError, match="rank 3 < 4"):
        glm("poisson", solver="lbfgs").fit(constant, COUNTS).inference(constant, COUNTS)
    softmax, y = MODELS["softmax"]
    with pytest.raises(InputError, match="rank"):
        softmax.fit(double, y).inference(double, y)
    with pytest.raises(InputError, match="no more rows than"):
        LinearRegression().fit(X[:4], Y[:4]).inference(X[:4], Y[:4])


def test_other_rows_than_the_fit_had_are_refused():
    with pytest.raises(InputError, match="standard errors away"):
        LinearRegression().fit(X, Y).inference(X, -Y)
    with pytest.raises(InputError, match="standard errors away"):
        glm("poisson").fit(X, COUNTS, offset=OFFSET).inference(X, COUNTS)


def test_wrong_arguments_are_refused():
    model = LinearRegression().fit(X, Y)
    with pytest.raises(NotFittedError):
        LinearRegression().inference(X, Y)
    with pytest.raises(ParameterError, match="covariance must be"):
        model.inference(X, Y, covariance="HC4")
    with pytest.raises(ParameterError, match="belong together"):
        model.inference(X, Y, covariance="clustered")
    with pytest.raises(ParameterError, match="belong together"):
        model.inference(X, Y, groups=GROUPS)
    with pytest.raises(InputError, match="two groups"):
        model.inference(X, Y, covariance="clustered", groups=np.zeros(N))
    with pytest.raises(ParameterError, match="dispersion"):
        model.inference(X, Y, dispersion=-1.0)
    with pytest.raises(InputError, match="need groups"):
        model.inference(Batches(lambda: iter([(X, Y)])), covariance="clustered")
    ours = model.inference(X, Y)
    with pytest.raises(ParameterError, match="level"):
        ours.interval(95)
    with pytest.raises(ParameterError, match="no residuals"):
        ours.residuals("raw")
    with pytest.raises(ParameterError, match="least squares"):
        glm("poisson").fit(X, COUNTS).inference(X, COUNTS).predict(X, kind="observation")
    softmax, y = MODELS["softmax"]
    for kind in ("HC2", "HC3"):
        with pytest.raises(ParameterError, match="leverages"):
            softmax.fit(X, y).inference(X, y, covariance=kind)
    with pytest.raises(ParameterError, match="leverages|Leverages"):
        _ = softmax.inference(X, y).leverage
