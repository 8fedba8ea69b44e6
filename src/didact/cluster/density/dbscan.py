r"""DBSCAN: clusters are what hangs together of the rows that have many others near them.

.. math:: \text{core}(i) \iff \sum_{j:\,d(x_i,x_j)\le\varepsilon} w_j \ge \text{min\_samples}

1. Cores are found by the weight within ε of each row, its own included.
2. Cores within ε of each other are of one cluster: the components of a graph, found by joining sets.
3. Another row within ε of a core belongs to the border of its cluster, of several to the first; all others are noise.

Ester, Kriegel, Sander, Xu (1996), KDD-96, 226-231; Schubert, Sander, Ester, Kriegel, Xu (2017), DBSCAN revisited,
revisited, doi:10.1145/3068335.
"""

from typing import Any

import numpy as np

from didact.cluster.density.distances import ORDERED, _Distances, power_param
from didact.cluster.words import metric_param
from didact.core.parameters import above, attr, one_of, param, whole
from didact.core.threads import parallel_take
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.neighbors.all_pairs import metric_params_param
from didact.engines.neighbors.dense.cores import dense_clusters


class DBSCAN(_Distances):
    r"""Clusters of any shape: rows with `min_samples` others near them that hang together; the rest is noise.

    .. math:: \text{core}(i) \iff \sum_{j:\,d(x_i,x_j)\le\varepsilon} w_j \ge \text{min\_samples},\qquad
        i\sim j \iff d(x_i,x_j)\le\varepsilon

    The number of clusters is found, not given. A sample weight counts a row so many times: one of weight
    `min_samples` is a core by itself. A row of weight 0 counts for no other, but can be a core or lie at a border.

    Notes
    -----
    Cost: with distances that are summed column by column (Minkowski's and their like) a search in a k-d tree for each
    row in a sparse place, and for each group of rows in a crowded one; with others a search in a ball tree, or all
    pairs. No list of all neighbours is made: memory is that of the rows and a few numbers for each. Rows may be
    sparse, and distances given as a square matrix or a sparse one (metric="precomputed"), in which pairs that are not
    stored are far apart. The answer is that of scikit-learn, whatever the number of threads. Shape of computation:
    pairs.

    References
    ----------
    Ester, Kriegel, Sander, Xu (1996), KDD-96, 226-231; Schubert, Sander, Ester, Kriegel, Xu (2017),
    doi:10.1145/3068335.

    Examples
    --------
    >>> from didact.cluster import DBSCAN
    >>> X = [[1.0, 2.0], [2.0, 2.0], [2.0, 3.0], [8.0, 7.0], [8.0, 8.0], [25.0, 80.0]]
    >>> DBSCAN(eps=3, min_samples=2).fit(X).labels_
    array([ 0,  0,  0,  1,  1, -1])
    """

    eps: float = param(0.5, above(0), "The largest distance ε of two rows that are near each other.")
    min_samples: int = param(5, whole(1), "The weight near a row, its own included, that makes it a core.")
    metric: Any = metric_param()
    metric_params: Any = metric_params_param()
    algorithm: str = param(
        "auto",
        one_of("auto", "ball_tree", "kd_tree", "brute"),
        "How neighbours are found: 'auto' chooses by the metric; the answer is the same.",
    )
    leaf_size: int = param(30, whole(1), "The most rows in a leaf of the tree; a matter of speed alone.")
    p: Any = power_param()

    _attrs = [
        attr("labels_", "(n_samples,)", "The cluster of each row; -1 is noise."),
        attr("core_sample_indices_", "(n_core_samples,)", "The numbers of the cores."),
        attr("components_", "(n_core_samples, n_features)", "The cores."),
    ]

    _test_params = [{"eps": 1.0, "min_samples": 3}, {"eps": 1.0, "min_samples": 3, "algorithm": "ball_tree"}]
    _test_skips = {
        "row_order": ORDERED,
        "check_sample_weight_equivalence_on_dense_data:eps": ORDERED,
        "check_sample_weight_equivalence_on_sparse_data:eps": ORDERED,
        "weight_scale": "min_samples is a weight, as in scikit-learn: weights are compared with it as they are.",
        "weights_equal_repetition/repeated": "As in scikit-learn, a row of weight 0 near enough others is a core.",
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "DBSCAN":
        """Find the clusters of rows X; sample_weight counts rows, y is not used."""
        rows, w, self._distance = self._checked(X, sample_weight)
        how = self.algorithm, self.leaf_size
        core, self.labels_ = dense_clusters(rows, self._distance, self.eps, self.min_samples, w, *how)
        self.core_sample_indices_ = np.flatnonzero(core)
        self.components_ = parallel_take(rows, self.core_sample_indices_)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """The cluster of each of the rows, -1 for noise."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> Any:
        """The cluster of each row's nearest core, -1 where that is farther away than ε."""
        cores = self._after_fit().core_sample_indices_
        return self._labelled(X, self.components_, cores, self.labels_[cores], self.eps)


@entrance()
def dbscan(
    X: Any, eps: float = 0.5, *, min_samples: int = 5, metric: Any = "minkowski", metric_params: Any = None,
    algorithm: str = "auto", leaf_size: int = 30, p: Any = 2, sample_weight: Any = None, n_jobs: int | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    r"""The cores and the labels of `DBSCAN`: :math:`\text{core}(i) \iff \sum_{d(x_i,x_j)\le\varepsilon} w_j \ge m`.

    Parameters
    ----------
    X : table of rows, or matrix of distances
        The rows; with metric="precomputed" their distances, dense or sparse.
    eps, min_samples, metric, metric_params, algorithm, leaf_size, p, n_jobs
        As in `DBSCAN`.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts.

    Returns
    -------
    core_samples : array
        The numbers of the cores.
    labels : array of shape (n_samples,)
        The cluster of each row; -1 is noise.

    Notes
    -----
    Cost: that of `DBSCAN`.

    References
    ----------
    Ester, Kriegel, Sander, Xu (1996), KDD-96, 226-231; doi:10.1145/3068335.

    Examples
    --------
    >>> from didact.cluster import dbscan
    >>> dbscan([[0.0], [1.0], [2.0], [9.0]], eps=1.0, min_samples=3)
    (array([1]), array([ 0,  0,  0, -1]))
    """
    model: Any = DBSCAN(
        eps=eps, min_samples=min_samples, metric=metric, metric_params=metric_params, algorithm=algorithm,
        leaf_size=leaf_size, p=p, n_jobs=n_jobs,
    )  # fmt: skip
    model.fit(X, sample_weight=sample_weight)
    return model.core_sample_indices_, model.labels_
