r"""
Gaussian processes: functions before and after the rows
=======================================================

A kernel says how alike the values of a function at two places are: a distribution over functions. Rows narrow it down.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from didact.kernels import RBF, Matern, Periodic, White

rng = np.random.default_rng(3)
x = np.linspace(0, 10, 200)[:, None]
places = np.array([1.0, 2.2, 3.0, 5.5, 6.0, 8.2])[:, None]
values = np.sin(places[:, 0]) + 0.3 * places[:, 0] - 1.5


def band(axis, mean, std):
    """A mean, and where 95% of the functions lie."""
    axis.plot(x[:, 0], mean, color="0.2")
    axis.fill_between(x[:, 0], mean - 1.96 * std, mean + 1.96 * std, color="tab:blue", alpha=0.15, linewidth=0)


# %%
# Prior and posterior
# -------------------
# Above five functions drawn from the prior of each kernel, below five that pass through the rows.
kernels = {
    "RBF(1)": RBF(1.0),
    "Matern(1, ν = ½)": Matern(1.0, 0.5),
    "RBF(4) · Periodic(1, 3)": RBF(4.0) * Periodic(1.0, 3.0),
}
figure, axes = plt.subplots(2, 3, figsize=(12, 5), layout="constrained", sharex=True, sharey=True)
for column, (name, kernel) in zip(axes.T, kernels.items(), strict=True):
    model = GaussianProcessRegressor(kernel, optimizer=None)
    for axis, title in zip(column, (f"{name}: prior", "posterior"), strict=True):
        band(axis, *model.predict(x, return_std=True))
        axis.plot(x[:, 0], model.sample_y(x, 5, random_state=1), linewidth=0.8)
        axis.set(title=title, ylim=(-3.2, 3.2))
        model.fit(places, values)
    column[1].plot(places[:, 0], values, "o", color="0.1", markersize=4)

# %%
# The evidence chooses the width and the noise
# --------------------------------------------
# The same rows are explained by a smooth curve with much noise or by a quick one with little; the evidence weighs fit
# against the number of functions that a kernel allows. No rows are held out.
t = np.sort(rng.uniform(0, 10, 40))[:, None]
y = np.sin(1.5 * t[:, 0]) + 0.3 * rng.normal(size=40)
widths, noises = np.geomspace(0.15, 8, 50), np.geomspace(0.01, 1.5, 45)
model = GaussianProcessRegressor(RBF(1.0) + White(0.1)).fit(t, y)
surface = np.array([[model.log_marginal_likelihood(np.log([w, v])) for w in widths] for v in noises])
figure, axes = plt.subplots(1, 2, figsize=(12, 3.6), layout="constrained")
levels = surface.max() - np.array([60, 40, 25, 15, 8, 4, 2, 1, 0.3])
axes[0].contour(widths, noises, surface, levels=levels, cmap="viridis")
axes[0].plot(np.exp(model.kernel_.theta[0]), np.exp(model.kernel_.theta[1]), "x", color="tab:red")
axes[0].set(xscale="log", yscale="log", xlabel="width", ylabel="noise variance", title="evidence, and its maximum")
axes[0].set_xticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"], minor=False)
axes[0].minorticks_off()
band(axes[1], *model.predict(x, return_std=True))
axes[1].plot(t[:, 0], y, "o", color="0.1", markersize=4)
axes[1].set(title="prediction there, noise included")

# %%
# Many rows
# ---------
# Twelve inducing points stand for 3,000 rows; their bound of the evidence chooses the kernel.
many = rng.uniform(0, 10, size=(3000, 1))
heights = np.sin(1.5 * many[:, 0]) + 0.3 * rng.normal(size=3000)
model = GaussianProcessRegressor(1.0 * RBF(1.0) + White(0.1), inducing=12, random_state=0).fit(many, heights)
figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
axis.plot(many[:, 0], heights, ".", color="0.8", markersize=2)
band(axis, *model.predict(x, return_std=True))
axis.plot(model.inducing_points_[:, 0], np.full(12, -2.2), "^", color="tab:red")
axis.set(title="12 inducing points (triangles) for 3,000 rows")

# %%
# Classes
# -------
# Far from the rows a Gaussian process says that it does not know.
angle = rng.uniform(0, np.pi, 50)
X = np.column_stack([np.cos(angle), np.sin(angle)])
X[25:] = [1.0, 0.35] - X[25:]
X, labels = X + 0.15 * rng.normal(size=(50, 2)), np.repeat([0, 1], 25)
grid = np.stack(np.meshgrid(np.linspace(-3, 4, 120), np.linspace(-2.5, 3, 100)), axis=-1)
classifier = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, labels)
shares = classifier.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
filled = axis.contourf(grid[..., 0], grid[..., 1], shares, levels=np.linspace(0, 1, 11), cmap="RdYlBu_r", alpha=0.7)
figure.colorbar(filled, label="probability of the second class")
axis.scatter(*X.T, c=np.where(labels, "tab:red", "tab:blue"), s=14, edgecolors="0.2", linewidths=0.4)
axis.set(title="probabilities return to one half", xticks=[], yticks=[])
