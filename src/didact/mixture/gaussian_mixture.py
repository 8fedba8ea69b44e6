r"""Mixtures of Gaussians, fitted by EM: densities, soft clusters, and what some columns say of others.

The E step and the sums of the M step are one compiled pass over the rows, n K (p² + p²/2) multiply-adds.

Dempster, Laird, Rubin (1977), doi:10.1111/j.2517-6161.1977.tb01600.x; McLachlan, Peel (2000), Finite Mixture Models,
doi:10.1002/0471721182.
"""

from typing import Any

import numpy as np
from scipy import linalg

from didact.core.errors import InputError, ParameterError
from didact.core.parameters import array_like, at_least, attr, none, one_of, param, whole
from didact.core.rows import Rows
from didact.core.rows.memory import refuse_square
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.components.mixture import GaussianFamily, Gaussians, collapsed, gaussians, logs
from didact.mixture.base import _Mixture
from didact.mixture.conditionals import conditioned, expected_rows
from didact.mixture.given import covariances_of, given_means, given_precisions, given_weights
from didact.parts.statistics.components import MATRICES

COVARIANCES = "([n_components, ]n_features, n_features) or (n_components[, n_features])"


def fitted_numbers(theta: Gaussians, kind: str, dtype: Any) -> dict[str, Array]:
    """Parameters as fitted attributes, in the shapes of a covariance type."""
    one = {"tied": lambda a: a[0], "spherical": lambda a: a[:, 0]}.get(kind, lambda a: a)
    matrices = theta.whiten.ndim == 3
    precisions = theta.whiten @ theta.whiten.transpose(0, 2, 1) if matrices else theta.whiten**2
    found = {
        "weights_": theta.weights,
        "means_": theta.means,
        "covariances_": one(theta.covariances),
        "precisions_": one(precisions),
        "precisions_cholesky_": one(theta.whiten),
    }
    return {name: np.ascontiguousarray(value, dtype) for name, value in found.items()}


SHAPES = {"full": "full", "tied": "tied", "diag": "diagonal", "spherical": "spherical"}


ANOTHER_DIMENSION = {
    "constant_columns/constant": "a column more is a dimension more, also if all rows agree in it",
    "constant_columns/zeros": "a column more is a dimension more, also if all rows agree in it",
}
FEW_FOR_TIED = {"check_sample_weight_equivalence_on_dense_data": "The check has too few rows for a shared covariance."}


class GaussianMixture(_Mixture):
    r"""A mixture of Gaussians, by EM.

    .. math:: p(x) = \sum_{k=1}^K \pi_k\,N(x;\mu_k,\Sigma_k),\qquad
        r_{ik} = \frac{\pi_kN(x_i;\mu_k,\Sigma_k)}{p(x_i)},\qquad
        \pi_k = \frac{\sum_ir_{ik}}n,\quad \mu_k = \frac{\sum_ir_{ik}x_i}{\sum_ir_{ik}},\quad
        \Sigma_k = \frac{\sum_ir_{ik}(x_i-\mu_k)(x_i-\mu_k)^T}{\sum_ir_{ik}} + \varepsilon I

    Notes
    -----
    The mean log-likelihood never falls from step to step: where ε (`reg_covar`) would lower it, the step is the one of
    greatest likelihood among covariances with eigenvalues of at least ε. EM ends when a step gains at most `tol`; the
    parameters are those after that step, and `lower_bound_` is theirs.

    A component that has no rows left, or whose rows lie in a plane, has collapsed: `reg_covar` keeps its covariance
    regular, a warning names it, and a start without such components is preferred. Missing values are further hidden
    variables: full and tied covariances are those of greatest likelihood given the values that are there. With
    ``use_labels`` the components of some rows are known (semi-supervised).

    A given `means_init` is also the start of weights and covariances, of which each row counts for the nearest mean;
    scikit-learn takes those from an unrelated start. Starts look at up to 32,768 different rows.

    Cost: one pass a step, 1.5 n K p² multiply-adds (diag, spherical: 4 n K p), and K p³. Shape of computation: iterate.

    References
    ----------
    Dempster, Laird, Rubin (1977), doi:10.1111/j.2517-6161.1977.tb01600.x; Celeux, Govaert (1992),
    doi:10.1016/0167-9473(92)90042-E (hard); Little, Rubin (2019), doi:10.1002/9781119482260 (missing values).

    Examples
    --------
    >>> import numpy as np
    >>> from didact.mixture import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(50, 2)) + [6.0, 6.0]])
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> np.sort(model.weights_).round(2), model.converged_
    (array([0.33, 0.67]), True)
    >>> model.predict_proba([[3.0, np.nan]]).shape
    (1, 2)
    >>> model.conditional([0], [6.0]).means_.shape
    (2, 1)
    """

    _tensors = True
    _test_params = [
        {},
        {"n_components": 3, "covariance_type": "tied", "random_state": 0, "max_iter": 2000},
        {"n_components": 3, "covariance_type": "diag", "random_state": 0, "max_iter": 2000},
    ]

    covariance_type: str = param(
        "full", one_of(*SHAPES), "Covariances: a matrix each, one for all, variances each, or one variance each."
    )
    reg_covar: float = param(1e-6, at_least(0), "Number ε added to the diagonals of covariances.")
    weights_init: Any = param(None, [array_like, none], "Shares to begin with.")
    means_init: Any = param(None, [array_like, none], "Means to begin with.")
    precisions_init: Any = param(None, [array_like, none], "Inverse covariances to begin with.")
    verbose_interval: int = param(10, whole(1), "No effect: `verbose` prints a line each second, or of each step.")

    _attrs = [
        attr(
            "covariances_",
            COVARIANCES,
            "Covariances: one for all if tied, for each n_features or one number if diag or spherical.",
        ),
        attr("precisions_", COVARIANCES, "Their inverses, in the same shape."),
        attr(
            "precisions_cholesky_",
            COVARIANCES,
            "Upper triangles U with UUᵀ = Σ⁻¹, in the same shape; of variances 1/σ.",
        ),
        attr("collapsed_", "(n_components,)", "Whether a component lies in a plane or has no rows left."),
    ]

    @property
    def _test_skips(self) -> dict[str, str]:  # type: ignore[override]
        return ANOTHER_DIMENSION | (FEW_FOR_TIED if self.covariance_type == "tied" else {})

    @property
    def _family(self) -> GaussianFamily:
        return GaussianFamily(SHAPES[self.covariance_type], self.reg_covar)

    def _overview(self, rows: Rows) -> tuple[float, Array]:
        if self._family.shape in MATRICES:
            refuse_square(rows.n_features, "use fewer columns, or covariance_type='diag'", 3 * self.n_components)
        return super()._overview(rows)

    def _centres(self) -> Array | None:
        return None if self.means_init is None else given_means(self.means_init, self.n_components, self.n_features_in_)

    def _given(self, theta: Gaussians) -> Gaussians:
        K, p, kind = self.n_components, self.n_features_in_, self.covariance_type
        weights, means, covariances = theta.weights, theta.means, theta.covariances
        if self.weights_init is not None:
            weights = given_weights(self.weights_init, K)
        if self.means_init is not None:
            means = given_means(self.means_init, K, p)
        if self.precisions_init is not None:
            covariances = covariances_of(given_precisions(self.precisions_init, kind, K, p), kind)
        return gaussians(weights, means, covariances, SHAPES[kind])

    def _attributes(self, theta: Gaussians, dtype: Any) -> dict[str, Any]:
        return fitted_numbers(theta, self.covariance_type, dtype) | {"collapsed_": self._faults(theta)}

    def _parameters(self) -> Gaussians:
        whiten = np.asarray(self.precisions_cholesky_, np.float64)
        weights, means = np.asarray(self.weights_, np.float64), np.asarray(self.means_, np.float64)
        self._require_shapes(weights, means, whiten)
        if self.covariance_type in ("diag", "spherical"):
            whiten = whiten[:, None] if self.covariance_type == "spherical" else whiten
            log_dets = -2 * np.log(np.broadcast_to(whiten, means.shape)).sum(axis=1)
            covariances = 1.0 / whiten**2
        else:
            whiten = whiten[None] if self.covariance_type == "tied" else whiten
            log_dets = -2 * np.log(np.diagonal(whiten, axis1=1, axis2=2)).sum(axis=1)
            with blas_for(means.shape[1]):
                halves = [linalg.solve_triangular(W, np.eye(len(W))) for W in whiten]
                covariances = np.stack([H.T @ H for H in halves])
        return Gaussians(weights=weights, means=means, covariances=covariances, whiten=whiten, log_dets=log_dets)

    def _require_shapes(self, weights: Array, means: Array, whiten: Array) -> None:
        """Compiled code reads as many numbers as these shapes say: a file or a user may have set others."""
        K, p = len(weights), getattr(self, "n_features_in_", means.shape[-1])
        shapes = {"full": (K, p, p), "tied": (p, p), "diag": (K, p), "spherical": (K,)}
        if weights.ndim != 1 or means.shape != (K, p) or whiten.shape != shapes[self.covariance_type]:
            raise InputError(
                f"weights_ {weights.shape}, means_ {means.shape} and precisions_cholesky_ {whiten.shape} do not belong "
                f"to one mixture of covariance_type={self.covariance_type!r} with {p} columns: fit it anew."
            )

    def _faults(self, theta: Gaussians) -> Array:
        return collapsed(theta, SHAPES[self.covariance_type], self.reg_covar)

    def _n_parameters(self) -> int:
        K, p = self.means_.shape
        sizes = {"full": K * p * (p + 1) // 2, "tied": p * (p + 1) // 2, "diag": K * p, "spherical": K}
        return int(sizes[self.covariance_type] + K * p + K - 1)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Rows drawn from the mixture, component by component, and the numbers of their components."""
        rng, counts = self._drawn(n_samples, random_state)
        covariances = self._matrices()
        parts = [
            m + rng.normal(size=(count, len(m))) @ np.linalg.cholesky(C).T
            for m, C, count in zip(self.means_, covariances, counts, strict=True)
        ]
        return np.vstack(parts), np.repeat(np.arange(len(counts)), counts)

    def _matrices(self) -> Array:
        """The covariance of each component as a matrix, (K, p, p)."""
        theta = self._parameters()
        K, p = theta.means.shape
        if theta.covariances.ndim == 3:
            return np.broadcast_to(theta.covariances, (K, p, p))
        return np.stack([np.diag(v) for v in np.broadcast_to(theta.covariances, (K, p))])

    def conditional(self, columns: Any, values: Any) -> "GaussianMixture":
        r"""The distribution of the other columns where some columns have these values: a mixture again.

        .. math:: \pi_k' \propto \pi_kN(x_b;\mu_{kb},\Sigma_{kbb}),\qquad
            \mu_k' = \mu_{ka} + \Sigma_{kab}\Sigma_{kbb}^{-1}(x_b-\mu_{kb}),\qquad
            \Sigma_k' = \Sigma_{kaa} - \Sigma_{kab}\Sigma_{kbb}^{-1}\Sigma_{kba}

        Columns go by number or name. The other columns keep their order.
        """
        self._after_fit()
        index = self._places(columns)
        x = np.atleast_1d(np.asarray(values, np.float64))
        if x.shape != index.shape or not np.isfinite(x).all():
            raise InputError(f"conditional takes one finite value for each of {len(index)} columns; got {values!r}.")
        theta = self._parameters()
        found = conditioned(logs(theta.weights), theta.means, self._matrices(), index, x)
        others = np.setdiff1d(np.arange(theta.means.shape[1]), index)
        model = GaussianMixture(**self.get_params(deep=False) | {"covariance_type": "full"})
        numbers = fitted_numbers(gaussians(*found, "full"), "full", self.means_.dtype)
        kept = {name: getattr(self, name) for name in ("converged_", "n_iter_", "lower_bound_", "lower_bounds_")}
        model.__dict__.update(numbers, collapsed_=self.collapsed_, n_features_in_=len(others), **kept)
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_[others]
        return model

    def _places(self, columns: Any) -> Array:
        """Numbers of columns that are given by number or name; all different, and not all there are."""
        names = list(getattr(self, "feature_names_in_", ()))
        places = []
        for column in np.atleast_1d(np.asarray(columns, dtype=object)):
            if isinstance(column, str):
                if column not in names:
                    raise ParameterError(f"There is no column {column!r} among those that the model was fitted to.")
                column = names.index(column)
            if not 0 <= int(column) < self.n_features_in_:
                raise ParameterError(f"There is no column {column}: the model has {self.n_features_in_}.")
            places.append(int(column))
        if len(set(places)) != len(places) or not 0 < len(places) < self.n_features_in_:
            raise ParameterError("Give some of the columns, each once, and leave at least one of them open.")
        return np.array(places)

    def fill(self, X: Any) -> Any:
        """Rows X with each missing value replaced by its expectation, given the values that the row has."""
        theta = self._after_fit()._parameters()
        fn, args = GaussianFamily("full").scores(
            gaussians(theta.weights, theta.means, np.array(self._matrices()), "full")
        )
        return self._map_rows(X, expected_rows, fn, args)
