"""
What a least-squares fit can say: intervals, residuals, influence
=================================================================

Body mass of 333 penguins, explained by four measurements. ``inference`` turns a fitted model and its rows into
standard errors, tests and diagnostics.
"""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from didact.datasets import load_penguins
from didact.linear_model import LinearRegression

birds = (
    load_penguins()
    .select(
        flipper="Flipper Length (mm)",
        bill="Culmen Length (mm)",
        depth="Culmen Depth (mm)",
        male=pl.col("Sex") == "MALE",
        mass="Body Mass (g)",
    )
    .drop_nulls()
    .cast(float)
)
X, y = birds.drop("mass"), birds["mass"]
model = LinearRegression().fit(X, y)
result = model.inference(X, y)
print(result.summary())

# %%
# Three pictures
# --------------
# *Left:* coefficients in grams per standard deviation of their column, with 95 % intervals; those that do not rely on a
# constant variance (HC3) are hardly wider, so the constant variance does no harm here. *Middle:* residuals against
# fitted values should scatter without a pattern. *Right:* rows far from the others (leverage) that also fit badly move
# the fit most; the size of a dot is Cook's distance.
robust = model.inference(X, y, covariance="HC3")
spread = birds.drop("mass").std().row(0)
fitted = np.asarray(model.predict(X))

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for shift, source, color, name in ((0.12, result, "tab:blue", "model"), (-0.12, robust, "tab:orange", "HC3")):
    low, high = (source.interval()[1:] * np.array(spread)[:, None]).T
    place = np.arange(4)[::-1] + shift
    left.hlines(place, low, high, color=color, linewidth=2)
    left.plot((low + high) / 2, place, "o", color=color, label=name)
left.axvline(0, color="black", linewidth=0.8)
left.set_yticks(np.arange(4)[::-1], X.columns)
left.set(xlabel="grams per standard deviation", title="95 % intervals")
left.legend(frameon=False, loc="center right")

middle.plot(fitted, result.residuals("studentized"), "o", markersize=3, alpha=0.5, markeredgewidth=0)
middle.axhline(0, color="black", linewidth=0.8)
middle.set(xlabel="fitted mass, g", ylabel="studentized residual", title="Residuals")

size = 4000 * result.cooks_distance
right.scatter(result.leverage, result.residuals("standardized"), s=size, color="tab:blue", alpha=0.5, linewidth=0)
right.axhline(0, color="black", linewidth=0.8)
right.set(xlabel="leverage", ylabel="standardized residual", title="Influence")
plt.show()

# %%
# Is the bill needed?
# -------------------
# Its t statistic says no. A Wald test asks the same of several coefficients at once, and a likelihood-ratio test
# compares two fitted models.
print("bill and depth:", result.wald_test(["bill", "depth"]))
smaller = X.drop("bill")
print("without bill:  ", result.likelihood_ratio_test(LinearRegression().fit(smaller, y).inference(smaller, y)))
