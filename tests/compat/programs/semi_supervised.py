"""Few labels: a model that labels rows by itself, and labels that spread along neighbours."""

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import classification_report
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)
rng = np.random.RandomState(0)
few = np.where(rng.rand(len(y)) < 0.7, -1, y)
for name, model in [
    ("self logistic", SelfTrainingClassifier(LogisticRegression(max_iter=1000), threshold=0.8)),
    ("self svc", SelfTrainingClassifier(SVC(probability=True, gamma="auto", random_state=0), criterion="k_best")),
    ("spreading", LabelSpreading(alpha=0.8)),
    ("propagation", LabelPropagation(kernel="knn", n_neighbors=9)),
]:
    print(name, model.fit(X, few).score(X, y))
X, y = load_digits(return_X_y=True)
X, y = X[:340], y[:340]
hidden = np.copy(y)
hidden[40:] = -1
spread = LabelSpreading(gamma=0.25, max_iter=20).fit(X, hidden)
report = classification_report(y[40:], spread.transduction_[40:], output_dict=True)
print("digits", report["weighted avg"]["f1-score"])
