"""
Trees of clusters
=================

Agglomerative clustering merges the two nearest clusters until one is left. The dendrogram, the tree of all merges,
shows at which distance. Single linkage follows chains and finds moons; complete, average and Ward linkage prefer
compact clusters. A cut across the tree gives clusters: where the branches are long, nearby cuts give the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_moons

from didact.cluster import AgglomerativeClustering, DivisiveClustering

moons, _ = make_moons(150, noise=0.06, random_state=0)
blobs, _ = make_blobs(90, centers=3, random_state=8)
colours = np.array(["#2b6cb0", "#d9772b", "#3a8f5c"])

figure, panels = plt.subplots(4, 3, figsize=(9, 11), layout="constrained", width_ratios=[1, 1, 1.6])
models = {
    "single": AgglomerativeClustering(linkage="single"),
    "average": AgglomerativeClustering(linkage="average"),
    "Ward": AgglomerativeClustering(linkage="ward"),
    "divisive": DivisiveClustering(compute_full_tree=True),
}
for row, (name, model) in zip(panels, models.items()):
    for axes, (X, K) in zip(row, ((moons, 2), (blobs, 3))):
        model.set_params(n_clusters=K).fit(X)
        axes.scatter(*X.T, c=colours[model.labels_], s=8)
        axes.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)
    model.plot_dendrogram(leaves=30, ax=row[2])
    row[2].set(xticks=[], xlabel="", ylabel="distance")
    row[2].spines[["top", "right"]].set_visible(False)
panels[0, 2].set_title("tree of the three groups")
plt.show()
