"""A random search that watches several scores, one of them of one's own."""

import numpy as np
import pandas as pd
from scipy.stats import loguniform
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet
from sklearn.metrics import get_scorer, make_scorer, mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV, KFold, ParameterSampler, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler


def within(y, predicted, by):
    return np.mean(np.abs(y - predicted) < by)


def best_by_error(results):
    return int(np.argmax(results["mean_test_error"]))


X, y = load_diabetes(return_X_y=True)
pipe = Pipeline(
    [
        ("scale", StandardScaler()),
        ("powers", PolynomialFeatures(2, include_bias=False)),
        ("model", ElasticNet(max_iter=20_000, tol=1e-7)),
    ]
)
scores = {
    "r2": "r2",
    "error": make_scorer(mean_absolute_error, greater_is_better=False),
    "near": make_scorer(within, by=50.0),
}
space = {"model__alpha": loguniform(1e-1, 1e1), "model__l1_ratio": [0.2, 0.8], "powers__degree": [1, 2]}
search = RandomizedSearchCV(pipe, space, n_iter=8, scoring=scores, refit=best_by_error, cv=KFold(3), random_state=3)
search.fit(X, y)
table = pd.DataFrame(search.cv_results_)
print("rows", len(table), table["mean_test_near"].max())
print("error", -table["mean_test_error"].max())
print("r2", r2_score(y, search.predict(X)))
print("scorer", get_scorer("neg_root_mean_squared_error")(search.best_estimator_, X, y))
print("drawn", len(list(ParameterSampler(space, 4, random_state=0))))
kernels = [{"kernel": ["rbf"], "gamma": [1.0, 10.0]}, {"kernel": ["linear"], "alpha": [0.1, 1.0]}]
centred = GridSearchCV(KernelRidge(alpha=0.1), kernels, cv=3, error_score="raise").fit(X, y - y.mean())
print("kernel ridge", centred.best_score_)
