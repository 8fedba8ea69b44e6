r"""Shapley values of the predictions of trees and of ensembles of trees.

The prediction for a row is divided among the features: feature j gets

.. math:: \phi_j = \sum_{S \subseteq F\setminus\{j\}} \frac{|S|!\,(p-|S|-1)!}{p!}\big(v(S\cup\{j\}) - v(S)\big),

where v(S) is the prediction when only the features in S are known: at a split on any other feature both children count,
in the proportion of their training weights. Values and base add up to the prediction. Averages and sums of trees have
the averages and sums of their values.

Lundberg, Erion, Lee (2018), doi:10.48550/arXiv.1802.03888.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from didact.core.errors import InputError
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.trees.predict.shap import shap_of_trees
from didact.engines.trees.predict.unpack import raw_sums, unpacked
from didact.tree.reading import rows_in_memory, trees_of


class ShapValues(NamedTuple):
    """Shapley values: `values` (rows, features), with a last axis for several classes or outputs, and `base_values`.

    `values.sum(axis=1) + base_values` is the prediction. `importances` is the mean size of each feature's values.

    >>> from didact.tree import DecisionTreeRegressor, shap_values
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [2.0, 4.0])
    >>> shap_values(model, [[0.0]])
    ShapValues(values=array([[-1.]]), base_values=3.0)
    """

    values: Array
    base_values: Any

    @property
    def importances(self) -> Array:
        """The mean absolute value of each feature, over rows; one column per class or output if there are several."""
        return np.abs(self.values).mean(axis=0)


class _Sum(NamedTuple):
    """A model as scale × the sum of trees + a constant; `shown` computes what that adds up to, on new rows."""

    trees: list[Any]
    tables: list[Array]
    scale: float
    constant: Any
    shown: Any


@entrance()
def shap_values(model: Any, X: Any, background: Any = None) -> ShapValues:
    r"""Divide the predictions of a tree, a forest or a boosting model among the features (path-dependent TreeSHAP).

    .. math:: \sum_j \phi_{ij} + \phi_0 = f(x_i)

    f is the predicted number; for classifiers the probabilities of the classes, and for boosting the raw score
    (log-odds). Cost: rows × trees × leaves × D² for D distinct features on a path, on all threads.

    Parameters
    ----------
    model : estimator
        A fitted decision tree, forest, bag of trees or boosting model of didact; scikit-learn's trees, forests and bags
        work, too.
    X : array-like of shape (n_samples, n_features)
        Rows to explain.
    background : array-like of shape (n_rows, n_features), optional
        For boosting, rows that say how much weight each branch has, instead of the training rows that its trees were
        grown on.

    Returns
    -------
    ShapValues
        `values` of shape (n_samples, n_features) for numbers and for boosting with two classes, else with a last axis
        for the classes or outputs; `base_values`, the mean prediction that they are measured from.

    References
    ----------
    Lundberg, Erion, Lee (2018), doi:10.48550/arXiv.1802.03888.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.tree import DecisionTreeRegressor, shap_values
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = DecisionTreeRegressor().fit(X, X[:, 0] * X[:, 1])  # only both together make a difference
    >>> found = shap_values(model, X[3:])
    >>> found.values, found.base_values
    (array([[0.375, 0.375]]), 0.25)
    """
    check_is_fitted(model)
    rows = rows_in_memory(model, X)
    parts = _parts(model, None if background is None else rows_in_memory(model, background))
    values, base = shap_of_trees(parts.trees, parts.tables, parts.scale, rows)
    base = base + parts.constant
    shown = np.asarray(parts.shown(X), np.float64).reshape(len(rows), -1)
    if not np.allclose(values.sum(axis=1) + base, shown, rtol=1e-4, atol=1e-5 * (1 + np.abs(shown).max())):
        raise InputError(f"{type(model).__name__} does not add up or average its trees: it has no such Shapley values.")
    return ShapValues(values[:, :, 0], float(base[0])) if len(base) == 1 else ShapValues(values, base)


def _parts(model: Any, background: Array | None) -> _Sum:
    """The model as a sum of trees."""
    packed, start = getattr(model, "_packed", None), getattr(model, "_start", None)
    if packed is not None and start is not None:
        trees: list[Any] = unpacked(packed, background)
        tables = [np.zeros((tree.node_count, len(start))) for tree in trees]
        for tree, table, column in zip(trees, tables, packed.output, strict=True):
            table[:, column] = tree.value[:, 0, 0]
        return _Sum(
            trees=trees,
            tables=tables,
            scale=1.0,
            constant=start,
            shown=lambda X: model._map_rows(X, raw_sums, packed, start),
        )
    held = trees_of(model)
    if not all(hasattr(one.tree, "children_left") for one in held):
        raise InputError(f"{type(model).__name__} has no binary splits on single features: it has no such values.")
    trees = [one.tree if one.columns is None else _Moved(one.tree, one.columns) for one in held]
    shown = _probabilities(model) if is_classifier(model) else model.predict
    tables = [one.values(len(getattr(model, "classes_", ()))) for one in held]
    return _Sum(trees=trees, tables=tables, scale=1.0 / len(trees), constant=0.0, shown=shown)


class _Moved:
    """A tree of some columns, read as one of all columns."""

    def __init__(self, tree: Any, columns: Any) -> None:
        self._tree = tree
        self.feature = np.where(tree.feature < 0, tree.feature, np.take(columns, np.maximum(tree.feature, 0)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tree, name)


def _probabilities(model: Any) -> Any:
    """Class probabilities as one table; those of several outputs side by side."""

    def table(X: Any) -> Array:
        found = model.predict_proba(X)
        if not isinstance(found, list):
            return np.asarray(found)
        most = max(f.shape[1] for f in found)
        return np.stack([np.pad(f, ((0, 0), (0, most - f.shape[1]))) for f in found], axis=1)

    return table
