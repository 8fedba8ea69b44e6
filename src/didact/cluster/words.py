"""Rows that are words: what clusterers share that compare rows by a metric, "edit" or a function of two strings."""

from typing import Any

from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.parameters import is_callable, one_of, param
from didact.core.rows import Batches, Rows
from didact.core.rows.gather import dense
from didact.core.rows.memory import require_finite
from didact.core.rows.words import first_word, word_rows
from didact.core.typing import Array
from didact.engines.neighbors.words.distances import distance_of_words, of_words
from didact.parts.distances import NAMES, distance_named


def metric_param(more: str = "") -> Any:
    """The parameter `metric`."""
    doc = (
        "The distance: a name, 'precomputed' (X is a table of distances), 'edit' (X is a column of words), or a "
        f"function of two rows{more}; of two strings where X is a column of text."
    )
    return param("euclidean", [one_of(*NAMES, "edit"), is_callable], doc)


def takes_words(metric: Any, X: Any) -> bool:
    """Whether the rows X are words to this metric; text is refused by one of numbers."""
    if isinstance(metric, str) and metric == "edit":
        return True
    if callable(metric):
        return first_word(X) is not None
    if not isinstance(X, Batches):
        refuse_text(X, f"metric={metric!r} compares numbers: metric='edit', or a function of two strings, takes text")
    return False


def refuse_text(X: Any, why: str) -> None:
    """Refuse a column of text, unless it holds numbers that were written as text."""
    word = first_word(X)
    try:
        float(word or 0)
    except ValueError:
        raise InputError(f"X is a column of text (the first row is {word!r}), and {why}.") from None


def numbers_or_words(X: Any) -> Array:
    """The rows of a block as an array: of float64, or a column of words."""
    return X if X.dtype == object else dense(X, "float64")


def refuse_no_numbers(rows: Array, names: Any) -> None:
    """Refuse NaN and infinity among numbers."""
    if rows.dtype != object:
        require_finite(rows, names)


def distance_of(rows: Any, metric: Any, metric_params: Any, p: float = 2.0) -> Any:
    """The distance of rows, of numbers or words."""
    words = rows.dtype == object
    return distance_of_words(metric, metric_params) if words else distance_named(metric, p, metric_params, rows)


def refuse_mixture(rows: Any, distance: Any) -> None:
    """Refuse fitted numbers with a distance of words, and the other way round (in a forged file)."""
    if of_words(distance) != (rows.dtype == object):
        raise InputError("The fitted rows and the distance do not fit together: one is of words, the other is not.")


class _Words(Estimator):
    """A model of rows that may be words. Abstract."""

    def __sklearn_tags__(self: Any) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = isinstance(self.metric, str) and self.metric == "edit"
        tags.input_tags.sparse &= not tags.input_tags.string
        return tags

    def _fitted_distance(self: Any) -> Any:
        """The distance that was fitted, of a model that takes new rows."""
        return self._distance

    def _rows(self: Any, X: Any, y: Any = None, sample_weight: Any = None, **how: Any) -> Rows:
        """The checked data; of words one column."""
        reset = how.get("reset", True)
        if takes_words(self.metric, X) if reset else of_words(self._fitted_distance()):
            return word_rows(self, X, y, sample_weight, how["target"], reset, callable(self.metric))
        if not reset and not isinstance(X, Batches):
            refuse_text(X, "the model was fitted to numbers")
        return super()._rows(X, y, sample_weight, **how)
