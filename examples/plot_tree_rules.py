r"""
A tree, its picture and its rules
=================================

A decision tree is a model that a person can read: as a picture, as text, or as rules. The same functions read every
tree of didact, here CART, ID3 and C4.5, and the strongest rules of a forest.
"""

import matplotlib.pyplot as plt
import polars as pl

from didact.datasets import load_penguins
from didact.ensemble import RandomForestClassifier
from didact.tree import C45Classifier, DecisionTreeClassifier, ID3Classifier, export_rules, plot_tree

birds = load_penguins().select(
    flipper="Flipper Length (mm)",
    bill="Culmen Length (mm)",
    depth="Culmen Depth (mm)",
    island=pl.col("Island").cast(pl.Categorical),
    species=pl.col("Species").str.split(" ").list.first(),
)
X, species = birds.drop("species"), birds["species"].to_numpy()

# %%
# A picture
# ---------
# The question stands in the box, the condition on the branch. Bars show the shares of the classes; the answer of a leaf
# has its colour, paler where it is less sure. Islands are categories and split by name.
model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5).fit(X, species)
figure, axes = plt.subplots(figsize=(12, 5.6), layout="constrained")
plot_tree(model, ax=axes)
plt.show()

# %%
# C4.5 splits a category into all its values at once, divides rows with a missing value among the branches, and prunes
# by a pessimistic estimate of the errors.
small = C45Classifier().fit(X, species)
figure, axes = plt.subplots(figsize=(11, 5.2), layout="constrained")
plot_tree(small, ax=axes)
plt.show()

# %%
# Rules
# -----
# The way to a leaf is a rule. Bounds on one column are merged, and conditions without which a rule errs no more often
# are dropped.
for rule in export_rules(small, X, species):
    print(rule)

# %%
# A forest has too many rules to read, but some of them are strong: they cover many rows and are nearly always right.
forest = RandomForestClassifier(100, max_depth=4, random_state=0).fit(X, species)
for rule in export_rules(forest, X, species, max_rules=5):
    print(rule)

# %%
# ID3 on nine people
# ------------------
# The smallest example of a course: height and weight, and whether a person is male or female. Weight gains 0.59 bits,
# height 0.07, so the root asks for the weight; among the light ones it then asks for the height.
people = pl.DataFrame(
    {
        "height": ["tall", "short", "medium", "medium", "short", "short", "tall", "tall", "medium"],
        "weight": ["heavy", "light", "medium", "medium", "heavy", "light", "light", "light", "light"],
    }
)
sex = ["M", "F", "M", "M", "M", "F", "F", "M", "F"]
tree = ID3Classifier(categorical_features=["height", "weight"]).fit(people, sex)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
plot_tree(tree, ax=axes)
plt.show()
