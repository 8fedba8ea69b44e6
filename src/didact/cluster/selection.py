r"""How many clusters: four criteria, each over a range of numbers, with a picture and a recommendation in words.

With W the sum of squares within clusters and B that between them,

.. math:: \text{elbow: } W(K),\qquad CH(K) = \frac{B/(K-1)}{W/(n-K)},\qquad
    \text{Gap}(K) = \overline{\log W^*(K)} - \log W(K)

where W* are those of draws without clusters; and the mean silhouette. None of them knows what the clusters are for:
look at them, `Selection.plot_plane` shows them in the plane of two principal components.

Calinski, Harabasz (1974), doi:10.1080/03610927408827101; Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7;
Tibshirani, Walther, Hastie (2001), doi:10.1111/1467-9868.00293.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from didact.cluster.kmeans import KMeans
from didact.core.errors import InputError, ParameterError
from didact.core.overflow import refuse_extreme
from didact.core.parameters import whole
from didact.core.random import seed_sequence
from didact.core.rows.gather import dense
from didact.core.rows.memory import finite_sum, refuse_non_finite
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.linkage.silhouettes import silhouettes
from didact.engines.spectral.eigen import eigenpairs
from didact.parts.distances import distance_named
from didact.parts.statistics.components import components

__all__ = ["Selection", "calinski_harabasz", "elbow", "gap_statistic", "silhouette"]

MOST = 10  # clusters that are tried by default
SHALLOW = 0.15  # an elbow less far below the straight line says little
RATINGS = (0.7, "a strong structure"), (0.5, "a reasonable structure"), (0.25, "a weak structure, perhaps by chance")


class Selection(NamedTuple):
    """What a criterion says of several numbers of clusters.

    Examples
    --------
    >>> from didact.cluster.selection import calinski_harabasz
    >>> found = calinski_harabasz([[0.0], [1.0], [9.0], [10.0]], n_clusters=[2, 3])
    >>> found.best, found.values.round(6).tolist()
    (2, [162.0, 81.5])
    """

    criterion: str
    n_clusters: Array  # (m,) the numbers that were tried
    values: Array  # (m,) of the criterion
    errors: Array | None  # (m,) standard errors, of the gap statistic
    best: int
    recommendation: str
    labels: Array  # (m, n) the clusters of the rows

    def __str__(self) -> str:
        return self.recommendation

    def plot(self) -> Any:
        """The criterion over the number of clusters, as a Matplotlib figure."""
        from didact.plot.clusters import choice

        return choice(self.n_clusters, self.values, self.criterion, self.best, self.errors)

    def plot_plane(self, X: Any, n_clusters: int | None = None) -> Any:
        """The rows in the plane of their first two principal components, coloured by cluster."""
        from didact.plot.clusters import plane

        count = self.best if n_clusters is None else n_clusters
        if count not in self.n_clusters:
            raise ParameterError(f"There is no clustering into {count} here: choose one of {self.n_clusters.tolist()}.")
        points, shares = principal_plane(_rows(X))
        return plane(points, self.labels[self.n_clusters.tolist().index(count)], shares)


def principal_plane(X: Array) -> tuple[Array, Array]:
    """Coordinates of rows in the plane of the first two principal components, and their shares of the variance."""
    near = X - X.mean(axis=0)
    values, vectors = eigenpairs(near.T @ near, 2)
    points = np.zeros((len(X), 2))
    points[:, : vectors.shape[1]] = near @ vectors
    whole = float(np.einsum("ij,ij->", near, near)) or 1.0
    return points, np.pad(np.maximum(values, 0.0) / whole, (0, 2 - len(values)))


@entrance()
def elbow(
    X: Any, clusterer: Any = None, n_clusters: Iterable[int] | None = None, random_state: Any = None
) -> Selection:
    r"""The sum of squares within clusters; the choice is where its curve bends most.

    The bend is at the number farthest below the straight line from the first value to the last, both axes from 0 to 1.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    clusterer : estimator or None
        A model with `n_clusters` or `n_components`, fitted for each number, or once if its tree can be cut. None:
        k-means with five starts.
    n_clusters : iterable of int or None
        Numbers to try, three at least. None: 1 to 10.
    random_state : int, RandomState instance or None
        Seed of the default clusterer.

    Notes
    -----
    Cost: that of the fits.

    References
    ----------
    Thorndike (1953), doi:10.1007/BF02289263.

    Examples
    --------
    >>> from didact.cluster.selection import elbow
    >>> print(elbow([[0.0], [1.0], [9.0], [10.0]], n_clusters=range(1, 5), random_state=0))
    2 clusters: up to there the sum of squares falls by 99% of its first value, beyond it by another 1%.
    """
    rows = _rows(X)
    counts = _counts(rows, n_clusters, 1, 0)
    if len(counts) < 3:
        raise ParameterError(f"An elbow needs at least three numbers of clusters, and n_clusters has {len(counts)}.")
    labels = _labels(rows, clusterer, counts, random_state)
    W = np.array([_spread(rows, line)[0] for line in labels])
    across, fall = (counts - counts[0]) / (counts[-1] - counts[0]), (W[0] - W) / max(W[0] - W[-1], 1e-300)
    bend = fall - across
    at = int(np.argmax(bend))
    best = int(counts[at])
    first = max(float(W[0]), 1e-300)
    words = (
        f"{best} clusters: up to there the sum of squares falls by {(W[0] - W[at]) / first:.0%} of its first value, "
        f"beyond it by another {(W[at] - W[-1]) / first:.0%}."
    )
    if bend[at] < SHALLOW:
        words += " The bend is shallow: the rows may have no clear number of clusters."
    return _selection("sum of squares within clusters", counts, W, None, best, words, labels)


@entrance()
def calinski_harabasz(
    X: Any, clusterer: Any = None, n_clusters: Iterable[int] | None = None, random_state: Any = None
) -> Selection:
    r"""The index of Calinski and Harabasz, :math:`\frac{B/(K-1)}{W/(n-K)}`; the choice is its largest value.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    clusterer, n_clusters, random_state
        As in `elbow`; numbers from 2 on, by default 2 to 10.

    Notes
    -----
    Cost: that of the fits.

    References
    ----------
    Calinski, Harabasz (1974), doi:10.1080/03610927408827101.

    Examples
    --------
    >>> from didact.cluster.selection import calinski_harabasz
    >>> print(calinski_harabasz([[0.0], [1.0], [9.0], [10.0]], n_clusters=[2, 3], random_state=0))
    2 clusters: variance between clusters is 162 times that within, more than for any other number tried.
    """
    rows = _rows(X)
    counts = _counts(rows, n_clusters, 2, 1)
    labels = _labels(rows, clusterer, counts, random_state)
    W, B = np.array([_spread(rows, line) for line in labels]).T
    found = np.array([len(np.unique(line)) for line in labels])  # a clusterer may find fewer
    values = np.divide(B * (len(rows) - found), W * (found - 1), out=np.zeros(len(W)), where=(W > 0) & (found > 1))
    at = int(np.argmax(values))
    words = (
        f"{counts[at]} clusters: variance between clusters is {values[at]:.4g} times that within, more than for any "
        f"other number tried.{_at_the_end(counts, at)}"
    )
    return _selection("Calinski–Harabasz index", counts, values, None, int(counts[at]), words, labels)


@entrance()
def silhouette(
    X: Any, clusterer: Any = None, n_clusters: Iterable[int] | None = None, random_state: Any = None,
    metric: Any = "euclidean", metric_params: Any = None,
) -> Selection:  # fmt: skip
    r"""The mean silhouette :math:`\frac1n\sum_i\frac{b_i-a_i}{\max(a_i,b_i)}`; the choice is its largest value.

    a is a row's mean distance from the other rows of its cluster, b that from the rows of the nearest other cluster.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    clusterer, n_clusters, random_state
        As in `elbow`; numbers from 2 on, by default 2 to 10.
    metric, metric_params
        The distance, a name or a function of two rows, and its parameters.

    Notes
    -----
    Cost: that of the fits, and n² distances once for all numbers, in tiles and on all threads.

    References
    ----------
    Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> from didact.cluster.selection import silhouette
    >>> silhouette([[0.0], [1.0], [9.0], [10.0]], n_clusters=[2, 3], random_state=0).best
    2
    """
    rows = _rows(X)
    counts = _counts(rows, n_clusters, 2, 1)
    labels = _labels(rows, clusterer, counts, random_state)
    values = silhouettes(distance_named(metric, 2.0, metric_params, rows), rows, list(labels)).mean(axis=1)
    at = int(np.argmax(values))
    rating = next((words for least, words in RATINGS if values[at] > least), "no structure to speak of")
    words = (
        f"{counts[at]} clusters: the mean silhouette of {values[at]:.2f} is the largest, {rating}."
        f"{_at_the_end(counts, at)}"
    )
    return _selection("mean silhouette", counts, values, None, int(counts[at]), words, labels)


@entrance(n_draws=whole(1))
def gap_statistic(
    X: Any, clusterer: Any = None, n_clusters: Iterable[int] | None = None, random_state: Any = None,
    n_draws: int = 20, reference: str = "principal",
) -> Selection:  # fmt: skip
    r"""The gap :math:`\overline{\log W^*(K)} - \log W(K)` between draws without clusters and the rows.

    The choice is Tibshirani's: the smallest K with :math:`\text{Gap}(K)\ge\text{Gap}(K+1)-s_{K+1}`, where
    :math:`s = \mathrm{sd}(\log W^*)\sqrt{1+1/B}` is the standard error of B draws. It may be 1: no clusters.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    clusterer, n_clusters, random_state
        As in `elbow`; by default 1 to 10. Numbers must follow each other.
    n_draws : int
        Draws of n rows, B.
    reference : {"principal", "box"}
        Draws are uniform in a box along the principal components, or along the columns.

    Notes
    -----
    Cost: B + 1 times that of the fits.

    References
    ----------
    Tibshirani, Walther, Hastie (2001), doi:10.1111/1467-9868.00293.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.cluster.selection import gap_statistic
    >>> X = np.random.default_rng(0).uniform(size=(60, 2)) + 4.0 * (np.arange(60)[:, None] % 2)
    >>> gap_statistic(X, n_clusters=range(1, 4), random_state=0, n_draws=5).best
    2
    """
    rows = _rows(X)
    counts = _counts(rows, n_clusters, 1, 1)
    if len(counts) < 2 or (np.diff(counts) != 1).any():
        raise ParameterError("The rule of the gap statistic compares K and K + 1: give numbers that follow each other.")
    if n_draws < 2 or reference not in ("principal", "box"):
        raise ParameterError('n_draws is at least 2, and reference is "principal" or "box".')
    own, *seeds = seed_sequence(random_state).spawn(n_draws + 1)
    labels = _labels(rows, clusterer, counts, _whole(own))
    drawn = np.empty((n_draws, len(counts)))
    for b, seed in enumerate(seeds):
        draw = _reference(rows, reference, np.random.default_rng(seed))
        drawn[b] = _logs(draw, _labels(draw, clusterer, counts, _whole(seed)))
    gaps = drawn.mean(axis=0) - _logs(rows, labels)
    errors = drawn.std(axis=0) * np.sqrt(1.0 + 1.0 / n_draws)
    fits = np.flatnonzero(gaps[:-1] >= gaps[1:] - errors[1:])
    at = int(fits[0]) if len(fits) else int(np.argmax(gaps))
    return _selection("gap", counts, gaps, errors, int(counts[at]), _gap_words(counts, gaps, at, len(fits) > 0), labels)


def _gap_words(counts: Array, gaps: Array, at: int, found: bool) -> str:
    best = int(counts[at])
    if not found:
        return f"{best} clusters have the largest gap, {gaps[at]:.3g}, but no number tried satisfies the rule."
    words = f"{best} cluster{'s' * (best > 1)}: the smallest number whose gap, {gaps[at]:.3g}, is not below that of "
    words += f"{best + 1} clusters, {gaps[at + 1]:.3g}, less its standard error."
    return words + (" The rows look no more clustered than uniform draws." if best == 1 else "")


def _reference(X: Array, kind: str, rng: np.random.Generator) -> Array:
    """Rows drawn uniformly from a box around those of X."""
    mean = X.mean(axis=0)
    axes = np.eye(X.shape[1])
    if kind == "principal":
        axes = eigenpairs((X - mean).T @ (X - mean), X.shape[1])[1]
    turned = (X - mean) @ axes
    return np.asarray(mean + rng.uniform(turned.min(axis=0), turned.max(axis=0), X.shape) @ axes.T)


def _logs(X: Array, labels: Array) -> Array:
    """log W of clusterings."""
    return np.log([max(_spread(X, line)[0], 1e-300) for line in labels])


def _rows(X: Any) -> Array:
    """Rows as a dense array of finite numbers."""
    model = KMeans()
    rows = dense(model._rows(X, target="none").whole().X, np.float64)
    names = getattr(model, "feature_names_in_", None)
    if not finite_sum(rows):
        refuse_non_finite(rows, names)
    refuse_extreme(rows, names)
    return rows


def _counts(X: Array, asked: Iterable[int] | None, least: int, spare: int) -> Array:
    """The numbers of clusters, ascending; at most the distinct rows less `spare`."""
    distinct = len(np.unique(X, axis=0))
    counts = np.unique(np.arange(least, min(MOST, distinct - spare) + 1) if asked is None else np.asarray([*asked]))
    if not len(counts) or counts.dtype.kind not in "iu" or counts[0] < least:
        raise ParameterError(f"n_clusters must hold whole numbers of at least {least}; X has {distinct} distinct rows.")
    if counts[-1] > distinct - spare:
        raise InputError(f"X has {distinct} distinct rows: try at most {distinct - spare} clusters, not {counts[-1]}.")
    return counts


def _labels(X: Array, clusterer: Any, counts: Array, random_state: Any) -> Array:
    """The clusters of the rows for each number, (m, n); a model whose tree can be cut is fitted once."""
    model = KMeans(n_init=5, random_state=random_state) if clusterer is None else clone(clusterer)
    known = model.get_params(deep=False)
    name = next((name for name in ("n_clusters", "n_components") if name in known), None)
    if name is None or not hasattr(model, "fit_predict"):
        raise ParameterError(f"{type(model).__name__} has no parameter n_clusters or n_components, or no fit_predict.")
    if hasattr(model, "cut"):
        none = {key: None for key in ("distance_threshold",) if key in known}
        model.set_params(n_clusters=int(counts[-1]), **none).fit(X)
        return np.array([model.cut(int(count)) for count in counts])
    return np.array([np.asarray(clone(model).set_params(**{name: int(count)}).fit_predict(X)) for count in counts])


def _spread(X: Array, labels: Array) -> tuple[float, float]:
    """Sums of squares within clusters and between them."""
    S = components(X, labels, "spherical")
    gaps = S.mean - X.mean(axis=0)
    return float(S.scatter.sum()), float(S.weight @ (gaps * gaps).sum(axis=1))


def _whole(seed: np.random.SeedSequence) -> int:
    return int(seed.generate_state(1)[0] >> 1)


def _at_the_end(counts: Array, at: int) -> str:
    return " It is the largest number tried: try more." if at + 1 == len(counts) > 1 else ""


def _selection(
    criterion: str, counts: Array, values: Array, errors: Array | None, best: int, words: str, labels: Array
) -> Selection:
    return Selection(
        criterion=criterion,
        n_clusters=counts,
        values=values,
        errors=errors,
        best=best,
        recommendation=words,
        labels=labels,
    )
