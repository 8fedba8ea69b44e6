r"""
Mixtures: EM step by step, and how many components
==================================================

A mixture of Gaussians is fitted in turns: each row gets a share in each component (E step), and each component is
estimated from its shares of the rows (M step). The log-likelihood rises in every step.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.mixture import ExpectationMaximization, GaussianComponents, GaussianMixture, component_path

rng = np.random.default_rng(4)
shapes = np.array([[[1.2, 0.9], [0.0, 0.4]], [[0.5, -0.6], [0.0, 0.9]], [[0.7, 0.0], [0.0, 0.7]]])
which = rng.choice(3, size=400, p=[0.5, 0.3, 0.2])
X = np.einsum("ij,ijk->ik", rng.normal(size=(400, 2)), shapes[which]) + np.array([[0, 0], [4, 1], [1, 4]])[which]
circle = np.stack([np.cos(np.linspace(0, 2 * np.pi, 80)), np.sin(np.linspace(0, 2 * np.pi, 80))], axis=1)
COLOURS = np.array([[0.12, 0.47, 0.71], [1.0, 0.5, 0.05], [0.17, 0.63, 0.17]])

# %%
# EM step by step
# ---------------
# The colour of a row mixes those of the components by its shares; the ellipses are one and two standard deviations.
model = ExpectationMaximization(GaussianComponents(3), keep_parameters=True, tol=1e-6, random_state=7).fit(X)
steps = [0, 2, 5, 10, 20, model.n_iter_]
figure, panels = plt.subplots(2, 3, figsize=(10, 6.8), layout="constrained", sharex=True, sharey=True)
for axes, step in zip(panels.ravel(), steps, strict=True):
    theta = model.trace_[step]
    joint = GaussianComponents(3).log_joint(X, theta)
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    axes.scatter(*X.T, s=9, color=np.clip(shares @ COLOURS, 0, 1))
    for colour, mean, covariance in zip(COLOURS, theta[1], theta[2], strict=True):
        for size in (1, 2):
            axes.plot(*(mean + size * circle @ np.linalg.cholesky(covariance).T).T, color=colour, lw=1.2)
    axes.set_title(f"step {step}: log-likelihood {model.log_likelihoods_[step]:.3f} a row", fontsize=10)
plt.show()

# %%
# How many components
# -------------------
# BIC and the likelihood of rows held out agree on three; the likelihood of the training rows knows no end.
held = np.arange(400) % 2 == 0
path = component_path(GaussianMixture(n_init=5, random_state=0), X[~held], range(1, 8), X_test=X[held])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(path.n_components, path.bic, "o-", label="BIC")
left.plot(path.n_components, path.aic, "o-", label="AIC")
left.set(xlabel="components", ylabel="criterion (smaller is better)")
right.plot(path.n_components, path.score, "o-", label="training rows")
right.plot(path.n_components, path.test_score, "o-", label="held-out rows")
right.set(xlabel="components", ylabel="mean log-likelihood")
for axes in (left, right):
    axes.axvline(path.best.n_components, color="0.6", ls="--", lw=1)
    axes.legend(frameon=False)
plt.show()

# %%
# What one column says of the other
# ---------------------------------
# The conditional distribution of a mixture is a mixture again: at x = 1 the second column has two peaks.
model = GaussianMixture(3, random_state=0).fit(X)
grid = np.linspace(-3, 7, 300)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(*X.T, ".", color="0.6", markersize=4)
for x, colour in zip((-1.0, 1.0, 4.0), COLOURS, strict=True):
    left.axvline(x, color=colour)
    right.plot(grid, np.exp(model.conditional([0], [x]).score_samples(grid[:, None])), color=colour, label=f"x = {x:g}")
left.set(xlabel="x", ylabel="y")
right.set(xlabel="y", ylabel="density given x")
right.legend(frameon=False)
plt.show()
