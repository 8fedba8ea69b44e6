"""Many clusterings of blobs and moons side by side, and how much they agree with the truth."""

import numpy as np
from sklearn import cluster, datasets, metrics, mixture
from sklearn.metrics.cluster import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_distances_argmin
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

blobs = datasets.make_blobs(n_samples=300, centers=4, cluster_std=0.8, random_state=8)
moons = datasets.make_moons(n_samples=300, noise=0.05, random_state=8)
for name, (X, y), k, eps in [("blobs", blobs, 4, 0.2), ("moons", moons, 2, 0.25)]:
    X = StandardScaler().fit_transform(X)
    graph = kneighbors_graph(X, n_neighbors=10, include_self=False)
    graph = 0.5 * (graph + graph.T)
    bandwidth = cluster.estimate_bandwidth(X, quantile=0.2)
    for model in [
        cluster.KMeans(k, n_init=5, random_state=0),
        cluster.MiniBatchKMeans(k, n_init=5, random_state=0),
        cluster.BisectingKMeans(k, n_init=3, random_state=0),
        cluster.MeanShift(bandwidth=bandwidth, bin_seeding=True),
        cluster.SpectralClustering(k, affinity="nearest_neighbors", n_neighbors=10, random_state=0),
        cluster.AgglomerativeClustering(k, linkage="ward", connectivity=graph),
        cluster.AgglomerativeClustering(k, linkage="average"),
        cluster.DBSCAN(eps=eps),
        cluster.HDBSCAN(min_cluster_size=15, copy=True),
        cluster.OPTICS(min_samples=7, xi=0.05, min_cluster_size=0.1),
        cluster.AffinityPropagation(damping=0.9, preference=-50, random_state=0),
        cluster.Birch(n_clusters=cluster.AgglomerativeClustering(k)),
        mixture.GaussianMixture(k, n_init=3, random_state=0),
        mixture.BayesianGaussianMixture(n_components=k, random_state=0),
    ]:
        labels = model.fit_predict(X)
        kind = f"{name} {type(model).__name__} {getattr(model, 'linkage', '')}".strip()
        print(kind, adjusted_rand_score(y, labels))
X, y = blobs
model = cluster.KMeans(4, n_init=5, random_state=0).fit(X)
print("silhouette", metrics.silhouette_score(X, model.labels_), metrics.davies_bouldin_score(X, model.labels_))
print("inertia", model.inertia_)
print("nearest", np.mean(pairwise_distances_argmin(X, model.cluster_centers_) == model.labels_))
