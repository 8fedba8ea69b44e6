r"""One model per cluster: k-means parts the rows, and each part has a model of its own.

A new row goes to the model of its nearest centre, :math:`f(x) = f_{k(x)}(x)` with
:math:`k(x) = \arg\min_k\|x-c_k\|`. The local approach to an ensemble: the simplest of mixtures of experts, with a gate
that is fixed before the experts are learnt.

Jacobs, Jordan, Nowlan, Hinton (1991), Adaptive mixtures of local experts, doi:10.1162/neco.1991.3.1.79.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier

from didact.core.estimator import Estimator, report_convergence
from didact.core.meta import IN_MEMORY, OfModels, fit_each, fit_model, row_params, seeded
from didact.core.parameters import at_least, attr, has, none, param, random_state, whole
from didact.core.random import seed_sequence
from didact.core.rows import MemoryRows
from didact.core.typing import Array
from didact.engines.centroids.lloyd import assign, kmeans
from didact.ensemble.combine import class_probabilities
from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor


def by_cluster(X: Any, centers: Array, models: list[Any], answer: Callable[[Any, Any], Array], width: int) -> Array:
    """answer(model, rows) of each row's own model, (n,) or (n, width)."""
    labels, _ = assign(X, centers)
    out = np.empty((X.shape[0], width) if width else X.shape[0])
    for k, model in enumerate(models):
        rows = np.flatnonzero(labels == k)
        if len(rows):
            out[rows] = answer(model, X[rows])
    return out


def probabilities(X: Any, centers: Array, models: list[Any], classes: Array) -> Array:
    """Class probabilities (n, K); a cluster's model may know some of the classes only."""
    K = len(classes)
    return by_cluster(X, centers, models, lambda m, rows: class_probabilities(m, rows, K), K).astype(X.dtype)


def labels(X: Any, centers: Array, models: list[Any], classes: Array) -> Array:
    """The most probable class of each row."""
    return classes[probabilities(X, centers, models, classes).argmax(axis=1)]


def numbers(X: Any, centers: Array, models: list[Any]) -> Array:
    """The prediction of each row's model."""
    return by_cluster(X, centers, models, lambda m, rows: m.predict(rows), 0).astype(X.dtype)


def clusters(X: Any, centers: Array) -> Array:
    """The number of each row's cluster."""
    return assign(X, centers)[0]


class _Clusterwise(OfModels, Estimator):
    """What the two share. Abstract."""

    _missing = False  # distances need all values

    estimator: Any = param(None, [has("fit", "predict"), none], "Model of a cluster; None: a decision tree.")
    n_clusters: int = param(4, whole(1), "Number of clusters.")
    n_init: int = param(4, whole(1), "Runs of k-means from different starts; the best counts.")
    max_iter: int = param(300, whole(1), "Most iterations of k-means.")
    tol: float = param(1e-4, at_least(0), "Mean squared step of the centres, relative to the variance, that ends it.")
    random_state: Any = param(None, random_state, "Seed of k-means and of the models.")

    _attrs = [
        attr("cluster_centers_", "(n_clusters, n_features)", "Centres."),
        attr("cluster_sizes_", "(n_clusters,)", "Weight of the rows of each cluster."),
        attr("n_iter_", "int", "Iterations of k-means in the best run."),
    ]

    def _fit_clusters(self, X: Any, y: Array, w: Any, params: dict[str, Any]) -> None:
        """Set cluster_centers_, cluster_sizes_, n_iter_ and estimators_."""
        seeds = seed_sequence(self.random_state).spawn(self.n_init + self.n_clusters)
        rows = MemoryRows(X, None, w)
        result = kmeans(rows, self.n_clusters, seeds[: self.n_init], self.tol, self.max_iter)
        report_convergence(self, result)
        found, _ = assign(X, result.x)
        weights = np.ones(len(y)) if w is None else w
        self.cluster_sizes_ = np.bincount(found, weights, self.n_clusters)
        used = np.flatnonzero(self.cluster_sizes_ > 0)  # equal rows can leave a centre without any
        self.cluster_centers_, self.cluster_sizes_ = result.x[used], self.cluster_sizes_[used]

        def fit_cluster(task: tuple[Any, Any]) -> Any:
            index = np.flatnonzero((found == task[0]) & (weights > 0))
            model = seeded(self._base(), np.random.default_rng(task[1]))
            part = None if w is None else w[index]
            return self._fit_one(model, X[index], y[index], part, row_params(X, index, params))

        self.estimators_ = fit_each(fit_cluster, zip(used, seeds[self.n_init :], strict=False))

    def _fit_one(self, model: Any, X: Any, y: Array, w: Any, params: dict[str, Any]) -> Any:
        return fit_model(model, X, y, w, params)

    def predict_cluster(self, X: Any) -> Any:
        """The number of each row's cluster."""
        return self._after_fit()._map_rows(X, clusters, self.cluster_centers_)


SKIPS = {
    **IN_MEMORY,
    **{
        f"callbacks/{check}": "The iterations are those of k-means, in several runs side by side, which report nothing."
        for check in ("iterations", "model", "stop")
    },
}


class ClusterwiseClassifier(ClassifierMixin, _Clusterwise):
    r"""A classifier for each cluster of the rows.

    .. math:: P(k\mid x) = P_{c(x)}(k\mid x),\qquad c(x) = \arg\min_c \|x - \mu_c\|

    Notes
    -----
    Cost: k-means, n p K an iteration, and a fit for each cluster. The columns need similar scales. A cluster of one
    class predicts that class. Shape of computation: iterate, then map.

    References
    ----------
    Jacobs, Jordan, Nowlan, Hinton (1991), doi:10.1162/neco.1991.3.1.79.

    Examples
    --------
    >>> from didact.ensemble import ClusterwiseClassifier
    >>> from didact.linear_model import LogisticRegression
    >>> X = [[0.0], [1.0], [2.0], [3.0], [10.0], [11.0], [12.0], [13.0]]  # the order of the classes turns round
    >>> y = [0, 0, 1, 1, 1, 1, 0, 0]
    >>> ClusterwiseClassifier(LogisticRegression(), n_clusters=2, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _default = DecisionTreeClassifier
    _attrs = [attr("estimators_", "list of models", "The classifier of each cluster, of classes 0 … K−1.")]

    _test_params = [{"random_state": 0}]
    _test_skips = SKIPS

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "ClusterwiseClassifier":
        """Fit to rows X with labels y; sample_weight counts rows, other metadata go to the models."""
        X, y, w = self._training(X, y, sample_weight, target="labels")
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._fit_clusters(X, codes, w, self._routed(fit_params))
        return self

    def _fit_one(self, model: Any, X: Any, y: Array, w: Any, params: dict[str, Any]) -> Any:
        if len(np.unique(y)) == 1:
            return DummyClassifier(strategy="most_frequent").fit(np.zeros((len(y), 1)), y)
        return fit_model(model, X, y, w, params)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes from each row's own model."""
        return self._after_fit()._map_rows(X, probabilities, self.cluster_centers_, self.estimators_, self.classes_)

    def predict(self, X: Any) -> Any:
        """The class that each row's own model finds most probable."""
        return self._after_fit()._map_rows(X, labels, self.cluster_centers_, self.estimators_, self.classes_)


class ClusterwiseRegressor(RegressorMixin, _Clusterwise):
    r"""A regressor for each cluster of the rows.

    .. math:: f(x) = f_{c(x)}(x),\qquad c(x) = \arg\min_c \|x - \mu_c\|

    Notes
    -----
    Cost: k-means, n p K an iteration, and a fit for each cluster. The columns need similar scales. The prediction jumps
    at the borders of clusters; `MixtureOfExperts` blends. Shape of computation: iterate, then map.

    References
    ----------
    Jacobs, Jordan, Nowlan, Hinton (1991), doi:10.1162/neco.1991.3.1.79.

    Examples
    --------
    >>> from didact.ensemble import ClusterwiseRegressor
    >>> from didact.linear_model import LinearRegression
    >>> X = [[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]]
    >>> y = [3.0, 2.0, 1.0, 1.0, 2.0, 3.0]
    >>> model = ClusterwiseRegressor(LinearRegression(), n_clusters=2, random_state=0).fit(X, y)
    >>> model.predict([[-2.5], [2.5]]).round(6)
    array([2.5, 2.5])
    """

    _default = DecisionTreeRegressor
    _attrs = [attr("estimators_", "list of models", "The regressor of each cluster.")]

    _test_params = [{"random_state": 0}]
    _test_skips = SKIPS

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "ClusterwiseRegressor":
        """Fit to rows X with targets y; sample_weight counts rows, other metadata go to the models."""
        X, y, w = self._training(X, y, sample_weight, target="numeric")
        self._fit_clusters(X, y, w, self._routed(fit_params))
        return self

    def predict(self, X: Any) -> Any:
        """The prediction of each row's own model."""
        return self._after_fit()._map_rows(X, numbers, self.cluster_centers_, self.estimators_)
