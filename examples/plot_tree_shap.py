r"""
Which column made the prediction: Shapley values of trees
=========================================================

A prediction is divided among the columns so that the parts add up to it: each column gets the mean of what it changes
when it becomes known, over all orders in which columns can become known. For trees that can be computed exactly.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from didact.ensemble import RandomForestRegressor
from didact.tree import permutation_importance, shap_values

data = load_diabetes(as_frame=True)
X, y, names = data.data, data.target.to_numpy(), data.feature_names
train, test = np.arange(len(y)) % 3 != 0, np.arange(len(y)) % 3 == 0
forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0).fit(X[train], y[train])
found = shap_values(forest, X[test])
print("parts add up:", np.allclose(found.values.sum(axis=1) + found.base_values, forest.predict(X[test])))

# %%
# All rows at once
# ----------------
# Each point is a row: to the right, the column raised its prediction. The colour is the column's value: a high body
# mass index (bmi) and a high s5 raise the prediction, a high s3 lowers it.
order = np.argsort(found.importances)[-7:]
rng = np.random.default_rng(0)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(1.3, 1))
for place, j in enumerate(order):
    value = X[test].iloc[:, j].rank(pct=True)
    heights = place + rng.uniform(-0.25, 0.25, test.sum())
    points = left.scatter(found.values[:, j], heights, c=value, cmap="coolwarm", s=10, linewidths=0)
left.axvline(0, color="0.5", linewidth=0.8)
left.set_yticks(range(7), [names[j] for j in order])
left.set(xlabel="part of the prediction", title="Shapley values")
bar = figure.colorbar(points, ax=left, ticks=[0.02, 1])
bar.ax.set_yticklabels(["low", "high"])
bar.set_label("value of the column", labelpad=-12)

# %%
# Importances
# -----------
# The mean size of the values says how much a column moves the predictions; permutation says how much worse the model
# gets without it. Impurity decrease is computed on the training rows alone.
shuffled = permutation_importance(forest, X[test], y[test], random_state=0).importances_mean
measures = {"Shapley": found.importances, "permutation": shuffled, "impurity": forest.feature_importances_}
for k, (name, values) in enumerate(measures.items()):
    right.barh(np.arange(7) + 0.27 * (1 - k), (values / values.sum())[order], height=0.25, label=name)
right.set_yticks(range(7), [names[j] for j in order])
right.set(xlabel="share of all", title="Three importances")
right.legend(frameon=False)
plt.show()
