"""
Naive Bayes: what independent columns can and cannot draw
=========================================================

Two classes, one of which surrounds the other. Gaussian naive Bayes gives each class an ellipse along the axes and
copes well. The second pair lies along two diagonals: within each class the columns depend on each other, which no model
with independent columns can see. Cutting the columns into bins bends the border, but it does not cure that.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.naive_bayes import GaussianNB, MixedNB

rng = np.random.default_rng(0)
n = 300
angle = rng.uniform(0, 2 * np.pi, n)
ring = np.column_stack([np.cos(angle), np.sin(angle)]) * 3 + rng.normal(scale=0.4, size=(n, 2))
centre = rng.normal(scale=0.9, size=(n, 2))
t = rng.normal(scale=1.5, size=(2, n))
rising = np.column_stack([t[0], t[0]]) + rng.normal(scale=0.3, size=(n, 2))
falling = np.column_stack([t[1], -t[1]]) + rng.normal(scale=0.3, size=(n, 2))
problems = [np.vstack([ring, centre]), np.vstack([rising, falling])]
y = np.repeat([0, 1], n)
models = {"normal columns": GaussianNB(), "ten bins a column": MixedNB(kinds="binned")}

side = np.linspace(-4.5, 4.5, 150)
grid = np.column_stack([g.ravel() for g in np.meshgrid(side, side)])
figure, panels = plt.subplots(2, 2, figsize=(8, 7.5), layout="constrained", sharex=True, sharey=True)
for row, X in zip(panels, problems):
    for axes, (name, model) in zip(row, models.items()):
        p = model.fit(X, y).predict_proba(grid)[:, 1].reshape(150, 150)
        axes.contourf(side, side, p, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
        axes.contour(side, side, p, levels=[0.5], colors="black", linewidths=1)
        for k, colour in enumerate(("tab:blue", "tab:red")):
            axes.plot(*X[y == k].T, ".", color=colour, markersize=3)
        axes.set(title=f"{name}: {model.score(X, y):.0%} right", xlim=(-4.5, 4.5), ylim=(-4.5, 4.5))
plt.show()
