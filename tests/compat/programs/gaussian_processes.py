"""Gaussian processes with kernels that add and multiply, whose parameters the evidence chooses."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.metrics import r2_score

rng = np.random.RandomState(0)
X = np.sort(rng.uniform(0, 10, 80))[:, None]
y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 0] + 0.1 * rng.normal(size=80)
grid = np.linspace(0, 10, 50)[:, None]
kernel = 1.0 * RBF(1.0, length_scale_bounds=(1e-2, 1e3)) + WhiteKernel(0.1)
gp = GaussianProcessRegressor(kernel=kernel, normalize_y=True, n_restarts_optimizer=1, random_state=0).fit(X, y)
mean, std = gp.predict(grid, return_std=True)
print("evidence", gp.log_marginal_likelihood(gp.kernel_.theta))
print("scale", gp.kernel_.k1.k2.length_scale)
print("noise", gp.kernel_.k2.noise_level)
print("mean", np.abs(mean).sum())
print("std", std.mean())
print("parameters", len(gp.kernel_.hyperparameters), len(gp.kernel_.get_params()))
periodic = ConstantKernel(1.0, "fixed") * ExpSineSquared(1.0, 3.0, periodicity_bounds=(2.0, 4.0)) + DotProduct()
seasonal = GaussianProcessRegressor(periodic, alpha=0.01, n_restarts_optimizer=0).fit(X, y)
print("period", seasonal.kernel_.get_params()["k1__k2__periodicity"])
print("seasonal", r2_score(y, seasonal.predict(X)))
print("draws", seasonal.sample_y(grid, 3, random_state=0).shape[1])
fixed = GaussianProcessRegressor(Matern(2.0, nu=1.5) + RationalQuadratic(), optimizer=None, alpha=0.01).fit(X, y)
print("matern", fixed.predict(grid).std())
_, covariance = fixed.predict(grid, return_cov=True)
print("covariance", np.trace(covariance))
print("prior", GaussianProcessRegressor(RBF()).predict(grid, return_std=True)[1].mean())
X, y = load_iris(return_X_y=True)
model = GaussianProcessClassifier(1.0 * RBF([1.0, 1.0]), random_state=0).fit(X[:, :2], y)
print("iris", model.score(X[:, :2], y), model.predict_proba(X[:, :2]).max(axis=1).mean())
