r"""
Locally weighted regression: how wide to look, and what outliers do
===================================================================

For every place x a line (or a constant, or a parabola) of its own is fitted to the points around it, near ones with
more weight. There is nothing to choose but the width of the window, here as the share of all points that it holds.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.linear_model import LocallyWeightedRegression

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 6, 150))
X, places = x[:, None], np.linspace(0, 6, 300)[:, None]


def truth(x):
    """A curve that bends more and more."""
    return np.sin(0.35 * x**2)


y = truth(x) + rng.normal(scale=0.3, size=150)

# %%
# Bias and variance again
# -----------------------
# A narrow window follows the noise, a wide one misses the bends. Leave-one-out errors, which follow from one fit for
# each width, say where the balance is.
spans = np.geomspace(0.06, 1.0, 25)
chosen = LocallyWeightedRegression(span="cv", grid=spans).fit(X, y)
print(f"chosen: {chosen.neighbors_:.0f} of {len(x)} points")

figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", width_ratios=(1, 1, 0.9))
widths = ((0.06, "tab:orange", "6 %: too narrow"), (0.7, "tab:green", "70 %: too wide"))
for axes, some in ((panels[0], widths), (panels[1], ())):
    axes.plot(x, y, "o", color="0.6", markersize=3, markeredgewidth=0)
    axes.plot(places, truth(places), color="black", linestyle="--", linewidth=1, label="truth")
    for span, color, words in some:
        model = LocallyWeightedRegression(span=span).fit(X, y)
        axes.plot(places, model.predict(places), color=color, label=words)
    axes.set(xlabel="x", ylim=(-2.1, 2.6))
share = chosen.neighbors_ / len(x)
panels[1].plot(places, chosen.predict(places), color="tab:blue", label=f"{100 * share:.0f} %: by leave-one-out")
for axes in panels[:2]:
    axes.legend(frameon=False, fontsize=8, loc="upper center", ncols=3, columnspacing=1, handlelength=1.4)
panels[2].plot(chosen.grid_ / len(x), chosen.cv_errors_, ".-", color="tab:blue")
panels[2].plot(share, chosen.cv_errors_.min(), "o", color="tab:blue", markersize=8)
panels[2].set(xscale="log", xlabel="share of the points in a window", ylabel="leave-one-out error")
panels[2].set_xticks([0.1, 0.3, 1.0], ["10 %", "30 %", "100 %"])
panels[2].minorticks_off()
plt.show()

# %%
# Outliers
# --------
# Points far from the curve draw it towards them. Robust rounds fit, look at the residuals, and take weight from the
# points with large ones; this is LOWESS (here with parabolas).
spoilt = y.copy()
hit = rng.choice(150, 14, replace=False)
spoilt[hit] += 3.0

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.plot(x, spoilt, "o", color="0.6", markersize=3, markeredgewidth=0)
axes.plot(places, truth(places), color="black", linestyle="--", linewidth=1, label="truth")
for rounds, color, words in ((0, "tab:orange", "least squares"), (3, "tab:blue", "three robust rounds")):
    model = LocallyWeightedRegression(span=0.25, degree=2, robust_rounds=rounds).fit(X, spoilt)
    axes.plot(places, model.predict(places), color=color, label=words)
out = model.robustness_ == 0
axes.plot(model.X_fit_[out], model.y_fit_[out], "x", color="tab:red", markersize=6, label="weight 0 in the end")
axes.set(xlabel="x", ylim=(-1.8, 5.6))
axes.legend(frameon=False, fontsize=9, loc="upper center", ncols=4, columnspacing=1.2, handlelength=1.4)
plt.show()
