r"""C4.5: trees by gain ratio, with thresholds on numbers, n-way splits on categories and missing values in fractions.

Steps: grow (see `didact.engines.trees.variants.c45`) until no test has two branches with cases enough, then prune, by
default with the pessimistic errors of `didact.engines.trees.variants.c45_prune`.

Quinlan (1993), C4.5: Programs for Machine Learning; Quinlan (1996), doi:10.1613/jair.279.
"""

from didact.core.parameters import at_least, between, is_bool, none, one_of, param
from didact.engines.trees.variants.c45 import Rule
from didact.tree.multiway_base import _MultiwayClassifier


class C45Classifier(_MultiwayClassifier):
    r"""Decision tree of C4.5: gain ratio, n-way splits on categories, fractional cases, pessimistic pruning.

    .. math:: \mathrm{ratio} = \frac{F\,\big(H(T) - \sum_j \frac{W_j}{W_T} H(T_j)\big) - \log_2(k)/W}
                                    {-\sum_j \frac{W_j}{W} \log_2 \frac{W_j}{W}}

    Notes
    -----
    Cost: n p log n a level for numbers (each node sorts its cases), n p for categories; raising a subtree sends the
    cases of a node down its heaviest branch once more. All rows are held in memory. Differs from C4.5 release 8:
    thresholds lie midway between two values, and the confidence limit of the errors is the exact one. Of equal splits
    the first feature wins, of equal classes the first in sorted order.

    Weights are relative: a constant factor changes nothing. They become numbers of cases, for `min_cases`, the price of
    thresholds and the pessimistic errors, in units of the smallest one if all are whole multiples of it (equal weights
    count each row once; whole numbers with a 1 among them equal repeated rows), else so that they sum to the number of
    rows that have weight. `tree_.value` is in cases.

    References
    ----------
    Quinlan (1986), doi:10.1007/BF00116251; Quinlan (1996), doi:10.1613/jair.279.

    Examples
    --------
    >>> from didact.tree import C45Classifier
    >>> X = [["sunny", 85], ["sunny", 70], ["rain", 96], ["rain", 80], ["overcast", 90], ["overcast", 65]]
    >>> y = ["no", "yes", "yes", "yes", "yes", "yes"]
    >>> model = C45Classifier(categorical_features=[0], min_cases=1, pruning=None).fit(X, y)
    >>> model.predict([["sunny", 90], ["rain", 90], [None, 90]]).tolist()
    ['no', 'yes', 'yes']
    """

    min_cases: float = param(2.0, at_least(0), "Least weight of cases that at least two branches of a split must have.")
    threshold_cost: bool = param(True, is_bool, "Whether the gain of a threshold is lowered by log2(k)/W.")
    pruning: str | None = param(
        "pessimistic", [one_of("pessimistic", "reduced_error"), none], "How the full tree is pruned, if at all."
    )
    confidence: float = param(
        0.25, between(0, 1, "neither"), "Confidence of the pessimistic errors: smaller prunes more."
    )
    subtree_raising: bool = param(True, is_bool, "Whether pessimistic pruning may put a branch in its parent's place.")

    def _rule(self) -> Rule:
        depth = float("inf") if self.max_depth is None else self.max_depth
        return Rule(True, self.threshold_cost, self.min_cases, depth)
