"""A random forest, tuned by a grid search on all cores."""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
forest = RandomForestClassifier(n_estimators=100, random_state=0, n_jobs=-1)
search = GridSearchCV(forest, {"max_depth": [4, None], "max_features": ["sqrt", 0.5]}, cv=3)
search.fit(X_train, y_train)
print("cv", search.best_score_)
print("test", accuracy_score(y_test, search.predict(X_test)))
print("importances", search.best_estimator_.feature_importances_.sum())
