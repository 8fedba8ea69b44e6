r"""k-medoids: the rows that minimise :math:`\sum_i w_i\min_k d(x_i, m_k)`, by swaps (FasterPAM).

Schubert, Rousseeuw (2021), Fast and eager k-medoids clustering, doi:10.1016/j.is.2021.101804.
"""

from functools import partial
from typing import Any

import numpy as np

from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.centroids.medoids_loops import swap_round, two_nearest
from didact.engines.loop.result import Result
from didact.engines.neighbors.tables import block_edges

MEDOID_ROWS = 256


def build(D: Array, w: Array, count: int) -> Array:
    """Greedy medoids (BUILD): each time the row that lowers the loss most, of equal ones the first. n² a medoid."""
    near, chosen = np.full(len(D), np.inf), np.empty(count, np.int64)
    for k in range(count):
        if k == 0:
            losses = D @ w
        else:
            edges = block_edges(len(D), MEDOID_ROWS)
            losses = np.concatenate(parallel_map(partial(_losses, D, w, near), edges))
        losses = np.where(w > 0, losses, np.inf)
        losses[chosen[:k]] = np.inf
        chosen[k] = int(np.argmin(losses))
        near = np.minimum(near, D[chosen[k]])
    return chosen


def _losses(D: Array, w: Array, near: Array, edges: tuple[int, int]) -> Array:
    """The losses with each of some rows as one more medoid."""
    return np.asarray(np.minimum(D[slice(*edges)], near) @ w)


def drawn_medoids(D: Array, w: Array, count: int, order: Array, rng: np.random.Generator) -> Array:
    """Rows drawn one by one with probability proportional to weight times distance from the nearest so far."""
    near, chosen = np.ones(len(D)), np.empty(count, np.int64)
    for k in range(count):
        chance = (w * near)[order]
        if k:
            chance[np.isin(order, chosen[:k])] = 0.0
            if not chance.any():
                chance = np.where(np.isin(order, chosen[:k]), 0.0, w[order])
        upto = np.cumsum(chance)
        place = np.searchsorted(upto, rng.uniform() * upto[-1], side="right")
        chosen[k] = order[min(int(place), int(np.searchsorted(upto, upto[-1])))]
        near = D[chosen[k]].copy() if k == 0 else np.minimum(near, D[chosen[k]])
    return chosen


def medoids(D: Array, w: Array, order: Array, start: Array, max_iter: int, report: Any = None) -> Result:
    """Swaps until none lowers the loss; `x` of the result are the rows of the medoids, `value` is the loss."""
    chosen, n, k = start.astype(np.int64).copy(), len(D), len(start)
    state = np.zeros(n, np.int64), np.zeros(n, np.int64), np.empty(n), np.empty(n)
    two_nearest(D, chosen, *state)
    seen, history, status = np.zeros(2, np.int64), [float(w @ state[2])], "iteration limit"
    rounds = 0
    for rounds in range(1, max_iter + 1):
        swaps = swap_round(D, w, order, chosen, *state, np.zeros(k), np.zeros(k), seen)
        history.append(float(w @ state[2]))
        stop = report is not None and report(rounds, history[-1], chosen)
        if swaps == 0 or seen[1] >= n:
            status = "converged"
            break
        if stop:
            status = "stopped"
            break
    return Result(chosen, history[-1], rounds, status, 0.0 if status == "converged" else 1.0, history)
