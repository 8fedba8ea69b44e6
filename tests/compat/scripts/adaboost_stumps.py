"""AdaBoost of stumps, with the error after each round."""

from sklearn.datasets import make_gaussian_quantiles
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

X, y = make_gaussian_quantiles(n_samples=6000, n_features=10, n_classes=3, random_state=1)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=42)

model = AdaBoostClassifier(estimator=DecisionTreeClassifier(max_depth=4), n_estimators=100, random_state=0)
model.fit(X_train, y_train)
errors = [1 - accuracy_score(y_test, y_pred) for y_pred in model.staged_predict(X_test)]
print("rounds", len(errors))
print("accuracy", accuracy_score(y_test, model.predict(X_test)))
