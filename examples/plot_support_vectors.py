r"""
Support vectors: the price of errors, the kernel, the tube
==========================================================

A support vector machine draws the border with the widest margin. Only rows on the margin or inside it, the support
vectors, have a say.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.kernels import RBF, Linear, Polynomial
from didact.svm import SVC, SVR, OneClassSVM

rng = np.random.default_rng(1)
t = rng.uniform(0, np.pi, 60)
moons = np.column_stack([np.cos(t), np.sin(t)])
moons[30:] = [1.0, 0.35] - moons[30:]
X, y = moons + 0.22 * rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
grid = np.stack(np.meshgrid(np.linspace(-1.7, 2.7, 150), np.linspace(-1.4, 1.8, 120)), axis=-1)


def show(axis, model, title):
    """Regions of the decision, the border and both margins, and the support vectors."""
    f = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axis.contourf(grid[..., 0], grid[..., 1], f, levels=[-1e9, 0, 1e9], colors=["tab:blue", "tab:orange"], alpha=0.15)
    axis.contour(
        grid[..., 0], grid[..., 1], f, levels=[-1, 0, 1], colors="0.3", linewidths=[0.8, 1.6, 0.8],
        linestyles=["--", "-", "--"],
    )  # fmt: skip
    axis.scatter(*X.T, c=np.where(y, "tab:orange", "tab:blue"), s=14)
    axis.scatter(*X[model.support_].T, s=70, facecolors="none", edgecolors="0.2")
    axis.set(title=title, xticks=[], yticks=[])


# %%
# The price C
# -----------
# A small C makes the margin (dashed) wide and lets many rows lie inside it; a large C follows the rows.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for axis, C in zip(axes, (0.03, 1.0, 100.0), strict=True):
    model = SVC(C=C, kernel=RBF(0.7)).fit(X, y)
    show(axis, model, f"C = {C:g}: {len(model.support_)} support vectors, margin {model.margins_[0]:.2f}")

# %%
# The kernel
# ----------
# Kernels can be added, multiplied and scaled: the last one is a plane with bumps on it.
kernels = {
    "linear": Linear(),
    "polynomial of degree 3": Polynomial(3),
    "Gaussian of width 0.3": RBF(0.3),
    "linear + Gaussian": 2.0 * Linear() + RBF(0.4),
}
figure, axes = plt.subplots(1, 4, figsize=(14, 3.2), layout="constrained")
for axis, (name, kernel) in zip(axes, kernels.items(), strict=True):
    show(axis, SVC(C=3.0, kernel=kernel).fit(X, y), name)

# %%
# Regression: the tube
# --------------------
# Errors up to ε cost nothing: rows inside the tube are no support vectors.
x = np.sort(rng.uniform(0, 6, 60))[:, None]
z = np.sin(x[:, 0]) + 0.15 * rng.normal(size=60)
line = np.linspace(0, 6, 300)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained", sharey=True)
for axis, epsilon in zip(axes, (0.05, 0.3), strict=True):
    model = SVR(C=10.0, epsilon=epsilon, kernel=RBF(1.0)).fit(x, z)
    f = model.predict(line)
    axis.fill_between(line[:, 0], f - epsilon, f + epsilon, alpha=0.2)
    axis.plot(line, f)
    axis.scatter(x, z, s=12, color="0.4")
    axis.scatter(x[model.support_], z[model.support_], s=60, facecolors="none", edgecolors="0.2")
    axis.set_title(f"ε = {epsilon}: {len(model.support_)} of 60 rows are support vectors")

# %%
# One class
# ---------
# At most a share ν of the rows lies outside of the border.
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for axis, nu in zip(axes, (0.05, 0.3), strict=True):
    model = OneClassSVM(nu=nu, kernel=RBF(0.4)).fit(X)
    f = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axis.contourf(grid[..., 0], grid[..., 1], f, levels=[0, 1e9], colors=["tab:green"], alpha=0.2)
    axis.scatter(*X.T, s=12, c=np.where(model.predict(X) > 0, "0.3", "tab:red"))
    axis.set(title=f"ν = {nu}: {(model.predict(X) < 0).sum()} of 60 outside", xticks=[], yticks=[])
plt.show()
