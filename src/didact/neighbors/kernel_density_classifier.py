r"""Classification by kernel densities: Bayes' rule with a density estimate for each class.

.. math:: P(k\mid x) = \frac{P(k)\,\hat p_k(x)}{\sum_l P(l)\,\hat p_l(x)}

With equal bandwidths, and priors from the data, every row votes for its class with the weight K((x − x_i)/h).

Fix, Hodges (1951), reprinted 1989, Discriminatory analysis, doi:10.2307/1403797.
"""

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin

from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.meta import check_parameters
from didact.core.parameters import above, array_like, at_least, attr, between, none, one_of, param, whole
from didact.core.typing import Array
from didact.neighbors.bandwidths import rule, typical_width
from didact.neighbors.kernel_density import KernelDensity, Ready, log_density
from didact.parts.statistics.counts import label_counts
from didact.parts.statistics.weights import case_range, in_cases
from didact.parts.windows import WINDOWS


def joint(X: Any, log_prior: Array, classes: list[Ready | None], rtol: float, atol: float) -> Array:
    """log P(k) + log p̂_k(x); −∞ for a class without rows."""
    nothing = np.full(X.shape[0], -np.inf, X.dtype)
    parts = [nothing if one is None else log_density(X, one, rtol, atol) for one in classes]
    return np.column_stack(parts) + log_prior.astype(X.dtype)


def log_posterior(X: Any, log_prior: Array, *args: Any) -> Array:
    """log P(k | x); the log priors where the densities of all classes are zero."""
    logs = joint(X, log_prior, *args)
    nowhere = np.isneginf(logs).all(axis=1)
    logs[nowhere] = log_prior
    return logs - logsumexp(logs, axis=1, keepdims=True)


def posterior(X: Any, *args: Any) -> Array:
    """P(k | x)."""
    return np.exp(log_posterior(X, *args))


def most_probable(X: Any, labels: Array, *args: Any) -> Array:
    """The label with the largest probability."""
    return labels[np.argmax(log_posterior(X, *args), axis=1)]


def class_counts(w: Array, codes: Array, classes: int) -> list[Array]:
    """The weights of each class as numbers of rows; weights that are not whole are rescaled within each class."""
    seen, parts = case_range(w), [w[codes == k] for k in range(classes)]
    if seen.whole:
        return [v / seen.unit for v in parts]
    return [v / v.mean() if len(v) else v for v in parts]


class KernelDensityClassifier(ClassifierMixin, Estimator):
    r"""Bayes' rule with a kernel density for each class.

    .. math:: P(k\mid x) \propto P(k)\,\frac1{n_k h_k^D}\sum_{i:\,y_i=k} K\Big(\frac{\|x-x_i\|}{h_k}\Big)

    Notes
    -----
    Cost: that of `KernelDensity` on all rows. Sample weights are turned into numbers of rows as there, relative ones
    within each class. A class whose rows are all equal has no bandwidth of its own: "cv" is then Scott's rule for all
    rows. Where no window of any class reaches, the probabilities are the priors; windows with tails reach everywhere.
    Shape of computation: pairs.

    References
    ----------
    Fix, Hodges (1951, reprinted 1989), doi:10.2307/1403797; Parzen (1962), doi:10.1214/aoms/1177704472.

    Examples
    --------
    >>> from didact.neighbors import KernelDensityClassifier
    >>> X, y = [[0.0], [1.0], [5.0], [6.0]], ["low", "low", "high", "high"]
    >>> model = KernelDensityClassifier(bandwidth={"low": 0.5, "high": 1.0}).fit(X, y)
    >>> model.predict([[2.0], [1000.0]]).tolist(), model.predict_proba([[2.0]]).round(2)
    (['low', 'high'], array([[0.04, 0.96]]))
    """

    _sparse = False
    _test_params = [{"bandwidth": 1.0, "kernel": "epanechnikov"}]

    bandwidth: Any = param(
        "cv",
        [above(0), array_like, dict, one_of("scott", "silverman", "cv")],
        "Bandwidth of all classes as in KernelDensity, or a dictionary with one for each label.",
    )
    kernel: str = param("gaussian", one_of(*WINDOWS), "Window.")
    shape: str = param(
        "spherical", one_of("spherical", "diagonal", "full", "local"), "Units of the bandwidths, within each class."
    )
    adaptive: float = param(0.0, between(0, 1), "Exponent α of the rows' own widths; 0.5 is Abramson's rule.")
    n_neighbors: int = param(50, whole(2), "Rows around a row that its covariance comes from (shape='local').")
    grid: Any = param(None, [array_like, none], "Candidates for 'cv'; None: 20 around Scott's rule.")
    priors: Any = param(None, [array_like, none], "Probabilities of the classes; None: from the data.")
    atol: float = param(0.0, at_least(0), "Absolute error of the densities that is allowed.")
    rtol: float = param(0.0, at_least(0), "Relative error of the densities that is allowed; 0: exact.")

    _attrs = [
        attr("class_count_", "(n_classes,)", "Weight of each class."),
        attr("class_prior_", "(n_classes,)", "Probability of each class."),
        attr("densities_", "list of KernelDensity or None", "Density of each class; None without weight."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelDensityClassifier":
        """Estimate the density of each class; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="labels")
        self.classes_ = rows.reduce(label_counts).values
        X, y, w = rows.gather()
        codes = np.searchsorted(self.classes_, y)
        self.class_count_ = np.bincount(codes, weights=w, minlength=len(self.classes_))
        if np.count_nonzero(self.class_count_) < 2:
            raise InputError(f"y has one class, {y[0]!r}, with weight: a classifier needs two classes or more.")
        self.class_prior_ = self._priors().astype(rows.dtype)
        parts = [(X[codes == k], v) for k, v in enumerate(class_counts(w, codes, len(self.classes_)))]
        widths = [self._width(h, x, X, w) for h, (x, _) in zip(self._bandwidths(), parts, strict=True)]
        self.densities_ = [
            self._density(h).fit_counts(x, v) if len(v) else None for h, (x, v) in zip(widths, parts, strict=True)
        ]
        return self

    def _width(self, bandwidth: Any, x: Array, X: Array, w: Array) -> Any:
        """The bandwidth of a class with rows x; if these are all equal, 'cv' means Scott's rule for all rows X."""
        chosen = isinstance(bandwidth, str) and bandwidth == "cv" and self.shape == "spherical"
        if not chosen or not len(x) or np.ptp(x, axis=0).any():
            return bandwidth
        X, w = X.astype(np.float64), in_cases(w)[0]
        return rule("scott", float(w.sum()), X.shape[1]) * typical_width(X, w)

    def _density(self, bandwidth: Any) -> KernelDensity:
        same = {name: getattr(self, name) for name in ("kernel", "shape", "adaptive", "n_neighbors", "grid")}
        return KernelDensity(bandwidth=bandwidth, **same)

    def _bandwidths(self) -> list[Any]:
        """The bandwidth of each class."""
        if not isinstance(self.bandwidth, dict):
            return [self.bandwidth] * len(self.classes_)
        labels = self.classes_.tolist()
        absent = [label for label in labels if label not in self.bandwidth]
        if absent:
            raise ParameterError(f"bandwidth has no entry for the class {absent[0]!r}.")
        for label in labels:
            try:
                check_parameters(self._density(self.bandwidth[label]))
            except ValueError as error:
                raise ParameterError(f"In the entry of bandwidth for the class {label!r}: {error}") from error
        return [self.bandwidth[label] for label in labels]

    def _priors(self) -> Array:
        K = len(self.classes_)
        if self.priors is None:
            return self.class_count_ / self.class_count_.sum()
        prior = np.asarray(self.priors, np.float64)
        if prior.shape != (K,):
            raise ParameterError(f"There are {K} classes and {prior.size} priors.")
        if (prior < 0).any() or not np.isclose(prior.sum(), 1.0):
            raise ParameterError("Priors must be non-negative and add up to 1.")
        return prior

    @property
    def _log_prior(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior_)

    @property
    def _ready(self) -> list[Ready | None]:
        return [None if density is None else density._ready for density in self.densities_]

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log P(class) + log density of each row and class."""
        return self._after_fit()._map_rows(X, joint, self._log_prior, self._ready, self.rtol, self.atol)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        return self._after_fit()._map_rows(X, log_posterior, self._log_prior, self._ready, self.rtol, self.atol)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes (n, K), in the order of classes_."""
        return self._after_fit()._map_rows(X, posterior, self._log_prior, self._ready, self.rtol, self.atol)

    def predict(self, X: Any) -> Any:
        """The most probable label of each row."""
        return self._after_fit()._map_rows(
            X, most_probable, self.classes_, self._log_prior, self._ready, self.rtol, self.atol
        )
