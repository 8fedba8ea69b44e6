r"""ID3: a tree on categories; each node splits on the feature of largest information gain into one branch per value.

.. math:: \mathrm{gain}(S, F) = H(S) - \sum_{f} \frac{|S_f|}{|S|} H(S_f)

H(S) does not depend on F, so that the largest gain is the smallest sum. A pure node is a leaf, and so is one where no
feature takes two values: it answers with its most common class.

Quinlan (1986), Induction of decision trees, doi:10.1007/BF00116251.
"""

import numpy as np

from didact.core.errors import InputError
from didact.core.parameters import between, is_bool, none, one_of, param, whole
from didact.core.typing import Array
from didact.engines.trees.variants.c45 import Rule, midpoint
from didact.tree.multiway_base import _MultiwayClassifier


def equal_weight_edges(x: Array, w: Array, n_bins: int) -> Array:
    """Up to n_bins − 1 cuts, midway between two values, below which about 1, 2, … n-ths of the known weight lie."""
    known = ~np.isnan(x)
    values, where = np.unique(x[known], return_inverse=True)
    below = np.cumsum(np.bincount(where, w[known], len(values)))
    wanted = below[-1] * np.arange(1, n_bins) / n_bins if len(values) else np.zeros(0)
    last = np.unique(np.searchsorted(below, wanted * (1 - 1e-12)))
    return np.array([midpoint(values[k], values[k + 1]) for k in last if k + 1 < len(values)])


class ID3Classifier(_MultiwayClassifier):
    r"""Decision tree of ID3: n-way splits on categories by information gain.

    .. math:: \mathrm{gain}(S, F) = H(S) - \sum_{f} \frac{|S_f|}{|S|} H(S_f),\qquad H(S) = -\sum_k p_k\log_2 p_k

    Notes
    -----
    Cost: n p a level, in memory. Of equal gains the first feature wins, of equal classes the first in sorted order. A
    category that a node has not seen gets the node's own answer; a missing value goes down every branch, in parts.
    Weights are relative; for pessimistic pruning they become numbers of cases as in `C45Classifier`.

    References
    ----------
    Quinlan (1986), doi:10.1007/BF00116251.

    Examples
    --------
    >>> from didact.tree import ID3Classifier
    >>> X = [["tall", "heavy"], ["short", "light"], ["tall", "light"], ["short", "heavy"]]
    >>> model = ID3Classifier(categorical_features=[0, 1]).fit(X, ["M", "F", "F", "M"])
    >>> model.predict([["short", "heavy"]]).tolist(), model.get_depth()
    (['M'], 1)
    """

    _test_params = [{"n_bins": 4}]
    _test_skips = _MultiwayClassifier._test_skips | {
        "defaults": "Columns of numbers, which the checks have, are refused unless n_bins cuts them.",
        "check_class_weight_classifiers": "A cell of bins without any row of a class never answers with that class.",
    }

    n_bins: int | None = param(
        None, [whole(2), none], "Bins of equal weight for columns of numbers; None: such columns are refused."
    )
    pruning: str | None = param(
        None, [one_of("pessimistic", "reduced_error"), none], "How the full tree is pruned, if at all."
    )
    confidence: float = param(
        0.25, between(0, 1, "neither"), "Confidence of the pessimistic errors: smaller prunes more."
    )
    subtree_raising: bool = param(False, is_bool, "Whether pessimistic pruning may put a branch in its parent's place.")

    def _as_categories(self, X: Array, w: Array, n_categories: Array) -> tuple[Array, Array]:
        """Codes of bins for the columns of numbers."""
        numbers = np.flatnonzero(n_categories == 0)
        if not len(numbers):
            return X, n_categories
        if self.n_bins is None:
            name = repr(self.feature_names_in_[numbers[0]]) if hasattr(self, "feature_names_in_") else numbers[0]
            raise InputError(
                f"Column {name} holds numbers, and ID3 splits on categories: name it in categorical_features, set "
                "n_bins, or use C45Classifier."
            )
        self.bin_edges_ = [None] * X.shape[1]  # type: ignore[misc]  # None of the class where no column is binned
        X, n_categories = X.copy(), n_categories.copy()
        for j in numbers:
            edges = self.bin_edges_[j] = equal_weight_edges(X[:, j], w, self.n_bins)
            X[:, j] = np.where(np.isnan(X[:, j]), np.nan, np.searchsorted(edges, X[:, j]))
            n_categories[j] = len(edges) + 1
        return X, n_categories

    def _rule(self) -> Rule:
        return Rule(False, False, 0.0, float("inf") if self.max_depth is None else self.max_depth)
