"""Probabilities that are shares: a classifier calibrated by sigmoids and by steps, its curve and its picture."""

from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay, calibration_curve
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

X, y = make_classification(n_samples=2000, n_features=20, n_informative=3, n_redundant=10, random_state=42)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=42)
for name, model in [
    ("logistic", LogisticRegression(C=1.0)),
    ("bayes", GaussianNB()),
    ("bayes sigmoid", CalibratedClassifierCV(GaussianNB(), cv=3, method="sigmoid")),
    ("bayes isotonic", CalibratedClassifierCV(GaussianNB(), cv=3, method="isotonic")),
    ("svm sigmoid", CalibratedClassifierCV(LinearSVC(C=0.1, dual=False, tol=1e-6), ensemble=False)),
]:
    model.fit(X_train, y_train)
    proba = model.predict_proba(X_test)[:, 1]
    print(name, "brier", brier_score_loss(y_test, proba))
    print(name, "log loss", log_loss(y_test, proba))
frozen = CalibratedClassifierCV(FrozenEstimator(GaussianNB().fit(X_train[:600], y_train[:600])))
print("frozen", brier_score_loss(y_test, frozen.fit(X_train[600:], y_train[600:]).predict_proba(X_test)[:, 1]))
share, mean = calibration_curve(y_test, proba, n_bins=5)
print("curve", abs(share - mean).max())
display = CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=10)
print("points", len(display.prob_true))
