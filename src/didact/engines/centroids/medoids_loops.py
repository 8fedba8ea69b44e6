r"""Compiled swaps of k-medoids (FasterPAM): a row becomes a medoid in place of the one whose loss costs least.

With d the distance of a row from its nearest medoid and d' that from the second, giving up medoid m costs
:math:`\sum_{i\in m} w_i(d'_i - d_i)`. A candidate c at the distance e_i takes the rows with e_i < d_i from their
medoids, and lowers what giving up costs where e_i < d'_i. One look at a column of distances judges the swap with all
medoids; the first that lowers the loss is made at once.

Costs are sums of distances from other clusters, whose rounding can exceed the whole loss. So a swap is made only if the
sum of the rows' own changes, in which nothing cancels, lowers the loss by more than its rounding: no swap comes twice.

Layout, for n rows, of which k are medoids::

    D (n, n)         candidate c  [ d(c, 0) | d(c, 1) | … | d(c, n − 1) ]   one line is all that judges c
    nearest, second               [ m, m'   | …                         ]   numbers 0 … k − 1 of a row's two medoids
    near, far                     [ d ≤ d'  | …                         ]   and the distances from them
    order            [ c | c | … ]   candidates in turn; seen[0] is the place of the next one
    medoids          [ r | r | … ]   (k,) the row of each medoid
    costs, change    [ s | s | … ]   (k,) what giving it up costs now, and if c comes

Arithmetic: n + k for a candidate, n more for one that may lower the loss; n² for a round.

Schubert, Rousseeuw (2021), Fast and eager k-medoids clustering, doi:10.1016/j.is.2021.101804.
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array

SPACING = 2.0**-52


@jit_unmanaged
def two_nearest(D: Array, medoids: Array, nearest: Array, second: Array, near: Array, far: Array) -> None:
    """The two nearest medoids of every row, of equal ones the first; their distances."""
    for i in range(D.shape[0]):
        near[i], far[i], nearest[i], second[i] = np.inf, np.inf, 0, 0
    for m in range(medoids.shape[0]):
        for i in range(D.shape[0]):
            d = D[medoids[m], i]
            if d < near[i]:
                far[i], second[i] = near[i], nearest[i]
                near[i], nearest[i] = d, m
            elif d < far[i]:
                far[i], second[i] = d, m


@jit_unmanaged
def swap_round(
    D: Array, w: Array, order: Array, medoids: Array, nearest: Array, second: Array, near: Array, far: Array,
    costs: Array, change: Array, seen: Array,
) -> int:  # fmt: skip
    """Look at candidates from where the last round ended, until all have been seen since the last swap; the swaps.

    `seen` holds the place in the order, and how many candidates have been seen in vain.
    """
    n, k, swaps = D.shape[0], medoids.shape[0], 0
    rounding = _costs(w, nearest, near, far, costs)
    for _ in range(n):
        if seen[1] >= n:
            break
        c = order[seen[0]]
        seen[0], seen[1] = (seen[0] + 1) % n, seen[1] + 1
        if w[c] <= 0.0 or medoids[nearest[c]] == c:
            continue
        gain = 0.0
        for m in range(k):
            change[m] = costs[m]
        for i in range(n):
            e = D[c, i]
            if k == 1:  # there is no second medoid to go to
                gain += w[i] * (e - near[i])
            elif e < near[i]:
                gain += w[i] * (e - near[i])
                change[nearest[i]] += w[i] * (near[i] - far[i])
            elif e < far[i]:
                change[nearest[i]] += w[i] * (e - far[i])
        best = 0
        for m in range(1, k):
            if change[m] < change[best]:
                best = m
        if change[best] + gain < rounding and _lowers(D, w, c, best, nearest, near, far):
            medoids[best] = c
            two_nearest(D, medoids, nearest, second, near, far)
            rounding = _costs(w, nearest, near, far, costs)
            swaps, seen[1] = swaps + 1, 0
    return swaps


@jit_unmanaged
def _costs(w: Array, nearest: Array, near: Array, far: Array, costs: Array) -> float:
    """What giving up each medoid costs, its rows going to their second nearest; a bound on the rounding of the sums."""
    total = 0.0
    for m in range(costs.shape[0]):
        costs[m] = 0.0
    for i in range(w.shape[0]):
        total += w[i] * near[i]
        if costs.shape[0] > 1:
            total += w[i] * (far[i] - near[i])
            costs[nearest[i]] += w[i] * (far[i] - near[i])
    return w.shape[0] * SPACING * total


@jit_unmanaged
def _lowers(D: Array, w: Array, c: int, m: int, nearest: Array, near: Array, far: Array) -> bool:
    """Whether c in place of medoid m lowers the loss by more than the rounding of this sum of the rows' own changes."""
    up, down = 0.0, 0.0
    for i in range(w.shape[0]):
        d = min(D[c, i], far[i] if nearest[i] == m else near[i])
        if d > near[i]:
            up += w[i] * (d - near[i])
        else:
            down += w[i] * (near[i] - d)
    return down - up > w.shape[0] * SPACING * (down + up)


def warm() -> None:
    """Compile."""
    from didact.engines.centroids.medoids import medoids

    D = np.array([[0.0, 1.0], [1.0, 0.0]])
    medoids(D, np.ones(2), np.arange(2), np.zeros(1, np.int64), 1)
