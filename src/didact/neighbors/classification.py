"""Classifiers by the votes of neighbours: the k nearest rows, or all rows within a radius."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.errors import InputError, ParameterError
from didact.core.estimator import tagged
from didact.core.parameters import Attribute, array_like, at_least_or_infinite, attr, none, param, whole
from didact.core.typing import Array
from didact.neighbors.base import (
    LONELY,
    KNeighborsQueries,
    RadiusQueries,
    _Neighbors,
    _Search,
    bandwidth_param,
    weights_param,
)
from didact.neighbors.neighborhoods import class_labels, class_shares


@tagged(classifier_tags__multi_label=True, target_tags__multi_output=True)
class ClassAnswers:
    """Fitting labels and predicting by votes, for both classifiers."""

    _attrs: ClassVar[list[Attribute]] = [
        attr("classes_", "(n_classes,) or list of these", "Labels, sorted; a list if there are several outputs."),
        attr("outputs_2d_", "bool", "Whether y had several columns."),
    ]

    def _learn_classes(self: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        y, self._sample_weight = self._index_rows(X, y, sample_weight, target="label columns")
        self.outputs_2d_ = y.ndim == 2
        names = self.__dict__.pop("_labels")
        columns = y.reshape(len(y), -1).T
        self._codes = np.stack([np.searchsorted(*pair) for pair in zip(names, columns, strict=True)], axis=1)
        self.classes_ = names if self.outputs_2d_ else names[0]
        return self

    @property
    def _votes(self: Any) -> tuple[Any, ...]:
        """Codes of the fitted labels, the classes of each output, whether there are several, labels of outliers."""
        classes = self.classes_ if self.outputs_2d_ else [self.classes_]
        return self._codes, classes, self.outputs_2d_, getattr(self, "outlier_label_", [None] * len(classes))

    def predict(self: Any, X: Any) -> Any:
        """The label with the most votes of each row's neighbours; ties go to the first in classes_.

        With X None, the fitted rows are predicted, each by the others.
        """
        return self._after_fit()._answer(X, class_labels, *self._votes)

    def predict_proba(self: Any, X: Any) -> Any:
        """Shares of the votes (n, K), in the order of classes_; a list of these if there are several outputs.

        With X None, the fitted rows are predicted, each by the others.
        """
        return self._after_fit()._answer(X, class_shares, *self._votes)


class KNeighborsClassifier(KNeighborsQueries, ClassAnswers, ClassifierMixin, _Search, _Neighbors):
    r"""The class that most of the k nearest rows have.

    .. math:: P(c\mid x) = \sum_{i\in N_k(x)} w(d_i)\,[y_i=c] \Big/ \sum_{i\in N_k(x)} w(d_i)

    Notes
    -----
    Ties in distance are broken by row number, ties in votes by the order of classes_: the answer depends neither on
    `algorithm` nor on the number of threads. With sample weights, neighbours are added until their weights reach k; the
    last one counts in part. Weights count in units of the smallest one if all are whole multiples of it (equal weights
    count each row once; a weight of 2 beside weights of 1 is that row twice), else so that their mean is 1: a constant
    factor changes nothing. Rows of weight 0 are not indexed (row numbers are then those of the remaining rows).
    Infinite weights of a function, such as 1/d² at distance 0, outweigh all finite ones; if all neighbours of a row get
    weight 0, an error is raised. Precomputed distances may be sparse: entries that are not stored are farther away than
    all that are. Cost: that of the search (`NearestNeighbors`). Fitted rows are kept in memory, queries are processed
    in blocks. Shape of computation: pairs.

    References
    ----------
    Cover, Hart (1967), doi:10.1109/TIT.1967.1053964. Weights: Dudani (1976), doi:10.1109/TSMC.1976.5408784.

    Examples
    --------
    >>> from didact.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.1]]), model.predict_proba([[0.9]]).round(2)
    (array(['a'], dtype='<U1'), array([[0.67, 0.33]]))
    >>> words = KNeighborsClassifier(n_neighbors=1, metric="edit").fit(["ship", "tree"], ["sea", "land"])
    >>> words.predict(["sheep", "trees"]).tolist()
    ['sea', 'land']
    """

    _test_params = [{}, {"weights": "distance"}, {"weights": "gaussian", "p": 1.0}]

    n_neighbors: int = param(5, whole(1), "Number of neighbours that vote.")
    weights: Any = weights_param()
    bandwidth: float | None = bandwidth_param()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Index rows X with labels y (several columns: several outputs); sample_weight counts rows."""
        return self._learn_classes(X, y, sample_weight)


class RadiusNeighborsClassifier(RadiusQueries, ClassAnswers, ClassifierMixin, _Search, _Neighbors):
    r"""The class that most rows within a radius have.

    .. math:: P(c\mid x) = \sum_{d_i\le r} w(d_i)\,[y_i=c] \Big/ \sum_{d_i\le r} w(d_i)

    Notes
    -----
    A row without neighbours gets `outlier_label`, with probability 1 if that is one of the classes and with
    probabilities of 0 if it is not. Ties in votes go to the first in classes_. Sample weights multiply votes, and only
    their ratios matter, except in ``predict(None)``, which leaves out one of the rows that a weight stands for (see
    `KNeighborsClassifier`). Fitted rows are kept in memory, queries are processed in blocks. Shape of computation:
    pairs.

    References
    ----------
    Fix, Hodges (1951), reprinted 1989, doi:10.2307/1403797.

    Examples
    --------
    >>> from didact.neighbors import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(radius=1.5, outlier_label="none")
    >>> model = model.fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.1], [2.9], [9.0]]).tolist()
    ['a', 'b', 'none']
    """

    _test_params = [
        {"radius": 0.5, "outlier_label": "most_frequent"},
        {"radius": 0.5, "outlier_label": "most_frequent", "weights": "gaussian"},
    ]

    @property
    def _test_skips(self) -> dict[str, str]:  # type: ignore[override]
        reason = "Rows of the check have no other within the distance 1, and are refused without outlier_label."
        return {} if self.outlier_label is not None else dict.fromkeys(LONELY, reason)

    radius: float = param(1.0, at_least_or_infinite(0), "Distance within which rows vote.")
    weights: Any = weights_param()
    outlier_label: Any = param(
        None,
        [Integral, str, array_like, none],
        "Answer for rows without neighbours: a label (of each output), 'most_frequent', or None: refuse them.",
    )

    _attrs = [attr("outlier_label_", "list or None", "Answer without neighbours, one for each output; None: refused.")]
    bandwidth: float | None = bandwidth_param()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Index rows X with labels y (several columns: several outputs); sample_weight counts rows."""
        self._learn_classes(X, y, sample_weight)
        classes = self.classes_ if self.outputs_2d_ else [self.classes_]
        self.outlier_label_ = outlier_labels(self.outlier_label, classes, self._codes, self._sample_weight)
        return self


def outlier_labels(given: Any, classes: list[Array], codes: Array, w: Array | None) -> list[Any] | None:
    """The answer for rows without neighbours, one for each output."""
    if given is None:
        return None
    if isinstance(given, str) and given == "most_frequent":
        counts = [np.bincount(codes[:, o], w, len(names)) for o, names in enumerate(classes)]
        return [names[count.argmax()] for names, count in zip(classes, counts, strict=True)]
    labels = [given] * len(classes) if np.ndim(given) == 0 else list(given)
    if len(labels) != len(classes):
        raise InputError(f"outlier_label has {len(labels)} labels, and y has {len(classes)} outputs.")
    for label, names in zip(labels, classes, strict=True):
        if isinstance(label, str) != isinstance(names[0], str):
            raise ParameterError(
                f"outlier_label {label!r} and the labels of y, such as {names[0]!r}, are of different types."
            )
    return labels
