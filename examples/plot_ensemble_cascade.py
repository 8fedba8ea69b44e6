r"""
A cascade: easy rows are cheap
==============================

Two classifiers, a cheap and a dear one, look at handwritten digits one after the other. A row is answered by the first
one that is sure enough; how sure that is was chosen on held-out rows, so that early answers are as accurate as asked
for. The mean cost of a row is :math:`\sum_l \rho_l c_l`, with :math:`\rho_l` the share of rows that reach stage l.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from didact.ensemble import CascadeClassifier, DetectionCascadeClassifier
from didact.linear_model import LogisticRegression

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
train, test = slice(0, 1200), slice(1200, None)
stages = [("linear", LogisticRegression(C=0.001)), ("neighbours", KNeighborsClassifier(3))]
costs = [1, 50]

model = CascadeClassifier(stages, costs=costs, accuracy=0.995, random_state=0).fit(X[train], y[train])
points = [
    (cascade.cost(X[test]).mean(), cascade.score(X[test], y[test]))
    for accuracy in (0.9, 0.97, 0.98, 0.99, 0.995, 1.0)
    for cascade in [CascadeClassifier(stages, costs=costs, accuracy=accuracy, random_state=0).fit(X[train], y[train])]
]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.bar([name for name, _ in stages], model.stage_shares_, color=["C0", "C3"])
for k, (share, correct) in enumerate(zip(model.stage_shares_, model.stage_accuracies_, strict=True)):
    words = "answers none" if np.isnan(correct) else f"{100 * correct:.0f} % right"
    left.annotate(f"{words}\ncost {costs[k]}", (k, share), ha="center", va="bottom")
left.set(ylabel="share of the rows answered", ylim=(0, 1.2), title=f"mean cost {model.mean_cost_:.0f} of {sum(costs)}")
right.plot(*zip(*sorted(points), strict=True), marker="o", label="cascade, by the accuracy asked for")
for (name, stage), cost in zip(stages, costs, strict=True):
    right.plot(cost, stage.fit(X[train], y[train]).score(X[test], y[test]), "s", label=f"{name} alone")
right.set(xscale="log", xlabel="mean cost of a row", ylabel="accuracy on new rows")
right.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Finding what is rare
# --------------------
# One digit in ten is a zero. Each stage of boosted stumps keeps at least 99 % of the zeros and rejects at least half of
# the rest; what is rejected costs no more.
detector = DetectionCascadeClassifier(n_stages=4, random_state=0).fit(X[train], y[train] == 0)
number = np.arange(1, len(detector.thresholds_) + 1)
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.plot(number, np.cumprod(detector.detection_rates_), marker="o", label="zeros that are left")
axes.plot(number, np.cumprod(detector.false_positive_rates_), marker="o", label="other digits that are left")
for k, cost in zip(number, detector.stage_costs_, strict=True):
    axes.annotate(f"{cost} stump{'s' * int(cost > 1)}", (k, 0.5), ha="center")
axes.set(xlabel="stage", ylabel="share of the held-out rows", xticks=number, ylim=(-0.03, 1.05))
axes.set_title(f"a row costs {detector.mean_cost_:.1f} of {detector.stage_costs_.sum()} stumps")
axes.legend(frameon=False, loc="center right")
plt.show()
