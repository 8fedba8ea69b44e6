"""How scores grow with rows and with a parameter, and whether they could be luck."""

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import (
    ShuffleSplit,
    StratifiedKFold,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
cv = ShuffleSplit(n_splits=3, test_size=0.3, random_state=0)
for name, model in [("bayes", GaussianNB()), ("svc", SVC(gamma=0.001))]:
    sizes, _, scores, times, _ = learning_curve(model, X, y, cv=cv, train_sizes=[0.3, 1.0], return_times=True)
    print(name, scores.mean(axis=1)[-1], sizes[-1])
_, test = validation_curve(SVC(), X, y, param_name="gamma", param_range=np.logspace(-5, -2, 4), cv=cv)
print("gamma", test.mean(axis=1).max())
_, _, steps = learning_curve(
    SGDClassifier(loss="hinge", average=True, random_state=0),
    X / 16,
    y,
    cv=cv,
    train_sizes=[0.5, 1.0],
    exploit_incremental_learning=True,
)
print("incremental", steps.mean(axis=1)[-1])
X, y = load_iris(return_X_y=True)
score, by_chance, p = permutation_test_score(SVC(kernel="linear"), X, y, cv=StratifiedKFold(3), n_permutations=30)
print("iris", score, p)
print("dummy", DummyClassifier(strategy="most_frequent").fit(X, y).score(X, y))
