"""Predictions from an index and the targets of its rows, a block of queries at a time."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError
from didact.core.typing import Array
from didact.neighbors.neighbor_weights import nearest_by_weight, others
from didact.neighbors.votes import (
    Neighbors,
    Weighing,
    class_votes,
    nearest_by_mass,
    rows_needed,
    shares,
    value_means,
    weigh,
)

PAIRS = 1 << 22  # pairs of a query and a neighbour in memory at a time
NOBODY = (
    "No neighbours were found within the radius for {count} of {rows} rows (the first is row {first}): use a larger "
    "radius, or say with outlier_label which class to answer."
)
NO_WEIGHT = (
    "All neighbors of some sample is getting zero weights: the function weights gave only zeros to the neighbours of "
    "{count} rows (the first is row {first}). It must give at least one of them a positive weight."
)
NOBODY_TO_AVERAGE = (
    "No neighbours were found within the radius for {count} of {rows} rows: the prediction is NaN there. Use a larger "
    "radius, or outlier_value='mean'."
)


class Question(NamedTuple):
    """Which neighbours predict, and how they are weighted: the k nearest, or (k None) all within the radius."""

    index: Any
    k: int | None
    radius: float
    weighing: Weighing
    mass: Array | None = None  # sample weights of the fitted rows; None: all are 1

    def neighbors(self, Q: Any) -> Neighbors:
        """The neighbours of each query, or (None) of each fitted row without itself."""
        if self.k is not None:
            there = np.inf if self.mass is None else self.mass.sum() - (Q is None)
            if there < self.k * (1 - 1e-12):
                raise InputError(
                    f"Expected n_neighbors <= n_samples_fit: {self.k} neighbours were asked for, and the weights of the"
                    f" {'other ' if Q is None else ''}rows sum to {there:g}."
                )
            if Q is None:
                distances, rows, mass = others(self.index, self.mass, self.k)
                return nearest_by_mass(distances, rows, self.k, mass)
            if self.mass is None:
                return nearest_by_mass(*self.index.nearest(Q, self.k), self.k, None)
            distances, rows, mass = nearest_by_weight(self.index, self.mass, Q, self.k)
            return Neighbors(np.arange(len(rows) + 1) * rows.shape[1], rows.ravel(), distances.ravel(), mass.ravel())
        found = Neighbors(*self.index.within(Q, self.radius))
        if self.mass is None:
            return found
        return with_own(found, self.mass) if Q is None else found._replace(mass=self.mass[found.rows])

    @property
    def block(self) -> int:
        """The number of queries in a block."""
        most = self.index.n_rows if self.k is None else rows_needed(self.mass, self.k)
        return max(64, PAIRS // max(1, most))


def no_rows(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that also accepts zero rows: the shape of its output is found by such a call."""
    fn.takes_no_rows = True  # type: ignore[attr-defined]
    return fn


def with_own(found: Neighbors, weight: Array) -> Neighbors:
    """Neighbours of the fitted rows, and each row itself with its weight beyond one."""
    own = np.flatnonzero(weight > 1)
    query = np.concatenate([found.query, own])
    order = np.argsort(query, kind="stable")
    edges = np.append(0, np.cumsum(np.bincount(query, minlength=len(weight))))
    rows, distances = np.append(found.rows, own), np.append(found.distances, np.zeros(len(own)))
    mass = np.append(weight[found.rows], weight[own] - 1.0)
    return Neighbors(edges, rows[order], distances[order], mass[order])


def in_blocks(X: Any, ask: Question, answer: Callable[[Neighbors, Array], list[Array]]) -> list[Array]:
    """The concatenated results of answer(neighbours, weights) over blocks of queries, an array for each output.

    Without X the fitted rows are the queries, each without itself.
    """
    if X is None:
        found = ask.neighbors(None)
        return answer(found, weighed(found, ask, 0))
    n = X.shape[0]
    parts = []
    for a in range(0, max(n, 1), ask.block):
        found = ask.neighbors(X[a : a + ask.block] if n > ask.block else X)
        parts.append(answer(found, weighed(found, ask, a)))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def weighed(found: Neighbors, ask: Question, first: int) -> Array:
    """Weights of the neighbours of queries from number `first` on; raises if all of the k nearest have weight 0."""
    w = weigh(found, ask.weighing)
    if ask.k is not None and callable(ask.weighing.weights):
        none = np.flatnonzero(np.bincount(found.query, w, len(found.indptr) - 1) <= 0)
        if len(none):
            raise InputError(NO_WEIGHT.format(count=len(none), first=first + none[0]))
    return w


def probabilities(X: Any, ask: Question, codes: Array, classes: list[Array]) -> list[Array]:
    """The shares of the classes among the neighbours of each row, for each output; zeros without neighbours."""

    def answer(found: Neighbors, w: Array) -> list[Array]:
        return [shares(class_votes(found, w, codes[:, o], len(names))) for o, names in enumerate(classes)]

    return in_blocks(X, ask, answer)


def refuse_lonely(found: list[Array]) -> None:
    """Raise an error that counts the rows without neighbours."""
    lonely = np.flatnonzero(~found[0].any(axis=1))
    if len(lonely):
        raise InputError(NOBODY.format(count=len(lonely), rows=len(found[0]), first=lonely[0]))


@no_rows
def class_shares(X: Any, ask: Question, codes: Array, classes: Any, outliers: Any) -> Any:
    """Probabilities of the classes; a list of tables if there are several outputs.

    `outliers` is "refuse", or the class number of rows without neighbours for each output, −1 for no class.
    """
    several = isinstance(classes, list)
    found = probabilities(X, ask, codes, classes if several else [classes])
    if outliers == "refuse":
        refuse_lonely(found)
    else:
        for P, code in zip(found, outliers, strict=True):
            if code >= 0:
                P[~P.any(axis=1), code] = 1.0
    found = [P.astype(float_type(X, ask), copy=False) for P in found]
    return found if several else found[0]


@no_rows
def class_labels(X: Any, ask: Question, codes: Array, classes: Any, outliers: Any, labels: Any) -> Any:
    """The class with the most votes, the first of ties; (n, outputs) if there are several outputs.

    `labels` are the answers for rows without neighbours, one for each output.
    """
    several = isinstance(classes, list)
    found = probabilities(X, ask, codes, classes if several else [classes])
    if outliers == "refuse":
        refuse_lonely(found)
        labels = [None] * len(found)
    columns = [
        _named(P, names, label)
        for P, names, label in zip(found, classes if several else [classes], labels, strict=True)
    ]
    return np.stack(columns, axis=1) if several else columns[0]


def _named(P: Array, names: Array, label: Any) -> Array:
    chosen = names[P.argmax(axis=1)]
    if label is None:
        return chosen
    lonely = ~P.any(axis=1)
    chosen = chosen.astype(np.result_type(names, np.asarray(label)), copy=False)
    chosen[lonely] = label
    return chosen


@no_rows
def means(X: Any, ask: Question, y: Array, several: bool, outliers: Array) -> Array:
    """The weighted mean of the neighbours' values; `outliers` for rows without neighbours."""
    found = in_blocks(X, ask, lambda found, w: [value_means(found, w, y)])[0]
    lonely = np.isnan(found).any(axis=1)
    if lonely.any():
        found[lonely] = outliers
        if np.isnan(outliers).any():
            warnings.warn(NOBODY_TO_AVERAGE.format(count=lonely.sum(), rows=len(found)), UserWarning, stacklevel=2)
    found = found.astype(float_type(X, ask), copy=False)
    return found if several else found[:, 0]


def float_type(X: Any, ask: Question) -> Any:
    """The float type of predictions: float32 for float32 rows, else (also for words) float64."""
    return np.float32 if str((ask.index.rows if X is None else X).dtype).endswith("float32") else np.float64
