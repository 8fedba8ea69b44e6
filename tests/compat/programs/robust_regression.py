"""Lines through points with outliers, paths of least angles, and regression in one dimension."""

import numpy as np
from sklearn.datasets import make_regression
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    HuberRegressor,
    LarsCV,
    LassoLars,
    LassoLarsIC,
    LinearRegression,
    OrthogonalMatchingPursuit,
    QuantileRegressor,
    RANSACRegressor,
    Ridge,
    TheilSenRegressor,
    lars_path,
    lasso_path,
)
from sklearn.metrics import d2_pinball_score, median_absolute_error, root_mean_squared_error
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

rng = np.random.RandomState(0)
X, y, truth = make_regression(150, 3, noise=3.0, coef=True, random_state=0)
y[:15] += 200.0
for model in [
    LinearRegression(),
    HuberRegressor(alpha=0.0, tol=1e-8, max_iter=1000),
    TheilSenRegressor(random_state=0, max_subpopulation=500),
    RANSACRegressor(random_state=0),
    RANSACRegressor(Ridge(alpha=1e-6), min_samples=20, random_state=0),
    QuantileRegressor(quantile=0.5, alpha=0.0),
]:
    line = model.fit(X, y)
    line = getattr(line, "estimator_", line)
    print(type(model).__name__, type(line).__name__, np.abs(line.coef_ - truth).max())
    print(type(line).__name__, median_absolute_error(y, model.predict(X)), root_mean_squared_error(y, model.predict(X)))
high = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X[15:], y[15:])
print("pinball", d2_pinball_score(y[15:], high.predict(X[15:]), alpha=0.8))
X, y, truth = make_regression(100, 30, n_informative=5, noise=1.0, coef=True, random_state=0)
for model in [
    BayesianRidge(tol=1e-8, max_iter=1000),
    ARDRegression(),
    LarsCV(cv=3),
    LassoLars(alpha=0.1),
    LassoLarsIC(criterion="bic"),
    OrthogonalMatchingPursuit(n_nonzero_coefs=5),
]:
    print(type(model).__name__, np.abs(model.fit(X, y).coef_ - truth).max())
alphas, _, path = lars_path(X, y, method="lasso")
_, same, _ = lasso_path(X, y, alphas=alphas[1:6], tol=1e-10, max_iter=100_000)
print("paths", np.abs(same - path[:, 1:6]).max() < 1e-3, alphas[0])
x = np.sort(rng.uniform(0, 6, 120))
y = np.sin(x) + 0.1 * rng.normal(size=120)
for name, basis in [("powers", PolynomialFeatures(5)), ("splines", SplineTransformer(n_knots=6, degree=3))]:
    print(name, make_pipeline(basis, Ridge(alpha=1e-3)).fit(x[:, None], y).score(x[:, None], y))
steps = IsotonicRegression(out_of_bounds="clip").fit(x[:40], y[:40])
print("isotonic", steps.predict([-1.0, 1.0, 9.0]).sum(), cross_val_score(steps, x, x + y, cv=3).mean())
