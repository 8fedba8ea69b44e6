"""Compiled pruning loops on the arrays of a tree; a slow twin stands beside their test.

Layout: an entry for each node, children behind their parents, −1 for none::

    node         0             left     [  1 |  2 | −1 | −1 | −1 ]
               1   4           right    [  4 |  3 | −1 | −1 | −1 ]
              2 3              parent   [ −1 |  0 |  1 |  1 |  0 ]
                               keep     [  1 |  1 |  0 |  0 |  0 ]   which inner nodes are still split
"""

from heapq import heappop, heappush

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array


@jit
def collapse(left: Array, right: Array, parent: Array, risk: Array, alpha: float, keep: Array, alphas: Array,
             totals: Array) -> int:  # fmt: skip
    """Collapse weakest links up to alpha: clears keep, writes the α and the risk after each step; number of steps."""
    n = left.shape[0]
    below, leaves, version = risk.copy(), np.ones(n, np.int64), np.zeros(n, np.int64)
    heap = [(0.0, np.int64(0), np.int64(0)) for _ in range(0)]
    for node in range(n - 1, -1, -1):
        if left[node] >= 0:
            below[node] = below[left[node]] + below[right[node]]
            leaves[node] = leaves[left[node]] + leaves[right[node]]
            heappush(heap, ((risk[node] - below[node]) / (leaves[node] - 1), np.int64(node), np.int64(0)))
    alphas[0], totals[0], steps = 0.0, below[0], 1
    while len(heap) > 0:
        cost, node, stamp = heappop(heap)  # type: ignore[assignment]
        if stamp != version[node] or not keep[node]:
            continue
        if cost > alpha:
            break
        lost, gone = risk[node] - below[node], leaves[node] - 1
        forget_below(left, right, node, keep)
        above = node
        while above >= 0:
            below[above] += lost
            leaves[above] -= gone
            version[above] += 1
            if above != node:
                heappush(heap, ((risk[above] - below[above]) / (leaves[above] - 1), np.int64(above), version[above]))
            above = parent[above]
        alphas[steps], totals[steps] = max(cost, alphas[steps - 1]), below[0]
        steps += 1
    return steps


@jit
def forget_below(left: Array, right: Array, top: int, keep: Array) -> None:
    """Take a node and all below it off the inner nodes."""
    stack = [top]
    while len(stack) > 0:
        node = stack.pop()
        if keep[node]:
            keep[node] = False
            stack.append(left[node])
            stack.append(right[node])


@jit
def keep_if_better(left: Array, right: Array, own: Array, keep: Array) -> None:
    """From the leaves upwards, keep a split only if its subtree has less loss than the node has as a leaf."""
    best = own.copy()
    for node in range(left.shape[0] - 1, -1, -1):
        if left[node] >= 0:
            under = best[left[node]] + best[right[node]]
            if under < own[node] - 1e-12 * abs(own[node]):
                best[node] = under
            else:
                keep[node] = False


def warm() -> None:
    """Compile every loop for the types in use."""
    left, right, parent = (np.array(a, np.int32) for a in ([1, -1, -1], [2, -1, -1], [-1, 0, 0]))
    risk, keep = np.array([1.0, 0.2, 0.2]), np.array([True, False, False])
    collapse(left, right, parent, risk, np.inf, keep.copy(), np.zeros(2), np.zeros(2))
    keep_if_better(left, right, risk, keep)
