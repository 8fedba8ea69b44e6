r"""Classification and regression trees in plain Python: the text to read first, and the oracle of the growers' tests.

A node with rows S of weight W has the impurity i(S), and every split is the one of largest gain

.. math:: \Delta = W\,i(S) - W_l\,i(S_l) - W_r\,i(S_r)

among all tests of one column: :math:`x \le t` for every midpoint t between neighbouring values, or, for categories,
:math:`x \in A` for every set A. Missing values (NaN) are tried on both sides; a category that the node has not seen, or
a missing value, goes to the larger side. Of equal gains the first counts. A split costs n tests of n rows for each
column here, and one pass over sorted rows in the compiled growers, which find the same trees.
Breiman, Friedman, Olshen, Stone (1984), doi:10.1201/9781315139470.
"""

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from didact.core.typing import Array
from didact.engines.trees.limits import Limits
from didact.engines.trees.tree import Tree, TreeBuilder
from didact.parts.criteria.base import Criterion

SAME_GAIN = 1e-11  # gains that differ by less, relative to the node's impurity, are equal

Side = tuple[Array, dict[str, Any]]  # which rows go left, and the test that says so


def sides(x: Array, is_category: bool, codes: int = 0) -> Iterator[Side]:
    """Every way to send the rows of a column left; `codes` is the number of categories of the whole table."""
    missing, seen = np.isnan(x), np.unique(x[~np.isnan(x)])
    for with_missing in (False, True) if missing.any() else (False,):
        if is_category:
            for chosen in (set(c) for k in range(len(seen) + 1) for c in combinations(seen.astype(int), k)):
                left = np.isin(x, list(chosen)) | (missing & with_missing)
                unseen = set(range(codes)) - set(seen.astype(int)) if 2 * left.sum() > len(x) else set()
                yield left, {"missing_left": with_missing, "categories": sorted(chosen | unseen)}
        else:
            for low, high in pairwise([*seen, np.inf]):  # ∞: all present values against missing ones
                threshold = 0.5 * low + 0.5 * high
                threshold = threshold if low <= threshold < high or high == np.inf else low
                yield (x <= low) | (missing & with_missing), {"missing_left": with_missing, "threshold": threshold}


def best_test(X: Array, y: Array, w: Array, criterion: Criterion, limits: Limits, codes: Array) -> Any:
    """The gain, the feature, the rows on the left and the test of the best split; None if there is none.

    `codes` is the number of categories of each column, 0 for numbers.
    """
    whole, best = w.sum() * criterion.impurity(y, w), None
    for j in range(X.shape[1]):
        for left, test in sides(X[:, j], codes[j] > 0, codes[j]):
            if min(left.sum(), (~left).sum()) < max(limits.min_samples_leaf, 1):
                continue
            gain = whole - sum(w[s].sum() * criterion.impurity(y[s], w[s]) for s in (left, ~left))
            if best is None or gain > best[0] + SAME_GAIN * whole:
                known = np.isnan(X[:, j]).any()
                test["missing_left"] = test["missing_left"] if known else 2 * left.sum() > len(left)
                best = gain, j, left, test
    return best


def grow_cart(
    X: Array, y: Array, criterion: Criterion, w: Array | None = None, limits: Limits | None = None,
    codes: Array | None = None,
) -> Tree:  # fmt: skip
    """A tree of class codes or numbers y (n,) with weights w > 0; of the limits, depth and rows of a leaf count."""
    limits, builder = limits or Limits(), TreeBuilder()
    w, codes = np.ones(len(X)) if w is None else w, np.zeros(X.shape[1], int) if codes is None else codes
    classes = int(y.max()) + 1

    def grow(rows: Array, parent: int, is_left: bool, depth: int) -> None:
        impurity, W = criterion.impurity(y[rows], w[rows]), w[rows].sum()
        value = np.bincount(y[rows], w[rows], classes) / W if criterion.labels else [w[rows] @ y[rows] / W]
        node = builder.add(parent, is_left, impurity, len(rows), W, np.asarray(value))
        open_node = depth < limits.max_depth and len(rows) >= limits.min_samples_split and impurity > SAME_GAIN
        best = best_test(X[rows], y[rows], w[rows], criterion, limits, codes) if open_node else None
        if best is not None:
            _, feature, left, test = best
            builder.split(node, feature, **test)
            grow(rows[left], node, True, depth + 1)
            grow(rows[~left], node, False, depth + 1)

    grow(np.arange(len(X)), -1, False, 0)
    return builder.build()
