"""Pipelines of unions, functions and transformers of one's own, with steps that are exchanged and cached."""

from tempfile import TemporaryDirectory

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import NMF, PCA
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, MinMaxScaler, PolynomialFeatures
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.validation import check_is_fitted, validate_data


class Centre(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    def __init__(self, *, by="mean"):
        self.by = by

    def fit(self, X, y=None):
        X = validate_data(self, X)
        self.middle_ = getattr(np, self.by)(X, axis=0)
        return self

    def transform(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False) - self.middle_


X, y = load_iris(return_X_y=True)
features = FeatureUnion([("pca", PCA(n_components=2)), ("best", SelectKBest(k=1))])
pipe = Pipeline([("features", features), ("svm", SVC(kernel="linear"))])
space = {"features__pca__n_components": [1, 2, 3], "features__best__k": [1, 2], "svm__C": [0.1, 1, 10]}
search = GridSearchCV(pipe, space, n_jobs=1).fit(X, y)
print("union", search.best_score_)
own = make_pipeline(FunctionTransformer(np.log1p, feature_names_out="one-to-one"), Centre(by="median"), SVC())
print("own", own.fit(X, y).score(X, y), len(own[:-1].get_feature_names_out()))
bins = make_pipeline(KBinsDiscretizer(5, encode="onehot", strategy="quantile"), LogisticRegression())
print("bins", bins.fit(X, y).score(X, y))
powers = make_pipeline(PolynomialFeatures(2), MinMaxScaler(), LogisticRegressionCV(Cs=3, cv=3, max_iter=5000))
powers[-1].set_params(scoring="accuracy", l1_ratios=(0.0,), use_legacy_attributes=False)
print("powers", powers.fit(X, y).score(X, y))
X, y = load_digits(return_X_y=True)
X, y = X[:400], y[:400]
with TemporaryDirectory() as folder:
    cached = Pipeline([("reduce", "passthrough"), ("classify", LinearSVC(dual=False, max_iter=10000))], memory=folder)
    steps = [PCA(iterated_power=7, random_state=0), NMF(max_iter=300, tol=1e-3, init="nndsvda")]
    grid = [
        {"reduce": steps, "reduce__n_components": [4, 8], "classify__C": [1, 10]},
        {"reduce": [SelectKBest()], "reduce__k": [4, 8], "classify__C": [1, 10]},
    ]
    print("exchanged", GridSearchCV(cached, grid, cv=3).fit(X / 16, y).best_score_)
