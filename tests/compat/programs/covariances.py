"""Covariances shrunk, sparse and robust, mixtures that choose their size, and densities."""

import numpy as np
from sklearn.covariance import (
    OAS,
    EmpiricalCovariance,
    GraphicalLassoCV,
    LedoitWolf,
    MinCovDet,
    ShrunkCovariance,
    ledoit_wolf,
)
from sklearn.datasets import make_sparse_spd_matrix
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KernelDensity

precision = make_sparse_spd_matrix(6, alpha=0.8, smallest_coef=0.4, largest_coef=0.7, random_state=1)
covariance = np.linalg.inv(precision)
rng = np.random.RandomState(0)
X = rng.multivariate_normal(np.zeros(6), covariance, size=150)
for model in (EmpiricalCovariance(), ShrunkCovariance(shrinkage=0.1), LedoitWolf(), OAS(), MinCovDet(random_state=0)):
    print(type(model).__name__, model.fit(X).error_norm(covariance), model.mahalanobis(X).mean())
print("glasso", GraphicalLassoCV(cv=3).fit(X).alpha_, ledoit_wolf(X)[1])
print("models", cross_val_score(PCA(3), X).mean(), cross_val_score(FactorAnalysis(2, tol=1e-4), X).mean())
two = np.r_[X, X[:75] * 0.4 + 4.0]
labels = np.r_[np.zeros(150), np.ones(75)]
shrunk = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS()).fit(two, labels)
print("lda", shrunk.score(two, labels), shrunk.coef_.sum())
print("qda", QuadraticDiscriminantAnalysis(reg_param=0.05).fit(two, labels).predict_proba(two)[:, 1].sum())


def bic(model, X):
    return -model.bic(X)


space = {"n_components": [1, 2, 3], "covariance_type": ["full", "diag", "tied", "spherical"]}
search = GridSearchCV(GaussianMixture(n_init=2, random_state=0, tol=1e-6, max_iter=500), space, scoring=bic, cv=3)
search.fit(two)
print("mixture", search.best_score_, search.best_params_["n_components"])
fitted = GaussianMixture(2, random_state=0, tol=1e-8, max_iter=1000).fit(two)
print("likelihood", fitted.score(two), fitted.aic(two), fitted.weights_.max(), fitted.sample(10)[0].shape[1])
print("bayes", (BayesianGaussianMixture(n_components=4, random_state=0, max_iter=500).fit(two).weights_ > 0.05).sum())
density = GridSearchCV(KernelDensity(), {"bandwidth": np.logspace(-0.5, 0.5, 5)}, cv=4).fit(two)
print("density", density.best_params_["bandwidth"], density.best_estimator_.score(two))
