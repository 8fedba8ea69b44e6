"""Inference for generalized linear models and for logistic and softmax regression, against statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from inference_cases import AMOUNTS, COUNTS, ETA, GROUPS, LABELS, OFFSET, N, W, X, Y, Z, agree, glm
from numpy.testing import assert_allclose
from statsmodels.othermod.betareg import BetaModel

from didact.linear_model import LogisticRegression, TweedieRegressor
from didact.parts.families import NegativeBinomial

pytestmark = pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")

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
    rng = np.random.default_rng(1)
    trials = rng.integers(1, 12, N).astype(float)
    hits = rng.binomial(trials.astype(int), 1 / (1 + np.exp(-ETA))).astype(float)
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


@pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")
def test_negative_binomial_with_estimated_alpha():
    y = np.random.default_rng(2).negative_binomial(2, 2 / (2 + np.exp(ETA + 1))).astype(float)
    model = glm("negative_binomial").fit(X, y)
    ours = model.inference(X, y)
    estimates = np.append(ours.coefficients, model.loss_.family.alpha)
    reference = sm.NegativeBinomial(y, Z).fit(start_params=estimates + 1e-3, disp=0, method="newton", tol=1e-10)
    assert_allclose(estimates, reference.params, rtol=1e-6, atol=1e-8)
    assert_allclose([ours.log_likelihood, ours.aic, ours.bic], [reference.llf, reference.aic, reference.bic], rtol=1e-9)
    fixed = sm.families.NegativeBinomial(alpha=model.loss_.family.alpha)
    assert_allclose(ours.standard_errors, sm.GLM(y, Z, fixed).fit(tol=1e-14).bse, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")
def test_beta_with_estimated_precision():
    mu = 1 / (1 + np.exp(-ETA))
    y = np.random.default_rng(3).beta(mu * 8, (1 - mu) * 8)
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
    sums = np.stack([S[g == GROUPS].sum(axis=0) for g in np.unique(GROUPS)])
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
