"""Fits that go on where the last one ended, and models that learn from one piece after another."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_digits, make_classification
from sklearn.decomposition import IncrementalPCA
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Lasso, LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches, shuffle

X, y = make_classification(n_samples=1200, n_features=12, n_informative=6, random_state=1)
X_train, y_train, X_test, y_test = X[:800], y[:800], X[800:], y[800:]
forest = RandomForestClassifier(20, warm_start=True, oob_score=True, random_state=0)
for size in (20, 60):
    forest.set_params(n_estimators=size).fit(X_train, y_train)
print("forest", len(forest.estimators_), forest.oob_score_)
for model in (HistGradientBoostingClassifier(max_iter=20), GradientBoostingClassifier(n_estimators=20)):
    model.set_params(warm_start=True, random_state=0).fit(X_train, y_train)
    model.set_params(**{"max_iter" if hasattr(model, "max_iter") else "n_estimators": 40}).fit(X_train, y_train)
    print(type(model).__name__, len(list(model.staged_predict(X_test))), model.score(X_test, y_test))
linear = LogisticRegression(warm_start=True, tol=1e-8, max_iter=1000)
print("logistic", [linear.set_params(C=C).fit(X_train, y_train).coef_.sum() for C in (0.01, 0.1, 1.0)][-1])
lasso = Lasso(warm_start=True, tol=1e-8)
print("lasso", [lasso.set_params(alpha=a).fit(X_train, y_train).intercept_ for a in (0.1, 0.01)][-1])
scaler, online, regression, bayes = StandardScaler(), SGDClassifier(random_state=0), SGDRegressor(), GaussianNB()
for batch in gen_batches(800, 100):
    scaler.partial_fit(X_train[batch])
for _ in range(5):
    for batch in gen_batches(800, 100):
        online.partial_fit(scaler.transform(X_train[batch]), y_train[batch], classes=[0, 1])
        regression.partial_fit(scaler.transform(X_train[batch]), y_train[batch])
        bayes.partial_fit(X_train[batch], y_train[batch], classes=[0, 1])
print("online", online.score(scaler.transform(X_test), y_test), online.t_)
print("regression", regression.score(scaler.transform(X_test), y_test))
print("bayes", bayes.score(X_test, y_test))
net = MLPClassifier((20,), max_iter=60, warm_start=True, random_state=0, tol=0, n_iter_no_change=100)
print("net", net.fit(scaler.transform(X_train), y_train).score(scaler.transform(X_test), y_test))
texts = ["cheap pills now", "meeting at noon", "cheap cheap offer", "lunch at noon"] * 10
hashed = HashingVectorizer(n_features=2**10, alternate_sign=False)
spam = MultinomialNB()
for start in range(0, 40, 10):
    spam.partial_fit(hashed.transform(texts[start : start + 10]), [1, 0, 1, 0, 1, 0, 1, 0, 1, 0], classes=[0, 1])
print("spam", spam.predict_proba(hashed.transform(["cheap lunch"]))[0, 1])
X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
pca, centres = IncrementalPCA(n_components=10), MiniBatchKMeans(10, n_init=3, random_state=0)
for start in range(0, 1500, 300):
    pca.partial_fit(X[start : start + 300])
    centres.partial_fit(X[start : start + 300])
print("pca", pca.explained_variance_ratio_.sum())
print("centres", -centres.score(X) / len(X), np.isfinite(centres.cluster_centers_).all())
