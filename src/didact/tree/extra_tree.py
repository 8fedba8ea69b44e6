r"""Single extremely randomised trees: one random threshold for each drawn feature of a node, the best of them taken.

Thresholds are uniform between the smallest and largest value in the node. Such a tree is meant for ensembles, where its
variance averages out; see `didact.ensemble.ExtraTreesClassifier`. Geurts, Ernst, Wehenkel (2006), Extremely randomized
trees, doi:10.1007/s10994-006-6226-1.
"""

from typing import Any

import sklearn.tree as theirs

from didact.core.parameters import one_of, param
from didact.tree.decision_tree import _TreeClassifier, _TreeRegressor
from didact.tree.tree_base import _TreeModel

SPLITTER = "Whether to take a random threshold of a feature or the best one."
DRAWN = "Features drawn at each node: a number (at most all), a share, the root or logarithm of all; None: all."


@theirs.ExtraTreeClassifier.register
class ExtraTreeClassifier(_TreeClassifier):
    r"""An extremely randomised classification tree: the best of one random cut for each of some features.

    .. math:: t_j \sim U(\min_i x_{ij}, \max_i x_{ij}),\qquad
        \max_j\; i(S) - \frac{W_l}{W} i(S_l) - \frac{W_r}{W} i(S_r)

    Notes
    -----
    Cost: one pass over the rows of a node for each drawn feature. `DecisionTreeClassifier` with ``splitter="random"``
    and ``max_features="sqrt"`` is the same tree. Shape of computation: iterate.

    References
    ----------
    Geurts, Ernst, Wehenkel (2006), doi:10.1007/s10994-006-6226-1.

    Examples
    --------
    >>> from didact.tree import ExtraTreeClassifier
    >>> model = ExtraTreeClassifier(random_state=0).fit([[1.0], [2.0], [4.0], [6.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[1.0], [6.0]]).tolist()
    ['no', 'yes']
    """

    _test_params = [{"random_state": 0}]

    splitter: str = param("random", one_of("random", "best"), SPLITTER)
    max_features: Any = param("sqrt", _TreeModel._parameter_constraints["max_features"], DRAWN)


@theirs.ExtraTreeRegressor.register
class ExtraTreeRegressor(_TreeRegressor):
    r"""An extremely randomised regression tree: the best of one random cut for each of some features.

    .. math:: t_j \sim U(\min_i x_{ij}, \max_i x_{ij}),\qquad
        \max_j\; i(S) - \frac{W_l}{W} i(S_l) - \frac{W_r}{W} i(S_r)

    Notes
    -----
    Cost: one pass over the rows of a node for each drawn feature. `DecisionTreeRegressor` with ``splitter="random"`` is
    the same tree. Shape of computation: iterate.

    References
    ----------
    Geurts, Ernst, Wehenkel (2006), doi:10.1007/s10994-006-6226-1.

    Examples
    --------
    >>> from didact.tree import ExtraTreeRegressor
    >>> model = ExtraTreeRegressor(random_state=0).fit([[1.0], [2.0], [4.0], [6.0]], [0.0, 0.0, 1.0, 1.0])
    >>> model.predict([[1.0], [6.0]]).tolist()
    [0.0, 1.0]
    """

    _test_params = [{"random_state": 0}]

    splitter: str = param("random", one_of("random", "best"), SPLITTER)
    max_features: Any = param(1.0, _TreeModel._parameter_constraints["max_features"], DRAWN)
