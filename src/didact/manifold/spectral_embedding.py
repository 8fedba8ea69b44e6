r"""Laplacian eigenmaps: coordinates that vary little between rows of high affinity.

.. math:: \min_{Z}\ \tfrac12\sum_{ij} A_{ij}\|z_i - z_j\|^2 \quad\text{with}\quad Z^TDZ = I,\ Z^TD1 = 0

1. Affinities of the rows: those of the nearest neighbours, or of all within a radius, a Gaussian kernel, given ones,
   or a function's.
2. The eigenvectors of the graph's Laplacian of smallest eigenvalues, without the first, which is constant.

Belkin, Niyogi (2003), doi:10.1162/089976603321780317.
"""

from typing import Any

import numpy as np

from didact.core.backend import float_type, is_sparse, is_tensor, like, local, to_numpy
from didact.core.estimator import Estimator
from didact.core.parameters import (
    at_least,
    at_least_or_infinite,
    attr,
    is_callable,
    is_precomputed,
    none,
    one_of,
    param,
    random_state,
    whole,
)
from didact.core.progress import FitProgress
from didact.core.random import first_seed
from didact.core.typing import Array
from didact.core.validation import given_rows
from didact.core.validation.entrance import entrance
from didact.engines.gram.pairwise import pairwise_kernel
from didact.engines.gram.rows import gram_of
from didact.engines.spectral.graph import ball_affinity, graph_embedding, nearest_affinity, refuse_affinities
from didact.manifold.base import SAME_VECTORS, finite_rows, refuse_both


@entrance(n_components=whole(1))
def spectral_embedding(
    adjacency: Any, *, n_components: int = 8, eigen_solver: Any = None, random_state: Any = None,
    eigen_tol: Any = "auto", norm_laplacian: bool = True, drop_first: bool = True,
) -> Array:  # fmt: skip
    r"""Coordinates of the nodes of a graph: eigenvectors of its Laplacian with the smallest eigenvalues.

    Parameters
    ----------
    adjacency : (n, n), array or sparse matrix
        Affinities of all pairs of nodes, symmetric, at least 0.
    n_components : int, default=8
        Number of coordinates.
    eigen_solver : {"arpack", "lobpcg", "amg"}, optional
        No effect: all find the same vectors.
    random_state : int, RandomState instance or None, default=None
        Seed of the start of Lanczos' iterations.
    eigen_tol : float or "auto", default="auto"
        Relative accuracy of the eigenvalues; "auto": that of the machine.
    norm_laplacian : bool, default=True
        Whether to normalise the Laplacian by the degrees.
    drop_first : bool, default=True
        Whether to leave out the first vector, which is constant.

    Returns
    -------
    ndarray of shape (n, n_components)
        The coordinates.

    Notes
    -----
    Cost: one factorisation of a sparse Laplacian, or some dozen products of a dense one with a vector for each
    coordinate.

    References
    ----------
    von Luxburg (2007), doi:10.1007/s11222-007-9033-z.

    Examples
    --------
    >>> from didact.manifold import spectral_embedding
    >>> path = [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> spectral_embedding(path, n_components=1).round(3).ravel().tolist()
    [0.707, 0.0, -0.707]
    """
    A = given_rows(adjacency, "adjacency")
    tol, seed = accuracy(eigen_tol), first_seed(random_state)
    found = graph_embedding(A, n_components, normed=norm_laplacian, drop_first=drop_first, tol=tol, seed=seed)
    return found if is_tensor(found) else found.astype(float_type(A), copy=False)


def accuracy(eigen_tol: Any) -> float:
    """The tolerance of an eigensolver, of a parameter that may be "auto"."""
    return 0.0 if isinstance(eigen_tol, str) else float(eigen_tol)


class SpectralEmbedding(Estimator):
    r"""Laplacian eigenmaps: rows of high affinity come to lie near each other.

    .. math:: \min_{Z}\ \tfrac12\sum_{ij} A_{ij}\|z_i - z_j\|^2 \quad\text{with}\quad Z^TDZ = I

    Coordinates are the eigenvectors of the normalised graph Laplacian, but for the first, which is constant. They exist
    for the fitted rows alone.

    Notes
    -----
    Cost: a search of neighbours and one sparse factorisation; n² affinities with ``affinity="rbf"``. Neighbours are
    found among sparse rows, too. Tensors are computed on their device with ``affinity="rbf"`` and
    ``affinity="precomputed"``. Shape of computation: pairs.

    References
    ----------
    Belkin, Niyogi (2003), doi:10.1162/089976603321780317.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.manifold import SpectralEmbedding
    >>> X = np.arange(12.0)[:, None]
    >>> z = SpectralEmbedding(n_components=1, n_neighbors=3).fit_transform(X)[:, 0]
    >>> bool((np.diff(z) > 0).all() or (np.diff(z) < 0).all())
    True
    """

    n_components: int = param(2, whole(1), "Number of coordinates.")
    affinity: Any = param(
        "nearest_neighbors",
        [one_of("nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors"), is_callable],
        "Affinities: of nearest neighbours, exp(−γd²), given ones (X is square), of nearest neighbours by given "
        "distances, or a function of X.",
    )
    gamma: Any = param(None, [at_least(0), none], "γ of 'rbf'; None: one over the number of columns.")
    random_state: Any = param(None, random_state, "Seed of the start of Lanczos' iterations.")
    eigen_solver: Any = param(None, [one_of("arpack", "lobpcg", "amg"), none], SAME_VECTORS)
    eigen_tol: Any = param(
        "auto", [at_least(0), one_of("auto")], "Relative accuracy of the eigenvalues; 'auto': that of the machine."
    )
    n_neighbors: Any = param(
        None,
        [whole(1), none],
        "Number of neighbours, the row itself included; None: a tenth of the rows, or by radius.",
    )
    radius: Any = param(None, [at_least_or_infinite(0), none], "Radius of a neighbourhood, with n_neighbors=None.")

    _attrs = [
        attr("embedding_", "(n_samples, n_components)", "Coordinates of the rows."),
        attr("affinity_matrix_", "ndarray or sparse matrix of shape (n_samples, n_samples)", "The affinities."),
        attr("n_neighbors_", "int", "Number of neighbours, of 'nearest_neighbors' without a radius.", "_counts"),
        attr("gamma_", "float", "γ.", "affinity='rbf'"),
    ]

    _tensors = True
    _test_params = [{"n_neighbors": 8, "random_state": 0}, {"affinity": "rbf", "gamma": 0.2, "random_state": 0}]

    def fit(self, X: Any, y: Any = None) -> "SpectralEmbedding":
        """Find the coordinates of rows X; y is not used."""
        rows = finite_rows(self, X)
        with FitProgress(self, X=X):
            A, tol, seed = self._affinities(rows), accuracy(self.eigen_tol), first_seed(self.random_state)
            found = graph_embedding(A, min(self.n_components, rows.shape[0] - 1), tol=tol, seed=seed)
        self.affinity_matrix_ = A if is_sparse(A) else to_numpy(A)
        self.embedding_ = to_numpy(found).astype(float_type(rows), copy=False)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and the coordinates of the same rows."""
        return like(self.fit(X).embedding_, X)

    def _counts(self) -> bool:
        """Whether neighbours are found by their number."""
        return self.affinity == "nearest_neighbors" and self.radius is None

    def _called(self, X: Any) -> Any:
        """What the user's function gives: a table of all pairs, for which there must be room, or a sparse matrix."""
        try:
            return self.affinity(X)
        except MemoryError:
            refuse_affinities(X.shape[0])
            raise

    def _affinities(self, X: Any) -> Any:
        if callable(self.affinity):
            return given_rows(self._called(X), "What affinity returned")
        if self.affinity == "precomputed":
            return X
        if self.affinity == "rbf":
            refuse_affinities(X.shape[0])
            self.gamma_ = 1.0 / X.shape[1] if self.gamma is None else float(self.gamma)
            with np.errstate(all="ignore"):  # values that overflow are refused in a sentence
                return gram_of(pairwise_kernel("rbf", self.gamma_, 3, 1.0, None, X.shape[1]), X, X)
        if self.radius is not None:
            refuse_both(self)
            return ball_affinity(local(X), float(self.radius), is_precomputed(self.affinity))
        k = max(X.shape[0] // 10, 1) if self.n_neighbors is None else self.n_neighbors
        if self.affinity == "nearest_neighbors":
            self.n_neighbors_ = k
        return nearest_affinity(local(X), k, is_precomputed(self.affinity))
