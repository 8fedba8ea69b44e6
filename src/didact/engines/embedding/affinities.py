r"""Affinities of rows: :math:`p_{ij} = (p_{j|i} + p_{i|j})/2n`, of all pairs or of the nearest neighbours alone."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.backend import namespace
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.embedding.affinities_loops import calibrate_pass
from didact.engines.embedding.tuning import TILE_NUMBERS

AFFINITY_NUMBERS = 1 << 14  # of rows that a thread takes at a time
NEIGHBORS = 3  # times the perplexity: beyond, a Gaussian of that perplexity has nothing left
ENTROPY_HALVINGS = 64


def neighbor_count(perplexity: float, most: int) -> int:
    """How many neighbours matter."""
    return max(1, min(most, int(NEIGHBORS * perplexity + 1)))


def conditional(squared: Array, perplexity: float) -> Array:
    """From squared distances (n, k) to k others the affinities p_{j|i}, in place of them.

    >>> conditional(np.array([[0.0, 1.0, 1.0]]), 3.0).round(2)
    array([[0.33, 0.33, 0.33]])
    """
    n, k = squared.shape
    edges = np.unique(np.append(np.arange(0, n, max(1, AFFINITY_NUMBERS // k)), n))
    target = float(np.log(perplexity))
    share_pieces(len(edges) - 1, lambda turn: calibrate_pass(turn, edges, target, squared))
    return squared


def joint(values: Array, rows: Array, n: int) -> Any:
    """The symmetric affinities (n, n) as a sparse matrix, which sum to 1, from those of k neighbours (n, k)."""
    C = sp.csr_array((values.ravel(), rows.ravel(), np.arange(0, rows.size + 1, rows.shape[1])), shape=(n, n))
    P = (C + C.T).tocsr()
    P.sum_duplicates()
    P.data /= P.data.sum()
    P.eliminate_zeros()
    return P


def joint_dense(D: Array, perplexity: float) -> Array:
    """The symmetric affinities (n, n) of all pairs from a table of distances."""
    n = len(D)
    # Without the diagonal, the rest of each row in line: of n + 1 numbers behind the first, all but the last.
    others = np.ascontiguousarray(D.ravel()[1:].reshape(n - 1, n + 1)[:, :-1]).reshape(n, n - 1)
    others /= max(float(others.max()), 1e-300)
    C = np.zeros(n * n)
    C[1:].reshape(n - 1, n + 1)[:, :-1] = conditional(np.square(others, out=others), perplexity).reshape(n - 1, n)
    P = C.reshape(n, n)
    P = P + P.T
    P /= P.sum()
    return P


def joint_table(D: Any, perplexity: float) -> Any:
    """The symmetric affinities (n, n) of all pairs from a table of squared distances, on any device, in tiles."""
    xp, n = namespace(D), D.shape[0]
    P, tile = xp.zeros_like(D), max(1, TILE_NUMBERS // n)
    for a in range(0, n, tile):
        P[a : a + tile] = _halved(xp, D[a : a + tile], a, perplexity)
    P = P + P.T
    return P / xp.sum(P)


def _halved(xp: Any, D: Any, first: int, perplexity: float) -> Any:
    """Affinities of some rows by halving intervals of the logarithm of β, all rows at once."""
    rows = xp.arange(D.shape[0], device=D.device)
    D = xp.asarray(D, copy=True)
    D[rows, first + rows] = xp.inf
    D = D - xp.min(D, axis=1, keepdims=True)
    others = xp.isfinite(D)
    plain = xp.where(others, D, xp.zeros_like(D))
    unit = xp.sum(plain, axis=1, keepdims=True) / (D.shape[1] - 1)
    plain = plain / xp.where(unit > 0, unit, xp.ones_like(unit))
    low, high = xp.full_like(unit, -40.0), xp.full_like(unit, 40.0)
    E = xp.zeros_like(D)
    for _ in range(ENTROPY_HALVINGS):
        a = 0.5 * (low + high)
        E = xp.where(others, xp.exp(-xp.exp(a) * plain), xp.zeros_like(D))
        s = xp.sum(E, axis=1, keepdims=True)
        wide = xp.log(s) + xp.exp(a) * xp.sum(E * plain, axis=1, keepdims=True) / s > float(np.log(perplexity))
        low, high = xp.where(wide, a, low), xp.where(wide, high, a)
    return E / xp.sum(E, axis=1, keepdims=True)
