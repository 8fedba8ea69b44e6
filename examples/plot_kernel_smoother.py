r"""
The kernel smoother: a mean of the targets around a place
=========================================================

At every place the targets are averaged, near rows with more weight (Nadaraya–Watson). The bandwidth is all there is to
choose; leave-one-out errors of all candidates follow from one look at the pairs of rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.neighbors import KernelSmoother

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 6, 200))
y = np.sin(0.4 * x**2) + rng.normal(scale=0.3, size=200)
X, places = x[:, None], np.linspace(-0.5, 6.5, 500)[:, None]

chosen = KernelSmoother(grid=np.geomspace(0.02, 1.5, 40)).fit(X, y)
print(f"chosen: {chosen.bandwidth_:.2f}")

figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", width_ratios=(1, 1, 0.9))
widths = ((0.025, "tab:orange", "0.025: too narrow"), (0.6, "tab:green", "0.6: too wide"))
for axes, some in ((panels[0], widths), (panels[1], ())):
    axes.plot(x, y, "o", color="0.6", markersize=3, markeredgewidth=0)
    axes.plot(places, np.sin(0.4 * places**2), color="black", linestyle="--", linewidth=1, label="truth")
    for h, color, words in some:
        axes.plot(places, KernelSmoother(bandwidth=h).fit(X, y).predict(places), color=color, label=words)
    axes.set(xlabel="x", ylim=(-2.1, 2.6))
panels[1].plot(places, chosen.predict(places), color="tab:blue", label=f"{chosen.bandwidth_:.2f}: by leave-one-out")
for kernel, color in (("epanechnikov", "tab:purple"), ("tophat", "tab:red")):
    model = KernelSmoother(bandwidth=2.2 * chosen.bandwidth_, kernel=kernel).fit(X, y)
    panels[1].plot(places, model.predict(places), color=color, linewidth=0.8, label=kernel)
for axes in panels[:2]:
    axes.legend(frameon=False, fontsize=8, loc="upper center", ncols=2, columnspacing=1, handlelength=1.4)
panels[2].plot(chosen.grid_, chosen.cv_errors_, ".-", color="tab:blue")
panels[2].plot(chosen.bandwidth_, chosen.cv_errors_.min(), "o", color="tab:blue", markersize=8)
panels[2].set(xscale="log", xlabel="bandwidth", ylabel="leave-one-out error")
plt.show()
