"""Trees: CART, ID3 and C4.5, oblique and model trees; their rules, pictures and explanations.

`permutation_importance` is scikit-learn's: how much a score falls when one column of held-out rows is shuffled.
"""

from sklearn.inspection import permutation_importance

from didact.core.handed_on import hand_on
from didact.tree.c45 import C45Classifier
from didact.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from didact.tree.export import export_text, plot_tree
from didact.tree.extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
from didact.tree.graphviz import export_graphviz
from didact.tree.id3 import ID3Classifier
from didact.tree.model_tree import ModelTreeRegressor
from didact.tree.oblique import ObliqueTreeClassifier, ObliqueTreeRegressor
from didact.tree.rules import Rule, export_rules
from didact.tree.shap import ShapValues, shap_values

__all__ = [
    "C45Classifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ID3Classifier",
    "ModelTreeRegressor",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "Rule",
    "ShapValues",
    "export_graphviz",
    "export_rules",
    "export_text",
    "permutation_importance",
    "plot_tree",
    "shap_values",
]
__getattr__, __dir__ = hand_on(__name__)
