r"""Conditional quantiles from a forest's leaves, compiled; a slow NumPy twin stands beside their test.

Training row r has, for a new row, the weight :math:`w_r = \frac1T\sum_t c_{tr}/C_t`, where c is its weight in tree t if
it shares the leaf and C the weight of that leaf. The quantile is the smallest target at which the weights sum to q.

Layout, for the leaves of all trees, and for one new row::

    ranks     [ members of leaf 0 | members of leaf 1 | … ]   ranks of their targets
    weights   [ c                 | …                     ]
                ^ starts[0]         ^ starts[1]
    keys      [ rank: 32 bits, place in share: 32 bits | … ]   the members of the row's leaves in all trees, sorted
    share     [ c/C | c/C | … ]
"""

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array
from didact.engines.trees.splits.sort_loops import sort_packed


@jit
def leaf_quantiles(leaves: Array, starts: Array, ranks: Array, weights: Array, values: Array, quantiles: Array,
                   out: Array) -> None:  # fmt: skip
    """Quantiles (rows, quantiles) for leaves (rows, trees) that have the members starts[leaf] … starts[leaf + 1]."""
    keys, share = np.empty(256, np.int64), np.empty(256)
    for i in range(leaves.shape[0]):
        many = 0
        for t in range(leaves.shape[1]):
            a, b = starts[leaves[i, t]], starts[leaves[i, t] + 1]
            while many + b - a > keys.shape[0]:
                wide, more = np.empty(2 * keys.shape[0], np.int64), np.empty(2 * keys.shape[0])
                for k in range(many):
                    wide[k], more[k] = keys[k], share[k]
                keys, share = wide, more
            total = 0.0
            for k in range(a, b):
                total += weights[k]
            for k in range(a, b):
                keys[many], share[many] = np.int64(ranks[k]) << 32 | many, weights[k] / total
                many += 1
        sort_packed(keys, many)
        below, k, last = 0.0, 0, many - 1
        for q in range(quantiles.shape[0]):
            aim = quantiles[q] * leaves.shape[1] * (1.0 - 1e-12)
            while k < last and below + share[keys[k] & 0xFFFFFFFF] < aim:
                below += share[keys[k] & 0xFFFFFFFF]
                k += 1
            out[i, q] = values[keys[k] >> 32]
