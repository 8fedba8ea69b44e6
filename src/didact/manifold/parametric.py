r"""Parametric embedding: a map from rows to coordinates, learnt with the distances that it has to keep.

With features :math:`\varphi(x)` (the columns, or radial basis functions) the map is
:math:`F(x) = A\varphi(x) + b`. Two ways to learn it:

- direct fit: an embedding Z of the rows first, then the regression :math:`\min_A \sum_n \|z_n - F(x_n)\|^2`;
- joint: :math:`\min_A \sum_{n<m} (\|F(x_n) - F(x_m)\|^2 - \delta_{nm}^2)^2`, or the stress, by L-BFGS
  from the direct fit.

The features are turned to orthogonal ones by a singular value decomposition, in which both problems are well scaled.

Webb (1995), doi:10.1016/0031-3203(94)00135-9; Lowe, Tipping (1996), doi:10.1007/BF01413744.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from didact.core.backend import like
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import report_convergence
from didact.core.overflow import refuse_extreme
from didact.core.parameters import above, at_least, attr, has, is_callable, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import MemoryRows
from didact.core.rows.gather import dense
from didact.core.typing import Array
from didact.engines.centroids.lloyd import kmeans
from didact.engines.gram.rows import gram_of
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result
from didact.engines.neighbors.all_pairs import metric_params_param, own_distances
from didact.engines.smooth.lbfgs import lbfgs
from didact.engines.spectral.scaling import classical_scaling, require_squarable
from didact.engines.spectral.stress import least_squares_of_squares, majorise, smooth_stress
from didact.kernels.radial import RBF, width_of_gamma
from didact.manifold.base import _Embedding, all_distances, finite_rows, in_type
from didact.parts.distances import NAMES

RANK = 1e-10  # of the largest singular value: smaller ones count as zero


class Basis(NamedTuple):
    """Features of n rows as √n times orthonormal columns U (n, r), with the means and what leads back from them."""

    U: Array
    back: Array  # (q, r): coefficients of the features from those of U
    means: Array
    ridge: Array  # (r,) how much a penalty of 1 on the coefficients of the features weighs on those of U

    @classmethod
    def of(cls, features: Array) -> "Basis":
        """The orthogonal features."""
        means = features.mean(axis=0)
        left, sizes, right = np.linalg.svd(features - means, full_matrices=False)
        kept = sizes > RANK * max(float(sizes[0]) if len(sizes) else 0.0, 1e-300)
        if not kept.any():
            raise InputError("All columns of X are constant: there is nothing to map by.")
        root = np.sqrt(len(features))
        scale = root / sizes[kept]
        return cls(
            left[:, kept] * root, right[kept].T * scale, means, (scale * root / len(features)) ** 2 * np.mean(sizes**2)
        )

    def regression(self, Z: Array, alpha: float) -> Array:
        """Coefficients (r, k) of the ridge regression of coordinates Z on the features."""
        return np.asarray((self.U.T @ (Z - Z.mean(axis=0))) / (len(Z) * (1.0 + alpha * self.ridge[:, None])))


def joint_fit(
    basis: Basis, D: Array, start: Array, squared: bool, alpha: float, tol: float, max_iter: int, report: Report
) -> Result:
    """Coefficients (r, k) of the map of least (S-)stress per pair plus the penalty; distances have mean square 1.

    They are scaled by what the penalty leaves of them, so that all directions are about equally curved.
    """
    n, shape, stress = len(D), start.shape, smooth_stress(D, squared)
    scale = 1.0 / np.sqrt(1.0 + alpha * basis.ridge[:, None])
    share = alpha * basis.ridge[:, None] * scale**2
    U = basis.U * scale[:, 0]

    def objective(a: Array) -> tuple[float, Array]:
        A = a.reshape(shape)
        value, gradient = stress(U @ A)
        total = value * 2.0 / n + float(np.sum(share * A * A))
        return total, (2.0 / n * (U.T @ gradient) + 2.0 * share * A).ravel()

    def told(iteration: int, value: float, a: Array) -> bool:
        return report(iteration, value, scale * a.reshape(shape))

    result = lbfgs(objective, (start / scale).ravel(), tol, max_iter, told)
    result.x = scale * result.x.reshape(shape)
    return result


def radial_features(X: Any, centers: Array | None, gamma: float) -> Array:
    """The values of radial basis functions, or without centres the columns."""
    points = dense(X, np.float64)
    return points if centers is None else np.asarray(gram_of(RBF(width_of_gamma(gamma)), points, centers))


def images(X: Any, centers: Array | None, gamma: float, coef: Array, intercept: Array) -> Array:
    """Coordinates of rows."""
    return in_type(radial_features(X, centers, gamma) @ coef.T.astype(np.float64) + intercept, X)


class ParametricEmbedding(_Embedding):
    r"""A map from rows to coordinates that keeps distances, for new rows as for old ones.

    .. math:: \min_A \sum_{n<m} \big(\|F(x_n) - F(x_m)\|^2 - \delta_{nm}^2\big)^2 + \alpha\|A\|^2, \quad
        F(x) = A\varphi(x) + b

    The features φ are the columns (``mapping="linear"``) or Gaussian bumps at centres that k-means finds (``"rbf"``).
    With ``method="joint"`` the map is learnt on the distances themselves; with ``"direct"`` it is fitted to an
    embedding that was found before: scaling of the same loss, or any model with `fit_transform`
    (``embedding=Isomap()``). The joint fit begins at the direct one. `fit` takes other distances to be kept, such as
    the `dist_matrix_` of an `Isomap`.

    Notes
    -----
    Cost: n² distances an iteration on all threads, and a singular value decomposition of the features, nq². Shape of
    computation: pairs.

    References
    ----------
    Webb (1995), doi:10.1016/0031-3203(94)00135-9; Lowe, Tipping (1996), doi:10.1007/BF01413744.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.manifold import ParametricEmbedding
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 4.0]])
    >>> model = ParametricEmbedding(mapping="linear", alpha=0.0).fit(X)
    >>> Z = model.transform([[0.0, 0.0], [6.0, 8.0]])
    >>> round(float(np.linalg.norm(Z[0] - Z[1])), 3)
    10.0
    """

    n_components: int = param(2, whole(1), "Number of coordinates.")
    method: str = param("joint", one_of("joint", "direct"), "Whether the map learns distances, or coordinates.")
    mapping: str = param("rbf", one_of("rbf", "linear"), "The features of the map: radial basis functions, or columns.")
    n_centers: int = param(50, whole(1), "Number of radial basis functions; at most one for each row.")
    gamma: Any = param(
        None, [above(0), none], "γ of exp(−γ|x − c|²); None: their widths are twice the distance of the next centre."
    )
    alpha: float = param(1e-8, at_least(0), "Penalty on the squared coefficients, in the units of mean squares.")
    loss: str = param("sstress", one_of("sstress", "stress"), "Errors of squared distances, or of distances.")
    embedding: Any = param(
        None, [has("fit_transform"), none], "With method='direct', the model of the coordinates; None: scaling."
    )
    metric: Any = param("euclidean", [one_of(*NAMES), is_callable], "The distances: a name, or a function of two rows.")
    metric_params: Any = metric_params_param()
    max_iter: int = param(500, whole(1), "Most iterations.")
    tol: float = param(1e-6, at_least(0), "Largest entry of the gradient, of mean squares, that ends them.")
    random_state: Any = param(None, random_state, "Seed of the centres.")

    _attrs = [
        attr("embedding_", "(n_samples, n_components)", "Coordinates of the fitted rows."),
        attr("coef_", "(n_components, n_map_features)", "A."),
        attr("intercept_", "(n_components,)", "b."),
        attr("centers_", "(n_centers, n_features)", "Centres of the radial basis functions.", "mapping='rbf'"),
        attr("gamma_", "float", "γ.", "mapping='rbf'"),
        attr("stress_", "float", "Root of the (S-)stress over that of all points in one place."),
        attr("n_iter_", "int", "Iterations."),
    ]

    _test_params = [
        {"n_centers": 12, "random_state": 0, "alpha": 1e-3},
        {"mapping": "linear", "method": "direct"},
    ]

    def fit(self, X: Any, y: Any = None, distances: Any = None) -> "ParametricEmbedding":
        """Learn the map on rows X, with the distances (n, n) to be kept if they are not those of the metric."""
        rows = finite_rows(self, X)
        D = self._kept(rows, distances)
        require_squarable(D, 4 if self.loss == "sstress" else 2)
        basis, unit = Basis.of(self._features(rows)), float(np.sqrt(np.mean(D * D))) or 1.0
        fitted = lambda x: self._fitted(basis, x, unit, rows.dtype)  # noqa: E731
        with FitProgress(self, self.max_iter, X=X, attributes=fitted) as progress:
            result = self._solved(rows, D, basis, unit, progress.report)
        report_convergence(self, result)
        self.__dict__.update(fitted(result.x))
        self.embedding_ = in_type(images(rows, *self._map()), rows)
        self.stress_ = self._stress(D / unit, np.asarray(self.embedding_, np.float64) / unit)
        return self

    def transform(self, X: Any) -> Any:
        """Coordinates of rows X."""
        return self._after_fit()._map_rows(X, images, *self._map())

    def fit_transform(self, X: Any, y: Any = None, distances: Any = None) -> Any:
        """Fit, and the coordinates of the same rows."""
        return like(self.fit(X, distances=distances).embedding_, X)

    def _map(self) -> tuple[Any, ...]:
        return getattr(self, "centers_", None), getattr(self, "gamma_", 1.0), self.coef_, self.intercept_

    def _kept(self, rows: Any, distances: Any) -> Array:
        if self.metric == "precomputed":
            raise ParameterError("A map needs the rows themselves: give distances as fit(X, distances=D).")
        if self.embedding is not None and self.method == "joint":
            raise ParameterError("embedding is for method='direct': a joint map needs distances alone.")
        if distances is None:
            return all_distances(self, rows, self.metric)[1]
        D = own_distances(np.asarray(distances, np.float64))
        if len(D) != rows.shape[0]:
            raise InputError(f"distances are of {len(D)} rows, and X has {rows.shape[0]}.")
        return D

    def _features(self, rows: Any) -> Array:
        """The features of the fitted rows; chooses the centres and their width."""
        if self.mapping == "linear":
            return dense(rows, np.float64)
        points = dense(rows, np.float64)
        count = min(self.n_centers, len(np.unique(points, axis=0)))
        seeds = seed_sequence(self.random_state).spawn(1)
        self.centers_ = kmeans(MemoryRows(points), count, seeds, max_iter=50).x
        self.gamma_ = float(self.gamma) if self.gamma is not None else usual_gamma(self.centers_, points)
        return radial_features(points, self.centers_, self.gamma_)

    def _coordinates(self, rows: Any, D: Array, report: Report | None) -> Result:
        """Coordinates that the map is fitted to, or the joint fit begins at."""
        if self.embedding is not None:
            found = np.asarray(clone(self.embedding).fit_transform(rows), np.float64)
            return Result(found, 0.0, 1, "converged", 0.0)
        found = classical_scaling(D, self.n_components).coordinates
        start = np.pad(found, ((0, 0), (0, self.n_components - found.shape[1])))
        scaled = least_squares_of_squares if self.loss == "sstress" else majorise
        return scaled(D, start, tol=self.tol, max_iter=self.max_iter, report=report)

    def _solved(self, rows: Any, D: Array, basis: Basis, unit: float, report: Report) -> Result:
        """The coefficients of the joint fit, or the coordinates of the direct one."""
        if self.method == "direct":
            return self._coordinates(rows, D, report)
        start = basis.regression(self._coordinates(rows, D, None).x / unit, self.alpha)
        limits = self.alpha, self.tol, self.max_iter
        return joint_fit(basis, D / unit, start, self.loss == "sstress", *limits, report)

    def _fitted(self, basis: Basis, x: Array, unit: float, dtype: Any) -> dict[str, Any]:
        """The attributes, of coefficients of a joint fit or coordinates for a direct one."""
        A = x if self.method == "joint" else basis.regression(x / unit, self.alpha)
        coef = unit * (basis.back @ A).T
        return {"coef_": coef.astype(dtype), "intercept_": (-coef @ basis.means).astype(dtype)}

    def _stress(self, D: Array, Z: Array) -> float:
        value, _ = smooth_stress(D, self.loss == "sstress")(Z)
        none = np.sum(D**4 if self.loss == "sstress" else D**2) / 2.0
        return float(np.sqrt(value * len(D) / (none if none > 0 else 1.0)))


TINY = 1e-150  # a width whose square has hardly any digits left


def usual_gamma(centers: Array, points: Array) -> float:
    """γ for widths of twice the mean distance of a centre from the next; of a single one, from the rows."""
    others = centers if len(centers) > 1 else points
    squares = ((centers[:, None] - others[None]) ** 2).sum(axis=2)
    if len(centers) > 1:
        np.fill_diagonal(squares, np.inf)
        width = 2.0 * float(np.mean(np.sqrt(squares.min(axis=1))))
    else:
        width = float(np.sqrt(squares.mean()))
    if 0 < width < TINY:
        refuse_extreme(points, None)
    return 0.5 / width**2 if width > 0 else 1.0
