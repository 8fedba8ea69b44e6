"""Weights and groups that find their way through pipelines and searches."""

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

X, y = load_breast_cancer(return_X_y=True)
rng = np.random.RandomState(22)
weights, groups = rng.rand(len(y)), rng.randint(0, 10, size=len(y))

with sklearn.config_context(enable_metadata_routing=True):
    scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=True)
    model = make_pipeline(scaler, LogisticRegression(C=0.5).set_fit_request(sample_weight=True))
    split = GroupKFold(n_splits=4)
    given = {"sample_weight": weights, "groups": groups}
    found = cross_validate(model, X, y, params=given, cv=split, scoring=scorer, return_estimator=True)
    print("folds", found["test_score"].mean())
    print("coefficient", found["estimator"][0][-1].coef_[0, 0])
    search = GridSearchCV(model, {"logisticregression__C": [0.01, 1.0]}, cv=GroupKFold(3), scoring=scorer)
    print("search", search.fit(X, y, **given).best_score_)
    lr = LogisticRegressionCV(
        Cs=5, cv=GroupKFold(3), scoring=scorer, l1_ratios=(0.0,), use_legacy_attributes=False, max_iter=1000
    ).set_fit_request(sample_weight=True)
    print("lrcv", lr.fit(StandardScaler().fit_transform(X), y, **given).score(X, y, sample_weight=weights))
    print("route", len(get_routing_for_object(model).consumes("fit", ["sample_weight", "groups"])))
