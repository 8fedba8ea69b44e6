r"""
Eigen-digits: components, noise and matching
============================================

Images are rows of pixels, and most of what tells digits apart lies in few directions of the 64 pixels. The axes of a
PCA are images themselves; a few coordinates rebuild an image without its noise; and images are matched by distances in
the subspace, as faces are by "eigenfaces". Curved components (a Gaussian kernel) take more of the noise away, and
where classes are known, Fisher's projection shows them apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from didact.decomposition import PCA, KernelPCA
from didact.discriminant_analysis import KernelDiscriminantAnalysis
from didact.neighbors import KNeighborsClassifier

X, y = load_digits(return_X_y=True)
X = X / 16.0
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
train, test = order[:1200], order[1200:]
rows = np.array([test[y[test] == digit][0] for digit in range(10)])


def show(axes, images, title, **how):
    """A line of images."""
    for axis, image in zip(axes, images, strict=True):
        axis.imshow(image.reshape(8, 8), cmap=how.get("cmap", "gray_r"), vmin=how.get("vmin"), vmax=how.get("vmax"))
        axis.set_xticks([])
        axis.set_yticks([])
    axes[0].set_ylabel(title, rotation=0, ha="right", va="center")


# %%
# Eigen-digits, and digits rebuilt
# --------------------------------
# Above the first ten axes: red and blue pixels go up and down together. Below, ten digits of the test rows from 5, 15
# and 40 coordinates.
pca = PCA(40).fit(X[train])
fig, axes = plt.subplots(5, 10, figsize=(9, 4.6))
top = np.abs(pca.components_[:10]).max()
show(axes[0], pca.components_[:10], "axes", cmap="RdBu_r", vmin=-top, vmax=top)
show(axes[1], X[rows], "digits", vmin=0, vmax=1)
for line, k in zip(axes[2:], (5, 15, 40), strict=True):
    Z = pca.transform(X[rows])[:, :k]
    show(line, Z @ pca.components_[:k] + pca.mean_, f"{k} axes", vmin=0, vmax=1)
fig.suptitle(f"40 axes explain {pca.explained_variance_ratio_.sum():.0%} of the variance of 64 pixels")
fig.subplots_adjust(left=0.12, right=0.99, bottom=0.02, top=0.9, wspace=0.08, hspace=0.1)

# %%
# Noise taken away
# ----------------
# Rows with noise are projected and brought back: PCA to the nearest point of a flat subspace, the Gaussian kernel to
# the row whose features are nearest (a fixed point), or to the one that ridge regression finds.
noisy = X + 0.25 * rng.normal(size=X.shape)
curved = {"n_components": 80, "kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True}
models = {
    "PCA": PCA(20).fit(noisy[train]),
    "fixed point": KernelPCA(**curved, preimage="fixed_point").fit(noisy[train]),
    "ridge": KernelPCA(**curved, alpha=1.0).fit(noisy[train]),
}
fig, axes = plt.subplots(5, 10, figsize=(9, 4.6))
show(axes[0], X[rows], "digits", vmin=0, vmax=1)
show(axes[1], noisy[rows], "with noise", vmin=0, vmax=1)
for line, (name, model) in zip(axes[2:], models.items(), strict=True):
    clean = model.inverse_transform(model.transform(noisy[test]))
    error = np.sqrt(np.mean((clean - X[test]) ** 2))
    show(line, clean[[np.flatnonzero(test == row)[0] for row in rows]], f"{name}\n{error:.3f}", vmin=0, vmax=1)
fig.suptitle("Noise of 0.25 taken away, with the root mean square error that is left on test rows")
fig.subplots_adjust(left=0.12, right=0.99, bottom=0.02, top=0.9, wspace=0.08, hspace=0.1)

# %%
# Matching in the subspace, and classes apart
# -------------------------------------------
# Left, the share of test rows whose nearest training row, by the distance in the subspace, shows the same digit: with a
# dozen coordinates it is as good as with 64 pixels. Right, the first two of nine directions of a kernel discriminant
# analysis, test rows only.
sizes = (1, 2, 3, 5, 8, 12, 20, 30, 40)
Z = pca.transform(X)
matched = [KNeighborsClassifier(1).fit(Z[train, :k], y[train]).score(Z[test, :k], y[test]) for k in sizes]
pixels = KNeighborsClassifier(1).fit(X[train], y[train]).score(X[test], y[test])
discriminant = KernelDiscriminantAnalysis(gamma=0.05).fit(X[train], y[train])
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2))
left.plot(sizes, matched, "o-", label="in the subspace")
left.axhline(pixels, color="grey", ls="--", label="all 64 pixels")
left.set(xlabel="axes", ylabel="test rows matched", ylim=(0, 1.03))
left.legend(loc="lower right")
place = discriminant.transform(X[test])
for digit in range(10):
    chosen = place[y[test] == digit]
    right.scatter(chosen[:, 0], chosen[:, 1], s=8, color=plt.cm.tab10(digit), alpha=0.6)
    right.text(*chosen[:, :2].mean(axis=0), str(digit), fontsize=14, weight="bold", ha="center", va="center")
right.set(xlabel="first direction", ylabel="second direction")
right.set_title(f"kernel discriminants; nine directions: {discriminant.score(X[test], y[test]):.1%} right", fontsize=10)
fig.tight_layout()
plt.show()
