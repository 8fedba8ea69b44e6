"""Inference for least squares against statsmodels; robust covariances, tests of hypotheses, predictions."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from inference_cases import AMOUNTS, COUNTS, GROUPS, N, X, Y, Z, agree, glm
from numpy.testing import assert_allclose

from didact.core.errors import ParameterError
from didact.linear_model import LinearRegression


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
