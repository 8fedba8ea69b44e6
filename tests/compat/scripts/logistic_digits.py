"""Handwritten digits by logistic regression, as in many a first lesson."""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import classification_report, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
clf = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000, random_state=0))
clf.fit(X_train, y_train)
report = classification_report(y_test, clf.predict(X_test), output_dict=True)
print("accuracy", report["accuracy"])
print("f1", report["macro avg"]["f1-score"])
print("log loss", log_loss(y_test, clf.predict_proba(X_test)))
