"""Successive halving: many candidates on few rows, few candidates on all."""

from scipy.stats import loguniform, randint
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV, HalvingRandomSearchCV
from sklearn.svm import SVC

X, y = make_classification(n_samples=400, n_features=8, n_informative=5, random_state=0)
search = HalvingGridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1]}, factor=2, cv=3, random_state=0)
search.fit(X, y)
print("iterations", search.n_iterations_)
print("svc", search.best_score_)
by_rows = HalvingRandomSearchCV(SVC(), {"C": loguniform(1e-1, 1e2)}, n_candidates=4, cv=3, random_state=0).fit(X, y)
print("random", by_rows.best_score_, by_rows.score(X, y))
space = {"max_depth": [3, None], "min_samples_split": randint(2, 11)}
trees = HalvingRandomSearchCV(
    RandomForestClassifier(random_state=0), space, resource="n_estimators", max_resources=24, cv=3, random_state=0
)
print("forest", trees.fit(X, y).best_score_)
