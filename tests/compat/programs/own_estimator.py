"""A classifier of one's own, made of the library's tools, that goes into its searches and ensembles."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.datasets import load_wine, make_regression
from sklearn.ensemble import AdaBoostClassifier, BaggingRegressor, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_array, check_random_state, resample
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data


class Nearest(ClassifierMixin, BaseEstimator):
    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, self.y_ = unique_labels(y), y
        self.X_ = X
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return self.y_[np.argmin(euclidean_distances(X, self.X_) ** self.power, axis=1)]


class Averaged(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    def __init__(self, estimator=None, n=5, random_state=None):
        self.estimator, self.n, self.random_state = estimator, n, random_state

    def fit(self, X, y):
        X, y = check_X_y(X, y)
        rng = check_random_state(self.random_state)
        self.parts_ = [clone(self.estimator).fit(*resample(X, y, random_state=rng)) for _ in range(self.n)]
        return self

    def predict(self, X):
        return np.mean([part.predict(check_array(X)) for part in self.parts_], axis=0)


check_estimator(Nearest())
X, y = load_wine(return_X_y=True)
print(
    "search", GridSearchCV(make_pipeline(StandardScaler(), Nearest()), {"nearest__power": [1, 2]}).fit(X, y).best_score_
)
votes = VotingClassifier([("own", Nearest()), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))])
print("votes", cross_val_score(votes, X, y).mean())
print("weights", *compute_class_weight("balanced", classes=np.unique(y), y=y))
weights = compute_sample_weight("balanced", y)
X = StandardScaler().fit_transform(X)
print("weighted", LogisticRegression(C=0.01).fit(X, y, sample_weight=weights).score(X, y, sample_weight=weights))
boosted = AdaBoostClassifier(LogisticRegression(C=0.001), n_estimators=10, random_state=0)
print("boosted", cross_val_score(boosted, X, y).mean())
X, y = make_regression(150, 5, noise=10.0, random_state=0)
print("averaged", cross_val_score(Averaged(LinearRegression(), random_state=0), X, y).mean())
print("bagged", cross_val_score(BaggingRegressor(Averaged(LinearRegression()), 3, random_state=0), X, y).mean())
