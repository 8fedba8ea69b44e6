r"""
Bayesian regression: intervals that widen away from the data
============================================================

With a normal prior on the weights and normal noise, the posterior is normal too, and a new target has the variance

.. math:: \sigma^2 + \frac{\sigma^2}{n} + (x-\bar x)^TA^{-1}(x-\bar x),

noise, an uncertain level and uncertain slopes (A is the precision of the slopes). The last part grows with the
distance from the middle of the data. Dark: 95 % intervals of the mean; light: of a new target, with its noise; thin:
lines drawn from the posterior.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from didact.linear_model import BayesianLinearRegression
from didact.preprocessing import PolynomialFeatures, StandardScaler

rng = np.random.default_rng(0)
x = rng.uniform(-1.5, 1.5, 60)
y = 0.5 + 0.8 * x + rng.normal(scale=0.5, size=60)
places = np.linspace(-4, 4, 200)[:, None]


def draw(axes, features, model):
    """Both intervals, the mean, and ten lines of the posterior."""
    for noise, shade in ((True, 0.15), (False, 0.3)):
        low, high = model.predict_interval(features, noise=noise).T
        axes.fill_between(places[:, 0], low, high, color="tab:blue", alpha=shade, linewidth=0)
    lines = model.sample_y(features, 10, random_state=1, noise=False)
    axes.plot(places, lines, color="tab:blue", linewidth=0.5, alpha=0.7)
    axes.plot(places, model.predict(features), color="tab:blue", linewidth=2)


# %%
# More rows, less doubt
# ---------------------
# The scales of noise and prior are known here. More rows narrow the interval of the mean, but not the noise.
figure, panels = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained", sharey=True)
for axes, n in zip(panels, (3, 12, 60)):
    model = BayesianLinearRegression(prior_covariance=1.0, noise_variance=0.25).fit(x[:n, None], y[:n])
    draw(axes, places, model)
    axes.plot(x[:n], y[:n], "o", color="black", markersize=4, markeredgewidth=0)
    axes.set(xlabel="x", title=f"{n} rows", ylim=(-4.5, 5.5), xlim=(-4, 4))
plt.show()

# %%
# Curves, and scales from the data
# --------------------------------
# The same model on powers of x. Noise and prior now come from the data: they are the ones under which the data are most
# probable (maximum evidence). Outside the groups of rows the curves soon disagree; in the gap between them they are
# held from both sides.
groups = np.concatenate([rng.uniform(-3, -1.2, 25), rng.uniform(1.0, 2.6, 25)])
heights = np.sin(1.5 * groups) + rng.normal(scale=0.2, size=50)
bend = make_pipeline(PolynomialFeatures(5, include_bias=False), StandardScaler()).fit(groups[:, None])
model = BayesianLinearRegression().fit(bend.transform(groups[:, None]), heights)
print(f"noise: standard deviation {model.alpha_**-0.5:.2f}; log evidence {model.log_evidence_:.1f}")

figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
draw(axes, bend.transform(places), model)
axes.plot(groups, heights, "o", color="black", markersize=3.5, markeredgewidth=0)
axes.set(xlabel="x", xlim=(-4, 4), ylim=(-4.5, 4.5))
plt.show()
