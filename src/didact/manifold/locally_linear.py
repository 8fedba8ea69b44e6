r"""Locally linear embedding: coordinates in which the relations of each row to its neighbours still hold.

1. The neighbours of each row, by number or by radius.
2. What each neighbourhood says of the coordinates, as a small matrix; their sum M (`engines/spectral/local`).
3. The vectors of the smallest eigenvalues of M, without the first, which is constant.

New rows become the same weighted means of their neighbours' coordinates that they are of the neighbours themselves.

Roweis, Saul (2000), doi:10.1126/science.290.5500.2323.
"""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.errors import InputError, ParameterError, users_level
from didact.core.overflow import refuse_extreme, too_large
from didact.core.parameters import at_least, at_least_or_infinite, attr, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import first_seed
from didact.core.rows.gather import dense
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.neighbors import Index, build_index
from didact.engines.spectral import local
from didact.engines.spectral.eigen import eigenpairs
from didact.engines.spectral.paths import parts_of
from didact.manifold.base import SAME_VECTORS, _Neighborhoods, finite_rows, in_type, neighborhood
from didact.parts.distances import Euclidean

IN_PARTS = (
    "The number of connected components of the neighbors graph is {} > 1: nothing says where they lie to each other, "
    "so that coordinates tell them apart instead of unrolling them. Increase the number of neighbors."
)
LARGEST = 1e145  # values with finite sums of products, also where eigenvalues of these are found
BESIDE = 1e-13  # of the largest entry of M: its smallest eigenvalues are near the rounding errors


def warn_of_parts(starts: Array, ends: Array) -> None:
    """Say that the graph of neighbours is not connected."""
    n = len(starts) - 1
    count, _ = parts_of(sp.csr_matrix((np.ones(len(ends)), ends, starts), (n, n)))
    if count > 1:
        warnings.warn(IN_PARTS.format(count), UserWarning, stacklevel=users_level())


def agreement(X: Array, starts: Array, ends: Array, model: Any) -> Any:
    """The matrix M of the model's method, once its neighbourhoods are known to be large enough."""
    d, least = model.n_components, int(np.diff(starts).min())
    needed = {"hessian": d * (d + 3) // 2 + 1, "modified": d, "ltsa": d}.get(model.method, 1)
    if least < needed:
        row = int(np.diff(starts).argmin())
        raise InputError(
            f"for method='{model.method}', n_neighbors must be greater than {needed - 1} "
            f"[n_components * (n_components + 3) / 2 with 'hessian'], and row {row} has {least} neighbours."
            if model.n_neighbors is not None
            else f"Row {row} has {least} neighbours within the radius {model.radius:g}, and method='{model.method}' "
            f"needs {needed}: enlarge the radius."
        )
    if model.method == "standard":
        return local.barycentric(X, starts, ends, model.reg)
    if model.method == "hessian":
        return local.hessians(X, starts, ends, d, model.hessian_tol)
    if model.method == "modified":
        return local.modified(X, starts, ends, d, model.modified_tol)
    return local.tangents(X, starts, ends, d)


def averaged(X: Any, index: Index, k: int | None, radius: float | None, reg: float, Z: Array) -> Array:
    """Coordinates of new rows: means of those of their neighbours, with the weights of the rows."""
    Q = dense(X, np.float64)
    if Z.ndim != 2 or len(Z) != index.n_rows:
        raise InputError("embedding_ makes no sense: it has not one row for each fitted row.")
    starts, ends, _ = neighborhood(index, Q, k, radius)
    weights = local.neighbor_weights(index.distance.rows(Q), index.rows, starts, ends, reg)
    return in_type(np.add.reduceat(weights[:, None] * Z[ends], starts[:-1], axis=0), X)


@entrance()
def locally_linear_embedding(
    X: Any, *, n_neighbors: int, n_components: int, reg: float = 1e-3, eigen_solver: str = "auto", tol: float = 1e-6,
    max_iter: int = 100, method: str = "standard", hessian_tol: float = 1e-4, modified_tol: float = 1e-12,
    random_state: Any = None, n_jobs: int | None = None,
) -> tuple[Array, float]:  # fmt: skip
    """Coordinates of rows and their error, as `LocallyLinearEmbedding` finds them.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.manifold import locally_linear_embedding
    >>> t = np.linspace(0.0, 3.0, 30)
    >>> z, error = locally_linear_embedding(np.c_[np.cos(t), np.sin(t)], n_neighbors=4, n_components=1)
    >>> bool((np.diff(z[:, 0]) > 0).all() or (np.diff(z[:, 0]) < 0).all())
    True
    """
    model = LocallyLinearEmbedding(
        n_neighbors=n_neighbors, n_components=n_components, reg=reg, eigen_solver=eigen_solver, tol=tol,
        max_iter=max_iter, method=method, hessian_tol=hessian_tol, modified_tol=modified_tol, random_state=random_state,
        n_jobs=n_jobs,
    ).fit(X)  # fmt: skip
    return model.embedding_, model.reconstruction_error_


class LocallyLinearEmbedding(_Neighborhoods):
    r"""Locally linear embedding: each row stays the weighted mean of its neighbours that it is in the data.

    .. math:: \min_{Z^TZ=I} \sum_i \|z_i - \textstyle\sum_j W_{ij}z_j\|^2, \quad
        W = \arg\min \sum_i \|x_i - \textstyle\sum_j W_{ij}x_j\|^2,\ \textstyle\sum_j W_{ij} = 1

    Neighbourhoods are the `n_neighbors` nearest rows, or all within `radius` (with ``n_neighbors=None``). The other
    methods keep local tangent spaces (``"ltsa"``), second derivatives (``"hessian"``) or several weights for each row
    (``"modified"``), which are steadier where the standard weights are not determined.

    Notes
    -----
    Cost: a search of neighbours, n(k²p + k³) for the weights on all threads, one sparse factorisation. With
    ``"hessian"`` only the columns of second derivatives count, as in the paper; scikit-learn takes all columns
    orthogonal to the tangent space, which is ``"ltsa"``. `nbrs_` is scikit-learn's object, made on request. Shape of
    computation: pairs.

    References
    ----------
    Roweis, Saul (2000), doi:10.1126/science.290.5500.2323; Donoho, Grimes (2003), doi:10.1073/pnas.1031596100; Zhang,
    Zha (2004), doi:10.1137/S1064827502419154; Zhang, Wang (2006), NIPS 19.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.manifold import LocallyLinearEmbedding
    >>> t = np.linspace(0.0, 3.0, 30)
    >>> z = LocallyLinearEmbedding(n_neighbors=4, n_components=1).fit_transform(np.c_[np.cos(t), np.sin(t)])
    >>> bool((np.diff(z[:, 0]) > 0).all() or (np.diff(z[:, 0]) < 0).all())
    True
    """

    n_neighbors: Any = param(5, [whole(1), none], "Number of neighbours of a row; None with a radius.")
    n_components: int = param(2, whole(1), "Number of coordinates.")
    reg: float = param(1e-3, at_least(0), "Share of the trace added to the diagonal when weights are solved for.")
    eigen_solver: str = param("auto", one_of("auto", "arpack", "dense"), SAME_VECTORS)
    tol: float = param(1e-6, at_least(0), "No effect: eigenvectors are found to the accuracy of the machine.")
    max_iter: int = param(100, whole(1), "No effect: iterations go on until the eigenvectors are found.")
    method: str = param("standard", one_of("standard", "hessian", "modified", "ltsa"), "What neighbourhoods keep.")
    hessian_tol: float = param(1e-4, at_least(0), "Sums of columns below this are not divided by, with 'hessian'.")
    modified_tol: float = param(1e-12, at_least(0), "Reflections shorter than this are left out, with 'modified'.")
    neighbors_algorithm: str = param(
        "auto", one_of("auto", "brute", "kd_tree", "ball_tree"), "How neighbours are found; the answer is the same."
    )
    random_state: Any = param(None, random_state, "Seed of the start of Lanczos' iterations.")
    radius: Any = param(None, [at_least_or_infinite(0), none], "Radius of a neighbourhood, with n_neighbors=None.")

    _attrs = [
        attr("embedding_", "(n_samples, n_components)", "Coordinates of the fitted rows."),
        attr("nbrs_", "NearestNeighbors", "scikit-learn's search for neighbours, made on request."),
        attr("reconstruction_error_", "float", "Sum of the eigenvalues of the coordinates."),
    ]
    _hidden = [
        attr("_index.rows", "(n_samples, …)", "The rows in the index of neighbours."),
    ]

    _test_params = [
        {"n_neighbors": 8, "random_state": 0},
        {"n_neighbors": None, "radius": 4.5, "method": "ltsa", "reg": 1e-6, "random_state": 0},
    ]

    _test_skips = {"callbacks": "max_iter is scikit-learn's: the eigenproblem is solved without limit"}

    def fit(self, X: Any, y: Any = None) -> "LocallyLinearEmbedding":
        """Find the coordinates of rows X; y is not used."""
        rows = self._enough(finite_rows(self, X))
        with FitProgress(self, X=X):
            points = dense(rows, np.float64)
            self._refuse_large(points)
            self._index: Any = build_index(points, Euclidean(), self.neighbors_algorithm)
            starts, ends, _ = self._neighbors()
            M, seed = agreement(self._index.rows, starts, ends, self), first_seed(self.random_state)
            warn_of_parts(starts, ends)
            values, vectors = eigenpairs(M, self.n_components + 1, largest=False, seed=seed, shift=BESIDE)
        self.embedding_ = in_type(np.ascontiguousarray(vectors[:, 1:]), rows)
        self.reconstruction_error_ = float(values[1:].sum())
        return self

    def _enough(self, rows: Any) -> Any:
        """The rows, once there are enough of them and of their columns."""
        if self.n_components > rows.shape[1]:
            raise ParameterError(
                f"output dimension must be less than or equal to input dimension (n_features = {rows.shape[1]}): lower "
                "n_components."
            )
        self._one_way(rows.shape[0])
        return rows

    def _refuse_large(self, points: Array) -> None:
        """Refuse rows whose products within neighbourhoods would overflow."""
        if (most := float(np.abs(points).max(initial=0.0))) > LARGEST:
            refuse_extreme(points, getattr(self, "feature_names_in_", None))
            raise too_large("Input X", most)

    def transform(self, X: Any) -> Any:
        """Coordinates of rows X: means of those of their neighbours, with the weights of the rows."""
        given = self._after_fit()._index, self.n_neighbors, self.radius, self.reg, self.embedding_
        return self._map_rows(X, averaged, *given)
