"""The well-known comparison: ten classifiers on three small data sets, shown as diagrams of HTML as well."""

import numpy as np
from sklearn.datasets import make_circles, make_classification, make_moons
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_html_repr

classifiers = {
    "neighbours": KNeighborsClassifier(3),
    "linear": SVC(kernel="linear", C=0.025, random_state=42),
    "rbf": SVC(gamma=2, C=1, random_state=42),
    "process": GaussianProcessClassifier(1.0 * RBF(1.0), random_state=42),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=42),
    "forest": RandomForestClassifier(max_depth=5, n_estimators=30, max_features=1, random_state=42),
    "network": MLPClassifier(alpha=1, max_iter=100, random_state=42),
    "boosting": AdaBoostClassifier(random_state=42),
    "bayes": GaussianNB(),
    "quadratic": QuadraticDiscriminantAnalysis(),
}
X, y = make_classification(
    n_features=2, n_redundant=0, n_informative=2, random_state=1, n_clusters_per_class=1, n_samples=150
)
X += 2 * np.random.RandomState(2).uniform(size=X.shape)
tables = {
    "moons": make_moons(150, noise=0.3, random_state=0),
    "circles": make_circles(150, noise=0.2, factor=0.5, random_state=1),
    "separable": (X, y),
}
for table, (X, y) in tables.items():
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=42)
    for name, classifier in classifiers.items():
        model = make_pipeline(StandardScaler(), classifier).fit(X_train, y_train)
        print(table, name, model.score(X_test, y_test))
        if table == "moons":
            drawn = DecisionBoundaryDisplay.from_estimator(model, X, eps=0.5, grid_resolution=30)
            print(
                name,
                "drawn",
                np.isfinite(drawn.response).all(),
                type(classifier).__name__ in estimator_html_repr(model),
            )
