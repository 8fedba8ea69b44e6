"""Models to files and back, copies, and work in other processes."""

import io
import pickle
from tempfile import TemporaryDirectory

import joblib
import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor, StackingRegressor
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.svm import SVR
from sklearn.utils.validation import check_is_fitted

X, y = load_diabetes(return_X_y=True)
scale = make_column_transformer((RobustScaler(), slice(0, 5)), remainder=StandardScaler())
for model in [
    make_pipeline(scale, Ridge(alpha=2.0)),
    TransformedTargetRegressor(HuberRegressor(alpha=1e-3, max_iter=1000), func=np.log, inverse_func=np.exp),
    RandomForestRegressor(20, min_samples_leaf=5, random_state=0),
    HistGradientBoostingRegressor(max_iter=20, random_state=0),
    StackingRegressor([("knn", KNeighborsRegressor(15)), ("svr", SVR(C=100.0))], cv=3),
    GridSearchCV(make_pipeline(StandardScaler(), SVR(kernel="poly", degree=1)), {"svr__C": [1.0, 100.0]}, cv=3),
]:
    expected = model.fit(X, y).predict(X)
    with TemporaryDirectory() as folder:
        again = joblib.load(joblib.dump(model, f"{folder}/model.joblib", compress=3)[0])
    file = io.BytesIO()
    pickle.dump(model, file)
    copied = clone(pickle.loads(file.getvalue())).fit(X, y)
    same = np.array_equal(again.predict(X), expected) and np.allclose(copied.predict(X), expected)
    check_is_fitted(again)
    print(type(model).__name__, same and is_regressor(model) and not is_classifier(model), model.score(X, y))


scores = joblib.Parallel(n_jobs=2)(
    joblib.delayed(cross_val_score)(make_pipeline(StandardScaler(), Ridge(alpha=alpha)), X, y, cv=4)
    for alpha in (0.1, 10.0, 1000.0)
)
print("parallel", *np.mean(scores, axis=1))
with joblib.parallel_backend("threading", n_jobs=2):
    forest = GridSearchCV(RandomForestRegressor(10, random_state=0), {"max_depth": [2, 5]}, cv=3).fit(X, y)
print("threads", forest.best_score_)
