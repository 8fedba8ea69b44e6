"""Nearest neighbours: the number of them chosen by a search in two processes."""

from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

X, y = make_moons(n_samples=5000, noise=0.3, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
pipe = Pipeline([("scale", StandardScaler()), ("knn", KNeighborsClassifier())])
search = GridSearchCV(pipe, {"knn__n_neighbors": [5, 15, 45], "knn__weights": ["uniform", "distance"]}, cv=5, n_jobs=2)
search.fit(X_train, y_train)
print("accuracy", search.score(X_test, y_test))
print("neighbours", search.best_params_["knn__n_neighbors"])
print("r2", KNeighborsRegressor(n_neighbors=10, weights="distance").fit(X_train, y_train).score(X_test, y_test))
distances, _ = NearestNeighbors(n_neighbors=3, algorithm="kd_tree").fit(X_train).kneighbors(X_test)
print("distance", distances.mean())
