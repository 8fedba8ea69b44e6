"""
Editing and condensing: fewer rows for nearest neighbours
=========================================================

Editing removes rows that their neighbours outvote, which clears the strip between the classes of noise. Condensing
keeps the rows that are needed to classify all the others: those along the border. On noisy rows it keeps the noise,
since each row that stands among strangers is needed; editing first and condensing then leaves the border alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.neighbors import CondensedNearestNeighbor, EditedNearestNeighbors, KNeighborsClassifier

rng = np.random.default_rng(0)


def spiral(n):
    """Two arms with some rows of the wrong label."""
    t, y = np.sqrt(rng.uniform(0.02, 1, n)) * 7, rng.integers(0, 2, n)
    X = np.column_stack([t * np.cos(t + np.pi * y), t * np.sin(t + np.pi * y)]) + rng.normal(scale=0.3, size=(n, 2))
    return X, np.where(rng.uniform(size=n) < 0.06, 1 - y, y)


X, y = spiral(700)
new, truth = spiral(5000)
edited = EditedNearestNeighbors(n_neighbors=5).fit_resample(X, y)
sets = {
    "all rows": (X, y),
    "edited": edited,
    "condensed": CondensedNearestNeighbor().fit_resample(X, y),
    "edited, condensed": CondensedNearestNeighbor().fit_resample(*edited),
}

side = np.linspace(-8, 8, 160)
grid = np.column_stack([g.ravel() for g in np.meshgrid(side, side)])
figure, panels = plt.subplots(2, 2, figsize=(8, 8), layout="constrained", sharex=True, sharey=True)
for axes, (name, (rows, labels)) in zip(panels.ravel(), sets.items()):
    model = KNeighborsClassifier(n_neighbors=1).fit(rows, labels)
    regions = model.predict(grid).reshape(160, 160)
    axes.contourf(side, side, regions, levels=[-0.5, 0.5, 1.5], colors=["tab:blue", "tab:red"], alpha=0.25)
    for k, colour in enumerate(("tab:blue", "tab:red")):
        axes.plot(*rows[labels == k].T, ".", color=colour, markersize=4)
    axes.set(title=f"{name}: {len(rows)} rows, {model.score(new, truth):.0%} right", aspect="equal")
plt.show()
