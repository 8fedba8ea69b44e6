r"""What the models of Gaussian classes share: the statistic of the rows, Bayes' rule, and sentences on bad input."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, clone

from didact.core.errors import InputError, NotCovered, ParameterError, Singular
from didact.core.estimator import Estimator, report_convergence
from didact.core.parameters import attr
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.engines.components.gaps import fit_with_gaps
from didact.engines.components.low_rank import wide_scatter
from didact.engines.components.posterior import (
    class_priors,
    class_scores,
    log_density,
    log_posterior,
    most_probable,
    posterior,
)
from didact.parts.families.log_densities import LOG_2PI
from didact.parts.statistics.components import Components
from didact.parts.statistics.counts import label_counts
from didact.parts.statistics.row_components import row_components
from didact.parts.statistics.shrinkage import auto_shrunk, fourth_moments, scales, shrunk

FEW = {"check_sample_weight_equivalence_on_dense_data": "The check has a class with a single row."}
SINGULAR = FEW | {
    "check_sample_weights_shape": "A column of the check is constant within a class: a singular covariance.",
    "check_sample_weights_not_overwritten": "A column of the check is constant within a class: a singular covariance.",
    "check_array_api_input": "Columns of the check are sums of others: a singular covariance.",
}
EM_TOL = 1e-8  # gain of the log-likelihood, for each unit of weight, at which EM ends


class _Discriminant(ClassifierMixin, Estimator):
    """Learns means and scatter of classes, and predicts from scores of the classes. Abstract."""

    _attrs = [
        attr("priors_", "(n_classes,)", "Probabilities of the classes."),
        attr("means_", "(n_classes, n_features)", "Means of the classes."),
        attr("n_iter_", "int", "Steps of EM; 1 where nothing is missing."),
    ]

    _missing = True
    _sparse = False
    _tensors = True
    _scales_priors: ClassVar[bool] = False  # whether given priors are divided by their sum, with a warning
    _scores: ClassVar[Any]  # scores of the classes for a block of rows, from the attributes named here
    _score_attributes: ClassVar[tuple[str, ...]] = ("_log_priors", "means_", "_whiten", "_log_dets")

    def _statistic(self, rows: Rows, shape: str, shared: bool, tol: float, progress: Any) -> Any:
        """Means and scatter of the classes that have weight, full or tied: a `WideScatter` for fewer rows than
        columns, else `Components`; where values are missing by EM, with a shared covariance or with one each."""
        wide = wide_scatter(rows) if getattr(self, "covariance_estimator", None) is None else None
        whole: Any = row_components(rows, shape) if wide is None else wide
        self.classes_ = whole.labels if wide is None else rows.reduce(label_counts).values
        S = whole.seen()
        if len(S.labels) < 2:
            raise InputError(f"The number of classes has to be greater than one; got {len(S.labels)} class.")
        if not S.gaps.any():
            self.n_iter_ = 1
            return S
        S, result = fit_with_gaps(rows, S.pool() if shared else S, tol, self.max_iter, progress.report)
        report_convergence(self, result)
        return S

    def _weights(self, S: Any) -> Array:
        """The weight of each class, 0 for those that S does not have."""
        weight = np.zeros(len(self.classes_))
        weight[np.searchsorted(self.classes_, S.labels)] = S.weight
        return weight

    def _class_priors(self, S: Any, given: Any) -> Array:
        """Probabilities of all classes; 0 for those without weight."""
        place = np.searchsorted(self.classes_, S.labels)
        priors = class_priors(given, self._weights(S), self._scales_priors)
        unseen = np.setdiff1d(np.arange(len(priors)), place)
        if isinstance(given, str):  # equal among the classes that there are
            priors[unseen] = 0.0
            return priors / priors.sum()
        if priors[unseen].any():
            label = self.classes_.tolist()[unseen[np.argmax(priors[unseen])]]
            raise InputError(f"Class {label!r} has no row with a positive weight: its prior must be 0.")
        return priors

    def _of_all_classes(self, found: dict[str, Any], S: Any, *names: str) -> dict[str, Any]:
        """The attributes `names`, which have an entry for each class of S, with entries for classes without weight: the
        mean of all rows, and any finite numbers else, as their probability is 0."""
        place = np.searchsorted(self.classes_, S.labels)
        if len(place) == len(self.classes_):
            return found
        source = np.zeros(len(self.classes_), np.intp)
        source[place] = np.arange(len(place))
        wide: dict[str, Any] = {
            k: [found[k][i] for i in source] for k in names if k in found and len(found[k]) == len(place)
        }
        wide = {k: np.stack(v) if isinstance(found[k], np.ndarray) else v for k, v in wide.items()}
        unseen = np.setdiff1d(np.arange(len(source)), place)
        wide["means_"][unseen] = S.weight @ S.mean / S.weight.sum()
        return found | wide

    @property
    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.priors_, np.float64))

    def _score_values(self) -> list[Any]:
        return [getattr(self, name) for name in self._score_attributes]

    def predict(self, X: Any) -> Any:
        """The most probable label of each row."""
        return self._after_fit()._map_rows(X, most_probable, self.classes_, self._scores, *self._score_values())

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes (n, K), in the order of classes_."""
        return self._after_fit()._map_rows(X, posterior, self._scores, *self._score_values())

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        return self._after_fit()._map_rows(X, log_posterior, self._scores, *self._score_values())


class _Density(_Discriminant):
    """Classes with a density of their own. Abstract."""

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log P(class, x) of each row and class."""
        return self._after_fit()._map_rows(X, class_scores, self._scores, *self._score_values())

    def decision_function(self, X: Any) -> Any:
        r""":math:`\log\pi_k-\tfrac12(\log|\Sigma_k|+d_k^2)` (n, K); for two classes the second less the first, (n,)."""
        return self._after_fit()._map_rows(X, discriminants, self._scores, *self._score_values())

    def score_samples(self, X: Any) -> Any:
        """The log density of each row, all classes together."""
        return self._after_fit()._map_rows(X, log_density, self._scores, *self._score_values())


def discriminants(X: Any, fn: Any, *args: Any) -> Any:
    """Joint log probabilities without the constant that all classes share; for two classes their difference."""
    joint = class_scores(X, fn, *args)
    return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint + 0.5 * LOG_2PI * X.shape[1]


def require_spread(S: Any) -> None:
    """Refuse a class whose rows are all equal; one row is that, too."""
    for label, varies in zip(S.labels.tolist(), S.varies, strict=True):
        if not varies:
            raise InputError(
                f"y has only 1 sample in class {label!r}, or all of its rows are equal, so its covariance is not "
                "defined: give it more rows, or use a covariance that the classes share."
            )


def singular(label: Any, cure: str) -> Singular:
    """The sentence on a singular covariance; label None means the one that all classes share."""
    whose = "that the classes share" if label is None else f"of class {label!r}"
    return Singular(
        f"The covariance matrix {whose} is not full rank. Columns are constant or sums of others, or there are too few "
        f"rows: drop such columns, or {cure}."
    )


def estimated_covariances(estimator: Any, rows: Rows, S: Components) -> tuple[list[Array], Array]:
    """The covariance of each class and of all rows, by a user's estimator with `fit` and `covariance_`."""
    why = "A covariance_estimator needs all rows in memory: leave it out, or use shrinkage."
    X, y, w = rows.require_memory(why).columns[:3]
    if w is not None or np.isnan(X).any():
        raise InputError("A covariance_estimator takes neither sample_weight nor missing values.")

    def covariance(block: Array) -> Array:
        fitted = clone(estimator, safe=False)
        fitted.fit(block)
        if not hasattr(fitted, "covariance_"):
            raise ParameterError(f"{type(estimator).__name__} does not have a covariance_ attribute after fit.")
        return np.atleast_2d(np.asarray(fitted.covariance_, np.float64))

    return [covariance(X[y == label]) for label in S.labels], covariance(X)


def refuse_together(solver: str, **given: Any) -> None:
    """Refuse shrinkage and covariance estimators where the solver knows none, and both of them together."""
    named = [name for name, value in given.items() if value is not None]
    if solver == "svd" and named:
        raise NotCovered(f"{named[0]} is not supported with solver='svd': take solver='eigen'.")
    if len(named) == 2:
        raise ParameterError(
            "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
        )


def shrunk_covariances(rows: Rows, S: Components, shrinkage: Any) -> list[Array]:
    """The covariance of each class, drawn towards a simpler one by a given share, or by Ledoit and Wolf's ("auto")."""
    covariances = list(S.covariances())
    if shrinkage is None:
        return covariances
    if shrinkage != "auto":
        return [shrunk(C, shrinkage) for C in covariances]
    fourth = fourth_moments(rows, S.labels, S.mean, np.stack([scales(C) for C in covariances]))
    return [auto_shrunk(*parts) for parts in zip(covariances, S.weight, fourth, strict=True)]
