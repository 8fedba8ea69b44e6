r"""
Densities: the width decides, the rest is detail
================================================

A histogram counts rows in bins, a kernel density puts a bump on every row, the nearest-neighbour density asks how far
one has to go to meet k rows. Each has one number that decides how smooth the answer is.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.neighbors import HistogramDensity, KernelDensity, KernelDensityClassifier, KNeighborsDensity

rng = np.random.default_rng(4)


def draw(n):
    """Half of the rows around 0, a quarter in a narrow peak, a quarter far out."""
    which = rng.choice(3, size=n, p=[0.5, 0.25, 0.25])
    return rng.normal(np.array([0.0, 2.2, 7.0])[which], np.array([0.8, 0.15, 1.6])[which])[:, None]


def truth(x):
    """The density that the rows come from."""
    parts = ((0.5, 0.0, 0.8), (0.25, 2.2, 0.15), (0.25, 7.0, 1.6))
    return sum(p * np.exp(-0.5 * ((x - m) / s) ** 2) / (s * np.sqrt(2 * np.pi)) for p, m, s in parts)


X = draw(300)
x = np.linspace(-4, 13, 1000)


def curve(axes, model, **style):
    """The density of a fitted model."""
    axes.plot(x, np.exp(model.fit(X).score_samples(x[:, None])), **style)


# %%
# The bandwidth
# -------------
# A narrow window shows every row, a wide one hides the peak. Likelihood cross-validation asks how probable each row is
# under the density of all the others.
chosen = KernelDensity(bandwidth="cv").fit(X)
figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharey=True)
widths = ((0.04, "too narrow"), (chosen.bandwidth_, "cross-validated"), (1.2, "too wide"))
for axes, (h, words) in zip(panels, widths):
    axes.fill_between(x, truth(x), color="0.88", label="truth")
    curve(axes, KernelDensity(bandwidth=h), color="tab:blue", label=f"h = {h:.2f}: {words}")
    axes.plot(X[:, 0], np.full(300, -0.02), "|", color="0.4", markersize=5, markeredgewidth=0.5)
    axes.legend(frameon=False, fontsize=9, loc="upper right")
    axes.set(xlabel="x", ylim=(-0.05, 0.95))
panels[0].set_ylabel("density")
plt.show()

# %%
# Where the bins begin
# --------------------
# The same rows, the same width of 0.8, three origins: the histogram changes its mind about where the peaks are. A
# window needs no origin.
figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharey=True)
for axes, origin in zip(panels, (0.0, 0.3, 0.6)):
    model = HistogramDensity(width=0.8, origin=origin).fit(X)
    axes.fill_between(x, truth(x), color="0.88", label="truth")
    heights = model.counts / model.total_ / model.width_[0]
    axes.stairs(heights, model.edges_[0], color="tab:orange", label=f"origin {origin:g}")
    axes.legend(frameon=False, fontsize=9, loc="upper right")
    axes.set(xlabel="x", ylim=(-0.05, 0.95))
panels[0].set_ylabel("density")
plt.show()

# %%
# Widths that follow the data
# ---------------------------
# One bandwidth for all is too wide for the peak or too narrow for the tail. Abramson's rule makes windows wider where
# rows are rare. The nearest-neighbour density follows the rows, too, but it has spikes and tails that never end.
figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharey=True)
models = {
    "one width, 0.3": KernelDensity(bandwidth=0.3),
    "adaptive, 0.3": KernelDensity(bandwidth=0.3, adaptive=0.5),
    "25 nearest": KNeighborsDensity(n_neighbors=25),
}
for axes, (name, model) in zip(panels, models.items()):
    axes.fill_between(x, truth(x), color="0.88", label="truth")
    curve(axes, model, color="tab:green", label=name)
    axes.legend(frameon=False, fontsize=9, loc="upper right")
    axes.set(xlabel="x", ylim=(-0.05, 0.95))
panels[0].set_ylabel("density")
plt.show()

# %%
# A classifier made of densities
# ------------------------------
# One density for each class and Bayes' rule: the border can have any form. Where there are no rows, the nearer class
# wins all the same, since log densities stay accurate far away.
n = 150
t = rng.uniform(0, np.pi, n)
upper = np.column_stack([np.cos(t), np.sin(t)]) + rng.normal(scale=0.18, size=(n, 2))
lower = np.column_stack([1 - np.cos(t), 0.4 - np.sin(t)]) + rng.normal(scale=0.18, size=(n, 2))
rows, labels = np.vstack([upper, lower]), np.repeat([0, 1], n)
across, up = np.linspace(-1.8, 2.8, 160), np.linspace(-1.5, 1.9, 160)
grid = np.column_stack([g.ravel() for g in np.meshgrid(across, up)])
figure, panels = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained", sharey=True)
for axes, h in zip(panels, (0.03, "cv", 1.0)):
    model = KernelDensityClassifier(bandwidth=h).fit(rows, labels)
    p = model.predict_proba(grid)[:, 1].reshape(160, 160)
    axes.contourf(across, up, p, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
    axes.contour(across, up, p, levels=[0.5], colors="black", linewidths=1)
    for k, colour in enumerate(("tab:blue", "tab:red")):
        axes.plot(*rows[labels == k].T, ".", color=colour, markersize=3)
    used = "h = {:.2f} and {:.2f}, cross-validated".format(*(d.bandwidth_ for d in model.densities_))
    axes.set(title=used if h == "cv" else f"h = {h:g}", xlabel="first column")
panels[0].set_ylabel("second column")
plt.show()
