r"""
Models with a kernel, and features in its place
===============================================

Four models draw their borders with one kernel; then landmarks and random cosines take the place of the kernel.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.kernel_approximation import Nystroem, RBFSampler
from didact.kernels import RBF
from didact.svm import LSSVC, SVC, KernelLogisticRegression, KernelPerceptron, KernelSGDRegressor

rng = np.random.default_rng(1)
t = rng.uniform(0, np.pi, 60)
moons = np.column_stack([np.cos(t), np.sin(t)])
moons[30:] = [1.0, 0.35] - moons[30:]
X, y = moons + 0.15 * rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
grid = np.stack(np.meshgrid(np.linspace(-1.7, 2.7, 150), np.linspace(-1.4, 1.8, 120)), axis=-1)


def show(axis, model, title):
    """Regions of the decision, and the rows that have coefficients."""
    f = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axis.contourf(grid[..., 0], grid[..., 1], f, levels=[-1e9, 0, 1e9], colors=["tab:blue", "tab:orange"], alpha=0.15)
    axis.contour(grid[..., 0], grid[..., 1], f, levels=[0], colors="0.3")
    axis.scatter(*X.T, c=np.where(y, "tab:orange", "tab:blue"), s=14)
    axis.scatter(*X[model.support_].T, s=70, facecolors="none", edgecolors="0.2")
    axis.set(title=title, xticks=[], yticks=[])


# %%
# One kernel, four models
# -----------------------
# Circles mark rows with a coefficient: all of them, those in the margin, or those with a mistake.
kernel = RBF(0.6)
models = {
    "least squares": LSSVC(kernel=kernel),
    "logistic": KernelLogisticRegression(kernel=kernel, C=10.0),
    "support vectors": SVC(kernel=kernel, C=10.0),
    "perceptron": KernelPerceptron(kernel=kernel, random_state=0),
}
figure, axes = plt.subplots(1, 4, figsize=(14, 3.2), layout="constrained")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    show(axis, model, f"{name}: {len(model.support_)} rows")

# %%
# Steps of gradient descent
# -------------------------
# Smooth parts of a curve are learnt first.
x = np.sort(rng.uniform(0, 6, 60))[:, None]
z = np.sin(x[:, 0]) + 0.3 * np.sin(5 * x[:, 0]) + 0.1 * rng.normal(size=60)
line = np.linspace(0, 6, 300)[:, None]
figure, axis = plt.subplots(figsize=(9, 3.4), layout="constrained")
for k in (1, 5, 30):
    model = KernelSGDRegressor(kernel=RBF(0.25), eta0=0.3, max_iter=k, tol=None, random_state=0)
    axis.plot(line, model.fit(x, z).predict(line), label=f"{k} passes")
axis.scatter(x, z, s=12, color="0.4")
axis.legend()

# %%
# Features in the place of the kernel
# -----------------------------------
# The error of the Gram matrix of 500 rows falls faster with landmarks than with random cosines.
rows = rng.normal(size=(500, 3))
K = RBF(1.5)(rows)
sizes = [5, 10, 20, 50, 100, 200]
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, maker in {
    "landmarks, uniform": lambda m: Nystroem(RBF(1.5), n_components=m, random_state=0),
    "landmarks, far apart": lambda m: Nystroem(RBF(1.5), n_components=m, landmarks="kmeans++", random_state=0),
    "random cosines": lambda m: RBFSampler(kernel=RBF(1.5), n_components=m, random_state=0),
}.items():
    errors = []
    for m in sizes:
        V = maker(m).fit_transform(rows)
        errors.append(np.sqrt(np.mean((V @ V.T - K) ** 2)))
    axis.loglog(sizes, errors, "o-", label=name)
axis.set(xlabel="features", ylabel="root mean squared error of the kernel")
axis.legend()
plt.show()
