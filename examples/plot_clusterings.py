"""
Ways to cluster six shapes
==========================

k-means parts the plane by straight lines halfway between its centres: right for round clusters of similar width,
wrong for long or nested ones. Medoids are rows, and outliers pull less at them. A few labels tell k-means what
belongs together. Mean shift climbs to the modes of the density and needs no number of clusters. Methods that join
neighbours find shapes of any form; those that ask for crowded places (DBSCAN, level sets) leave rows in between, grey
here, to none.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.preprocessing import StandardScaler

from didact.cluster import (
    DBSCAN,
    ConnectedComponents,
    KMeans,
    KMedoids,
    LevelSetClustering,
    MeanShift,
    OnlineKMeans,
    SeededKMeans,
)

rng = np.random.default_rng(0)
blobs, blob_labels = make_blobs(400, centers=3, random_state=8)
outliers = np.vstack([blobs, rng.uniform(-15, 15, (12, 2))])
uneven, uneven_labels = make_blobs(400, centers=3, cluster_std=[2.2, 0.4, 0.9], random_state=8)
shapes = {  # rows, what they were drawn from, number of clusters, distance of neighbours
    "round": (blobs, blob_labels, 3, 0.2),
    "outliers": (outliers, np.append(blob_labels, np.zeros(12, int)), 3, 0.15),
    "long": (blobs @ [[0.6, -0.64], [-0.4, 0.85]], blob_labels, 3, 0.17),
    "uneven": (uneven, uneven_labels, 3, 0.25),
    "moons": (*make_moons(400, noise=0.06, random_state=0), 2, 0.22),
    "rings": (*make_circles(400, factor=0.45, noise=0.05, random_state=0), 2, 0.32),
}
models = {  # a function of the number of clusters and the distance of neighbours for each column of the picture
    "KMeans": lambda K, near: KMeans(K, n_init=5, random_state=0),
    "OnlineKMeans": lambda K, near: OnlineKMeans(K, random_state=0),
    "KMedoids": lambda K, near: KMedoids(K, metric="manhattan", random_state=0),
    "SeededKMeans,\n10 % labels": lambda K, near: SeededKMeans(n_clusters=4),
    "MeanShift,\nGaussian": lambda K, near: MeanShift(bandwidth=0.4, kernel="gaussian", max_iter=1000),
    "Connected-\nComponents": lambda K, near: ConnectedComponents(eps=near),
    "DBSCAN": lambda K, near: DBSCAN(eps=near, min_samples=6),
    "LevelSet-\nClustering": lambda K, near: LevelSetClustering(bandwidth=0.7 * near, quantile=0.1, radius=near),
}

figure, panels = plt.subplots(
    len(shapes), len(models), figsize=(1.4 * len(models), 1.5 * len(shapes)), layout="constrained"
)
for row, (name, (raw, truth, K, near)) in zip(panels, shapes.items()):
    X = StandardScaler().fit_transform(raw)
    known = np.where(rng.uniform(size=len(X)) < 0.1, truth, -1)
    for axes, (title, make) in zip(row, models.items()):
        model = make(K, near)
        labels = model.fit(X, known).labels_
        # The largest clusters have colours of their own, rows of none or of tiny ones are grey.
        sizes = np.bincount(labels[labels >= 0], minlength=1)
        large = [k for k in np.argsort(-sizes, kind="stable")[:9] if sizes[k] >= 8]
        axes.scatter(*X.T, c="0.75", s=3)
        for k, colour in zip(large, plt.get_cmap("tab10").colors):
            axes.scatter(*X[labels == k].T, color=colour, s=3)
        if hasattr(model, "cluster_centers_"):
            axes.plot(*model.cluster_centers_.T, "kx", markersize=5)
        axes.set(xticks=[], yticks=[])
        axes.set_title(title if name == "round" else "", fontsize=9)
    row[0].set_ylabel(name)
plt.show()
