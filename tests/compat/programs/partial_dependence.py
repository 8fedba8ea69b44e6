"""What models answer along one or two columns: curves of dependence and decision boundaries, drawn."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, make_moons
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import DecisionBoundaryDisplay, PartialDependenceDisplay, partial_dependence
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

X, y = load_diabetes(return_X_y=True, as_frame=True)
boosting = HistGradientBoostingRegressor(max_iter=30, max_leaf_nodes=8, random_state=0).fit(X, y)
display = PartialDependenceDisplay.from_estimator(
    boosting, X, ["bmi", "bp", ("bmi", "bp")], method="brute", grid_resolution=8, subsample=100, random_state=0
)
print("axes", len(display.axes_.ravel()))
print("bmi", np.ptp(display.pd_results[0]["average"]))
individual = PartialDependenceDisplay.from_estimator(
    boosting, X, ["s5"], kind="both", centered=True, method="brute", grid_resolution=8
)
print("lines", len(individual.lines_.ravel()))
linear = LinearRegression().fit(X, y)
print("linear", np.ptp(partial_dependence(linear, X, ["bmi"], grid_resolution=5)["average"]))

X, y = make_moons(200, noise=0.2, random_state=1)
for name, model in [
    ("svc", SVC(gamma=2, C=1)),
    ("neighbours", KNeighborsClassifier(7)),
    ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
]:
    figure, ax = plt.subplots()
    drawn = DecisionBoundaryDisplay.from_estimator(
        model.fit(X, y), X, response_method="predict", grid_resolution=40, ax=ax, alpha=0.5, cmap="coolwarm"
    )
    ax.scatter(*X.T, c=y)
    print(name, drawn.response.mean())
plt.close("all")
