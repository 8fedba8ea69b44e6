"""Several targets: one model for all, one model each, chains, and labels that come together."""

import numpy as np
from sklearn.datasets import load_linnerud, make_multilabel_classification, make_regression
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, MultiTaskLasso, RidgeCV
from sklearn.metrics import f1_score, hamming_loss, jaccard_score
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import SVR, LinearSVC

X, Y = make_regression(n_samples=300, n_features=8, n_targets=3, noise=5.0, random_state=0)
for name, model in [
    ("side by side", MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=30, random_state=0))),
    ("svr", MultiOutputRegressor(SVR(kernel="linear", C=10.0))),
    ("chain", RegressorChain(RidgeCV(), order=[2, 0, 1])),
    ("tasks", MultiTaskLasso(alpha=0.5)),
    ("neighbours", KNeighborsRegressor()),
]:
    print(name, model.fit(X[:200], Y[:200]).score(X[200:], Y[200:]))
print("trees", ExtraTreesRegressor(100, random_state=0).fit(X[:200], Y[:200]).score(X[200:], Y[200:]))
X, Y = make_multilabel_classification(n_samples=400, n_classes=4, random_state=0)
for name, model in [
    ("each", MultiOutputClassifier(LogisticRegression(max_iter=1000))),
    ("rest", OneVsRestClassifier(LogisticRegression(max_iter=1000))),
    ("class chain", ClassifierChain(LogisticRegression(max_iter=1000), order="random", random_state=0)),
    ("knn", KNeighborsClassifier()),
]:
    found = model.fit(X[:300], Y[:300]).predict(X[300:])
    print(name, jaccard_score(Y[300:], found, average="samples", zero_division=1), hamming_loss(Y[300:], found))
    print(name, "f1", f1_score(Y[300:], found, average="micro"))
sets = [{"sea", "sun"}, {"sun"}, {"snow"}, {"sea"}]
print("sets", MultiLabelBinarizer().fit_transform(sets).sum())
X, Y = load_linnerud(return_X_y=True)
print("linnerud", cross_val_score(RidgeCV(alphas=np.logspace(-2, 4, 7)), X, Y, cv=4, scoring="r2").mean())
pairs = OneVsOneClassifier(LinearSVC(tol=1e-8, max_iter=100_000)).fit(X, Y[:, 0] > Y[:, 0].mean())
print("pairs", pairs.score(X, Y[:, 0] > Y[:, 0].mean()))
codes = OutputCodeClassifier(KNeighborsClassifier(1), code_size=2, random_state=0).fit(X, np.arange(20) % 3)
print("codes", codes.score(X, np.arange(20) % 3))
