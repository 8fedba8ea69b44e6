"""A tree of any kind as nodes with conditions on their branches: what rules, texts and pictures are made from.

A tree value says what it is by a method `outline()`; trees of arrays with scikit-learn's names are read as they are.
Conditions of a path are joined by `both`, so that bounds on one feature become one interval.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.typing import Array


class Interval(NamedTuple):
    """low < x ≤ high, for the number x of a feature; `missing` says whether a missing value counts as inside."""

    feature: int
    low: float
    high: float
    missing: bool = False

    def holds(self, X: Array) -> Array:
        """Which rows are inside."""
        x = X[:, self.feature]
        return ((x > self.low) & (x <= self.high)) | (np.isnan(x) & self.missing)

    def both(self, other: Any) -> Any:
        """The condition that both hold, of the same feature."""
        missing = self.missing and other.missing
        return Interval(self.feature, max(self.low, other.low), min(self.high, other.high), missing)


class Among(NamedTuple):
    """The category of a feature is one of these codes, or, if `others`, any but these."""

    feature: int
    codes: frozenset[int]
    others: bool = False
    missing: bool = False

    def holds(self, X: Array) -> Array:
        """Which rows have such a category."""
        x = X[:, self.feature]
        return np.where(np.isnan(x), self.missing, np.isin(x, list(self.codes)) ^ self.others)

    def both(self, other: Any) -> Any:
        """The condition that both hold, of the same feature."""
        missing = self.missing and other.missing
        if self.others and other.others:
            return Among(self.feature, self.codes | other.codes, True, missing)
        if self.others or other.others:
            listed, without = (other, self) if self.others else (self, other)
            return Among(self.feature, listed.codes - without.codes, False, missing)
        return Among(self.feature, self.codes & other.codes, False, missing)


class Halfspace(NamedTuple):
    """low < w·x ≤ high for the weights w of all features; a missing x counts as its weight's `centre`."""

    weights: tuple[float, ...]
    low: float
    high: float
    centres: tuple[float, ...]

    @property
    def feature(self) -> tuple[float, ...]:
        """What is bounded: conditions on the same weights can be joined."""
        return self.weights

    def holds(self, X: Array) -> Array:
        """Which rows are inside."""
        z = np.where(np.isnan(X), self.centres, X) @ np.asarray(self.weights)
        return (z > self.low) & (z <= self.high)

    def both(self, other: Any) -> Any:
        """The condition that both hold, of the same weights."""
        return self._replace(low=max(self.low, other.low), high=min(self.high, other.high))


Condition = Interval | Among | Halfspace


class Place(NamedTuple):
    """A node: what it answers, how much training weight it has, and its branches as (condition, number of the child).

    A leaf with a linear model has its constant term and coefficients in `linear`; a missing value counts as its
    column's entry of `centres` there.
    """

    value: Array  # (outputs, classes or 1): fractions of classes, or numbers
    weight: float
    impurity: float
    branches: tuple[tuple[Condition, int], ...]
    linear: tuple[float, ...] = ()
    centres: tuple[float, ...] = ()

    def numbers(self, X: Array) -> Array:
        """The number that it predicts for each row."""
        if not self.linear:
            return np.full(len(X), float(self.value[0, 0]))
        return self.linear[0] + np.where(np.isnan(X), self.centres, X) @ np.asarray(self.linear[1:])


def outline(tree: Any) -> list[Place]:
    """The nodes of a tree; node 0 is the root."""
    if hasattr(tree, "outline"):
        return list(tree.outline())
    sets = getattr(tree, "category_set", np.full(len(tree.feature), -1))
    return [
        Place(
            np.asarray(tree.value[i]),
            float(tree.weighted_n_node_samples[i]),
            float(tree.impurity[i]),
            () if tree.children_left[i] < 0 else _two_branches(tree, i, int(sets[i])),
        )
        for i in range(len(tree.feature))
    ]


def _two_branches(tree: Any, i: int, category_set: int) -> tuple[tuple[Condition, int], ...]:
    left, right = int(tree.children_left[i]), int(tree.children_right[i])
    j, missing_left = int(tree.feature[i]), bool(tree.missing_go_to_left[i])
    if category_set >= 0:
        codes = set_codes(tree.category_sets[category_set])
        return (Among(j, codes, False, missing_left), left), (Among(j, codes, True, not missing_left), right)
    cut = float(tree.threshold[i])
    return (Interval(j, -np.inf, cut, missing_left), left), (Interval(j, cut, np.inf, not missing_left), right)


def among_columns(place: Place, columns: Array, p: int) -> Place:
    """A node of a tree that was grown from some columns of a table of p, with its questions about that table."""

    def spread(weights: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(np.bincount(columns, weights, p).tolist())

    def moved(condition: Condition) -> Condition:
        if not isinstance(condition, Halfspace):
            return condition._replace(feature=int(columns[condition.feature]))
        return condition._replace(weights=spread(condition.weights), centres=placed(condition.centres))

    def placed(centres: tuple[float, ...]) -> tuple[float, ...]:
        full = np.zeros(p)
        full[columns] = centres
        return tuple(full.tolist())

    branches = tuple((moved(condition), child) for condition, child in place.branches)
    if not place.linear:
        return place._replace(branches=branches)
    return place._replace(
        branches=branches, linear=(place.linear[0], *spread(place.linear[1:])), centres=placed(place.centres)
    )


def missing_as(condition: Any, centres: Array) -> Interval:
    """An interval in which a missing value counts as its column's centre."""
    j, low, high, _ = condition
    return Interval(j, low, high, bool(low < centres[j] <= high))


def set_codes(words: Array) -> frozenset[int]:
    """The category codes whose bits are set in 64-bit words."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
    return frozenset(np.flatnonzero(bits).tolist())


def joined(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """The conditions of a path with one more, merged with the one on the same feature if there is any."""
    for k, old in enumerate(conditions):
        if old.feature == new.feature:
            return (*conditions[:k], old.both(new), *conditions[k + 1 :])
    return (*conditions, new)
