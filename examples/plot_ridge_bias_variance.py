r"""
Ridge: what the penalty buys and what it costs
==============================================

The penalty pulls the coefficients towards zero. That biases them and calms them: for noise of variance :math:`\tau^2`
and :math:`X^TX = U\,\mathrm{diag}(\sigma_i^2)\,U^T`, the estimate has

.. math:: \text{bias } -\alpha\,U\,\mathrm{diag}\Big(\frac{1}{\sigma_i^2+\alpha}\Big)U^Tb^*,
          \qquad \text{covariance } \tau^2\,U\,\mathrm{diag}\Big(\frac{\sigma_i^2}{(\sigma_i^2+\alpha)^2}\Big)U^T,

which ``ridge_bias_covariance`` computes in closed form. Here the two come from the formula (lines) and from refitting
``Ridge`` to 5,000 fresh draws of the noise (circles).
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.linear_model import Ridge, ridge_bias_covariance

rng = np.random.default_rng(0)
n, p, noise = 60, 8, 1.0
X = rng.normal(size=(n, p)) @ np.linalg.cholesky(0.05 * np.eye(p) + 0.95).T  # columns that resemble each other
truth = np.array([2.0, -1.5, 1.0, 0.0, 0.5, 0.0, -0.5, 0.8])
alphas = np.geomspace(1e-2, 1e3, 60)

# %%
# The path of one data set
# ------------------------
# With a weak penalty the coefficients of columns that resemble each other are large and of opposite sign; a stronger
# one draws them together before it draws them all to zero.
y = X @ truth + rng.normal(scale=noise, size=n)
path = np.array([Ridge(alpha=a).fit(X, y).coef_ for a in alphas])

# %%
# Bias and variance, in closed form and by simulation
# ---------------------------------------------------
# One call of ``fit`` takes all draws at once, as so many targets of the same X.
exact = [ridge_bias_covariance(X, a, truth, noise**2) for a in alphas]
bias = np.array([np.sum(e.bias**2) for e in exact])
variance = np.array([np.trace(e.covariance) for e in exact])

draws = (X @ truth)[:, None] + rng.normal(scale=noise, size=(n, 5000))
some = alphas[::6]
fits = [Ridge(alpha=a).fit(X, draws).coef_ for a in some]
simulated_bias = [np.sum((f.mean(axis=0) - truth) ** 2) for f in fits]
simulated_variance = [f.var(axis=0).sum() for f in fits]
best = alphas[np.argmin(bias + variance)]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(alphas, path)
left.axvline(best, color="black", linestyle=":", linewidth=1)
left.set(xscale="log", xlabel="penalty α", ylabel="coefficient", title="One data set")
for values, drawn, color, name in (
    (bias, simulated_bias, "tab:orange", "bias²"),
    (variance, simulated_variance, "tab:blue", "variance"),
):
    right.plot(alphas, values, color=color, label=name)
    right.plot(some, drawn, "o", color=color, fillstyle="none")
right.plot(alphas, bias + variance, color="black", label="mean squared error")
right.axvline(best, color="black", linestyle=":", linewidth=1)
right.set(xscale="log", yscale="log", ylim=(1e-2, 30), xlabel="penalty α", title="All data sets")
right.annotate(f"least at α = {best:.2g}", (best, 15), xytext=(6, 0), textcoords="offset points")
right.legend(frameon=False, loc="center right")
plt.show()

# %%
# The best α is not zero: with some bias the coefficients are nearer the truth on average. Its value depends on the
# unknown truth; leave-one-out finds one from the data alone (:doc:`plot_leave_one_out`).
