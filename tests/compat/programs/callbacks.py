"""Callbacks that watch fits, of models, of pipelines and of searches."""

import warnings

from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
monitor = ScoringMonitor(scoring="neg_log_loss")
model = LogisticRegression(C=0.1).set_callbacks(monitor).fit(X, y)
print("score", model.score(X, y))
pipe = make_pipeline(StandardScaler(), LogisticRegression())
print("pipeline", pipe.fit(X, y).score(X, y))
search = GridSearchCV(pipe, {"logisticregression__C": [0.1, 1.0]}, cv=3)
print("search", search.fit(X, y).best_score_)
print("bar", callable(ProgressBar))
try:
    LogisticRegression().predict(X)
except NotFittedError:
    print("not fitted", True)
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    LogisticRegression(max_iter=1, C=1e6).fit(X, y)
print("warned", any(issubclass(w.category, ConvergenceWarning) for w in found))
