"""The start of k-means as a function: `kmeans_plusplus`."""

from typing import Any

import numpy as np

from didact.cluster.base import refuse_few
from didact.core.backend import is_sparse, local, to_numpy
from didact.core.errors import InputError
from didact.core.parameters import none, whole
from didact.core.random import seed_sequence
from didact.core.rows.memory import require_finite
from didact.core.typing import Array
from didact.core.validation import given_rows
from didact.core.validation.entrance import entrance
from didact.engines.centroids.starts import plus_plus_rows


@entrance(n_clusters=whole(1), n_local_trials=[whole(1), none])
def kmeans_plusplus(
    X: Any, n_clusters: int, *, sample_weight: Any = None, x_squared_norms: Any = None, random_state: Any = None,
    n_local_trials: int | None = None,
) -> tuple[Any, Array]:  # fmt: skip
    """Rows drawn by k-means++ as initial centres, and their numbers.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows.
    n_clusters : int
        Number of centres.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    x_squared_norms : array-like, default=None
        No effect: they are not needed.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draws.
    n_local_trials : int or None, default=None
        Draws of which the best is taken: 1 is plain k-means++, None 2 + ln K.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        The centres.
    indices : ndarray of shape (n_clusters,)
        The numbers of their rows.

    Notes
    -----
    Cost: at most n p K trials multiply-adds. Arthur, Vassilvitskii (2007), SODA.

    Examples
    --------
    >>> from didact.cluster import kmeans_plusplus
    >>> centers, rows = kmeans_plusplus([[0.0], [0.1], [9.0], [9.1]], 2, random_state=0)
    >>> sorted((rows // 2).tolist())
    [0, 1]
    """
    X = local(given_rows(X))
    require_finite(X, None)
    w = None if sample_weight is None else np.asarray(to_numpy(sample_weight), np.float64)
    if w is not None and (w.shape != (X.shape[0],) or not (w >= 0).all()):
        raise InputError("sample_weight must hold a number of at least 0 for each row.")
    if x_squared_norms is not None and len(x_squared_norms) != X.shape[0]:
        given, n = len(x_squared_norms), X.shape[0]
        raise InputError(f"The length of x_squared_norms {given} should be equal to the length of n_samples {n}.")
    refuse_few(X, w, n_clusters)
    chosen = plus_plus_rows(X, w, n_clusters, np.random.default_rng(seed_sequence(random_state)), n_local_trials)
    return X[chosen].toarray() if is_sparse(X) else X[chosen], chosen
