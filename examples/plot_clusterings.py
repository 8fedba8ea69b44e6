"""
Centres on different shapes
===========================

k-means parts the plane by straight lines halfway between its centres: right for round clusters of similar width,
wrong for long or nested ones. Medoids are rows, and outliers pull less at them. A few labels tell k-means what
belongs together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_moons

from didact.cluster import KMeans, KMedoids, OnlineKMeans, SeededKMeans

rng = np.random.default_rng(0)
blobs, blob_labels = make_blobs(400, centers=3, random_state=8)
outliers = np.vstack([blobs, rng.uniform(-30, 30, (12, 2))])
long = blobs @ [[0.6, -0.64], [-0.4, 0.85]]
moons, moon_labels = make_moons(400, noise=0.06, random_state=0)
shapes = {
    "round": (blobs, blob_labels, 3),
    "outliers": (outliers, np.append(blob_labels, np.zeros(12, int)), 3),
    "long": (long, blob_labels, 3),
    "moons": (moons, moon_labels, 2),
}

figure, panels = plt.subplots(4, 4, figsize=(9, 9), layout="constrained")
for row, (name, (X, truth, K)) in zip(panels, shapes.items()):
    known = np.where(rng.uniform(size=len(X)) < 0.1, truth, -1)
    models = {
        "KMeans": KMeans(K, n_init=5, random_state=0).fit(X),
        "OnlineKMeans": OnlineKMeans(K, random_state=0).fit(X),
        "KMedoids": KMedoids(K, metric="manhattan", random_state=0).fit(X),
        "SeededKMeans, 10 % labels": SeededKMeans(n_clusters=4).fit(X, known),
    }
    for axes, (title, model) in zip(row, models.items()):
        axes.scatter(*X.T, c=model.labels_, s=6, cmap="viridis")
        axes.plot(*model.cluster_centers_.T, "rx", markersize=8)
        axes.set(xticks=[], yticks=[], title=title if name == "round" else "")
    row[0].set_ylabel(name)
plt.show()
