r"""Random forests: many deep trees, each grown from a draw of the rows and with few features drawn at every node.

A tree has little bias and much variance; the mean of T trees of variance σ² and correlation ρ has the variance
:math:`\rho\sigma^2 + \frac{1-\rho}{T}\sigma^2`. Draws of rows and features lower ρ. The rows that a tree has not seen
(about 37 %) test it without held-out data.

Cost: T · n · features drawn · depth. Columns are coded into at most 255 bins once for all trees, one tree is one task,
and every tree has a seed of its own: the number of threads does not change the result. Breiman (2001), Random forests,
doi:10.1023/A:1010933404324.
"""

from typing import Any, ClassVar

from sklearn.ensemble import RandomForestRegressor as TheirRegressor

from didact.core.parameters import attr
from didact.ensemble.forest_models import _ForestClassifier, _ForestRegressor
from didact.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor


class RandomForestClassifier(_ForestClassifier):
    r"""A random forest of classification trees; probabilities are the mean of the trees' class shares.

    .. math:: P(k\mid x) = \frac1T\sum_t p_{t,k}(x)

    Notes
    -----
    Cost: trees × n × drawn features × depth. Differs from scikit-learn: columns are binned (`max_bins`; None grows from
    every midpoint), missing values and categories need no preparation, `combine` can count votes. Shape of computation:
    map.

    References
    ----------
    Breiman (2001), doi:10.1023/A:1010933404324.

    Examples
    --------
    >>> from didact.ensemble import RandomForestClassifier
    >>> model = RandomForestClassifier(20, random_state=0).fit([[1.0], [2.0], [4.0], [6.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[1.0], [6.0]]).tolist()
    ['no', 'yes']
    """

    _attrs = [
        attr("oob_score_", "float", "Accuracy on weighted rows out of bag, of all outputs together.", when="oob_score"),
        attr(
            "oob_decision_function_",
            "(n_samples, n_classes[, n_outputs])",
            "Probabilities from the trees that have not seen a row.",
            when="oob_score",
        ),
    ]

    _tree_model: ClassVar[Any] = DecisionTreeClassifier
    _test_params = [
        {"n_estimators": 10, "random_state": 0},
        {"n_estimators": 5, "random_state": 1, "max_bins": None, "max_depth": 3},
    ]
    _test_skips = _ForestClassifier._test_skips | dict.fromkeys(
        ("constant_columns/constant", "constant_columns/zeros"), "Features are drawn among constant columns, too."
    )


@TheirRegressor.register  # so that `sklearn.inspection.partial_dependence` asks its trees
class RandomForestRegressor(_ForestRegressor):
    r"""A random forest of regression trees; the prediction is the mean (or median) of theirs.

    .. math:: f(x) = \frac1T\sum_t f_t(x)

    Notes
    -----
    Cost: trees × n × drawn features × depth. Differs from scikit-learn: columns are binned (`max_bins`; None grows from
    every midpoint), missing values and categories need no preparation. Shape of computation: map.

    References
    ----------
    Breiman (2001), doi:10.1023/A:1010933404324.

    Examples
    --------
    >>> from didact.ensemble import RandomForestRegressor
    >>> model = RandomForestRegressor(50, random_state=0).fit([[1.0], [2.0], [4.0], [6.0]], [0.0, 0.0, 1.0, 1.0])
    >>> bool(model.predict([[1.0]])[0] < 0.5 < model.predict([[6.0]])[0])
    True
    """

    _attrs = [
        attr("oob_score_", "float", "R² on the rows out of bag.", when="oob_score"),
        attr(
            "oob_prediction_",
            "(n_samples[, n_outputs])",
            "Predictions of the trees that have not seen a row.",
            when="oob_score",
        ),
    ]

    _tree_model: ClassVar[Any] = DecisionTreeRegressor
    _test_params = [
        {"n_estimators": 10, "random_state": 0},
        {"n_estimators": 5, "random_state": 1, "combine": "median"},
    ]
