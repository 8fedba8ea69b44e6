"""
One model, several kinds of target
==================================

A generalized linear model has three parts: a family (how y scatters about its mean), a link (the scale on which the
mean is linear in x) and the coefficients. What y can be says which family to take. Shaded: 95 % confidence intervals
of the mean, which ``inference`` computes on the scale of the link, so that they never leave the possible range.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from didact.linear_model import GeneralizedLinearRegressor

rng = np.random.default_rng(1)
n = 80
x = np.sort(rng.uniform(0, 3, n))
X, places = x[:, None], np.linspace(-0.4, 3.4, 200)[:, None]

targets = {
    "gaussian": (1 + 0.8 * x + rng.normal(scale=0.6, size=n), "identity", "any number"),
    "bernoulli": ((rng.random(n) < 1 / (1 + np.exp(4 - 2.5 * x))).astype(float), "logit", "yes or no"),
    "poisson": (rng.poisson(np.exp(0.8 * x)).astype(float), "log", "a count"),
    "gamma": (rng.gamma(4.0, np.exp(0.3 + 0.7 * x) / 4.0), "log", "a positive amount"),
}

figure, panels = plt.subplots(1, 4, figsize=(11, 2.9), layout="constrained")
for axes, (family, (y, link, words)) in zip(panels, targets.items()):
    model = GeneralizedLinearRegressor(family=family, link=link).fit(X, y)
    band = model.inference(X, y).predict(places)
    axes.fill_between(places[:, 0], band.lower, band.upper, color="tab:blue", alpha=0.2, linewidth=0)
    axes.plot(places, band.mean, color="tab:blue")
    axes.plot(x, y, "o", color="black", markersize=3, alpha=0.6, markeredgewidth=0)
    axes.set_title(f"{family}, {link} link", fontsize=10)
    axes.set_xlabel(f"x (y is {words})", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, length=2)
if len(sys.argv) > 1:  # python examples/plot_glm_families.py PICTURE
    figure.savefig(sys.argv[1], dpi=100, pil_kwargs={"optimize": True})
plt.show()

# %%
# Reading one of them
# -------------------
# With the log link a coefficient acts on the mean as a factor: one unit more of x multiplies the expected count by
# exp(coef).
counts = targets["poisson"][0]
model = GeneralizedLinearRegressor(family="poisson").fit(X, counts)
result = model.inference(X, counts)
low, high = np.exp(result.interval()[1])
print(result.summary())
print(f"one unit more of x multiplies the mean by {np.exp(model.coef_[0]):.2f} (95 %: {low:.2f} to {high:.2f})")
