r"""Quadratic discriminant analysis: Gaussian classes, each with its own covariance.

.. math:: g_k(x) = \log\pi_k - \tfrac12\log|\Sigma_k| - \tfrac12(x-\mu_k)^T\Sigma_k^{-1}(x-\mu_k)

The covariances come from the scatter of the rows about their class's mean, n p²/2 multiply-adds, and are inverted by a
Cholesky factor each, p³/2; predicting is one product with a p × p matrix for each class.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from didact.core.backend import float_type
from didact.core.parameters import array_like, at_least, attr, between, has, is_bool, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.threads import blas_for, parallel_map
from didact.core.typing import Array
from didact.discriminant_analysis.base import (
    EM_TOL,
    FEW,
    SINGULAR,
    _Density,
    estimated_covariances,
    refuse_together,
    require_spread,
    shrunk_covariances,
    singular,
)
from didact.distributions.multivariate import log_det
from didact.engines.components.low_rank import LowRank, Whitener, WideScatter, dense_covariance
from didact.engines.components.scores import gaussian_joint, wide_joint
from didact.parts.statistics.components import Components


class QuadraticDiscriminantAnalysis(_Density):
    r"""Gaussian classes with a covariance each: the border between two classes is a quadric.

    .. math:: g_k(x) = \log\pi_k - \tfrac12\log|\Sigma_k| - \tfrac12(x-\mu_k)^T\Sigma_k^{-1}(x-\mu_k)

    Notes
    -----
    Cost: one pass, n p²/2 multiply-adds, and K p³; prediction n p² K. Covariances are those of greatest likelihood
    (divided by n). With solver "svd" `reg_param` mixes them with the identity, with "eigen" `shrinkage` with a multiple
    of it. A singular covariance is refused. Predicting needs the covariances' Cholesky factors only: `scalings_` and
    `rotations_` are found when they are first asked for.

    Of fewer complete rows in memory than columns no p × p matrix is formed: a fit costs n² p, a prediction n p for each
    row and class; only `covariance_`, `scalings_` and `rotations_` are that large when they are asked for. A class
    whose rows all have weight 0 keeps its place in `classes_` with the probability 0.

    Missing values: means and covariances of greatest likelihood by EM over rows grouped by the pattern of their gaps (a
    class with gaps is shrunk by OAS if "auto"); a prediction uses the columns that a row has. Without gaps nothing of
    this is paid for. Weights count rows. Shape of computation: reduce; iterate with missing values.

    References
    ----------
    Friedman (1989), doi:10.1080/01621459.1989.10478752; Little, Rubin (2019), doi:10.1002/9781119482260.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = QuadraticDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1], [float("nan"), 2]])
    array([1, 2])
    """

    _finds_infinity = True
    _test_params = [{}, {"solver": "eigen", "shrinkage": 0.1}]

    solver: str = param(
        "svd", one_of("svd", "eigen"), "What regularises: 'svd' goes with reg_param, 'eigen' with shrinkage."
    )
    shrinkage: Any = param(
        None,
        [one_of("auto"), between(0, 1), none],
        "Share of tr(Σ)/p I mixed into each covariance; 'auto' estimates it by Ledoit and Wolf's rule, for columns "
        "scaled to variance 1. With solver='eigen'.",
    )
    priors: Any = param(None, [array_like, none], "Probabilities of the classes; None: from the data.")
    reg_param: float = param(0.0, between(0, 1), "Share of the identity mixed into each covariance. With solver='svd'.")
    store_covariance: bool = param(False, is_bool, "Whether to keep the covariances in covariance_.")
    tol: float = param(1e-4, at_least(0), "Variance along an axis up to which a covariance counts as singular.")
    covariance_estimator: Any = param(
        None, [has("fit"), none], "Object with fit(X) and covariance_; rows in memory, with solver='eigen'."
    )
    max_iter: int = param(500, whole(1), "Largest number of steps of EM, where values are missing.")

    _attrs = [
        attr("scalings_", "list of (n_features,)", "Variances of each class along its principal axes, falling."),
        attr("rotations_", "list of (n_features, n_features)", "These axes, as columns."),
        attr("covariance_", "list of (n_features, n_features)", "Covariances, regularised.", when="store_covariance"),
    ]

    @property
    def _test_skips(self) -> dict[str, str]:
        reason = "A constant column makes the classes' covariances singular, which is refused."
        constant = {"constant_columns/constant": reason, "constant_columns/zeros": reason}
        return constant | (SINGULAR if self.shrinkage is None else FEW)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from rows X with labels y; sample_weight counts rows."""
        refuse_together(self.solver, shrinkage=self.shrinkage, covariance_estimator=self.covariance_estimator)
        rows = self._rows(X, y, sample_weight, target="labels")
        for name in ("covariance_", "scalings_", "rotations_", "_axes", "_whiteners"):
            self.__dict__.pop(name, None)
        steps = {"X": X, "y": y, "attributes": lambda S: self._attributes(rows, S)}
        with FitProgress(self, self.max_iter, **steps) as progress:
            S = self._statistic(rows, "full", False, EM_TOL, progress)
            self.__dict__.update(self._attributes(rows, S))
        return self

    def _attributes(self, rows: Rows, S: Any) -> dict[str, Any]:
        require_spread(S)
        dtype = float_type(rows)
        found = self._wide(S) if isinstance(S, WideScatter) else self._narrow(rows, S)
        found |= {"priors_": self._class_priors(S, self.priors).astype(dtype), "means_": S.mean.astype(dtype)}
        if self.store_covariance:
            found["covariance_"] = [dense_covariance(C).astype(dtype) for C in found["_covariances"]]
        names = ("means_", "covariance_", "_covariances", "_whiten", "_log_dets", "_whiteners")
        return self._of_all_classes(found, S, *names)

    def _narrow(self, rows: Rows, S: Components) -> dict[str, Any]:
        """Covariances, what whitens them, and the logarithms of their determinants."""
        if self.covariance_estimator is not None:
            covariances = estimated_covariances(self.covariance_estimator, rows, S)[0]
        else:
            covariances = shrunk_covariances(rows, S, self.shrinkage)
        if self.solver == "svd":
            identity = np.eye(rows.n_features)
            covariances = [(1.0 - self.reg_param) * C + self.reg_param * identity for C in covariances]
        with blas_for(rows.n_features):
            whiten = [self._whiten_by(*pair) for pair in zip(S.labels.tolist(), covariances, strict=True)]
        return {
            "_covariances": np.stack(covariances),
            "_whiten": np.stack([W for W, _ in whiten]),
            "_log_dets": np.array([volume for _, volume in whiten]),
        }

    def _wide(self, S: WideScatter) -> dict[str, Any]:
        """The covariance of each class and its whitening in low-rank form, for fewer rows than columns."""
        covariances = [S.covariance(k, self.shrinkage) for k in range(len(S.labels))]
        if self.solver == "svd":
            kept, added = 1.0 - self.reg_param, self.reg_param
            covariances = [LowRank(kept * C.diagonal + added, np.sqrt(kept) * C.factor) for C in covariances]
        for label, C in zip(S.labels.tolist(), covariances, strict=True):
            rounding = 4 * len(C.diagonal) * np.finfo(float).eps
            if C.diagonal.min() <= max(self.tol, rounding * float(np.linalg.norm(C.factor)) ** 2):
                raise singular(label, self._cure)
        return {"_covariances": covariances, "_whiteners": [Whitener.of(C) for C in covariances]}

    @property
    def _cure(self) -> str:
        return "raise reg_param" if self.solver == "svd" else "raise shrinkage"

    @property
    def _scores(self) -> Any:
        return wide_joint if hasattr(self, "_whiteners") else gaussian_joint

    @property
    def _score_attributes(self) -> tuple[str, ...]:
        last = ("_covariances", "_whiteners") if hasattr(self, "_whiteners") else ("_whiten", "_log_dets")
        return ("_log_priors", "means_", *last)

    def _whiten_by(self, label: Any, covariance: Array) -> tuple[Array, float]:
        """W with W Wᵀ = Σ⁻¹, and log |Σ|; a covariance whose least variance is below the limits is refused."""
        p, rounding = len(covariance), 4 * len(covariance) * np.finfo(float).eps
        least = max(self.tol, rounding * float(np.linalg.norm(covariance)))
        try:
            np.linalg.cholesky(covariance - least * np.eye(p))  # all variances are above `least`, if it exists
            L = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            values, vectors = principal_axes(covariance)
            if values[-1] <= max(self.tol, rounding * values[0]):
                raise singular(label, self._cure) from None
            return vectors / np.sqrt(values), float(np.log(values).sum())
        return linalg.solve_triangular(L, np.eye(p), lower=True, check_finite=False).T, log_det(L)

    @cached_property
    def _axes(self) -> list[tuple[Array, Array]]:
        with blas_for(self.n_features_in_):
            return parallel_map(lambda C: principal_axes(dense_covariance(C)), self._covariances)

    @cached_property
    def scalings_(self) -> list[Array]:
        """Variances of each class along its principal axes."""
        return [values.astype(self.means_.dtype) for values, _ in self._axes]

    @cached_property
    def rotations_(self) -> list[Array]:
        """The principal axes of each class."""
        return [vectors.astype(self.means_.dtype) for _, vectors in self._axes]


def principal_axes(covariance: Array) -> tuple[Array, Array]:
    """Variances along the principal axes, falling, and the axes as columns."""
    values, vectors = np.linalg.eigh(covariance)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]
