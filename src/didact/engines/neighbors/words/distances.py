"""Distances of words, which enter like any other: the edit distance, and a function of two strings."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.typing import Array
from didact.engines.neighbors.words.edit_index import (
    Costs,
    edit_costs,
    number_queries,
    number_words,
    offer_to_all,
    string_distances,
)
from didact.parts.distances import Distance


class EditDistance(Distance, NamedTuple("EditDistance", [("costs", Costs)])):
    """The least cost of the edits that turn one word into another; rows are a column of words.

    >>> EditDistance(Costs()).pairwise(np.array([["cat"]]), np.array([["cart"], ["dog"]]))
    array([[1., 3.]])
    """

    __slots__ = ()
    compiled: ClassVar[bool] = False  # for rows of numbers: loops take words as numbered letters
    metric = False  # not with swaps

    def check(self) -> None:
        """Refuse what is no costs (in a forged file)."""
        if not isinstance(self.costs, Costs) or any(not isinstance(c, (float, int, type(None))) for c in self.costs):
            raise InputError("The costs of the edit distance are broken.")

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances, on all threads."""
        words = number_words(Y[:, 0])
        return string_distances(number_queries(X[:, 0], words.alphabet), words, self.costs.array())


class WordFunction(Distance, NamedTuple("WordFunction", [("function", Any), ("arguments", Any)])):
    """A function of two strings, called pair by pair; rows are a column of words.

    >>> WordFunction(lambda a, b: abs(len(a) - len(b)), {}).pairwise(np.array([["cat"]]), np.array([["cart"], ["dog"]]))
    array([[1., 0.]])
    """

    __slots__ = ()
    compiled: ClassVar[bool] = False
    metric = False

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances, one call each."""
        call, others = self.function, Y[:, 0].tolist()
        found = [[call(x, y, **self.arguments) for y in others] for x in X[:, 0].tolist()]
        return np.array(found, np.float64).reshape(len(X), len(Y))


def distance_of_words(metric: Any, metric_params: dict[str, Any] | None) -> Distance:
    """The distance of words by the name "edit" or by a function, once it is the same in both directions.

    >>> distance_of_words("edit", {"substitute": 2})
    EditDistance(costs=Costs(insert=1.0, delete=1.0, substitute=2.0, transpose=None))
    """
    if callable(metric):
        return WordFunction(metric, dict(metric_params or {}))
    costs = edit_costs(metric_params)
    costs.array()
    if costs.insert != costs.delete:
        raise ParameterError(
            f"The distance of two rows is one number, and with insert={costs.insert!r} and delete={costs.delete!r} it "
            "depends on which of two words comes first: let them cost the same."
        )
    given: Any = (None if cost is None else float(cost) for cost in costs)
    return EditDistance(Costs(*given))


def of_words(distance: Any) -> bool:
    """Whether a distance is one of words."""
    return isinstance(distance, (EditDistance, WordFunction))


def offers(noun: Any, X: Array) -> Callable[[int, Array, Array], None]:
    """offer(i, best, owner) of the words X for `grown_tree`: by the loops, or a call for each pair."""
    if isinstance(noun, EditDistance):
        return partial(offer_to_all, number_words(X[:, 0]), noun.costs.array())

    def offer(i: int, best: Array, owner: Array) -> None:
        left = np.flatnonzero(best >= 0)
        d = noun.pairwise(X[i : i + 1], X[left])[0]
        nearer = d < best[left]
        best[left[nearer]], owner[left[nearer]] = d[nearer], i

    return offer
