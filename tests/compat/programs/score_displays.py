"""Pictures of scores: confusion, ROC, precision and recall, errors, learning curves, validation curves."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    DetCurveDisplay,
    PrecisionRecallDisplay,
    PredictionErrorDisplay,
    RocCurveDisplay,
)
from sklearn.model_selection import LearningCurveDisplay, ValidationCurveDisplay, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
clf = make_pipeline(StandardScaler(), LogisticRegression(random_state=0)).fit(X_train, y_train)
print("errors", np.trace(ConfusionMatrixDisplay.from_estimator(clf, X_test, y_test).confusion_matrix))
print("auc", RocCurveDisplay.from_estimator(clf, X_test, y_test).roc_auc)
print("precision", PrecisionRecallDisplay.from_estimator(clf, X_test, y_test, plot_chance_level=True).average_precision)
print("det", DetCurveDisplay.from_estimator(clf, X_test, y_test).fpr.max())
folds = cross_validate(clf, X, y, cv=3, return_estimator=True, return_indices=True)
RocCurveDisplay.from_cv_results(folds, X, y)
curve = LearningCurveDisplay.from_estimator(clf, X, y, train_sizes=[50, 150, 300], cv=3, random_state=0, shuffle=True)
print("learning", curve.test_scores.mean())
grid = np.logspace(-3, 1, 5)
validation = ValidationCurveDisplay.from_estimator(
    clf, X, y, param_name="logisticregression__C", param_range=grid, cv=3, score_type="both"
)
print("validation", validation.test_scores.mean(axis=1).max())
X, y = load_diabetes(return_X_y=True)
errors = PredictionErrorDisplay.from_estimator(Ridge(alpha=0.1).fit(X, y), X, y, kind="residual_vs_predicted")
print("residual", np.std(errors.y_true - errors.y_pred))
plt.close("all")
