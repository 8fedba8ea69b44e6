r"""
Smoothers side by side
======================

All of them say of a place x what the rows around it say: their mean, their median, a line through them. They differ in
who is a neighbour (a bin, a distance, a number of rows) and in what is made of the neighbours. Every width here is
chosen by leave-one-out errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.neighbors import KernelSmoother, KNeighborsSmoother, Regressogram, RunningLine, RunningMean, RunningMedian

rng = np.random.default_rng(3)
x = np.sort(np.concatenate([rng.uniform(0, 2, 110), rng.uniform(2, 6, 60)]))


def truth(x):
    """Quick on the left, slow on the right."""
    return np.sin(7 / (x + 1.0))


y = truth(x) + rng.normal(scale=0.2, size=len(x))
hit = rng.choice(len(x), 7, replace=False)
y[hit] += rng.choice([-2.0, 2.0], 7)  # outliers
X, places = x[:, None], np.linspace(x[0], x[-1], 900)[:, None]

# %%
# One curve each
# --------------
# The regressogram and the running mean jump; a line leans, so it does not flatten the ends; the median does not see the
# outliers; the nearest neighbours, weighted by distance, look further where there are few rows.
smoothers = {
    "Regressogram": Regressogram(),
    "RunningMean": RunningMean(),
    "RunningMedian": RunningMedian(),
    "RunningLine": RunningLine(),
    "KNeighborsSmoother": KNeighborsSmoother(kernel="tricube"),
    "KernelSmoother": KernelSmoother(),
}
figure, panels = plt.subplots(2, 3, figsize=(11, 5.6), layout="constrained", sharex=True, sharey=True)
for axes, (name, model) in zip(panels.flat, smoothers.items(), strict=True):
    curve = model.fit(X, y).predict(places)
    width = getattr(model, "n_neighbors_", 0) or float(np.ravel(model.bandwidth_)[0])
    error = np.sqrt(np.mean((model.predict(X) - truth(x)) ** 2))
    axes.plot(x, y, "o", color="0.65", markersize=3, markeredgewidth=0)
    axes.plot(places, truth(places), "--", color="black", linewidth=1)
    axes.plot(places, curve, color="C0")
    axes.set(
        title=f"{name}: {'k' if isinstance(width, int) else 'h'} = {width:.3g}, off by {error:.2f}", ylim=(-3.1, 3.2)
    )
plt.show()

# %%
# How wide?
# ---------
# Too narrow a window follows the noise, too wide a one misses the bends. What the other rows say of a row, averaged
# over all rows, shows where the balance is.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for color, name in (("C0", "RunningMean"), ("C1", "RunningLine"), ("C2", "KNeighborsSmoother")):
    model = smoothers[name]
    left.plot(model.grid_, model.cv_errors_, ".-", color=color, label=name)
    left.plot(model.n_neighbors_, model.cv_errors_.min(), "o", color=color)
left.set(xscale="log", xlabel="rows in a window", ylabel="leave-one-out error")
left.legend(frameon=False)
right.plot(x, y, "o", color="0.65", markersize=3, markeredgewidth=0)
for k, color in ((5, "C1"), (15, "C0"), (81, "C2")):
    right.plot(places, RunningMedian(n_neighbors=k).fit(X, y).predict(places), color=color, label=f"median of {k}")
right.set(ylim=(-3.1, 3.2))
right.legend(frameon=False)
plt.show()
