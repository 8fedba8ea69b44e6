"""The lasso: its path, and the penalty chosen by cross-validation."""

import numpy as np
from sklearn.datasets import make_regression
from sklearn.linear_model import ElasticNetCV, LassoCV, RidgeCV, lasso_path
from sklearn.model_selection import train_test_split

X, y, coef = make_regression(n_samples=2000, n_features=300, n_informative=20, noise=10.0, coef=True, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = LassoCV(cv=5, tol=1e-7, n_jobs=-1, random_state=0).fit(X_train, y_train)
print("alpha", model.alpha_)
print("lasso", model.score(X_test, y_test))
print("found", (np.flatnonzero(coef)[:, None] == np.flatnonzero(model.coef_)).any(axis=1).sum())
print("elastic net", ElasticNetCV(l1_ratio=[0.5, 0.9], cv=5).fit(X_train, y_train).score(X_test, y_test))
print("ridge", RidgeCV(alphas=np.logspace(-3, 3, 13)).fit(X_train, y_train).score(X_test, y_test))
alphas, coefs, _ = lasso_path(X_train, y_train, alphas=20)
print("path", len(alphas), np.abs(coefs[:, 0]).max())
