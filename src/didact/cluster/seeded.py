r"""k-means with a few labels: labelled rows stay with their class, the others go to the nearest centre.

Every class has one or more centres. A row whose label is known goes to the nearest centre of its class, any other row
to the nearest of all, and each centre to the mean of its rows; the cost

.. math:: \sum_{i\ \text{labelled}} w_i\min_{k:\,g(k)=y_i}\|x_i-c_k\|^2 + \sum_{i\ \text{not}} w_i\min_k\|x_i-c_k\|^2

never rises. How many centres a class gets is chosen by the error on labelled rows that are held out.

Basu, Banerjee, Mooney (2002), Semi-supervised clustering by seeding, ICML (constrained k-means).
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from didact.cluster.base import finite_spread, nearest
from didact.core.backend import float_type, is_sparse, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Estimator, report_convergence
from didact.core.parameters import at_least, attr, one_of, param, random_state, share, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.typing import Array
from didact.engines.centroids.lloyd import Clusters, LloydState, clusters_of, mean_variance
from didact.engines.centroids.starts import distinct, plus_plus
from didact.engines.loop.iterate import iterate
from didact.engines.loop.result import Result


def seeded_clusters(block: Block, centers: Array, owners: Array) -> Clusters:
    """The clusters of a block; y holds the class of each row, −1 where it is not known."""
    y, total = to_numpy(block.y).astype(np.int64), Clusters(np.zeros(centers.shape), np.zeros(len(centers)), 0.0)
    for code in np.unique(y):
        here = np.flatnonzero(y == code)
        own = np.arange(len(owners)) if code < 0 else np.flatnonzero(owners == code)
        if not len(own):  # a class without weight
            continue
        part = clusters_of(block._replace(y=None).each(lambda column, here=here: column[here]), centers[own])
        sums, weights = np.zeros(centers.shape), np.zeros(len(centers))
        sums[own], weights[own] = part.sums, part.weights
        total = total.merge(Clusters(sums, weights, part.cost))
    return total


def starts(X: Any, y: Array, w: Any, each: int, classes: int, seed: Any) -> tuple[Array, Array]:
    """Centres drawn from the labelled rows of each class, as many as it has different rows at most; their classes."""
    centers, owners = [], []
    for code in range(classes):
        here = np.flatnonzero(y == code)
        weights = np.ones(len(here)) if w is None else np.asarray(w, np.float64)[here]
        if not weights.any():  # no row speaks for this class
            continue
        few = min(each, len(distinct(X[here], weights, 0)[1]))
        stream = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, code)))
        centers.append(plus_plus(X[here], weights, few, stream))
        owners += [code] * few
    return np.vstack(centers), np.array(owners)


def seeded(rows: Rows, start: Array, owners: Array, tol: float, max_iter: int, report: Any = None) -> Result:
    """Iterations from these centres."""
    scale = mean_variance(finite_spread(rows))

    def state(x: Array) -> LloydState:
        found = rows.reduce(seeded_clusters, x, owners)
        return LloydState(x, found, found.means(x), scale)

    return iterate(state(start), lambda s: state(s.means), tol, max_iter, report)


def class_of_nearest(X: Any, centers: Array, classes: Array) -> Array:
    """The class of each row's nearest centre."""
    return np.asarray(classes[nearest(X, centers)])


class SeededKMeans(ClassifierMixin, Estimator):
    r"""k-means in which rows with a known label stay with their class: a few labels, many rows without.

    .. math:: \min_c \sum_{i\ \text{labelled}} w_i \min_{k:\,g(k)=y_i} \|x_i-c_k\|^2 +
              \sum_{i\ \text{not}} w_i \min_k \|x_i-c_k\|^2

    Notes
    -----
    Rows without a label have `unlabelled` as their y. With ``n_clusters="auto"`` a share of the labelled rows is held
    out, models with 1 … `max_clusters` centres a class are fitted to the rest, all of it without their labels, and the
    number with the least error on them, of equal ones the smallest, is fitted to everything. Cost: n p K an iteration,
    for each number that is tried. Rows must fit in memory. Shape of computation: iterate.

    References
    ----------
    Basu, Banerjee, Mooney (2002), Semi-supervised clustering by seeding, ICML; Basu, Bilenko, Mooney (2004),
    doi:10.1145/1014052.1014062.

    Examples
    --------
    >>> from didact.cluster import SeededKMeans
    >>> X = [[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]]
    >>> model = SeededKMeans().fit(X, [0, -1, -1, -1, -1, 1])
    >>> model.cluster_centers_.ravel(), model.predict([[3.0], [8.0]])
    (array([ 1., 10.]), array([0, 1]))
    """

    n_clusters: Any = param(1, [whole(1), one_of("auto")], "Centres of a class; 'auto': by held-out labels.")
    max_clusters: int = param(5, whole(1), "Most centres of a class that 'auto' tries.")
    validation_fraction: float = param(0.25, share("neither"), "Share of the labelled rows that 'auto' holds out.")
    unlabelled: Any = param(-1, [int, float, str], "The value of y that says that a label is not known.")
    max_iter: int = param(300, whole(1), "Most iterations.")
    tol: float = param(1e-4, at_least(0), "As in `KMeans`.")
    random_state: Any = param(0, random_state, "Seed of the starts and of what is held out.")

    _attrs = [
        attr("cluster_centers_", "(n_centers, n_features)", "Centres."),
        attr("cluster_classes_", "(n_centers,)", "The class of each centre."),
        attr("labels_", "(n_samples,)", "The class of each row: its own label, or that of its nearest centre."),
        attr("n_clusters_", "int", "Centres of a class, at most."),
        attr("validation_scores_", "(max_clusters,)", "Accuracy on held-out labels.", "n_clusters='auto'"),
        attr("inertia_", "float", "The cost."),
        attr("n_iter_", "int", "Iterations."),
    ]

    _test_params = [{"n_clusters": 2}]
    _test_skips = {"check_classifiers_classes": "Its classes are −1 and 1, and −1 says that a label is not known."}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SeededKMeans":
        """Find centres of rows X with labels y, of which some are `unlabelled`; sample_weight counts rows."""
        block = self._rows(X, y, sample_weight, target="labels").whole()
        labels = to_numpy(block.y)
        host = block.X if is_sparse(block.X) else to_numpy(block.X)
        w, target = None if block.weight is None else to_numpy(block.weight), self._codes(labels)
        seed = seed_sequence(self.random_state)
        self.n_clusters_ = self._chosen(host, target, w, seed) if self.n_clusters == "auto" else self.n_clusters
        with FitProgress(self, X=X, y=y, attributes=lambda x: {"cluster_centers_": x}) as progress:
            start, owners = starts(host, target, w, self.n_clusters_, len(self.classes_), seed)
            self.cluster_classes_ = self.classes_[owners]
            rows = MemoryRows(host, target, w, names=getattr(self, "feature_names_in_", None))
            result = seeded(rows, start, owners, self.tol, self.max_iter, progress.report)
        report_convergence(self, result)
        self._store(host, labels, target, result)
        return self

    def _codes(self, labels: Array) -> Array:
        """The number of each row's class, −1 where it is not known; sets the classes."""
        known = labels != self.unlabelled
        if not known.any():
            raise InputError(f"No row has a label: all values of y are {self.unlabelled!r}; use KMeans instead.")
        self.classes_, codes = np.unique(labels[known], return_inverse=True)
        target = np.full(len(labels), -1)
        target[known] = codes
        return target

    def _store(self, X: Any, labels: Array, target: Array, result: Result) -> None:
        self.cluster_centers_, self.inertia_ = result.x.astype(float_type(X)), float(result.value)
        found = class_of_nearest(X, self.cluster_centers_, self.cluster_classes_)
        self.labels_ = np.where(target >= 0, labels, found)

    def _chosen(self, X: Any, target: Array, w: Any, seed: Any) -> int:
        """The number of centres of a class that is best on labelled rows held out; every class keeps one at least."""
        rng, held = np.random.default_rng(seed), np.zeros(len(target), bool)
        for code in range(len(self.classes_)):
            here = rng.permutation(np.flatnonzero(target == code))
            held[here[: min(int(np.ceil(self.validation_fraction * len(here))), len(here) - 1)]] = True
        if not held.any():
            raise InputError("No label can be held out: give n_clusters, or at least two labelled rows of a class.")
        seen, scores = np.where(held, -1, target), []
        for each in range(1, self.max_clusters + 1):
            start, owners = starts(X, seen, w, each, len(self.classes_), seed)
            found = seeded(MemoryRows(X, seen, w), start, owners, self.tol, self.max_iter)
            scores.append(float(np.mean(class_of_nearest(X[held], found.x, owners) == target[held])))
        self.validation_scores_ = np.array(scores)
        return int(np.argmax(self.validation_scores_)) + 1

    def predict(self, X: Any) -> Any:
        """The class of each row's nearest centre."""
        return self._after_fit()._map_rows(X, class_of_nearest, self.cluster_centers_, self.cluster_classes_)
