r"""
Digits by t-SNE and by the elastic embedding
============================================

Images of 8 × 8 pixels are points with 64 coordinates. An embedding gives each a place in the plane whose neighbours are
images that look alike; nobody has told it which digits they are.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.datasets import load_digits

from didact.manifold import TSNE, ElasticEmbedding, trustworthiness

X, y = load_digits(return_X_y=True)
fitted = np.arange(len(X)) % 6 > 0
COLOURS = plt.get_cmap("tab10")


def show(axes, Y, digits, title):
    """Places in the colours of their digits, with the digit in the middle of each."""
    axes.scatter(*Y.T, s=5, c=digits, cmap=COLOURS, linewidths=0)
    for digit in range(10):
        middle = np.median(Y[digits == digit], axis=0)
        axes.text(*middle, str(digit), fontsize=15, weight="bold", ha="center", va="center",
                  bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": COLOURS(digit), "alpha": 0.85})  # fmt: skip
    axes.set_title(title, fontsize=11)
    axes.set(xticks=[], yticks=[], aspect="equal")


# %%
# Two embeddings
# --------------
# t-SNE leaves wide gaps between clusters; the elastic embedding fills the plane more evenly.
tsne = TSNE(random_state=0).fit(X)
elastic = ElasticEmbedding(random_state=0).fit(X)
figure, panels = plt.subplots(1, 2, figsize=(11, 5.6), layout="constrained")
for axes, model, name in zip(panels, (tsne, elastic), ("t-SNE", "elastic embedding"), strict=True):
    trust = trustworthiness(X, model.embedding_)
    show(axes, model.embedding_, y, f"{name}: trustworthiness {trust:.3f}")
plt.show()

# %%
# The images themselves
# ---------------------
# Some of the images, where t-SNE has put them.
figure, axes = plt.subplots(figsize=(8, 8), layout="constrained")
Y, shown = tsne.embedding_, np.empty((0, 2))
axes.scatter(*Y.T, s=2, c=y, cmap=COLOURS, alpha=0.4, linewidths=0)
for i in np.random.default_rng(0).permutation(len(X)):
    if np.min(np.abs(shown - Y[i]).max(axis=1), initial=np.inf) > 4.5:
        shown = np.vstack([shown, Y[i]])
        image = OffsetImage(COLOURS(y[i])[:3] * X[i].reshape(8, 8, 1) / 16 + 1 - X[i].reshape(8, 8, 1) / 16, zoom=2.2)
        axes.add_artist(AnnotationBbox(image, Y[i], frameon=False))
axes.set(xticks=[], yticks=[], aspect="equal", title="Each image is near those that look like it")
plt.show()

# %%
# New images
# ----------
# `transform` puts new images among those of the fit, which stay where they are.
model = TSNE(random_state=0).fit(X[fitted])
new = model.transform(X[~fitted])
figure, axes = plt.subplots(figsize=(6.5, 6), layout="constrained")
axes.scatter(*model.embedding_.T, s=4, c=y[fitted], cmap=COLOURS, alpha=0.3, linewidths=0, label="fitted images")
axes.scatter(*new.T, s=16, c=y[~fitted], cmap=COLOURS, edgecolor="black", linewidth=0.5, label="new images")
axes.legend(loc="lower left", frameon=False)
axes.set(xticks=[], yticks=[], aspect="equal", title="New images among fitted ones")
plt.show()
