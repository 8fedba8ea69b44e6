r"""The bandwidth of a mean shift from the data, and starts on a grid.

.. math:: h = \frac1n\sum_i d_{(k)}(x_i),\qquad k = \lfloor q n\rfloor

the mean distance of a row from its k-th nearest, itself the first.

Comaniciu, Meer (2002), doi:10.1109/34.1000236.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from didact.core.backend import row_weights
from didact.core.errors import users_level
from didact.core.parameters import at_least, between, none, whole
from didact.core.rows.gather import dense
from didact.core.threads import parallel_map, threads_for
from didact.core.typing import Array
from didact.core.validation import given_rows
from didact.core.validation.entrance import entrance
from didact.engines.neighbors.tables import block_edges, tables
from didact.engines.neighbors.tuning import TABLE_QUERIES
from didact.parts.distances import Euclidean


def mean_reach(X: Array, w: Array | None, quantile: float) -> float:
    """The mean, over the rows, of the distance within which this share of all rows lies, the row itself included.

    >>> mean_reach(np.array([[0.0], [1.0], [5.0]]), None, 0.67), mean_reach(np.array([[0.0], [1.0]]), [1, 2], 0.67)
    (2.0, 0.3333333333333333)
    """
    rows = np.ascontiguousarray(X, np.float64)
    share = row_weights(w, len(rows))
    k = max(int(share.sum() * quantile), 1)

    def piece(edges: tuple[int, int]) -> float:
        here = slice(*edges)
        D = np.concatenate([D for _, D in tables(Euclidean(), rows[here], rows)], axis=1)
        if w is None:
            return float(np.partition(D, k - 1, axis=1)[:, k - 1].sum())
        order = np.argsort(D, axis=1, kind="stable")
        last = (np.cumsum(share[order], axis=1) < k * (1.0 - 1e-12)).sum(axis=1)
        at = order[np.arange(len(D)), np.minimum(last, len(rows) - 1)]
        return float(share[here] @ D[np.arange(len(D)), at])

    return float(np.sum(parallel_map(piece, block_edges(len(rows), TABLE_QUERIES))) / share.sum())


@entrance(quantile=between(0, 1), n_samples=[whole(1), none], n_jobs=[int, none])
def estimate_bandwidth(
    X: Any, *, quantile: float = 0.3, n_samples: int | None = None, random_state: Any = 0, n_jobs: int | None = None
) -> Any:
    r"""A bandwidth for `MeanShift`: :math:`h = \frac1n\sum_i d_{(k)}(x_i)` with k = ⌊quantile · n⌋.

    Parameters
    ----------
    X : table of rows
        The rows.
    quantile : float, default=0.3
        The share of the rows that a window is to hold; 0.5: the median of all distances of a row.
    n_samples : int, optional
        How many rows are drawn for it; None: all.
    random_state : int, RandomState or None, default=0
        Seed of the draw.
    n_jobs : int, optional
        Most threads.

    Returns
    -------
    float
        The bandwidth.

    Notes
    -----
    Cost: n² distances; draw some thousand rows from a larger table.

    References
    ----------
    Comaniciu, Meer (2002), doi:10.1109/34.1000236.

    Examples
    --------
    >>> from didact.cluster import estimate_bandwidth
    >>> X = [[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]]
    >>> round(float(estimate_bandwidth(X, quantile=0.5)), 2)
    1.62
    """
    X = check_array(X)
    if n_samples is not None:
        X = X[check_random_state(random_state).permutation(len(X))[:n_samples]]
    with threads_for(n_jobs):
        return np.float64(mean_reach(X, None, quantile))


@entrance(bin_size=at_least(0), min_bin_freq=at_least(0))
def get_bin_seeds(X: Any, bin_size: float, min_bin_freq: float = 1) -> Any:
    r"""Starts for `MeanShift`: the points of a grid, :math:`b\,[x/b]`, that have enough rows next to them.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows.
    bin_size : float
        Distance b of the points of the grid; 0: the rows themselves are returned.
    min_bin_freq : int, default=1
        The least number of rows to which a point is the nearest one.

    Returns
    -------
    array of shape (n_bins, n_features)
        The points; the rows themselves, with a warning, if there are as many.

    Notes
    -----
    Cost: n log n.

    References
    ----------
    Comaniciu, Meer (2002), doi:10.1109/34.1000236.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.cluster import get_bin_seeds
    >>> get_bin_seeds(np.array([[0.9], [1.1], [1.2], [3.8]]), 1.0).tolist()
    [[1.0], [4.0]]
    """
    return bin_seeds(dense(given_rows(X)), None, bin_size, min_bin_freq)


def bin_seeds(X: Any, w: Array | None, bin_size: float, least: float) -> Any:
    """The points of the grid that stand for rows of enough weight."""
    if bin_size == 0:
        return X
    cells, place = np.unique(np.round(np.asarray(X) / bin_size), axis=0, return_inverse=True)
    seeds = cells[np.bincount(place.ravel(), w, len(cells)) >= least]
    if len(seeds) == len(X):
        sentence = f"Binning data failed with provided bin_size={bin_size:f}, using data points as seeds."
        warnings.warn(sentence, stacklevel=users_level())
        return X
    return seeds * bin_size
