"""
How many clusters
=================

Four criteria on the same rows. The elbow looks at how the sum of squares falls, the gap statistic compares it with
draws that have no clusters, the index of Calinski and Harabasz and the silhouette weigh how far clusters are apart
against how wide they are. They need not agree: the last two pictures show the rows in the plane of their first two
principal components, with the clusters that the silhouette and the gap statistic prefer.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from didact.cluster.selection import calinski_harabasz, elbow, gap_statistic, principal_plane, silhouette

X, _ = make_blobs(240, centers=4, n_features=6, cluster_std=2.6, center_box=(-8, 8), random_state=3)

found = [elbow(X, random_state=0), gap_statistic(X, random_state=0, n_draws=10)]
found += [calinski_harabasz(X, random_state=0), silhouette(X, random_state=0)]

figure, panels = plt.subplots(2, 3, figsize=(10, 6), layout="constrained")
for axes, criterion in zip(panels.ravel(), found):
    axes.errorbar(criterion.n_clusters, criterion.values, yerr=criterion.errors, marker="o", markersize=4, capsize=3)
    axes.axvline(criterion.best, color="0.5", linestyle="--", linewidth=1)
    axes.set(title=f"{criterion.criterion}:\n{criterion.best}", xlabel="number of clusters")
points, shares = principal_plane(X)
for axes, criterion in zip(panels[1, 1:], (found[3], found[1])):
    labels = criterion.labels[list(criterion.n_clusters).index(criterion.best)]
    axes.scatter(*points.T, c=labels, s=10, cmap="viridis")
    axes.set(title=f"{criterion.best} clusters", xlabel=f"first component, {shares[0]:.0%}")
    axes.set_ylabel(f"second, {shares[1]:.0%}")
plt.show()
