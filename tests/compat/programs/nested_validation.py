"""Searches inside of validations, predictions of held-out rows, thresholds that are tuned, and every kind of split."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.metrics import confusion_matrix, f1_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupShuffleSplit,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)
for trial in range(1):
    inner, outer = (KFold(4, shuffle=True, random_state=trial) for _ in range(2))
    search = GridSearchCV(SVC(kernel="rbf"), {"C": [1, 10, 100], "gamma": [0.01, 0.1]}, cv=inner)
    print("nested", trial + 100, cross_val_score(search, X, y, cv=outer).mean())
print("loo", cross_val_score(KNeighborsClassifier(5), X, y, cv=LeaveOneOut()).mean())
groups = np.arange(150) % 15
for cv in [GroupShuffleSplit(4, random_state=0), StratifiedGroupKFold(3), RepeatedStratifiedKFold(n_repeats=2)]:
    if hasattr(cv, "random_state"):
        cv.random_state = 0
    print(type(cv).__name__, cross_val_score(RidgeClassifierCV(), X, y, groups=groups, cv=cv).mean())
X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), LogisticRegression())
held_out = cross_val_predict(model, X, y, cv=StratifiedKFold(5), method="predict_proba")
print("held out", held_out[:, 1].mean(), confusion_matrix(y, held_out.argmax(axis=1)).trace())
tuned = TunedThresholdClassifierCV(model, scoring=make_scorer(f1_score, pos_label=0), cv=3).fit(X, y)
print("threshold", tuned.best_threshold_, tuned.best_score_)
svc = make_pipeline(StandardScaler(), SVC(class_weight="balanced"))
print("decisions", cross_val_predict(svc, X, y, method="decision_function", cv=3).std())
