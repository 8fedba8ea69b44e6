"""A tree as text, as a picture and as a path of prunings, and what its nodes hold."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_graphviz, export_text, plot_tree

iris = load_iris()
tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(iris.data, iris.target)
text = export_text(tree, feature_names=iris.feature_names)
print("lines", text.count("class:"), text.count("petal width") > 0)
print("dot", export_graphviz(tree, out_file=None, feature_names=iris.feature_names, filled=True).count("label="))
plt.figure()
plot_tree(tree, filled=True, class_names=list(iris.target_names))
plt.close("all")
structure = tree.tree_
print("nodes", structure.node_count, structure.n_leaves, structure.max_depth, tree.get_depth(), tree.get_n_leaves())
inner = structure.children_left != structure.children_right
print("questions", inner.sum(), (structure.feature[inner] >= 2).sum(), (structure.threshold[inner] > 0).all())
print("impurity", structure.impurity.sum(), structure.value[0].sum(), structure.n_node_samples[0])
paths = tree.decision_path(iris.data)
print("paths", paths.sum(), len(np.unique(tree.apply(iris.data))))
print("importances", tree.feature_importances_[2:].sum())
X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
full = DecisionTreeClassifier(random_state=0).fit(X_train, y_train)
path = full.cost_complexity_pruning_path(X_train, y_train)
print("path", path.ccp_alphas[-1], path.impurities[-1])
pruned = DecisionTreeClassifier(random_state=0, ccp_alpha=0.015).fit(X_train, y_train)
print("pruned", pruned.tree_.node_count, pruned.score(X_test, y_test))
x = np.linspace(0, 5, 80)[:, None]
regression = DecisionTreeRegressor(max_depth=3, criterion="squared_error").fit(x, np.sin(x).ravel())
print("regression", regression.score(x, np.sin(x).ravel()), regression.predict(x).std())
