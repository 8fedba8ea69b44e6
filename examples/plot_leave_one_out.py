r"""
Choosing the penalty by leave-one-out, without leaving anything out
===================================================================

The error on row i of the fit to all *other* rows follows from the fit to all rows and the row's leverage
:math:`h_i(\alpha)`:

.. math:: y_i - \hat y_i^{(-i)} = \frac{y_i-\hat y_i}{1-h_i(\alpha)}.

One decomposition serves every α and every row, so ``RidgeCV`` tries a grid of penalties for the price of a single fit.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from didact.linear_model import Ridge, RidgeCV
from didact.preprocessing import PolynomialFeatures, StandardScaler

rng = np.random.default_rng(2)


def draw(n):
    """Four causes, a smooth surface and noise."""
    Z = rng.uniform(-1, 1, size=(n, 4))
    return Z, np.sin(3 * Z[:, 0]) + Z[:, 1] * Z[:, 2] - Z[:, 3] ** 2 + rng.normal(scale=1.0, size=n)


Z, y = draw(150)
Z_new, y_new = draw(5000)
expand = PolynomialFeatures(4, include_bias=False).fit(Z)
scale = StandardScaler().fit(expand.transform(Z))
X, X_new = (scale.transform(expand.transform(z)) for z in (Z, Z_new))
print(f"{X.shape[0]} rows, {X.shape[1]} features")

# %%
# The whole grid at once
# ----------------------
alphas = np.geomspace(1e-4, 1e4, 60)
began = time.perf_counter()
model = RidgeCV(alphas=alphas, store_cv_results=True).fit(X, y)
print(f"{len(alphas)} penalties in {1e3 * (time.perf_counter() - began):.0f} ms; chosen α = {model.alpha_:.3g}")
errors = model.cv_results_
mean, spread = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(y))

# %%
# The same by brute force, for a few penalties: a fit for every row that is left out.
some = alphas[4::10]
brute = [
    np.mean(
        [(y[i] - Ridge(alpha=a).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0]) ** 2 for i in range(150)]
    )
    for a in some
]
np.testing.assert_allclose(brute, mean[4::10], rtol=1e-6)

# %%
# Beside it, the error on the training rows, which always falls as the penalty falls, and the error on 5,000 new rows,
# which is what leave-one-out estimates.
fits = [Ridge(alpha=a).fit(X, y) for a in alphas]
training = [np.mean((y - fit.predict(X)) ** 2) for fit in fits]
new = [np.mean((y_new - fit.predict(X_new)) ** 2) for fit in fits]

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
axes.fill_between(alphas, mean - spread, mean + spread, color="tab:blue", alpha=0.15, linewidth=0)
axes.plot(alphas, mean, color="tab:blue", label="leave-one-out, closed form (± standard error)")
axes.plot(some, brute, "o", color="tab:blue", fillstyle="none", label="leave-one-out, by 150 fits each")
axes.plot(alphas, new, color="black", label="5,000 new rows")
axes.plot(alphas, training, color="tab:orange", label="training rows")
axes.axvline(model.alpha_, color="tab:blue", linestyle=":", linewidth=1)
axes.set(xscale="log", ylim=(0, 5), xlabel="penalty α", ylabel="mean squared error")
axes.legend(frameon=False)
plt.show()
