r"""How far neighbours in an embedding are neighbours of the rows, too."""

from typing import Any

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.parameters import is_precomputed, whole
from didact.core.rows.gather import dense
from didact.core.rows.memory import require_finite
from didact.core.validation import given_rows
from didact.core.validation.entrance import entrance
from didact.engines.neighbors import build_index
from didact.engines.neighbors.all_pairs import distance_table
from didact.parts.distances import Euclidean, distance_named

TILE = 1 << 22  # distances at a time


@entrance(n_neighbors=whole(1))
def trustworthiness(X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean") -> float:
    r"""The trustworthiness of an embedding: 1 if all neighbours in it are neighbours of the rows.

    .. math:: T(k) = 1 - \frac{2}{nk(2n-3k-1)}\sum_i\sum_{j\in N_i}\max(0,\ r(i,j)-k)

    where :math:`N_i` are the k nearest rows of row i in the embedding and r(i, j) is the rank of row j among the
    neighbours of row i in X.

    Notes
    -----
    Cost: n² log n, a tile of rows at a time.

    References
    ----------
    Venna, Kaski (2001), doi:10.1007/3-540-44668-0_68.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.manifold import trustworthiness
    >>> X = np.arange(12.0)[:, None]
    >>> trustworthiness(X, 5.0 - 2.0 * X, n_neighbors=2)
    1.0
    """
    rows, places = dense(given_rows(X), np.float64), dense(given_rows(X_embedded, "X_embedded"), np.float64)
    n, k = len(rows), n_neighbors
    if len(places) != n:
        raise InputError(f"X has {n} rows and X_embedded {len(places)}: they must be the same rows.")
    if is_precomputed(metric) and rows.shape[1] != n:
        raise InputError(f"With metric='precomputed' X holds the distances of all pairs of rows, not {rows.shape}.")
    if k >= n / 2:
        raise ParameterError(f"n_neighbors ({k}) should be less than n_samples / 2 ({n / 2})")
    for table in (rows, places):
        require_finite(table, None)
    near = build_index(places, Euclidean()).nearest(None, k)[1]
    noun = None if is_precomputed(metric) else distance_named(metric, 2.0, None, rows)
    total, tile = 0, max(1, TILE // n)
    for a in range(0, n, tile):
        here = np.arange(a, min(a + tile, n))
        D = rows[here].copy() if noun is None else distance_table(noun, rows[here], rows)
        D[here - a, here] = np.inf
        ranks = np.empty(D.shape, np.int64)
        np.put_along_axis(ranks, np.argsort(D, axis=1, kind="stable"), np.arange(1, n + 1)[None, :], axis=1)
        total += int(np.maximum(np.take_along_axis(ranks, near[here], 1) - k, 0).sum())
    return 1.0 - total * 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))
