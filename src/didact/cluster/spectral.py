r"""Spectral clustering: rows cut into groups such that little affinity is lost between them (normalised cut).

1. Affinities of the rows: a kernel, nearest neighbours, given ones, or a function's.
2. The eigenvectors of the graph's Laplacian with the smallest eigenvalues (`engines/spectral/graph`).
3. Labels from these coordinates: k-means, or the rotation that brings them nearest to labels, or pivots of a QR
   factorisation.

Ng, Jordan, Weiss (2001), NIPS 14; von Luxburg (2007), doi:10.1007/s11222-007-9033-z.
"""

import warnings
from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import ClusterMixin

from didact.cluster.base import refuse_few, warn_of_few
from didact.cluster.kmeans import k_means
from didact.core.backend import is_sparse, local, to_numpy
from didact.core.errors import users_level
from didact.core.estimator import Estimator
from didact.core.parameters import at_least, attr, is_callable, is_precomputed, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import first_seed, seed_sequence
from didact.core.rows.memory import require_finite
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.gram.pairwise import PAIRWISE_NAMES, pairwise_kernel
from didact.engines.gram.rows import gram_of
from didact.engines.spectral.graph import graph_embedding, nearest_affinity, refuse_affinities

SQUARE = (
    "The spectral clustering API has changed. ``fit``now constructs an affinity matrix from data. To use a custom "
    "affinity matrix, set ``affinity=precomputed``."
)
ROTATIONS = 20


def cluster_qr(vectors: Array) -> Array:
    """Labels from the coordinates (n, k) of a graph: the rows that pivoted QR chooses stand for a cluster each.

    Damle, Minden, Ying (2019), doi:10.1093/imaiai/iay008.
    """
    pivots = linalg.qr(vectors.T, mode="r", pivoting=True)[1]
    left, _, right = linalg.svd(vectors[pivots[: vectors.shape[1]]].T)
    return np.asarray(np.abs(vectors @ (left @ right)).argmax(axis=1))


def discretize(vectors: Array, rng: np.random.Generator) -> Array:
    """Labels from the coordinates (n, k) of a graph: by turns the labels nearest to a rotation of the unit rows, and
    the rotation nearest to the labels.

    Yu, Shi (2003), doi:10.1109/ICCV.2003.1238361.
    """
    n, k = vectors.shape
    norms = np.linalg.norm(vectors, axis=0)
    V = vectors / np.where(norms > 0, norms, 1.0) * np.where(vectors[0] > 0, -1.0, 1.0)
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    V = V / np.where(lengths > 0, lengths, 1.0)
    # It begins with rows as orthogonal to each other as there are.
    turn, seen = np.zeros((k, k)), np.zeros(n)
    turn[:, 0] = V[rng.integers(n)]
    for j in range(1, k):
        seen += np.abs(V @ turn[:, j - 1])
        turn[:, j] = V[seen.argmin()]
    last = np.inf
    for _ in range(ROTATIONS + 1):
        labels = (V @ turn).argmax(axis=1)
        left, sizes, right = np.linalg.svd(np.eye(k)[labels].T @ V)
        cut = 2.0 * (n - sizes.sum())
        if abs(cut - last) < np.finfo(float).eps:
            break
        last, turn = cut, right.T @ left.T
    return np.asarray(labels)


def by_first_row(labels: Array) -> Array:
    """Labels numbered in the order of their first rows: eigenvectors of close eigenvalues turn with any rounding."""
    first, inverse = np.unique(labels, return_index=True, return_inverse=True)[1:]
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)


@entrance()
def spectral_clustering(
    affinity: Any, *, n_clusters: int = 8, n_components: int | None = None, eigen_solver: Any = None,
    random_state: Any = None, n_init: int = 10, eigen_tol: Any = "auto", assign_labels: str = "kmeans",
    verbose: bool = False,
) -> Array:  # fmt: skip
    """Labels of the nodes of a graph of these affinities, as `SpectralClustering` finds them.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.cluster import spectral_clustering
    >>> A = np.kron(np.eye(2), np.ones((3, 3))) + 0.01
    >>> labels = spectral_clustering(A, n_clusters=2, assign_labels="cluster_qr")
    >>> [len(set(labels[:3])), len(set(labels[3:])), labels[0] != labels[3]] == [1, 1, True]
    True
    """
    model = SpectralClustering(
        n_clusters=n_clusters, n_components=n_components, eigen_solver=eigen_solver, random_state=random_state,
        n_init=n_init, eigen_tol=eigen_tol, affinity="precomputed", assign_labels=assign_labels, verbose=verbose,
    )  # fmt: skip
    return np.asarray(model.fit(affinity).labels_)


class SpectralClustering(ClusterMixin, Estimator):
    r"""Clusters of a graph of affinities: groups that a cut separates at little cost.

    .. math:: \min_{C_1,\dots,C_K} \sum_k \frac{\sum_{i\in C_k, j\notin C_k} A_{ij}}{\sum_{i\in C_k} d_i},
        \quad d_i = \textstyle\sum_j A_{ij}

    The eigenvectors of the normalised Laplacian solve this problem with real numbers in the place of labels; k-means,
    a rotation, or a QR factorisation turn them into labels. Finds clusters of any shape that are connected by rows near
    each other.

    Notes
    -----
    Cost: n² affinities with a kernel, or a search of neighbours and one sparse factorisation with
    ``affinity="nearest_neighbors"``. Tensors are computed on their device with a kernel. Shape of computation: pairs.

    References
    ----------
    von Luxburg (2007), doi:10.1007/s11222-007-9033-z; Shi, Malik (2000), doi:10.1109/34.868688.

    Examples
    --------
    >>> from didact.cluster import SpectralClustering
    >>> X = [[1.0, 1.0], [2.0, 1.0], [1.0, 0.0], [4.0, 7.0], [3.0, 5.0], [3.0, 6.0]]
    >>> labels = SpectralClustering(n_clusters=2, random_state=0).fit(X).labels_
    >>> len(set(labels[:3])), len(set(labels[3:])), bool(labels[0] != labels[3])
    (1, 1, True)
    """

    n_clusters: int = param(8, whole(1), "Number of clusters.")
    eigen_solver: Any = param(
        None,
        [one_of("arpack", "lobpcg", "amg"), none],
        "No effect: the way goes by the size and the form of the graph, and all find the same vectors.",
    )
    n_components: Any = param(None, [whole(1), none], "Number of eigenvectors; None: as many as clusters.")
    random_state: Any = param(None, random_state, "Seed of Lanczos' iterations and of k-means or the rotation.")
    n_init: int = param(10, whole(1), "Runs of k-means; the best counts.")
    gamma: float = param(1.0, at_least(0), "γ of the kernels that have it: 'rbf' is exp(−γd²).")
    affinity: Any = param(
        "rbf",
        [one_of(*PAIRWISE_NAMES, "nearest_neighbors", "precomputed_nearest_neighbors"), is_callable],
        "Affinities: a kernel's name, a function of two rows, 'nearest_neighbors', 'precomputed' (X is square), or "
        "'precomputed_nearest_neighbors' (X holds distances).",
    )
    n_neighbors: int = param(10, whole(1), "Number of neighbours, the row itself included.")
    eigen_tol: Any = param(
        "auto", [at_least(0), one_of("auto")], "Relative accuracy of the eigenvalues; 'auto': that of the machine."
    )
    assign_labels: str = param("kmeans", one_of("kmeans", "discretize", "cluster_qr"), "How coordinates become labels.")
    degree: float = param(3, at_least(0), "Degree of the polynomial kernel.")
    coef0: float = param(1, Real, "Constant of the polynomial and the sigmoid kernel.")
    kernel_params: Any = param(None, [dict, none], "More parameters of a function of two rows.")

    _attrs = [
        attr("affinity_matrix_", "ndarray or sparse matrix of shape (n_samples, n_samples)", "The affinities."),
        attr("labels_", "(n_samples,)", "The number of each row's cluster."),
    ]

    _tensors = True
    _test_clusters = True
    _test_params = [
        {"n_clusters": 3, "random_state": 0, "gamma": 0.05},
        {"n_clusters": 3, "random_state": 0, "gamma": 0.05, "assign_labels": "cluster_qr"},
    ]

    def fit(self, X: Any, y: Any = None) -> "SpectralClustering":
        """Find the clusters of rows X; y is not used."""
        rows = self._rows(X, target="none").whole().X
        require_finite(rows, getattr(self, "feature_names_in_", None))
        refuse_few(rows, None, max(self.n_clusters, 2))
        with FitProgress(self, X=X):
            A = self._affinities(rows)
            self.affinity_matrix_ = A if is_sparse(A) else to_numpy(A)
            self.labels_ = self._labels(A)
        if not is_precomputed(self.affinity):
            warn_of_few(self, local(rows), None)
        return self

    def _affinities(self, X: Any) -> Any:
        n, p = X.shape
        if n == p and not is_precomputed(self.affinity):
            warnings.warn(SQUARE, UserWarning, stacklevel=users_level())
        if self.affinity == "precomputed":
            return X
        if isinstance(self.affinity, str) and self.affinity.endswith("nearest_neighbors"):
            return nearest_affinity(local(X), self.n_neighbors, is_precomputed(self.affinity))
        refuse_affinities(n)
        kernel = pairwise_kernel(self.affinity, self.gamma, self.degree, self.coef0, self.kernel_params, p)
        with np.errstate(all="ignore"):  # values that overflow are refused in a sentence
            return gram_of(kernel, X, X)

    def _labels(self, A: Any) -> Array:
        lanczos, draws = seed_sequence(self.random_state).spawn(2)
        tol = 0.0 if isinstance(self.eigen_tol, str) else float(self.eigen_tol)
        k = min(self.n_components or self.n_clusters, A.shape[0])
        maps = graph_embedding(A, k, drop_first=False, tol=tol, seed=first_seed(lanczos))
        maps = to_numpy(maps).astype(np.float64)
        if self.assign_labels == "cluster_qr":
            return by_first_row(cluster_qr(maps))
        if self.assign_labels == "discretize":
            return by_first_row(discretize(maps, np.random.default_rng(draws)))
        return by_first_row(k_means(maps, self.n_clusters, random_state=first_seed(draws), n_init=self.n_init)[1])
