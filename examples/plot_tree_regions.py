r"""
Stump, tree, forest and boosting
================================

The same two interleaved moons, cut by one test, by a full tree, by the mean of 200 trees and by boosted trees. A single
tree follows every noisy point; the mean of many smooths it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1, make_moons

from didact.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from didact.tree import DecisionTreeClassifier

X, y = make_moons(300, noise=0.3, random_state=0)
X_new, y_new = make_moons(5000, noise=0.3, random_state=1)

# %%
# Decision regions
# ----------------
# The shade is the probability of the orange class.
grid = np.stack(np.meshgrid(np.linspace(-2, 3, 250), np.linspace(-1.7, 2.2, 200)), axis=-1)
models = {
    "stump": DecisionTreeClassifier(max_depth=1),
    "tree": DecisionTreeClassifier(),
    "forest of 200": RandomForestClassifier(200, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
}
figure, panels = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained", sharey=True)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X, y)
    share = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    axes.pcolormesh(grid[..., 0], grid[..., 1], share, cmap="PuOr_r", vmin=0, vmax=1, rasterized=True, alpha=0.6)
    axes.scatter(*X.T, c=np.where(y, "tab:orange", "tab:purple"), s=6, linewidths=0)
    axes.set_title(f"{name}: {100 * (1 - model.score(X_new, y_new)):.1f} % errors", fontsize=10)
plt.show()

# %%
# Importances
# -----------
# Ten features, of which the first five count. The decrease of impurity is what the trees saw in training; shuffling a
# feature among the rows out of bag tells what the forest would lose without it, and is near zero for noise.
X, y = make_friedman1(1000, n_features=10, noise=1.0, random_state=0)
forest = RandomForestRegressor(200, random_state=0).fit(X, y)
shuffled = forest.oob_permutation_importances(X, y)
figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
places = np.arange(10)
axes.bar(places - 0.2, forest.feature_importances_, width=0.38, label="decrease of impurity")
mean = shuffled.importances_mean / shuffled.importances_mean.sum()
axes.bar(places + 0.2, mean, width=0.38, label="shuffled, out of bag")
axes.set(xlabel="feature", ylabel="share", xticks=places)
axes.legend(frameon=False)
plt.show()

# %%
# Quantiles
# ---------
# The targets in the leaves of a row are a sample of what can happen there.
rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 600))
noisy = np.sin(x) + rng.normal(scale=0.1 + 0.08 * x)
model = RandomForestRegressor(200, min_samples_leaf=15, quantiles=True, random_state=0).fit(x[:, None], noisy)
places = np.linspace(0, 10, 300)
low, middle, high = model.predict_quantiles(places[:, None], [0.1, 0.5, 0.9]).T
figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
axes.plot(x, noisy, "o", color="0.7", markersize=3, markeredgewidth=0)
axes.fill_between(places, low, high, alpha=0.3, label="10 % to 90 %")
axes.plot(places, middle, label="median")
axes.set(xlabel="x", ylabel="y")
axes.legend(frameon=False)
plt.show()
