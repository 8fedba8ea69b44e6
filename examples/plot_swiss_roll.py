"""
A roll, unrolled
================

Rows on a sheet that is rolled up. Distances through the air, which classical scaling and stress keep, cannot tell the
windings apart. Isomap keeps distances along the sheet; locally linear embedding, its variants and the eigenvectors of
the graph keep what is near.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_swiss_roll

from didact.manifold import MDS, ClassicalMDS, Isomap, LocallyLinearEmbedding, SpectralEmbedding

X, place = make_swiss_roll(1000, random_state=0)
models = {
    "ClassicalMDS": ClassicalMDS(),
    "MDS": MDS(random_state=0),
    "Isomap": Isomap(n_neighbors=10),
    "SpectralEmbedding": SpectralEmbedding(n_neighbors=10, random_state=0),
    "LLE": LocallyLinearEmbedding(n_neighbors=12, random_state=0),
    "LLE, modified": LocallyLinearEmbedding(n_neighbors=12, method="modified", random_state=0),
    "LLE, tangent spaces": LocallyLinearEmbedding(n_neighbors=12, method="ltsa", random_state=0),
}

figure = plt.figure(figsize=(10, 5.2), layout="constrained")
axes = figure.add_subplot(2, 4, 1, projection="3d")
axes.scatter(*X.T, c=place, s=4, cmap="viridis")
axes.view_init(8, -75)
axes.set(xticks=[], yticks=[], zticks=[], title="rows")
for k, (name, model) in enumerate(models.items()):
    axes = figure.add_subplot(2, 4, k + 2)
    axes.scatter(*model.fit_transform(X).T, c=place, s=4, cmap="viridis")
    axes.set(xticks=[], yticks=[], title=name)
plt.show()
