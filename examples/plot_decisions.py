r"""
Decisions: what an error costs, and when to ask
===============================================

Two classes with known densities. The action with the least expected risk
:math:`R_i(x) = \sum_k \lambda_{ik} P(k\mid x)` depends on what errors cost; where even the best action is dearer than
asking somebody, the row is rejected.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_curve

from didact.decision import BayesDecision
from didact.distributions import MultivariateGaussian
from didact.naive_bayes import GaussianNB

rng = np.random.default_rng(0)
classes = [
    MultivariateGaussian([0.0, 0.0], [[1.0, 0.4], [0.4, 1.0]]),
    MultivariateGaussian([1.8, 1.2], [[1.4, -0.5], [-0.5, 0.8]]),
]
priors = [0.6, 0.4]
y = rng.choice(2, size=260, p=priors)
X = np.where(y[:, None] == 0, classes[0].sample(260, rng), classes[1].sample(260, rng))

rules = {
    "all errors cost 1": {},
    "missing a red one costs 10": {"loss": [[0, 10], [1, 0]]},
    "all cost 1, asking costs 0.2": {"reject_cost": 0.2},
}
sides = np.meshgrid(np.linspace(-3.2, 5.2, 300), np.linspace(-3.2, 4.2, 300))
grid = np.column_stack([side.ravel() for side in sides])
colors = plt.matplotlib.colors.ListedColormap(["#c6dbef", "#fdd0c2", "#e3e3e3"])

figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained", sharey=True)
for axes, (title, how) in zip(panels, rules.items(), strict=True):
    rule = BayesDecision.from_densities(classes, priors, **how)
    action = rule.predict(grid)
    action = np.where(action < 0, 2, action).reshape(sides[0].shape)
    axes.contourf(*sides, action, levels=[-0.5, 0.5, 1.5, 2.5], cmap=colors)
    axes.contour(*sides, rule.predict_proba(grid)[:, 1].reshape(sides[0].shape), [0.5], colors="0.4", linestyles="--")
    axes.scatter(*X.T, c=np.where(y == 1, "C3", "C0"), s=9, alpha=0.8, linewidths=0)
    axes.set(xlim=(-3.2, 5.2), ylim=(-3.2, 4.2))
    axes.set(title=title, xlabel=f"mean loss {rule.risk(X, y):.2f}, rejected {100 * rule.share_rejected(X):.0f} %")
figure.suptitle("blue and red: the class taken · grey: rejected · dashed: equally probable", fontsize=10)
plt.show()

# %%
# What a reject option is worth
# -----------------------------
# The dearer it is to ask, the fewer rows are rejected. With the 0/1 loss a row is rejected exactly if its largest
# probability is below 1 − cost (Chow's rule), so that asking at more than ½ never pays for two classes.
y_new = rng.choice(2, size=20_000, p=priors)
X_new = np.where(y_new[:, None] == 0, classes[0].sample(20_000, rng), classes[1].sample(20_000, rng))
costs = np.linspace(0.0, 0.6, 31)
known = [BayesDecision.from_densities(classes, priors, reject_cost=cost) for cost in costs]
answers = [rule.predict(X_new) for rule in known]
wrong = [np.mean(answer[answer >= 0] != y_new[answer >= 0]) if (answer >= 0).any() else 0.0 for answer in answers]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.7), layout="constrained")
left.plot(costs, [rule.risk(X_new, y_new) for rule in known], label="mean loss")
left.plot(costs, [rule.expected_risk(X_new) for rule in known], "k:", label="mean loss that the probabilities promise")
left.plot(costs, [rule.share_rejected(X_new) for rule in known], label="share rejected")
left.set(xlabel="cost of rejecting a row", ylim=(-0.02, 1.02))
left.legend(frameon=False)
right.plot([rule.share_rejected(X_new) for rule in known], wrong, ".-")
right.set(xlabel="share rejected", ylabel="errors among the rows that are left", ylim=(-0.005, None))
plt.show()

# %%
# A threshold for a cost
# ----------------------
# Probabilities that were learnt may be wrong, as those of naive Bayes for columns that depend on each other. Then the
# threshold is chosen on rows that the classifier did not see, for the loss at hand: a point of the ROC curve, where a
# line of slope :math:`\lambda_{FP}P(0) / (\lambda_{FN}P(1))` touches it.
copies = np.column_stack([X_new, X_new, X_new])  # three times the same says nothing new, but naive Bayes believes it
train, test = slice(0, 2000), slice(2000, None)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
score = GaussianNB().fit(copies[train], y_new[train]).predict_proba(copies[test])[:, 1]
left.plot(*roc_curve(y_new[test], score)[:2], color="0.4")
for cost, color in ((1, "C0"), (5, "C1"), (20, "C3")):
    loss = [[0, cost], [1, 0]]
    plain = BayesDecision(GaussianNB(), loss=loss).fit(copies[train], y_new[train])
    tuned = BayesDecision(GaussianNB(), loss=loss, thresholds="tune").fit(copies[train], y_new[train])
    for rule, mark in ((plain, "x"), (tuned, "o")):
        answer = rule.predict(copies[test])
        rates = [np.mean(answer[y_new[test] == k] == 1) for k in (0, 1)]
        left.plot(*rates, mark, color=color, label=f"a miss costs {cost}" if mark == "o" else None)
    cuts = np.linspace(0.002, 0.998, 250)
    mean = [np.mean(np.where(y_new[test] == 1, cost * (score <= t), score > t)) for t in cuts]
    right.plot(cuts, mean, color=color)
    right.plot(tuned.thresholds_[1], tuned.risk(copies[test], y_new[test]), "o", color=color)
    right.plot(1 / (1 + cost), plain.risk(copies[test], y_new[test]), "x", color=color)
left.set(xlabel="false alarms", ylabel="found", title="o tuned, x by the probabilities")
left.legend(frameon=False, loc="lower right")
right.set(xlabel="threshold on P(red)", ylabel="mean loss on new rows", yscale="log")
plt.show()
