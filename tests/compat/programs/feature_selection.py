"""Columns chosen by tests, by coefficients, by elimination and by searching forwards."""

from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_classif,
    mutual_info_classif,
)
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = LogisticRegression(C=0.1)
print("best", SelectKBest(f_classif, k=5).fit(X, y).get_support(indices=True).sum())
print("information", SelectKBest(lambda X, y: mutual_info_classif(X, y, random_state=0), k=5).fit(X, y).scores_.max())
print("variance", VarianceThreshold(0.5).fit_transform(X).shape[1])
elimination = RFE(model, n_features_to_select=6).fit(X, y)
print("elimination", elimination.score(X, y), *elimination.ranking_[:1])
counted = RFECV(model, step=4, cv=StratifiedKFold(4), scoring="accuracy", min_features_to_select=2).fit(X, y)
print("counted", counted.cv_results_["mean_test_score"].max())
forward = SequentialFeatureSelector(DecisionTreeClassifier(max_depth=3, random_state=0), n_features_to_select=2, cv=3)
print("forward", cross_val_score(model, forward.fit(X[:, :12], y).transform(X[:, :12]), y).mean())
sparse = SelectFromModel(LinearSVC(C=0.02, penalty="l1", dual=False, tol=1e-8, max_iter=50_000))
chain = Pipeline([("select", sparse), ("classify", RandomForestClassifier(n_estimators=40, random_state=0))])
print("chain", cross_val_score(chain, X, y, cv=3).mean())
X, y = make_friedman1(n_samples=120, n_features=10, random_state=0)
print("linear svr", RFE(SVR(kernel="linear"), n_features_to_select=5, step=1).fit(X, y).support_[:5].sum())
print("lasso", SelectFromModel(LassoCV(cv=3, random_state=0), threshold="median").fit(X, y).get_support().sum())
