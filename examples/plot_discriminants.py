r"""
Gaussian classes: from one covariance each to a single variance
===============================================================

Two classes of unequal shape, learnt from 30 rows each. The richer the covariance, the closer the border can follow the
classes, and the more there is to estimate. With two columns 30 rows are enough for that; with ten they are not, and
something between full, shared and isotropic covariances is best.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from didact.discriminant_analysis import GaussianClassifier, LinearDiscriminantAnalysis

rng = np.random.default_rng(3)
shapes = np.array([[[1.5, 1.0], [0.0, 0.5]], [[0.5, -0.4], [0.0, 1.1]]])


def draw(n):
    y = np.repeat([0, 1], n)
    return np.einsum("ij,ijk->ik", rng.normal(size=(2 * n, 2)), shapes[y]) + np.outer(y, [1.6, 1.2]), y


X, y = draw(30)
X_new, y_new = draw(20_000)

# %%
# Borders
# -------
# The shade is the probability of the orange class, the ellipses are one and two standard deviations of each class.
models = {
    "full": GaussianClassifier(),
    "shared": GaussianClassifier(covariance="shared"),
    "diagonal": GaussianClassifier(covariance="diagonal"),
    "isotropic": GaussianClassifier(covariance="isotropic"),
    "euclidean": GaussianClassifier(covariance="euclidean"),
    "half-way to shared": GaussianClassifier(pooling=0.5),
}
circle = np.stack([np.cos(np.linspace(0, 2 * np.pi, 80)), np.sin(np.linspace(0, 2 * np.pi, 80))], axis=1)
grid = np.stack(np.meshgrid(np.linspace(-4, 5, 220), np.linspace(-4, 5, 220)), axis=-1)
figure, panels = plt.subplots(2, 3, figsize=(10, 6.8), layout="constrained", sharex=True, sharey=True)
for axes, (name, model) in zip(panels.ravel(), models.items(), strict=True):
    model.fit(X, y)
    share = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    axes.pcolormesh(grid[..., 0], grid[..., 1], share, cmap="PuOr_r", vmin=0, vmax=1, rasterized=True, alpha=0.5)
    axes.contour(grid[..., 0], grid[..., 1], share, levels=[0.5], colors="black", linewidths=1)
    for k, colour in enumerate(("tab:purple", "tab:orange")):
        axes.plot(*X[y == k].T, ".", color=colour, markersize=4)
        gauss = model.class_distribution(k)
        for size in (1, 2):
            axes.plot(*(gauss.mean + size * circle @ np.linalg.cholesky(gauss.covariance).T).T, color=colour, lw=0.8)
    axes.set(title=f"{name}: {1 - model.score(X_new, y_new):.1%} errors", xlim=(-4, 5), ylim=(-4, 5))
plt.show()

# %%
# The path between the covariances
# --------------------------------
# Ten columns and 15 rows a class: errors on new rows, over the share of the shared covariance (pooling) and of an
# isotropic one (shrinkage). Full covariances are in the lower left corner, a shared one in the lower right.
p = 10
mixing = np.eye(p) + rng.normal(size=(p, p)) / 4 + rng.normal(size=(2, p, p)) / 6
centres = np.stack([np.zeros(p), np.full(p, 0.5)])


def draw_wide(n):
    y = np.repeat([0, 1], n)
    return np.einsum("ij,ijk->ik", rng.normal(size=(2 * n, p)), mixing[y]) + centres[y], y


X_new, y_new = draw_wide(2000)
samples = [draw_wide(15) for _ in range(8)]
shares = np.linspace(0, 1, 9)
errors = np.empty((9, 9))
for i, shrinkage in enumerate(shares):
    for j, pooling in enumerate(shares):
        fits = [GaussianClassifier(pooling=pooling, shrinkage=shrinkage).fit(*sample) for sample in samples]
        errors[i, j] = 1 - np.mean([model.score(X_new, y_new) for model in fits])
figure, axes = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
image = axes.pcolormesh(shares, shares, 100 * errors, cmap="viridis_r", shading="nearest")
best = np.unravel_index(errors.argmin(), errors.shape)
axes.plot(shares[best[1]], shares[best[0]], "w*", markersize=14)
axes.set(xlabel="pooling", ylabel="shrinkage", title=f"errors: {errors[0, 0]:.0%} full, {errors.min():.0%} at the star")
figure.colorbar(image, label="errors, %")
plt.show()

# %%
# The projection
# --------------
# Thirteen measurements of wines from three growers. Two directions tell them apart; the first two columns, and many
# others, do not.
X, y = load_wine(return_X_y=True)
model = LinearDiscriminantAnalysis().fit(X, y)
Z = model.transform(X)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for k, colour in enumerate(("tab:purple", "tab:orange", "tab:green")):
    left.plot(*X[y == k, :2].T, ".", color=colour)
    right.plot(*Z[y == k].T, ".", color=colour, label=f"grower {k + 1}")
left.set(title="two of thirteen columns", xlabel="alcohol", ylabel="malic acid")
shares = model.explained_variance_ratio_
right.set(
    title="the discriminants",
    xlabel=f"first ({shares[0]:.0%} of the variance between)",
    ylabel=f"second ({shares[1]:.0%})",
)
right.legend(frameon=False)
plt.show()
