"""Missing values filled in by means, by neighbours, and by models of each column given the others."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

X, y = load_diabetes(return_X_y=True)
X, y = X[:200], y[:200]
holes = np.random.RandomState(0).rand(*X.shape) < 0.15
missing = np.where(holes, np.nan, X)
for name, imputer in [
    ("mean", SimpleImputer(add_indicator=True)),
    ("constant", SimpleImputer(strategy="constant", fill_value=0.0)),
    ("neighbours", KNNImputer(n_neighbors=7)),
    ("bayes", IterativeImputer(BayesianRidge(), random_state=0, max_iter=5, tol=1e-1)),
    ("ridge", IterativeImputer(Ridge(alpha=1e-3), random_state=0, max_iter=5, tol=1e-1)),
    ("kernel", IterativeImputer(make_pipeline(Nystroem(random_state=0), Ridge(1e3)), max_iter=2, tol=1e9)),
]:
    print(name, np.sqrt(np.mean((imputer.fit_transform(missing)[:, : X.shape[1]] - X)[holes] ** 2)))
    print(name, "r2", cross_val_score(make_pipeline(StandardScaler(), imputer, Ridge()), missing, y, cv=3).mean())
forest = RandomForestRegressor(n_estimators=4, max_depth=5, bootstrap=True, max_samples=0.5, random_state=0)
filled = IterativeImputer(forest, random_state=0, max_iter=2, tol=1e9).fit_transform(missing)
print("forest", np.isfinite(filled).all())
print(
    "as they are", cross_val_score(HistGradientBoostingRegressor(max_iter=30, random_state=0), missing, y, cv=3).mean()
)
union = make_union(SimpleImputer(strategy="median"), MissingIndicator(features="all"))
print("union", union.fit_transform(missing).sum())
