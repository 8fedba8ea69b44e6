r"""
Gradient boosting: rounds, rates and quantiles
==============================================

Boosting adds small trees, each a step down the gradient of the loss:

.. math:: z_t(x) = z_{t-1}(x) + \nu f_t(x).

A small rate ν takes more trees and generalises better; with a large one the error on new rows soon rises again. With
the quantile loss the same machine draws a band that holds a given share of the rows, wherever the noise grows.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.ensemble import HistGradientBoostingRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 800))
y = np.sin(x) + x / 5 + (0.1 + 0.08 * x) * rng.normal(size=800)
X, train, test = x[:, None], np.arange(800) % 2 == 0, np.arange(800) % 2 == 1

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for rate, colour in [(1.0, "C3"), (0.3, "C1"), (0.05, "C0")]:
    model = HistGradientBoostingRegressor(learning_rate=rate, max_iter=200, max_leaf_nodes=8, min_samples_leaf=5)
    model.fit(X[train], y[train])
    for rows, style in [(train, ":"), (test, "-")]:
        errors = [np.mean((y[rows] - stage) ** 2) for stage in model.staged_predict(X[rows])]
        left.plot(np.arange(1, 201), errors, style, color=colour, label=f"rate {rate}" if style == "-" else None)
left.set(
    xlabel="trees", ylabel="mean squared error", xscale="log", ylim=(0, 0.8), title="new rows (—) and training (···)"
)
left.legend()

right.plot(x, y, ".", color="0.75", markersize=4)
grid = np.linspace(0, 10, 500)[:, None]
for q, colour in [(0.05, "C0"), (0.5, "k"), (0.95, "C0")]:
    model = HistGradientBoostingRegressor(loss="quantile", quantile=q, max_iter=80, max_leaf_nodes=6).fit(X, y)
    right.plot(grid[:, 0], model.predict(grid), color=colour, label=f"quantile {q}")
right.set(xlabel="x", ylabel="y", title="quantile loss")
right.legend()
plt.show()
