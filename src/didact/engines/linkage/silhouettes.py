r"""Silhouettes: how much nearer a row is to its own cluster than to the nearest other one.

.. math:: s_i = \frac{b_i - a_i}{\max(a_i, b_i)},\quad a_i = \text{mean distance from the other rows of its cluster},
    \quad b_i = \min_{c \ne c_i} \text{mean distance from the rows of } c

and 0 for a row that is a cluster by itself. Distances come in tiles, each of which is multiplied with the indicators of
all clusters, of any number of clusterings at once. Cost: n² distances and n² times the number of clusters
multiply-adds; the memory of some tiles.

Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7.
"""

from typing import Any

import numpy as np

from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.linkage.tuning import SILHOUETTE_ROWS
from didact.engines.neighbors.tables import block_edges, compiled, tables
from didact.parts.distances import resized


def silhouettes(noun: Any, X: Array, clusterings: list[Array]) -> Array:
    """The silhouette of each row of X in each clustering, (m, n); noun None: X is a table of distances."""
    codes = [np.unique(labels, return_inverse=True)[1] for labels in clusterings]
    edges = np.cumsum([0, *(code.max() + 1 for code in codes)])
    members = np.zeros((len(X), edges[-1]))
    for first, code in zip(edges, codes, strict=False):
        members[np.arange(len(X)), first + code] = 1.0
    sizes, found = members.sum(axis=0), np.empty((len(codes), len(X)))
    noun = None if noun is None else resized(noun, X)
    rows = X if noun is None else noun.rows(X)

    def piece(ends: tuple[int, int]) -> None:
        here, sums = slice(*ends), np.zeros((ends[1] - ends[0], len(sizes)))
        if noun is None:
            sums = rows[here] @ members
        else:
            for first, D in tables(noun.inner, rows[here], rows):
                sums += noun.finish(D) @ members[first : first + D.shape[1]]
        for k, code in enumerate(codes):
            part = slice(edges[k], edges[k + 1])
            found[k, here] = _from_sums(sums[:, part], sizes[part], code[here])

    pieces = block_edges(len(X), SILHOUETTE_ROWS)
    if noun is None or compiled(noun.inner):
        parallel_map(piece, pieces)
    else:
        for ends in pieces:
            piece(ends)
    return found


def _from_sums(sums: Array, sizes: Array, own: Array) -> Array:
    """Silhouettes of rows from the sums of their distances to all clusters."""
    lines, alone = np.arange(len(own)), sizes[own] == 1
    within = sums[lines, own] / np.maximum(sizes[own] - 1, 1)
    means = sums / sizes
    means[lines, own] = np.inf
    other = means.min(axis=1)
    far = np.maximum(within, other)
    settled = alone | (far == 0) | ~np.isfinite(far)
    return np.where(settled, 0.0, (other - within) / np.where(settled, 1.0, far))
