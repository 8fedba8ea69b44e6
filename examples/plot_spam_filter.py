r"""
A spam filter, from raw text to a tuned threshold
=================================================

Messages become counts of words, naive Bayes turns the counts into probabilities, and a loss says what to do about them:
a good message that is lost costs twenty times a bad one that is let through. The messages are put together from
hand-written phrases by a rule (:func:`didact.datasets.make_messages`).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from didact.datasets import make_messages
from didact.decision import BayesDecision
from didact.feature_extraction.text import CountVectorizer
from didact.naive_bayes import BernoulliNB, MultinomialNB

texts, labels = make_messages(3000, random_state=0)
train, test = slice(0, 1500), slice(1500, None)
for text, label in zip(texts[:4], labels[:4], strict=True):
    print(f"{label}: {text}")

# %%
# Words
# -----
# The dictionary comes from the training messages, without the most common words of English. Bernoulli naive Bayes asks
# which words are there (``binary=True``), multinomial naive Bayes how often.
filters = {
    "Bernoulli": make_pipeline(CountVectorizer(stop_words="english", binary=True), BernoulliNB()),
    "multinomial": make_pipeline(CountVectorizer(stop_words="english"), MultinomialNB()),
}
loss = [[0, 1], [20, 0]]  # rows: take it for mail, for spam; columns: it is mail, it is spam

rules = {}
for name, words in filters.items():
    for how, choices in {
        "0/1": {},
        "cost": {"loss": loss},
        "cost, tuned": {"loss": loss, "thresholds": "tune"},
    }.items():
        rules[name, how] = BayesDecision(words, **choices).fit(texts[train], labels[train])


def paid(rule):
    """Mean cost of a message, good ones lost, and bad ones let through."""
    answer = rule.predict(texts[test])
    lost = np.mean(answer[labels[test] == "mail"] == "spam")
    through = np.mean(answer[labels[test] == "spam"] == "mail")
    return np.mean(np.where(answer == labels[test], 0, np.where(answer == "spam", 20, 1))), lost, through


for (name, how), rule in rules.items():
    cost, lost, through = paid(rule)
    print(f"{name:11} {how:11}: cost {cost:.3f}, good lost {lost:.3f}, bad let through {through:.3f}")

# %%
# What it costs, and the most telling words
# -----------------------------------------
# Of two classes the tuned threshold is the best one on messages that were held out. The words that speak most for spam
# or for mail have the largest difference of log probabilities.
best = rules["Bernoulli", "cost, tuned"]
counts, model = best.estimator_[0], best.estimator_[-1]
speaks = model.feature_log_prob_[1] - model.feature_log_prob_[0]
order = np.argsort(speaks)
some = np.concatenate([order[:8], order[-8:]])

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
score = best.predict_proba(texts[test])[:, 1]
odds = np.linspace(-2, 16, 300)
costs = [np.mean(np.where(labels[test] == "spam", score <= t, 20.0 * (score > t))) for t in 1 / (1 + np.exp(-odds))]
left.plot(odds, costs, color="0.4", label="Bernoulli, new messages")
for threshold, words in ((0.5, "0/1 loss"), (20 / 21, "by the probabilities"), (best.thresholds_[1], "tuned")):
    place = np.log(threshold / (1 - threshold))
    left.plot(place, np.interp(place, odds, costs), "o", label=f"{words}: {threshold:.6g}")
left.set(xlabel="log-odds of spam from which a message is dropped", ylabel="mean cost of a message", ylim=(0, None))
left.legend(frameon=False)
right.barh(range(16), speaks[some], color=np.where(speaks[some] > 0, "C3", "C0"))
right.set_yticks(range(16), counts.get_feature_names_out()[some])
right.set(xlabel="log P(word | spam) − log P(word | mail)")
plt.show()

# %%
# Who is wrong, and where
# -----------------------
kinds = ["mail", "spam"]
figure, panels = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for axes, how in zip(panels, ("0/1", "cost", "cost, tuned"), strict=True):
    answer = rules["Bernoulli", how].predict(texts[test])
    table = np.array([[np.sum((labels[test] == a) & (answer == b)) for b in kinds] for a in kinds])
    axes.imshow(table / table.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1.3)
    for (i, j), count in np.ndenumerate(table):
        axes.text(j, i, count, ha="center", va="center")
    axes.set(title=how, xticks=[0, 1], yticks=[0, 1], xticklabels=kinds, yticklabels=kinds, xlabel="taken for")
panels[0].set_ylabel("is")
plt.show()

# %%
# A message without a single known word gets the prior: multinomial naive Bayes knows nothing else about it.
empty = rules["multinomial", "0/1"].predict_proba(["zzz qqq"])[0]
print(empty.round(3), np.mean(labels[train] == "spam").round(3))
