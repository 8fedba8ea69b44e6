r"""
The lasso: features enter one after the other
=============================================

.. math:: \min_{b, b_0} \frac{1}{2n}\sum_i (y_i - x_i^Tb - b_0)^2 + \alpha\|b\|_1

Above :math:`\alpha_{max} = \max_j |x_j^Ty|/n` (columns and y centred) all coefficients are zero. As the penalty falls,
features come in one by one, the most useful first; some leave again. The order is a ranking of the features that takes
their likeness into account: a feature that says what another has said waits.

The table holds ten measurements of 442 diabetes patients and how far the disease had come a year later.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from didact.linear_model import LassoCV, enet_path, lasso_path
from didact.preprocessing import StandardScaler

table = load_diabetes(scaled=False)
names = ["age", "sex", "weight", "pressure", "cholesterol", "ldl", "hdl", "ratio", "triglycerides", "glucose"]
X, y = StandardScaler().fit_transform(table.data), table.target
centred = y - y.mean()

path = lasso_path(X, centred)
print("order of entry:", ", ".join(names[j] for j in path.order))

# %%
# The path, and where to stop
# ---------------------------
# Cross-validation walks the same path on each fold, and takes the penalty of the least error on the rows left out. The
# curve is flat: a model of half the size, one standard error from the best, would predict about as well.
chosen = LassoCV(alphas=path.alphas, cv=10, tol=1e-6).fit(X, y)
error = chosen.mse_path_.mean(axis=1)
spread = chosen.mse_path_.std(axis=1, ddof=1) / np.sqrt(10)
best = int(np.argmin(error))
simple = int(np.argmax(error <= error[best] + spread[best]))  # alphas fall: the first is the strongest penalty

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
path.plot(names, ax=left)
right.fill_between(chosen.alphas_, error - spread, error + spread, color="tab:blue", alpha=0.2, linewidth=0)
right.plot(chosen.alphas_, error, color="tab:blue")
right.set(xscale="log", xlabel="penalty α (weaker to the right)", ylabel="mean squared error on rows left out")
right.invert_xaxis()
for axes in (left, right):
    axes.axvline(chosen.alphas_[best], color="black", linestyle=":", linewidth=1)
    axes.axvline(chosen.alphas_[simple], color="black", linestyle="--", linewidth=1)
for k, words in ((simple, "within one\nstandard error"), (best, "least error")):
    size = np.count_nonzero(path.coefs[:, k])
    place = (chosen.alphas_[k], error.max())
    right.annotate(f"{words}:\n{size} features", place, xytext=(5, 0), textcoords="offset points", va="top", fontsize=9)
plt.show()

# %%
# Columns that resemble each other
# --------------------------------
# Of a group of such columns the lasso takes one and lets the others wait; which one is nearly a matter of chance. The
# elastic net, with a share of the ridge penalty, brings them in together. Here the first three columns are one
# quantity, measured three times with errors; seven more are noise.
rng = np.random.default_rng(3)
quantity = rng.normal(size=(80, 1))
Z = np.hstack([quantity + 0.05 * rng.normal(size=(80, 3)), rng.normal(size=(80, 7))])
target = 3 * quantity[:, 0] + rng.normal(size=80)
Z, target = Z - Z.mean(axis=0), target - target.mean()

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained", sharey=True)
for axes, share, title in ((left, 1.0, "lasso"), (right, 0.2, "elastic net, a fifth of it L1")):
    path = enet_path(Z, target, l1_ratio=share)
    for j, line in enumerate(path.coefs):
        color, label = (f"C{j}", f"measurement {j + 1}") if j < 3 else ("0.75", "noise" if j == 3 else None)
        axes.plot(path.alphas, line, color=color, label=label, zorder=2 if j < 3 else 1)
    axes.set(xscale="log", xlabel="penalty α (weaker to the right)", title=title)
    axes.invert_xaxis()
left.set_ylabel("coefficient")
right.legend(frameon=False, loc="upper left")
plt.show()
