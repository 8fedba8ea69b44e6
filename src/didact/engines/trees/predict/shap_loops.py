r"""Shapley values of one tree's prediction, exactly, leaf by leaf; brute force over all subsets stands beside the test.

A leaf of value v contributes to the prediction of a coalition S of features :math:`v\prod_{f} (f\in S\;?\;o_f : z_f)`
over the distinct features f of its path: :math:`o_f` is 1 if the row meets all conditions on f, and :math:`z_f` is the
share of the training weight that did at those nodes. The Shapley value of such a product needs the sum over subset
sizes only: a polynomial to which features are added (`extend`) and from which each is taken out again (`unwound`).

Cost: leaves × D² a row, for D distinct features on a path. Lundberg, Erion, Lee (2018), Consistent individualized
feature attribution for tree ensembles, doi:10.48550/arXiv.1802.03888.

Layout, for the paths to all leaves of a tree::

    feature   [ distinct features of leaf 0's path | of leaf 1's | … ]   other fields of `Paths` in the same order
                ^ start[0]                           ^ start[1]
    weights   [ w_0 | w_1 | … | w_D ]   the polynomial: of subsets of 0, 1, … of the D features on one path
    values (leaves, outputs), out (rows, features, outputs)
"""

from typing import NamedTuple

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array


class Paths(NamedTuple):
    """The paths to the leaves: start[k] … start[k+1]−1 belong to the k-th leaf, one entry for each distinct feature."""

    start: Array  # (leaves + 1,) int64
    feature: Array  # int32
    low: Array  # float64: low < x ≤ high
    high: Array
    missing: Array  # uint8: whether a missing value stays on the path
    categories: Array  # uint8: whether `sets` holds, not the bounds
    beyond: Array  # uint8: whether a category without a bit stays on the path
    sets: Array  # (entries, words) uint64
    zero: Array  # float64: z


@jit
def fill_paths(left: Array, right: Array, feature: Array, threshold: Array, missing_left: Array, category_set: Array,
               category_sets: Array, weight: Array, leaves: Array, paths: Paths) -> int:  # fmt: skip
    """Write the paths to the given leaves; the number of entries. Parents stand before their children."""
    n = left.shape[0]
    parent = np.full(n, -1, np.int64)
    for i in range(n):
        if left[i] >= 0:
            parent[left[i]] = i
            parent[right[i]] = i
    end = 0
    for k in range(leaves.shape[0]):
        begin, child = end, leaves[k]
        node = parent[child]
        while node >= 0:
            is_left = left[node] == child
            e = begin
            while e < end and paths.feature[e] != feature[node]:
                e += 1
            s = category_set[node]
            if e == end:
                end += 1
                paths.feature[e] = feature[node]
                paths.low[e], paths.high[e] = -np.inf, np.inf
                paths.missing[e], paths.beyond[e], paths.categories[e] = 1, 1, s >= 0
                paths.sets[e] = ~np.uint64(0)
                paths.zero[e] = 1.0
            if s >= 0:
                for word in range(paths.sets.shape[1]):
                    bits = category_sets[s, word]
                    paths.sets[e, word] &= bits if is_left else ~bits
                paths.beyond[e] &= not is_left
            elif is_left:
                paths.high[e] = min(paths.high[e], threshold[node])
            else:
                paths.low[e] = max(paths.low[e], threshold[node])
            paths.missing[e] &= (missing_left[node] != 0) == is_left
            paths.zero[e] *= weight[child] / weight[node] if weight[node] > 0.0 else 0.0
            child, node = node, parent[node]
        paths.start[k + 1] = end
    return end


@jit
def on_path(paths: Paths, e: int, x: float) -> bool:
    """Whether the value x of an entry's feature meets its conditions."""
    if np.isnan(x):
        return paths.missing[e] != 0
    if paths.categories[e] == 0:
        return paths.low[e] < x <= paths.high[e]
    code = int(x)
    if code < 0 or code >= 64 * paths.sets.shape[1]:
        return paths.beyond[e] != 0
    return (paths.sets[e, code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0


@jit
def extend(weights: Array, size: int, zero: float, one: float) -> None:
    """Add a feature to the polynomial of `size` entries."""
    weights[size] = 0.0
    for i in range(size - 1, -1, -1):
        weights[i + 1] += one * weights[i] * (i + 1) / (size + 1)
        weights[i] = zero * weights[i] * (size - i) / (size + 1)


@jit
def unwound(weights: Array, size: int, zero: float, one: float) -> float:
    """The sum of the entries 0 … size of the polynomial without one of its features."""
    total, rest = 0.0, weights[size]
    for j in range(size - 1, -1, -1):
        if one != 0.0:
            term = rest * (size + 1) / (j + 1)
            rest = weights[j] - term * zero * (size - j) / (size + 1)
        else:
            term = weights[j] * (size + 1) / (zero * (size - j))
        total += term
    return total


@jit
def add_shap(X: Array, paths: Paths, values: Array, scale: float, out: Array) -> None:
    """Add to out (rows, features, values) the Shapley values of a tree whose leaves have `values` (leaves, values)."""
    longest = 0
    for k in range(values.shape[0]):
        longest = max(longest, paths.start[k + 1] - paths.start[k])
    weights, one = np.empty(longest + 1), np.empty(longest)
    for i in range(X.shape[0]):
        for k in range(values.shape[0]):
            begin, size = paths.start[k], paths.start[k + 1] - paths.start[k]
            weights[0] = 1.0
            possible = True
            for d in range(size):
                e = begin + d
                one[d] = 1.0 if on_path(paths, e, X[i, paths.feature[e]]) else 0.0
                possible = possible and (one[d] != 0.0 or paths.zero[e] != 0.0)
                extend(weights, d + 1, paths.zero[e], one[d])
            if not possible:
                continue
            for d in range(size):
                e = begin + d
                share = scale * unwound(weights, size, paths.zero[e], one[d]) * (one[d] - paths.zero[e])
                for v in range(values.shape[1]):
                    out[i, paths.feature[e], v] += share * values[k, v]


def empty_paths(leaves: int, entries: int, words: int) -> Paths:
    """Arrays with room for the paths of a tree."""
    flags = np.zeros((3, entries), np.uint8)
    return Paths(
        start=np.zeros(leaves + 1, np.int64), feature=np.zeros(entries, np.int32), low=np.zeros(entries),
        high=np.zeros(entries), missing=flags[0], categories=flags[1], beyond=flags[2],
        sets=np.zeros((entries, max(words, 1)), np.uint64), zero=np.zeros(entries),
    )  # fmt: skip


def warm() -> None:
    """Compile the loops for the types in use."""
    paths, ints = empty_paths(1, 1, 1), np.full(1, -1, np.int32)
    sets = np.zeros((0, 1), np.uint64)
    fill_paths(ints, ints, ints, np.zeros(1), np.zeros(1, np.uint8), ints, sets, np.ones(1), np.zeros(1, np.int64),
               paths)  # fmt: skip
    add_shap(np.zeros((1, 1)), paths, np.zeros((1, 1)), 1.0, np.zeros((1, 1, 1)))
