"""
Neurons that compute, and neurons that learn
============================================

Three steps of history. The neuron of McCulloch and Pitts (1943, :class:`didact.linear_model.McCullochPittsNeuron`)
fires when the sum of its inputs reaches a threshold: a straight line through its inputs, set by hand. Hebb (1949) said
how weights might change: what fires together wires together. The perceptron (1958) learns its line from mistakes.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.linear_model import HebbianLayer, McCullochPittsNeuron, Perceptron

# %%
# A neuron with two inputs cuts the plane by one line. AND and OR are on one side of such a line; the two ones of XOR
# are not, and no choice of weights and threshold changes that. Two layers do: "one of them, and not both".
table = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
either, both = McCullochPittsNeuron.gate("or"), McCullochPittsNeuron.gate("and")
hidden = np.column_stack([either.predict(table), both.predict(table)])
exclusive = McCullochPittsNeuron.gate("and not").predict(hidden)

figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained", sharey=True)
gates = {"AND: sum ≥ 2": (both.predict(table), [1.5]), "OR: sum ≥ 1": (either.predict(table), [0.5])}
gates["XOR: two lines are needed"] = (exclusive, [0.5, 1.5])
for axes, (title, (fires, sums)) in zip(panels, gates.items()):
    for total in sums:
        axes.plot([total + 0.5, total - 1.5], [-0.5, 1.5], color="0.6", zorder=0)
    axes.scatter(*table.T, c=np.where(fires, "tab:orange", "white"), edgecolors="black", s=120)
    axes.set(title=title, xlim=(-0.5, 1.5), ylim=(-0.5, 1.5), xticks=[0, 1], yticks=[0, 1], aspect="equal")
plt.show()

# %%
# The perceptron finds such a line by itself: each mistake turns it towards the row that was wrong.
points = np.random.default_rng(1).normal(size=(60, 2))
classes = points @ [1.0, 0.6] > 0.2
figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
x = np.array([-3.0, 3.0])
learner = Perceptron(shuffle=False)
seen = 0
for row, right in zip(points, classes):
    learner.partial_fit(row[None], [right], classes=[False, True])
    if learner.n_mistakes_[0] > seen:
        seen = learner.n_mistakes_[0]
        (a, b), c = learner.coef_[0], learner.intercept_[0]
        panels[0].plot(x, -(a * x + c) / b, color=plt.cm.Blues(0.25 + 0.08 * seen), linewidth=1)
panels[0].plot(x, -(a * x + c) / b, color="black", label=f"after {seen} mistakes")
panels[0].scatter(*points.T, c=np.where(classes, "tab:orange", "tab:blue"), s=18)
panels[0].set(title="The perceptron learns from mistakes", xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
panels[0].legend(frameon=False, loc="upper left")

# %%
# A Hebbian unit has no target. Its weights grow along the direction in which its own answer is largest, which is where
# the rows vary most: Oja's rule ends at the first principal direction, with length 1, and Sanger's second unit at the
# second. The paths are the weights after every tenth row of one pass.
cloud = np.random.default_rng(2).normal(size=(600, 2)) * [2.0, 0.7] @ [[0.8, 0.6], [-0.6, 0.8]]
layer = HebbianLayer(n_components=2, eta0=0.05, power_t=0.25, shuffle=False, random_state=5)
path = [layer.partial_fit(part).components_.copy() for part in np.array_split(cloud, 60)]
principal = np.linalg.svd(cloud - cloud.mean(axis=0))[2]
panels[1].scatter(*cloud.T, s=4, color="0.8")
for k, color in enumerate(("tab:red", "tab:green")):
    way = np.array([W[k] for W in path])
    goal = principal[k] * np.sign(principal[k] @ way[-1])
    panels[1].plot(*np.transpose([0 * goal, 2 * goal]), color="black", linestyle=":", zorder=1)
    panels[1].plot(*way.T, color=color, linewidth=1)
    panels[1].annotate("", way[-1], (0, 0), arrowprops={"arrowstyle": "->", "color": color, "linewidth": 2})
panels[1].set(title="Hebbian units find principal directions", xlim=(-2, 2), ylim=(-2, 2), aspect="equal")
plt.show()
