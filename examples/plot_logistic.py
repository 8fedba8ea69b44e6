"""
Logistic regression: probabilities, boundaries and separable classes
====================================================================

The log-odds of a class are linear in x, so the set where two classes are equally probable is a straight line, and the
probability changes across it as a smooth step.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from sklearn.exceptions import ConvergenceWarning

from didact.linear_model import LogisticRegression

rng = np.random.default_rng(4)
COLORS = ["tab:blue", "tab:orange", "tab:green"]
LOW, HIGH = -3.2, 3.6
side = np.linspace(LOW, HIGH, 300)
a, b = np.meshgrid(side, side)


def paint(axes, model, points, labels):
    """Every place in a mixture of the classes' colours, by their probabilities there."""
    share = model.predict_proba(np.column_stack([a.ravel(), b.ravel()])).reshape(*a.shape, -1)
    mixture = share @ np.array([to_rgb(color) for color in COLORS[: share.shape[2]]])
    axes.imshow(0.6 + 0.4 * mixture, extent=(LOW, HIGH, LOW, HIGH), origin="lower", interpolation="bilinear")
    for k in range(share.shape[2]):
        where = points[labels == k].T
        axes.plot(*where, "o", color=COLORS[k], markersize=4.5, markeredgecolor="white", markeredgewidth=0.5)
    axes.set(xlim=(LOW, HIGH), ylim=(LOW, HIGH), xticks=[], yticks=[])
    return share


# %%
# Two classes and three
# ---------------------
# Lines of equal probability are parallel for two classes; three are told apart by a softmax of three linear scores, and
# the borders between them meet in one point.
centres = np.array([[-1.0, -0.6], [1.0, 0.6], [-0.8, 1.8]])
labels = np.repeat([0, 1, 2], 60)
points = centres[labels] + rng.normal(scale=0.8, size=(180, 2))
two = labels < 2

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
share = paint(left, LogisticRegression().fit(points[two], labels[two]), points[two], labels[two])
lines = left.contour(a, b, share[:, :, 1], [0.1, 0.25, 0.5, 0.75, 0.9], colors="black", linewidths=0.8)
left.clabel(lines, fmt="%.2g", fontsize=8)
left.set_title("Two classes: lines of equal probability")
share = paint(right, LogisticRegression().fit(points, labels), points, labels)
for k in range(3):
    lead = share[:, :, k] - np.delete(share, k, axis=2).max(axis=2)
    right.contour(a, b, lead, [0], colors="black", linewidths=0.8)
right.set_title("Three classes: where each is the most probable")
plt.show()

# %%
# Classes that a line separates
# -----------------------------
# Without a penalty there is no best fit: whatever the coefficients, larger ones fit better. With C=inf the fit stops
# where the gradient is within the tolerance, and says so in one warning; with any finite C the answer is finite.
x = np.concatenate([rng.normal(-1.3, 0.4, 20), rng.normal(1.3, 0.4, 20)])[:, None]
y = np.repeat(["no", "yes"], 20)

with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always", ConvergenceWarning)
    endless = LogisticRegression(C=np.inf).fit(x, y)
print(*(w.message for w in heard))
print(f"C = inf: the coefficient had reached {endless.coef_[0, 0]:.0f} when the fit stopped")

# %%
strengths = np.geomspace(1e-2, 1e6, 33)
slopes = [LogisticRegression(C=c, tol=1e-10).fit(x, y).coef_[0, 0] for c in strengths]
places = np.linspace(-3, 3, 400)[:, None]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for c, shade in zip([0.01, 1, 100, 1e4], [0.35, 0.55, 0.75, 0.95]):
    curve = LogisticRegression(C=c).fit(x, y).predict_proba(places)[:, 1]
    left.plot(places, curve, color=plt.cm.Blues(shade), label=f"C = {c:g}")
left.plot(x, y == "yes", "|", color="black", markersize=10)
left.set(xlabel="x", ylabel="P(yes | x)", title="The step grows steeper with C")
left.legend(frameon=False)
right.plot(strengths, slopes, color="tab:blue")
right.set(xscale="log", xlabel="C", ylabel="coefficient", title="Finite for every finite C, without a limit")
plt.show()
