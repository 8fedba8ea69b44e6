"""
Rows that climb to the modes
============================

Mean shift moves each row to the weighted mean of the rows around it, again and again. Drawn are the ways of all rows
(`keep_paths=True`) over the lines of equal density: they cross these upwards and meet at the modes. Level-set
clustering cuts the same density at a height: what is above it falls into parts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from didact.cluster import LevelSetClustering, MeanShift
from didact.neighbors import KernelDensity

X = make_blobs(250, centers=[[0, 0], [3.2, 0.6], [1.4, 3]], cluster_std=0.75, random_state=3)[0]
h = 0.5
model = MeanShift(bandwidth=h, kernel="gaussian", keep_paths=True).fit(X)
level = LevelSetClustering(bandwidth=h, quantile=0.45).fit(X)

x, y = np.meshgrid(np.linspace(-2.5, 5.5, 120), np.linspace(-2.5, 5.5, 120))
grid = np.column_stack([x.ravel(), y.ravel()])
density = np.exp(KernelDensity(bandwidth=h).fit(X).score_samples(grid)).reshape(x.shape)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
left.contour(x, y, density, 10, colors="0.8", linewidths=0.8)
for path, k in zip(model.paths_, model.labels_):
    left.plot(*path.T, color=f"C{k % 10}", linewidth=0.7)
left.plot(*X.T, "k.", markersize=2)
left.plot(*model.cluster_centers_.T, "r^", markersize=7)
left.set_title(f"Mean shift: {len(model.cluster_centers_)} modes")

right.contourf(x, y, density, [level.threshold_, density.max()], colors=["0.9"])
right.contour(x, y, density, [level.threshold_], colors="0.5")
right.scatter(*X.T, c=[f"C{k}" if k >= 0 else "0.6" for k in level.labels_], s=8)
right.set_title(f"Level set p(x) > {level.threshold_:.3f}: {level.n_clusters_} clusters")
for axes in (left, right):
    axes.set(xticks=[], yticks=[], aspect="equal")
plt.show()
