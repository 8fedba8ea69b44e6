r"""Extremely randomised trees: at every node one random threshold for each drawn feature, the best of them taken.

Thresholds are uniform between the smallest and largest value in the node. More bias and less correlation than in a
random forest, and no search for thresholds: a node costs one pass over its rows for each drawn feature. By default all
trees see all rows. Geurts, Ernst, Wehenkel (2006), Extremely randomized trees, doi:10.1007/s10994-006-6226-1.
"""

from typing import Any, ClassVar

from didact.core.parameters import is_bool, param
from didact.ensemble.forest_base import READS_ALL
from didact.ensemble.forest_models import _ForestClassifier, _ForestRegressor
from didact.tree.extra_tree import ExtraTreeClassifier, ExtraTreeRegressor

BOOTSTRAP = "Whether each tree sees a draw of the rows with replacement, or all rows."


class ExtraTreesClassifier(_ForestClassifier):
    r"""Extremely randomised classification trees; probabilities are the mean of the trees' class shares.

    .. math:: P(k\mid x) = \frac1T\sum_t p_{t,k}(x)

    Notes
    -----
    Cost: trees × n × drawn features × depth. Thresholds are drawn among the edges of the bins, uniformly in value.
    Shape of computation: map.

    References
    ----------
    Geurts, Ernst, Wehenkel (2006), doi:10.1007/s10994-006-6226-1.

    Examples
    --------
    >>> from didact.ensemble import ExtraTreesClassifier
    >>> model = ExtraTreesClassifier(20, random_state=0).fit([[1.0], [2.0], [4.0], [6.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[1.0], [6.0]]).tolist()
    ['no', 'yes']
    """

    _tree_model: ClassVar[Any] = ExtraTreeClassifier
    _random_splits: ClassVar[bool] = True
    _test_skips: ClassVar[dict[str, str]] = READS_ALL
    _test_params = [{"n_estimators": 10, "random_state": 0}]

    bootstrap: bool = param(False, is_bool, BOOTSTRAP)


class ExtraTreesRegressor(_ForestRegressor):
    r"""Extremely randomised regression trees; the prediction is the mean (or median) of theirs.

    .. math:: f(x) = \frac1T\sum_t f_t(x)

    Notes
    -----
    Cost: trees × n × drawn features × depth. Thresholds are drawn among the edges of the bins, uniformly in value.
    Shape of computation: map.

    References
    ----------
    Geurts, Ernst, Wehenkel (2006), doi:10.1007/s10994-006-6226-1.

    Examples
    --------
    >>> from didact.ensemble import ExtraTreesRegressor
    >>> model = ExtraTreesRegressor(20, random_state=0).fit([[1.0], [2.0], [4.0], [6.0]], [0.0, 0.0, 1.0, 1.0])
    >>> bool(model.predict([[1.0]])[0] < 0.5 < model.predict([[6.0]])[0])
    True
    """

    _tree_model: ClassVar[Any] = ExtraTreeRegressor
    _random_splits: ClassVar[bool] = True
    _test_skips: ClassVar[dict[str, str]] = READS_ALL
    _test_params = [{"n_estimators": 10, "random_state": 0}]

    bootstrap: bool = param(False, is_bool, BOOTSTRAP)
