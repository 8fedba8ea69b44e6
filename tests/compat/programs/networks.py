"""Multilayer perceptrons, and features learned by a Boltzmann machine before a logistic regression."""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import BernoulliRBM, MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, minmax_scale

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(minmax_scale(X)[:900], y[:900], random_state=0)
for solver in ("adam", "lbfgs"):
    net = MLPClassifier((24,), solver=solver, max_iter=80, alpha=1e-3, random_state=0).fit(X_train, y_train)
    print(solver, net.score(X_test, y_test), log_loss(y_test, net.predict_proba(X_test)))
logistic = LogisticRegression(solver="newton-cg", tol=1e-4)
rbm = BernoulliRBM(random_state=0, n_components=60, n_iter=8, learning_rate=0.06)
chain = Pipeline([("rbm", rbm), ("logistic", clone(logistic).set_params(C=600.0))]).fit(X_train, y_train)
print("rbm", chain.score(X_test, y_test))
print("raw", clone(logistic).set_params(C=1.0).fit(X_train, y_train).score(X_test, y_test))
X, y = load_diabetes(return_X_y=True)
regression = make_pipeline(
    StandardScaler(), MLPRegressor(hidden_layer_sizes=(10,), solver="lbfgs", alpha=10.0, max_iter=300, random_state=0)
)
print("regression", regression.fit(X, y / 100).score(X, y / 100), np.isfinite(regression.predict(X)).all())
