"""
Nearest neighbours: regions for several k
=========================================

With one neighbour every point has a region of its own: the border follows the noise. With more neighbours the border
becomes smoother, and with very many the larger class takes over. Weighing neighbours by their distance keeps the shape
even with a large k. The share of right classes is on rows that were not fitted.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.neighbors import KNeighborsClassifier

rng = np.random.default_rng(1)


def crescents(n):
    """Two crescents that overlap."""
    y = rng.integers(0, 2, n)
    angle = rng.uniform(0, np.pi, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(y == 0, 1, -1)[:, None]
    return X + np.where(y == 0, 0, 1)[:, None] * [1.0, 0.5] + rng.normal(scale=0.35, size=(n, 2)), y


X, y = crescents(200)
new, truth = crescents(5000)
models = {
    "k = 1": KNeighborsClassifier(n_neighbors=1),
    "k = 7": KNeighborsClassifier(n_neighbors=7),
    "k = 25": KNeighborsClassifier(n_neighbors=25),
    "k = 150": KNeighborsClassifier(n_neighbors=150),
    "k = 150, weights 1/d": KNeighborsClassifier(n_neighbors=150, weights="distance"),
    "k = 150, Gaussian": KNeighborsClassifier(n_neighbors=150, weights="gaussian", bandwidth=0.25),
}

across, up = np.linspace(-2, 3, 180), np.linspace(-1.6, 2.1, 140)
grid = np.column_stack([g.ravel() for g in np.meshgrid(across, up)])
figure, panels = plt.subplots(2, 3, figsize=(10, 6), layout="constrained", sharex=True, sharey=True)
for axes, (name, model) in zip(panels.ravel(), models.items()):
    p = model.fit(X, y).predict_proba(grid)[:, 1].reshape(len(up), len(across))
    axes.contourf(across, up, p, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
    axes.contour(across, up, p, levels=[0.5], colors="black", linewidths=1)
    for k, colour in enumerate(("tab:blue", "tab:red")):
        axes.plot(*X[y == k].T, ".", color=colour, markersize=3)
    axes.set(title=f"{name}: {model.score(new, truth):.0%} right", xlim=(-2, 3), ylim=(-1.6, 2.1))
plt.show()
