"""Models that are put together: votes, averages, and a model on the predictions of others."""

from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVR

X, y = load_breast_cancer(return_X_y=True)
linear = make_pipeline(StandardScaler(), LogisticRegression())
models = [("lr", linear), ("nb", GaussianNB()), ("knn", make_pipeline(StandardScaler(), KNeighborsClassifier()))]
print("hard", cross_val_score(VotingClassifier(models), X, y, cv=3).mean())
soft = VotingClassifier(models, voting="soft", weights=[2, 1, 1])
print("soft", cross_val_score(soft, X, y, cv=3, scoring="roc_auc").mean())
search = GridSearchCV(soft, {"lr__logisticregression__C": [0.1, 1.0], "nb": ["drop", GaussianNB()]}, cv=3).fit(X, y)
print("search", search.best_score_)
stack = StackingClassifier(
    [*models, ("forest", RandomForestClassifier(30, random_state=0))], final_estimator=LogisticRegression(), cv=3
)
print("stack", cross_val_score(stack, X, y, cv=3).mean(), stack.fit(X, y).transform(X[:5]).shape[1])
bags = BaggingClassifier(make_pipeline(StandardScaler(), SVC()), n_estimators=5, random_state=0)
print("bags", cross_val_score(bags, X, y, cv=3).mean())
X, y = load_diabetes(return_X_y=True)
parts = [("ridge", RidgeCV()), ("svr", LinearSVR(C=100.0, tol=1e-6, max_iter=200_000, random_state=0))]
parts.append(("knn", KNeighborsRegressor(20)))
print("mean", cross_val_score(VotingRegressor(parts), X, y, cv=3).mean())
final = RandomForestRegressor(50, min_samples_leaf=10, random_state=0)
print("stacked", cross_val_score(StackingRegressor(parts, final_estimator=final, cv=3), X, y, cv=3).mean())
gradient = GradientBoostingRegressor(n_estimators=30, random_state=0)
print("boosting", cross_val_score(StackingRegressor(parts, final_estimator=gradient, cv=3), X, y, cv=3).mean())
