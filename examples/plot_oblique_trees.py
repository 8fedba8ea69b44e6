r"""
Oblique splits and linear leaves
================================

A split on one column at a time draws boxes. Where the boundary is slanted, or the function a slope, boxes need many
steps. An oblique tree may cut along any line, and a model tree has a line in every leaf.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor, ModelTreeRegressor, ObliqueTreeClassifier

rng = np.random.default_rng(0)
turn = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])


def boxes(n):
    """Two classes in boxes that were turned by 34 degrees."""
    Z = rng.uniform(-1, 1, size=(n, 2))
    return Z @ turn.T, ((Z[:, 0] > 0) & (Z[:, 1] > -0.3)).astype(int)


(X, y), (X_new, y_new) = boxes(400), boxes(4000)

# %%
# Turned boxes
# ------------
# Single columns make stairs of the slanted edges, and more stairs the deeper the tree is.
grid = np.stack(np.meshgrid(np.linspace(-1.4, 1.4, 300), np.linspace(-1.4, 1.4, 300)), axis=-1)
models = {
    "single columns, depth 3": DecisionTreeClassifier(max_depth=3),
    "single columns, full": DecisionTreeClassifier(),
    "oblique, full": ObliqueTreeClassifier(),
}
figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained", sharey=True)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X, y)
    found = model.predict(grid.reshape(-1, 2)).reshape(300, 300)
    axes.pcolormesh(grid[..., 0], grid[..., 1], found, cmap=ListedColormap(["#cfdff0", "#f5dcc6"]), rasterized=True)
    axes.scatter(*X.T, c=np.where(y, "tab:orange", "tab:blue"), s=7, linewidths=0)
    error = 100 * (1 - model.score(X_new, y_new))
    axes.set_title(f"{name}\n{model.get_n_leaves()} leaves, {error:.1f} % errors on new points", fontsize=10)
plt.show()

# %%
# Lines in the leaves
# -------------------
# A function that is linear in pieces comes back with as many leaves as it has pieces; constants need a stair for every
# step up the slope.
x = np.sort(rng.uniform(-2, 2, 150))
truth = np.where(x < -0.5, 1.0 + 0.8 * (x + 2), np.where(x < 1, 2.2 - 1.4 * (x + 0.5), 0.3 + 1.2 * (x - 1)))
noisy = truth + rng.normal(scale=0.12, size=150)
places = np.linspace(-2, 2, 600)[:, None]
figure, axes = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
axes.plot(x, noisy, "o", color="0.65", markersize=3.5, markeredgewidth=0)
for model, color, words in (
    (DecisionTreeRegressor(min_samples_leaf=10), "tab:orange", "constants"),
    (ModelTreeRegressor(), "tab:blue", "lines"),
):
    model.fit(x[:, None], noisy)
    axes.plot(places, model.predict(places), color=color, label=f"{words}: {model.get_n_leaves()} leaves")
axes.set(xlabel="x", ylabel="y")
axes.legend(frameon=False)
plt.show()
