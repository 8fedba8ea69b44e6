r"""
Error against the number of learners
====================================

Bagging averages trees that see different draws of the rows: its error falls to a plateau, set by what the trees have in
common. AdaBoost adds stumps that attend to the rows which were wrong so far; its training error stays below

.. math:: \prod_t 2\sqrt{\varepsilon_t(1-\varepsilon_t)},

and its error on new rows goes on falling for hundreds of rounds.

The data: ten independent Gaussians, the class is whether the sum of their squares is above its median. No stump is much
better than chance.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.ensemble import AdaBoostClassifier, BaggingClassifier
from didact.tree import DecisionTreeClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 10))
y = (X**2).sum(axis=1) > 9.34
train, test = slice(0, 1500), slice(1500, None)

boosted = AdaBoostClassifier(n_estimators=300).fit(X[train], y[train])
on_train, on_test = (1 - np.array(list(boosted.staged_score(X[s], y[s]))) for s in (train, test))

bag = BaggingClassifier(DecisionTreeClassifier(), n_estimators=100, random_state=0).fit(X[train], y[train])
votes = np.cumsum([model.predict_proba(X[test])[:, 1] for model in bag.estimators_], axis=0)
counts = np.arange(1, len(votes) + 1)
bagged = np.mean((votes / counts[:, None] > 0.5) != y[test], axis=1)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.plot(counts, bagged, label="bagged trees, new rows")
left.plot(np.arange(1, 301), on_test, label="boosted stumps, new rows")
left.axhline(bagged[0], color="0.6", linestyle=":", label="one tree")
left.axhline(on_test[0], color="0.6", linestyle="--", label="one stump")
left.set(xlabel="learners", ylabel="error", xscale="log", ylim=(0, None))
left.legend(frameon=False)

right.plot(np.arange(1, 301), on_train, label="training error")
right.plot(np.arange(1, 301), on_test, label="error on new rows")
right.plot(np.arange(1, 301), boosted.error_bound_, color="black", linestyle=":", label="bound on the training error")
right.set(xlabel="boosting rounds", title="AdaBoost", ylim=(0, 1))
right.legend(frameon=False)
plt.show()

# %%
# Votes of single learners
# ------------------------
# The margin of a row is the share of the votes for its class less that against it. Boosting raises the small margins,
# at the price of the large ones.
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for rounds, decision in enumerate(boosted.staged_decision_function(X[train]), start=1):
    if rounds in (5, 30, 300):
        margin = np.sort(np.where(y[train], decision, -decision) / 2)
        axes.plot(margin, np.linspace(0, 1, len(margin)), label=f"{rounds} stumps")
axes.axvline(0, color="0.6", linewidth=1)
axes.set(xlabel="margin", ylabel="share of the training rows below it")
axes.legend(frameon=False)
plt.show()
