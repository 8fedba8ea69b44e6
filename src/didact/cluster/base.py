"""What models of centres share: labels and distances of new rows, scores, names of columns; and checks of a start."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from didact.core.backend import as_dense, float_type, is_sparse, is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError, ParameterError, users_level
from didact.core.estimator import Estimator, warn_convergence
from didact.core.overflow import refuse_extreme, refuse_vanished
from didact.core.parameters import array_like, is_callable, one_of, param
from didact.core.rows import Rows
from didact.core.sparse import check_sparse
from didact.core.typing import Array
from didact.engines.centroids.lloyd import assign, assigned_of, spread_of
from didact.engines.centroids.starts import plus_plus, random_partition, random_rows, rows_to_draw, too_few_distinct
from didact.parts.statistics.components import Components

SUMMABLE = 1e300  # the sum of squares of the rows: products with their number stay finite
FEW = "too few for so many clusters: choose fewer clusters, or give more rows"


def init_param() -> Any:
    """The parameter `init`."""
    doc = (
        "The start: greedy k-means++, rows at random, means of a partition at random, centres "
        "(n_clusters, n_features), or a function of X, n_clusters and random_state that returns them."
    )
    return param("k-means++", [one_of("k-means++", "random", "random-partition"), is_callable, array_like], doc)


def nearest(X: Any, centers: Array) -> Array:
    """The number of each row's nearest centre."""
    return assign(X, centers)[0]


def distances(X: Any, centers: Array) -> Any:
    """The distances of each row from all centres, (n, K)."""
    if is_tensor(X):
        xp, C = namespace(X), like(centers, X)
        return xp.stack([xp.sum((X - c) ** 2, axis=1) ** 0.5 for c in C], axis=1)
    C, out = centers.astype(np.float64), np.empty((X.shape[0], len(centers)), float_type(X))
    if is_sparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()[:, None]
        out[:] = np.sqrt(np.maximum(squares - 2 * (X @ C.T) + (C * C).sum(axis=1), 0.0))
        return out
    for k, c in enumerate(C):
        step = X - c
        out[:, k] = np.sqrt(np.einsum("ij,ij->i", step, step, dtype=np.float64))
    return out


class _Centers(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    """A model with `cluster_centers_`. Abstract."""

    _tensors = True

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def predict(self, X: Any) -> Any:
        """The number of each row's nearest centre, of equally near ones the first."""
        return self._after_fit()._map_rows(X, nearest, self.cluster_centers_)

    def transform(self, X: Any) -> Any:
        """The distances of each row from all centres, (n, n_clusters)."""
        return self._after_fit()._map_rows(X, distances, self.cluster_centers_)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the distances of the same rows from all centres."""
        return self.fit(X, y, sample_weight).transform(X)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the cluster of each of the same rows."""
        return self.fit(X, y, sample_weight).labels_

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of the rows, Σ w min‖x − c‖²."""
        rows = self._after_fit()._rows(X, None, sample_weight, target="none", reset=False)
        return -float(rows.reduce(assigned_of, self.cluster_centers_.astype(np.float64)).cost)


def drawn(rows: Rows, init: Any, count: int, rng: np.random.Generator, trials: int | None = None) -> Array:
    """The centres at which a run begins, (count, p), float64."""
    if callable(init):
        X, _ = rows_to_draw(rows, count)
        return given(init(X, count, random_state=np.random.RandomState(rng.integers(2**31))), rows, count)
    if not isinstance(init, str):
        return given(init, rows, count)
    X, w = rows_to_draw(rows, count)
    refuse_few(X, w, count)
    if init == "k-means++":
        return plus_plus(X, w, count, rng, trials)
    return (random_rows if init == "random" else random_partition)(X, w, count, rng)


def refuse_few(X: Any, w: Any, count: int) -> None:
    """Refuse fewer rows, or rows with weight, than clusters."""
    n = X.shape[0] if w is None else int(np.count_nonzero(w))
    if n < count:
        raise InputError(f"n_samples={n} should be >= n_clusters={count}: {FEW}.")


def refuse_few_rows(rows: Rows, count: int) -> None:
    """Refuse fewer rows in memory than clusters; batches may still bring more."""
    if rows.memory:
        refuse_few(rows.memory.X, None, count)


def finite_spread(rows: Rows) -> Components:
    """Mean and scatter of the rows; refuses values that are no numbers, or with squares that overflow or vanish."""
    spread = rows.reduce(spread_of)
    if not (spread.scatter < SUMMABLE).all() or not np.isfinite(spread.mean).all():
        if rows.memory:
            refuse_extreme(rows.memory.X, rows.names)
        raise InputError("The squares of values of X are too large to add up: rescale the columns.")
    refuse_vanished(rows, spread.scatter)
    return spread


def given(init: Any, rows: Rows, count: int) -> Array:
    """Centres of the user's, once their shape and values are looked at."""
    centers = np.array(to_numpy(as_dense(check_sparse(init, "init"))), np.float64)
    if centers.ndim != 2 or len(centers) != count:
        raise ParameterError(
            f"The shape of the initial centers {centers.shape} does not match the number of clusters {count}."
        )
    if centers.shape[1] != rows.n_features:
        raise ParameterError(
            f"The shape of the initial centers {centers.shape} does not match the number of features of the data "
            f"{rows.n_features}."
        )
    if not np.isfinite(centers).all():
        raise ParameterError("The initial centers contain NaN or infinity: give numbers.")
    return centers


def number_of_runs(init: Any, n_init: Any, many: int) -> int:
    """Runs that are made: those asked for; by default one from k-means++ or given centres, else `many`."""
    if not isinstance(init, str) and not callable(init):
        if n_init not in ("auto", 1):
            sentence = f"Explicit initial center position passed: performing only one init instead of n_init={n_init}."
            warnings.warn(sentence, RuntimeWarning, stacklevel=users_level())
        return 1
    return (1 if isinstance(init, str) and init == "k-means++" else many) if n_init == "auto" else int(n_init)


def counting(progress: Any, runs: list[Any]) -> Any:
    """A report for one more run that counts on from the iterations of the runs so far."""
    before = sum(result.n_iter for result in runs)

    def report(iteration: int, value: float, x: Any) -> bool:
        return bool(progress.report(before + iteration, value, x))

    return report


def warn_of_equal_rows(labels: Array, count: int) -> None:
    """Say that there are fewer distinct rows than clusters."""
    found = np.count_nonzero(np.bincount(labels, minlength=count))
    if found < count:
        warnings.warn(
            f"Number of distinct clusters ({found}) found smaller than n_clusters ({count}). Possibly due to duplicate "
            "points in X.",
            ConvergenceWarning,
            stacklevel=users_level(),
        )


def warn_of_few(model: Any, X: Any, w: Any) -> None:
    """Say that there are fewer distinct rows than clusters, where clusters are not emptied by it."""
    if few := too_few_distinct(X, w, model.n_clusters):
        warn_convergence(
            model,
            f"X has only {few} distinct row(s), fewer than n_clusters={model.n_clusters}: equal rows were divided "
            "between clusters, or clusters have no rows. Choose fewer clusters.",
        )


def warn_of_equal_centers(centers: Array, labels: Array) -> None:
    """Say so after steps that can leave a centre without rows, but only if two centres are equal but for rounding."""
    size = float(np.abs(centers).max(initial=0.0)) or 1.0
    if len(np.unique(np.round(centers / size, 9), axis=0)) < len(centers):
        warn_of_equal_rows(labels, len(centers))
