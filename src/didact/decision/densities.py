r"""Classes whose distributions are known: Bayes' rule :math:`P(k\mid x) \propto P(k)\,p(x\mid k)`, nothing to learn."""

from typing import Any

import numpy as np
from scipy import special
from sklearn.base import ClassifierMixin

from didact.core.backend import is_sparse
from didact.core.errors import ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import array_like, none, param
from didact.core.typing import Array


def joint(X: Any, distributions: Any, log_prior: Array) -> Array:
    """log P(k) + log p(x | k); a distribution of numbers holds for each column by itself."""
    X = np.asarray(X.toarray() if is_sparse(X) else X, np.float64)
    logs = [d.log_prob(X) if d.event_ndim else d.log_prob(X).sum(axis=1) for d in distributions]
    return np.column_stack(logs) + log_prior


def posterior(X: Any, distributions: Any, log_prior: Array) -> Array:
    """P(k | x); the prior where no class can have made the row."""
    J = joint(X, distributions, log_prior)
    J = np.where(np.isneginf(J).all(axis=1, keepdims=True), log_prior, J)
    return special.softmax(J, axis=1).astype(X.dtype)


class _KnownDensities(ClassifierMixin, Estimator):
    """A classifier of known priors and class-conditional distributions."""

    distributions: Any = param(None, [array_like, none], "A distribution for each class.")
    priors: Any = param(None, [array_like, none], "Probabilities of the classes; None: equal.")
    classes: Any = param(None, [array_like, none], "Labels of the classes; None: 0, 1, ….")

    def fit(self, X: Any = None, y: Any = None) -> "_KnownDensities":
        """Check the parameters; data are not looked at."""
        K = len(self.distributions or ())
        if K < 2 or not all(hasattr(d, "log_prob") for d in self.distributions):
            raise ParameterError("distributions must be at least two distributions of didact.distributions.")
        priors = np.full(K, 1.0 / K) if self.priors is None else np.asarray(self.priors, np.float64)
        if priors.shape != (K,) or (priors < 0).any() or not np.isclose(priors.sum(), 1.0):
            raise ParameterError(f"priors must be {K} numbers of at least 0 with the sum 1, one for each distribution.")
        self.classes_ = np.arange(K) if self.classes is None else np.asarray(self.classes)
        if len(np.unique(self.classes_)) != K:
            raise ParameterError(f"classes must be {K} different labels, one for each distribution.")
        with np.errstate(divide="ignore"):
            self.log_prior_ = np.log(priors)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, in the order of the distributions."""
        return self._after_fit()._map_rows(X, posterior, self.distributions, self.log_prior_)

    def predict(self, X: Any) -> Any:
        """The most probable class."""
        return self.classes_[np.asarray(self.predict_proba(X)).argmax(axis=1)]
