"""What trees of clusters share: cuts by number or distance, and a picture."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin

from didact.core.errors import InputError, ParameterError, users_level
from didact.core.estimator import Estimator
from didact.core.parameters import attr
from didact.core.typing import Array
from didact.engines.linkage.trees import cut

CUTS = "Exactly one of n_clusters and distance_threshold"


def refuse_one_row(rows: Array) -> None:
    """A tree has two leaves at least."""
    if len(rows) < 2:
        raise InputError(
            f"Found array with {len(rows)} sample(s) (shape={rows.shape}) while a minimum of 2 is required: "
            "there is nothing to merge or to divide."
        )


class _Hierarchy(ClusterMixin, Estimator):
    """A model with `linkage_`, a tree of clusters. Abstract."""

    _attrs = [
        attr("n_clusters_", "int", "Number of clusters."),
        attr("labels_", "(n_samples,)", "The cluster of each row."),
        attr("linkage_", "(n_leaves - 1, 4)", "SciPy's linkage matrix: two clusters, their distance, number of rows."),
        attr("n_leaves_", "int", "Leaves of the tree."),
    ]

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Fit, and the cluster of each of the same rows."""
        return self.fit(X, y).labels_

    def cut(self, n_clusters: int | None = None, distance_threshold: float | None = None) -> Array:
        """The clusters of the fitted rows at another number of clusters or distance; the tree stays as it is.

        Numbers are those that `labels_` would have after a fit with these parameters.
        """
        Z = self._after_fit().linkage_
        n = len(Z) + 1
        if (n_clusters is None) == (distance_threshold is None):
            raise ParameterError(f"{CUTS} says where to cut: give one of them.")
        count = n_clusters if n_clusters is not None else 1 + np.count_nonzero(Z[:, 2] >= distance_threshold)
        if not 1 <= count <= n:
            raise ParameterError(
                f"Cannot extract more clusters than samples: {count} clusters were given for a tree with {n} leaves."
                if count > n
                else f"A tree is cut into at least one cluster: n_clusters={count}."
            )
        if n_clusters is not None and count > 1 and Z[n - count, 2] == 0.0:
            warnings.warn(
                f"n_clusters={count} is more than the number of distinct rows: clusters at distance 0 from each other "
                "were kept apart. Choose fewer.",
                UserWarning,
                stacklevel=users_level(),
            )
        return self._rows_of(cut(Z[:, :2].astype(np.int64), n, int(count)))

    def _rows_of(self, leaves: Array) -> Array:
        """What holds for the leaves, for the rows."""
        return leaves

    def plot_dendrogram(self, names: Any = None, leaves: int = 40, ax: Any = None) -> Any:
        """The tree as a Matplotlib figure, coloured by cluster; of larger trees the last merges, as many as `leaves`.

        `names` are those of the rows. Where a leaf stands for several rows, it says how many.
        """
        from didact.plot.dendrogram import dendrogram

        if self._after_fit().n_leaves_ < 2:
            raise ParameterError("The tree has a single leaf, and there is nothing to draw: fit more clusters.")
        clusters = cut(self.linkage_[:, :2].astype(np.int64), self.n_leaves_, self.n_clusters_)
        return dendrogram(self.linkage_, self.n_clusters_, names, leaves, ax, clusters)
