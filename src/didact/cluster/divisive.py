r"""Divisive clustering: one cluster of all rows; the widest cluster is divided in two, again and again.

1. Which: the cluster with the largest diameter, or the largest sum of squares.
2. How: DIANA, where the row farthest from the others leaves, and those follow that are nearer to what left than to what
   stays; or k-means with two centres.

Kaufman, Rousseeuw (1990), doi:10.1002/9780470316801, chapter 6; Steinbach, Karypis, Kumar (2000), A comparison of
document clustering techniques, KDD workshop on text mining.
"""

from functools import partial
from typing import Any

import numpy as np

from didact.cluster.base import refuse_few, warn_of_equal_rows
from didact.cluster.hierarchy import CUTS, _Hierarchy, refuse_one_row
from didact.cluster.kmeans import KMeans
from didact.cluster.words import _Words, distance_of, metric_param, numbers_or_words, refuse_no_numbers
from didact.core.errors import InputError, ParameterError
from didact.core.overflow import to_unit
from didact.core.parameters import at_least, attr, is_bool, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.engines.linkage.division_loops import diameter
from didact.engines.linkage.divisions import divide_widest, splinter_group
from didact.engines.linkage.triangles import distance_triangle, lower_triangle
from didact.engines.neighbors.all_pairs import INFINITE_DISTANCE, metric_params_param, own_distances
from didact.parts.distances import Euclidean


def root_of_squares(X: Array, rows: Array) -> float:
    """√(2 Σ‖x − m‖²) of some rows with mean m: of two rows, their distance; of equal rows exactly 0."""
    near = X[rows] - X[rows[0]]
    near -= near.mean(axis=0)
    return float(np.sqrt(2.0 * np.einsum("ij,ij->", near, near)))


def two_means(X: Array, n_init: int, seeds: np.random.SeedSequence, rows: Array) -> Array:
    """Which rows leave a cluster, by k-means with two centres: those of the centre that has not the first row."""
    seed = int(seeds.spawn(1)[0].generate_state(1)[0] >> 1)
    labels = KMeans(2, n_init=n_init, random_state=seed).fit(X[rows]).labels_
    return np.asarray(labels != labels[0])


class DivisiveClustering(_Hierarchy, _Words):
    r"""Hierarchical clustering from the whole down: by splinter groups (DIANA) or by bisecting k-means.

    .. math:: \text{divide } \arg\max_C \max_{a,b\in C} d(a, b)\quad\text{or}\quad
        \arg\max_C \sum_{a\in C}\|a - m_C\|^2

    `linkage_` is the tree in SciPy's form; a merge has the width of the cluster that was divided as its height: the
    diameter, or :math:`\sqrt{2\sum\|a-m\|^2}`, which is the distance for two rows. Large clusters, found first, are
    usually better than those of agglomerative clustering, which finds small ones first.

    Notes
    -----
    Cost: DIANA keeps n²/2 distances in memory, and a division of m rows takes m² operations; k-means takes m p for each
    of its iterations. Identical rows are never divided. Rows must fit in memory, and have no weights. Shape of
    computation: pairs.

    References
    ----------
    Kaufman, Rousseeuw (1990), doi:10.1002/9780470316801.

    Examples
    --------
    >>> from didact.cluster import DivisiveClustering
    >>> model = DivisiveClustering(n_clusters=3).fit([[0.0], [1.0], [5.0], [6.0], [20.0]])
    >>> model.labels_.tolist(), model.linkage_[:, 2].tolist()
    ([0, 0, 2, 2, 1], [6.0, 20.0])
    """

    n_clusters: Any = param(2, [whole(1), none], "Number of clusters; None with `distance_threshold`.")
    metric: Any = metric_param()
    metric_params: Any = metric_params_param()
    split: str = param(
        "diana", one_of("diana", "kmeans"), "How a cluster is divided: a splinter group, or two centres."
    )
    choose: str = param(
        "auto",
        one_of("auto", "diameter", "inertia"),
        "Which cluster is divided: that of the largest diameter or sum of squares; 'auto': diameter for 'diana'.",
    )
    distance_threshold: Any = param(None, [at_least(0), none], "Clusters of a smaller width are not divided.")
    compute_full_tree: bool = param(False, is_bool, "Whether the tree goes on below the clusters, to single rows.")
    n_init: int = param(5, whole(1), "Starts of each k-means.")
    random_state: Any = param(None, random_state, "Seed of k-means.")

    _attrs = [attr("leaves_", "(n_samples,)", "The leaf of the tree that each row belongs to.")]

    _test_params = [{"n_clusters": 3}, {"n_clusters": 3, "split": "kmeans", "random_state": 0}]

    def fit(self, X: Any, y: Any = None) -> "DivisiveClustering":
        """Divide rows X; y is not used."""
        rows = numbers_or_words(self._rows(X, target="none").whole().X)
        self._refuse(rows)
        with FitProgress(self, X=X):
            Z, self.leaves_ = self._divide(rows)
        self.linkage_, self.n_leaves_ = Z, len(Z) + 1
        count = None if self.n_clusters is None else min(self.n_clusters, self.n_leaves_)
        self.labels_ = self.cut(count, self.distance_threshold)
        self.n_clusters_ = int(self.labels_.max()) + 1
        if self.n_clusters is not None:
            warn_of_equal_rows(self.labels_, self.n_clusters)
        return self

    def _refuse(self, rows: Array) -> None:
        """Refuse parameters that do not go together, and rows that cannot be divided."""
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ParameterError(f"{CUTS} has to be set, and the other needs to be None.")
        plain = self.metric in ("euclidean", "l2")
        if not plain and (self.split == "kmeans" or self.choose == "inertia"):
            raise ParameterError(
                f"split='kmeans' and choose='inertia' need means of rows, which metric={self.metric!r} has not: take "
                "the Euclidean metric, or split='diana' and choose='diameter'."
            )
        refuse_one_row(rows)
        refuse_few(rows, None, self.n_clusters or 1)
        refuse_no_numbers(rows, getattr(self, "feature_names_in_", None))

    def _divide(self, rows: Array) -> tuple[Array, Array]:
        """The tree of the rows, and the leaf of each."""
        scale, D = 0, np.empty(0)
        noun = None if self.metric == "precomputed" else distance_of(rows, self.metric, self.metric_params)
        if isinstance(noun, Euclidean):
            rows, scale = to_unit(rows)
        wide = self.choose == "diameter" or (self.choose == "auto" and self.split == "diana")
        if wide or self.split == "diana":
            refuse_square(len(rows), "take split='kmeans' and choose='inertia', which need no table of distances", 1)
            D = lower_triangle(own_distances(rows)) if noun is None else distance_triangle(noun, rows)
            if not np.isfinite(D).all():
                raise InputError(INFINITE_DISTANCE)
        seeds = seed_sequence(self.random_state)
        split = partial(splinter_group, D) if self.split == "diana" else partial(two_means, rows, self.n_init, seeds)
        width = partial(diameter, D) if wide else partial(root_of_squares, rows)
        most = len(rows) if self.compute_full_tree or self.n_clusters is None else self.n_clusters
        least = 0.0 if self.compute_full_tree else np.ldexp(float(self.distance_threshold or 0.0), -scale)
        Z, leaves = divide_widest(len(rows), width, split, most, least)
        Z[:, 2] = np.ldexp(Z[:, 2], scale)
        return Z, leaves

    def _rows_of(self, leaves: Array) -> Array:
        return np.asarray(leaves[self.leaves_])
