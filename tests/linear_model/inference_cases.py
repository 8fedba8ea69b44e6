"""Data and models that the tests of inference share."""

import numpy as np
from numpy.testing import assert_allclose

from didact.linear_model import GeneralizedLinearRegressor as GLM
from didact.linear_model import LinearRegression, LogisticRegression

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
