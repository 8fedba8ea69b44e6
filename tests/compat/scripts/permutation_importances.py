"""Which columns a forest of random trees relies on: importances by permuting them, and partial dependence."""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, random_state=0)
model = Ridge(alpha=1e-2).fit(X_train, y_train)
result = permutation_importance(model, X_val, y_val, n_repeats=30, random_state=0)
best = result.importances_mean.argsort()[::-1][:3]
print("r2", model.score(X_val, y_val))
print("first", best[0], result.importances_mean[best[0]])
print("dependence", partial_dependence(model, X_train, ["bmi"], grid_resolution=10)["average"].mean())
forest = ExtraTreesRegressor(n_estimators=200, min_samples_leaf=3, random_state=0, n_jobs=-1).fit(X_train, y_train)
print("forest r2", forest.score(X_val, y_val))
chosen = SelectFromModel(forest, prefit=True, threshold="mean").get_support()
print("bmi chosen", chosen[list(X.columns).index("bmi")])
