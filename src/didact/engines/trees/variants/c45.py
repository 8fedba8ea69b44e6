r"""The growers of ID3 and C4.5: the best split by gain or by gain ratio, rows with missing values in fractions.

For a split that sends the cases T (weight W, known in the share F of them) into subsets :math:`T_j`

.. math:: \mathrm{gain} = F\Big(H(T) - \sum_j \frac{W_j}{\sum_k W_k}H(T_j)\Big),\qquad
          \mathrm{ratio} = \mathrm{gain} \Big/ \Big(-\sum_j \frac{W_j}{W}\log_2\frac{W_j}{W}\Big),

where H is the entropy of the classes in bits, and the cases with an unknown value count as one more subset in the
denominator. ID3 takes the split of largest gain. C4.5 takes the largest ratio among the splits whose gain is at least
average; the gain of a threshold, one of k possible ones, is lowered by :math:`\log_2(k)/W`, the cost of naming it.

Quinlan (1986), Induction of decision trees, doi:10.1007/BF00116251; Quinlan (1996), Improved use of continuous
attributes in C4.5, doi:10.1613/jair.279.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.trees.variants.c45_loops import scan_thresholds
from didact.engines.trees.variants.multiway import NO_BRANCH, NO_TEST, MultiwayTree, entropy

EQUAL = 1e-10  # gains that differ by less are equal: the first feature wins


class Rule(NamedTuple):
    """How splits are chosen and when to stop."""

    ratio: bool
    threshold_cost: bool
    min_cases: float
    max_depth: float


class C45Split(NamedTuple):
    """A possible split of a node: of a number at a threshold, or of a category (threshold NaN)."""

    feature: int
    gain: float
    ratio: float
    threshold: float


class Cases(NamedTuple):
    """Training cases: columns of X, class codes, weights, and the number of categories of each column (0: numbers)."""

    columns: Array  # (features, rows), C-ordered
    codes: Array
    weights: Array
    n_classes: int
    n_categories: Array

    def at(self, rows: Array, weights: Array) -> "Cases":
        """Some of the rows, with other weights."""
        return self._replace(columns=self.columns[:, rows], codes=self.codes[rows], weights=weights)


@dataclass(slots=True)
class C45Node:
    """A node while the tree grows and is pruned."""

    value: Array
    depth: int
    rows: Array
    parts: Array
    feature: int = NO_TEST
    threshold: float = np.nan
    children: list[int] = field(default_factory=list)


def possible_splits(cases: Cases, rule: Rule) -> list[C45Split]:
    """All possible splits of the cases, one per feature at most."""
    found = (
        category_split(cases, j, rule) if cases.n_categories[j] else threshold_split(cases, j, rule)
        for j in range(len(cases.columns))
    )
    return [split for split in found if split is not None]


def category_split(cases: Cases, j: int, rule: Rule) -> C45Split | None:
    """The n-way split of column j, if two branches have cases enough."""
    x, known = _known(cases, j)
    K = cases.n_classes
    cells = x.astype(np.int64) * K + cases.codes[known]
    table = np.bincount(cells, cases.weights[known], K * int(cases.n_categories[j])).reshape(-1, K)
    sizes = table.sum(axis=1)
    if np.count_nonzero(sizes >= _enough(rule.min_cases)) < 2:
        return None
    return _scored(cases, j, table.sum(axis=0), float(sizes @ entropy(table)), sizes, np.nan)


def threshold_split(cases: Cases, j: int, rule: Rule) -> C45Split | None:
    """The best split of column j at a midpoint between two neighbouring values."""
    x, known = _known(cases, j)
    order = np.argsort(x, kind="stable")
    x, codes, w = x[order], cases.codes[known][order], cases.weights[known][order]
    total = float(w.sum())
    least = min(max(rule.min_cases, 0.1 * total / cases.n_classes), max(25.0, rule.min_cases))
    rest, last, tries = scan_thresholds(x, codes, w, cases.n_classes, _enough(least))
    if last < 0:
        return None
    sizes = np.array([w[: last + 1].sum(), w[last + 1 :].sum()])
    classes = np.bincount(codes, w, cases.n_classes)
    split = _scored(cases, j, classes, rest, sizes, midpoint(x[last], x[last + 1]))
    if not rule.threshold_cost:
        return split
    gain = split.gain - np.log2(tries) / cases.weights.sum()
    return split._replace(gain=gain, ratio=gain * split.ratio / split.gain) if split.gain > 0 else None


def midpoint(low: float, high: float) -> float:
    """The middle of two neighbouring values, never as high as the higher one."""
    middle = (low + high) / 2 if low < 0 < high else low + (high - low) / 2  # neither overflows
    return float(middle if middle < high else low)


def _enough(weight: float) -> float:
    """A least weight that sums of fractions reach in spite of their rounding, and that is above zero."""
    return max(weight * (1 - 1e-9), np.finfo(float).tiny)


def _known(cases: Cases, j: int) -> tuple[Array, Any]:
    x = cases.columns[j]
    unknown = np.isnan(x)
    known: Any = ~unknown if unknown.any() else slice(None)
    return x[known], known


def _scored(cases: Cases, j: int, classes: Array, rest: float, sizes: Array, threshold: float) -> C45Split:
    """Gain and ratio from the class weights of the known cases and the entropy that the split leaves."""
    known, total = float(sizes.sum()), float(cases.weights.sum())
    gain = (known * float(entropy(classes)) - rest) / total
    information = float(entropy(np.append(sizes, max(total - known, 0.0))))
    return C45Split(j, gain, gain / information, threshold)


def choose_test(found: list[C45Split], rule: Rule) -> C45Split | None:
    """The split of largest gain, or of largest ratio among those of at least average gain."""
    found = [split for split in found if split.gain > -EQUAL]
    if not found:
        return None
    scores = np.array([split.ratio if rule.ratio else split.gain for split in found])
    if rule.ratio:
        gains = np.array([split.gain for split in found])
        scores[gains < gains.mean() - EQUAL] = -np.inf
    return found[int(np.flatnonzero(scores >= scores.max() - EQUAL)[0])]


def grow_c45(cases: Cases, rule: Rule) -> list[C45Node]:
    """The nodes of the full tree; parents stand before their children."""
    nodes = [_node(cases, np.arange(len(cases.codes)), cases.weights, 0)]
    waiting = [0]
    while waiting:
        node = nodes[waiting.pop()]
        if node.depth >= rule.max_depth or np.count_nonzero(node.value) < 2:
            continue
        split = choose_test(possible_splits(cases.at(node.rows, node.parts), rule), rule)
        if split is None:
            continue
        node.feature, node.threshold = split.feature, split.threshold
        for rows, parts in branch_cases(cases, node):
            node.children.append(len(nodes) if len(rows) else NO_BRANCH)
            if len(rows):
                waiting.append(len(nodes))
                nodes.append(_node(cases, rows, parts, node.depth + 1))
    return nodes


def branch_cases(cases: Cases, node: C45Node) -> list[tuple[Array, Array]]:
    """The rows and the parts of their weights in each branch; unknown cases go to all that have known ones."""
    x = cases.columns[node.feature][node.rows]
    unknown = np.isnan(x)
    count = int(cases.n_categories[node.feature]) or 2
    taken = np.where(unknown, -1, x if np.isnan(node.threshold) else x > node.threshold).astype(np.int64)
    sizes: Array = np.bincount(taken[~unknown], node.parts[~unknown], count)
    if not sizes.any():
        sizes = np.ones(count)
    found = []
    for k, share in enumerate(sizes / sizes.sum()):
        here = (taken == k) | (unknown & (share > 0))
        found.append((node.rows[here], np.where(unknown[here], share * node.parts[here], node.parts[here])))
    return found


def _node(cases: Cases, rows: Array, parts: Array, depth: int) -> C45Node:
    return C45Node(np.bincount(cases.codes[rows], parts, cases.n_classes), depth, rows, parts)


def pack_c45(nodes: list[C45Node]) -> MultiwayTree:
    """The nodes that are reached from the root, as arrays."""
    order: list[int] = []
    number: dict[int, int] = {}
    waiting = [0]
    while waiting:
        i = waiting.pop()
        number[i] = len(order)
        order.append(i)
        waiting += [c for c in reversed(nodes[i].children) if c != NO_BRANCH]
    sizes = [len(nodes[i].children) for i in order]
    children = [number.get(c, NO_BRANCH) for i in order for c in nodes[i].children]
    return MultiwayTree(
        feature=np.array([nodes[i].feature for i in order], np.int32),
        threshold=np.array([nodes[i].threshold for i in order], np.float64),
        first=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        children=np.array(children, np.int32),
        value=np.stack([nodes[i].value for i in order]),
    )
