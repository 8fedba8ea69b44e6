r"""Linear discriminant analysis: Gaussian classes that share a covariance, and the projection that tells them apart.

.. math:: g_k(x) = x^T\Sigma^{-1}\mu_k - \tfrac12\mu_k^T\Sigma^{-1}\mu_k + \log\pi_k

Everything comes from the means and from the scatter of the rows within their classes, n p²/2 multiply-adds in one pass.
An eigenvalue decomposition of the latter, its columns scaled to variance 1, whitens; directions without variance are
left out. Between the whitened means, the directions in which they differ most are the discriminants.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import float_type
from didact.core.errors import InputError, ParameterError
from didact.core.parameters import array_like, at_least, attr, between, has, is_bool, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.discriminant_analysis.base import (
    EM_TOL,
    _Discriminant,
    estimated_covariances,
    refuse_together,
    shrunk_covariances,
)
from didact.discriminant_analysis.linear_scores import (
    Shared,
    decision,
    linear_scores,
    most_apart,
    precisions,
    project,
    whitening,
)
from didact.engines.components.low_rank import LowRank, WideScatter
from didact.engines.components.posterior import in_blocks
from didact.engines.spectral.eigen import fixed_signs
from didact.parts.statistics.shrinkage import auto_shrunk, fourth_moments, scales, shrunk

NO_VARIANCE = (
    "The number of samples must be more than the number of classes, and rows of a class must differ: there is no "
    "variance within the classes."
)


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Discriminant):
    r"""Gaussian classes that share a covariance: linear borders, and the projection in which the classes differ most.

    .. math:: g_k(x) = x^T\Sigma^{-1}\mu_k - \tfrac12\mu_k^T\Sigma^{-1}\mu_k + \log\pi_k,\qquad
        \max_W \frac{|W^TS_BW|}{|W^TS_WW|}

    Notes
    -----
    Cost: one pass, n p²/2 multiply-adds, and p³; prediction n p K. All solvers start from the scatter within the
    classes. "svd" takes it as it is and leaves out directions by `tol`; "lsqr" only classifies; "lsqr" and "eigen"
    weigh the classes' covariances by `priors` and know `shrinkage`. A singular covariance is no error: directions
    without variance within the classes are left out.

    Of fewer complete rows in memory than columns no p × p matrix is formed (a fit costs n² p) before `covariance_` is
    asked for. A class whose rows all have weight 0 keeps its place in `classes_` with the probability 0.

    Missing values: means and the shared covariance of greatest likelihood by EM over rows grouped by the pattern of
    their gaps (classes weighed by their rows, OAS in place of Ledoit and Wolf's share). A prediction uses the columns
    that a row has, and `transform` puts it where it is expected (NaN if the covariance is singular). Without gaps
    nothing of this is paid for. Weights count rows. Shape of computation: reduce; iterate with missing values.

    References
    ----------
    Fisher (1936), doi:10.1111/j.1469-1809.1936.tb02137.x; Ledoit, Wolf (2004), doi:10.1016/S0047-259X(03)00096-4;
    Little, Rubin (2019), doi:10.1002/9781119482260.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = LinearDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1], [float("nan"), 2]])
    array([1, 2])
    >>> model.transform(X[:1]).shape
    (1, 1)
    """

    _scores = staticmethod(linear_scores)
    _project = staticmethod(project)
    _score_attributes = ("coef_", "intercept_", "_shared")
    _finds_infinity = True
    _scales_priors = True
    _test_params = [{}, {"solver": "eigen", "shrinkage": 0.2}, {"solver": "eigen", "shrinkage": "auto"}]
    _test_skips = {
        "weight_scale:shrinkage=auto": "How much 'auto' shrinks depends on how many rows there are.",
        "constant_columns/constant:shrinkage": "What the covariance is drawn to depends on the number of columns.",
        "constant_columns/zeros:shrinkage": "What the covariance is drawn to depends on the number of columns.",
        "constant_columns/shift:solver": "'eigen' projects rows without centring them, as scikit-learn does.",
    }

    solver: str = param(
        "svd", one_of("svd", "lsqr", "eigen"), "'svd', or with shrinkage 'eigen' or (classifying only) 'lsqr'."
    )
    shrinkage: Any = param(
        None,
        [one_of("auto"), between(0, 1), none],
        "Share of tr(Σ)/p I mixed into the classes' covariances; 'auto' estimates it by Ledoit and Wolf's rule, for "
        "columns scaled to variance 1. With 'lsqr' and 'eigen'.",
    )
    priors: Any = param(None, [array_like, none], "Probabilities of the classes; None: from the data.")
    n_components: Any = param(None, [whole(1), none], "Directions of the projection; None: as many as there are.")
    store_covariance: bool = param(False, is_bool, "Whether to keep covariance_ with 'svd', too.")
    tol: float = param(
        1e-4, at_least(0), "Deviation, in columns scaled to variance 1, up to which 'svd' leaves a direction out."
    )
    covariance_estimator: Any = param(
        None, [has("fit"), none], "Object with fit(X) and covariance_; rows in memory, with 'lsqr' and 'eigen'."
    )
    max_iter: int = param(500, whole(1), "Largest number of steps of EM, where values are missing.")

    _attrs = [
        attr("coef_", "(n_classes or 1, n_features)", "Coefficients; for two classes of the second less the first."),
        attr("intercept_", "(1,) or (n_classes,)", "Constant terms."),
        attr(
            "covariance_",
            "(n_features, n_features)",
            "Covariance within the classes, shrunk. With 'svd' only if `store_covariance`.",
            when=lambda model: model.solver != "svd" or model.store_covariance,
        ),
        attr(
            "scalings_",
            "(n_features, rank)",
            "Directions of the projection, with variance 1 within the classes; the largest entry of each is positive.",
            when="solver!='lsqr'",
        ),
        attr(
            "explained_variance_ratio_",
            "(n_components,)",
            "Share of the variance between the classes along each direction.",
            when="solver!='lsqr'",
        ),
        attr("xbar_", "(n_features,)", "Mean of the classes' means, by their probabilities.", when="solver='svd'"),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from rows X with labels y; sample_weight counts rows."""
        refuse_together(self.solver, shrinkage=self.shrinkage, covariance_estimator=self.covariance_estimator)
        rows = self._rows(X, y, sample_weight, target="labels")
        for name in ("covariance_", "_low_rank", "scalings_", "explained_variance_ratio_", "xbar_"):
            self.__dict__.pop(name, None)
        weighed = self.priors is not None and (self.solver != "svd" or self.store_covariance)
        steps = {"X": X, "y": y, "attributes": lambda S: self._attributes(rows, S)}
        with FitProgress(self, self.max_iter, **steps) as progress:
            shape = "full" if weighed or self.shrinkage == "auto" else "tied"
            S = self._statistic(rows, shape, True, EM_TOL, progress)
            self.__dict__.update(self._attributes(rows, S))
        return self

    def _attributes(self, rows: Rows, S: Any) -> dict[str, Any]:
        if not S.varies.any():
            raise InputError(NO_VARIANCE)
        most = min(len(S.labels) - 1, S.mean.shape[1])
        if self.n_components is not None and self.n_components > most:
            raise ParameterError(f"n_components cannot be larger than min(n_features, n_classes - 1), here {most}.")
        priors, place = self._class_priors(S, self.priors), np.searchsorted(self.classes_, S.labels)
        within, total = self._covariances(rows, S, priors[place])
        means = self._of_all_classes({"means_": S.mean}, S, "means_")["means_"]
        with np.errstate(divide="ignore"):
            log_prior = np.log(priors)
        tol = self.tol if self.solver == "svd" else 0.0
        shared = Shared(covariance=within, whiten=whitening(within, tol), means=means, log_prior=log_prior, tol=tol)
        with blas_for(rows.n_features):
            found = {"means_": means, "priors_": priors} | self._directions(shared, priors, total, most)
        if len(means) == 2:
            found["coef_"], found["intercept_"] = np.diff(found["coef_"], axis=0), np.diff(found["intercept_"])
        dtype = float_type(rows)
        found = {k: v.astype(dtype) for k, v in found.items()} | {"_shared": shared}
        if self.solver != "svd" or self.store_covariance:
            stored = self._stored(S, within, priors[place])
            found |= {"_low_rank": stored} if isinstance(stored, LowRank) else {"covariance_": stored.astype(dtype)}
        return found

    def _covariances(self, rows: Rows, S: Any, priors: Array) -> tuple[Any, Any]:
        """The covariance within the classes and, if the solver wants it, that of all rows."""
        if isinstance(S, WideScatter):
            return self._wide_covariances(S, priors)
        n = float(S.weight.sum())
        if self.solver == "svd":
            return S.within / n, None
        if self.covariance_estimator is not None:
            each, total = estimated_covariances(self.covariance_estimator, rows, S)
            return np.tensordot(priors, np.stack(each), 1), total
        if S.tied:
            within = self._shrunk(S.within / n, n, None)
        else:
            within = np.tensordot(priors, np.stack(shrunk_covariances(rows, S, self.shrinkage)), 1)
        mean, total = S.weight @ S.mean / n, S.total / n
        if self.solver == "lsqr" or self.shrinkage != "auto":
            return within, self._shrunk(total, n, None)
        means, scale = (np.broadcast_to(v, S.mean.shape) for v in (mean, scales(total)))
        return within, self._shrunk(total, n, float(fourth_moments(rows, S.labels, means, scale).sum()))

    def _wide_covariances(self, S: WideScatter, priors: Array) -> tuple[LowRank, LowRank | None]:
        """The covariance within classes, and for solver="eigen" the total one, for fewer rows than columns."""
        if self.solver == "svd":
            return S.within(None), None
        each = self.priors is not None or self.shrinkage == "auto"
        within = S.mixed(priors, self.shrinkage) if each else S.within(self.shrinkage)
        return within, S.total(self.shrinkage) if self.solver == "eigen" else None

    @cached_property
    def covariance_(self) -> Array:
        """The covariance that was not formed in the fit."""
        if "_low_rank" not in vars(self):
            raise AttributeError("This LinearDiscriminantAnalysis has no covariance_: see store_covariance.")
        return self._low_rank.dense().astype(self.means_.dtype)

    def _shrunk(self, covariance: Array, weight: float, fourth: float | None) -> Array:
        if self.shrinkage == "auto":
            return auto_shrunk(covariance, weight, fourth)
        return covariance if self.shrinkage is None else shrunk(covariance, self.shrinkage)

    def _stored(self, S: Any, within: Any, priors: Array) -> Any:
        if isinstance(S, WideScatter):
            return within if self.solver != "svd" or self.priors is None else S.mixed(priors, None)
        return within if self.solver != "svd" or S.tied else np.tensordot(priors, S.covariances(), 1)

    def _directions(self, shared: Shared, priors: Array, total: Any, most: int) -> dict[str, Any]:
        """Coefficients and constants of all classes, and the projection."""
        W, means, size = shared.whiten, shared.means, self.n_components or most
        if self.solver != "svd":
            coef = precisions(shared.covariance, W, means)
            found = {"intercept_": shared.log_prior - 0.5 * (means * coef).sum(axis=1)}
            if self.solver == "lsqr":
                return found | {"coef_": coef}
            values, scalings = most_apart(total, shared, most)
        else:
            xbar = priors @ means
            _, deviations, Vt = linalg.svd(np.sqrt(priors)[:, None] * ((means - xbar) @ W), full_matrices=False)
            values = deviations**2 / (float((deviations**2).sum()) or 1.0)
            rank = int((deviations > max(self.tol, 1e-14) * deviations[0]).sum())
            scalings = fixed_signs(W @ Vt[:rank].T)
            inner = (means - xbar) @ scalings
            coef = inner @ scalings.T
            found = {"intercept_": shared.log_prior - 0.5 * (inner * inner).sum(axis=1) - coef @ xbar, "xbar_": xbar}
        return found | {"coef_": coef, "scalings_": scalings, "explained_variance_ratio_": values[:size]}

    def decision_function(self, X: Any) -> Any:
        """Discriminants of the classes (n, K); for two classes the second less the first, (n,)."""
        return self._after_fit()._map_rows(X, decision, self._scores, *self._score_values())

    def transform(self, X: Any) -> Any:
        """The rows in the directions in which the classes differ most."""
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver: take 'svd' or 'eigen'.")
        return self._after_fit()._map_rows(X, in_blocks, self._project, self._projection, self._origin, self._shared)

    @property
    def _projection(self) -> Array:
        most = self.n_components or min(len(self.classes_) - 1, self.n_features_in_)
        return self.scalings_[:, :most]

    @property
    def _origin(self) -> Array:
        return getattr(self, "xbar_", np.zeros(self.n_features_in_, self.scalings_.dtype))

    @property
    def _n_features_out(self) -> int:
        return self._projection.shape[1]
