"""
The loss functions side by side
===============================

A loss says what a wrong prediction costs; its slope, how hard a row pulls at the fit. Which rows a model listens to is
decided here, long before any solver starts. The losses live in ``didact.parts.losses``; all of these but the quantile
loss can be given by name to ``SGDRegressor`` or ``SGDClassifier``.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.parts import losses

residual = np.linspace(-3, 3, 601)
zero = np.zeros_like(residual)
regression = {
    "squared": losses.HalfSquared(),
    "absolute": losses.Absolute(),
    "Huber, δ = 1.35": losses.Huber(1.35),
    "ε-insensitive, ε = 0.5": losses.EpsilonInsensitive(0.5),
    "quantile, q = 0.8": losses.Quantile(0.8),
}

margin = np.linspace(-2.5, 2.5, 601)
one = np.ones_like(margin)
classification = {
    "hinge (support vectors)": losses.Hinge(),
    "squared hinge": losses.SquaredHinge(),
    "log-loss (logistic)": losses.Logistic(),
    "exponential (boosting)": losses.ExponentialLoss(),
    "perceptron": losses.Perceptron(),
}

# %%
# For numbers the loss depends on the residual, for classes on the margin y·z: positive on the right side of the
# boundary. A classifier is after the grey step, the number of mistakes, which has no slope to follow.
figure, panels = plt.subplots(2, 2, figsize=(11, 7), layout="constrained", sharex="col")
for name, loss in regression.items():
    panels[0, 0].plot(residual, loss.value(zero, residual), label=name)
    panels[1, 0].plot(residual, loss.gradient(zero, residual))
for name, loss in classification.items():
    panels[0, 1].plot(margin, loss.value(one, margin), label=name)
    panels[1, 1].plot(margin, loss.gradient(one, margin))
panels[0, 1].step([-2.5, 0, 2.5], [1, 1, 0], where="pre", color="0.6", linewidth=4, zorder=0, label="a mistake")
panels[0, 0].set(ylim=(-0.1, 4), ylabel="loss", title="Numbers")
panels[0, 1].set(ylim=(-0.1, 4), title="Classes")
panels[1, 0].set(ylim=(-2.2, 2.2), ylabel="slope of the loss", xlabel="prediction − target")
panels[1, 1].set(ylim=(-3.2, 0.2), xlabel="margin y·z")
for axes in panels[0]:
    axes.legend(frameon=False, fontsize=9, loc="upper center" if axes is panels[0, 0] else "upper right")
for axes in panels[1]:
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
plt.show()

# %%
# The squared error pulls the harder the further a row is off, without a limit: one wild row can turn a fit. The
# absolute error, Huber's and the ε-insensitive one pull with a bounded force. Among the losses for classes the
# exponential is the one that gives in to wild rows most; the hinge and the perceptron say nothing at all about rows
# that are right by enough.
