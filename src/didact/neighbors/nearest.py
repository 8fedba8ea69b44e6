"""Nearest neighbours without a target: the k nearest rows of a query, and all rows within a radius of it."""

from typing import Any

from didact.core.parameters import at_least_or_infinite, attr, none, param, whole
from didact.neighbors.base import KNeighborsQueries, RadiusQueries, _Neighbors, _Search


class NearestNeighbors(KNeighborsQueries, RadiusQueries, _Search, _Neighbors):
    r"""Search for the training rows that are nearest to given rows, exactly.

    .. math:: d(a, b) = \Big(\sum_j w_j |a_j - b_j|^p\Big)^{1/p}

    or any other distance. With few columns a k-d tree is searched, O(log n) per query at best; with many, all distances
    are bounded by a matrix product in single precision, O(n p) per query, and those of the candidates computed exactly.

    Notes
    -----
    Neighbours are sorted by distance, ties by row number, which also decides which of several tied rows are among the k
    nearest. The answer depends neither on `algorithm` nor on the number of threads. Missing values are refused, except
    under "gower", which leaves out the columns in which either row has one. Sparse rows are searched by products of
    blocks. "kernel" is the distance between images under a kernel's feature map.

    References
    ----------
    Bentley, J. L. (1975). Multidimensional binary search trees used for associative searching.
    doi:10.1145/361002.361007

    Examples
    --------
    >>> from didact.neighbors import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, rows = model.kneighbors([[0.9]])
    >>> rows
    array([[1, 0]])
    >>> distances.round(2)
    array([[0.1, 0.9]])
    """

    n_neighbors: int | None = param(
        5, [whole(1), none], "The number of neighbours that `kneighbors` finds; None: each call says it."
    )
    radius: float | None = param(
        1.0,
        [at_least_or_infinite(0), none],
        "The distance within which `radius_neighbors` finds all rows; None: each call says it.",
    )

    _attrs = [attr("n_samples_fit_", "int", "The number of training rows.")]

    _test_params = [{}, {"algorithm": "brute"}, {"metric": "manhattan", "leaf_size": 3}]

    _test_skips = {
        "collections/queries": "two arrays come back, which a Dask array cannot hold; of Batches they come as pairs",
        "pipeline": "a pipeline passes on predict and transform, and no kneighbors",
    }

    def fit(self, X: Any, y: Any = None) -> Any:
        """Index the rows X; y is ignored."""
        self._index_rows(X)
        return self
