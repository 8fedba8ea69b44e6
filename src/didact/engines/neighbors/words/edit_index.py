r"""Edit distances between many words, and the nearest words; strings and other sequences as flat integer arrays.

.. math:: D_{ij} = \min\{D_{i-1,j}+c_{del},\; D_{i,j-1}+c_{ins},\; D_{i-1,j-1}+c_{sub}[a_i\neq b_j]\}

The letters of all fitted words are numbered; letters of a query that occur in no fitted word share one extra number.
That number matches no fitted letter (it would match itself, but queries are never compared with each other).
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import of_types
from didact.core.errors import InputError, ParameterError
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.neighbors.tuning import EDIT_PAIRS, EDIT_WORDS
from didact.engines.neighbors.words.edit_loops import fill_distances, nearest_words, offer_word

PAST_RADIUS = 1e-9  # share by which a search looks beyond its radius, so that rounding leaves nothing out
NOT_WORDS = "The edit distance compares strings or sequences of things that can be told apart"


class Costs(NamedTuple):
    """Costs of the edits; `transpose` None: swaps of neighbouring letters are not allowed."""

    insert: float = 1.0
    delete: float = 1.0
    substitute: float = 1.0
    transpose: float | None = None

    def array(self) -> Array:
        """The costs as the loops take them; the last entry is 1 if the bit-parallel algorithm applies."""
        for name, value in self._asdict().items():
            if value is not None and not (np.isreal(value) and value >= 0 and np.isfinite(value)):
                raise ParameterError(f"The cost {name}={value!r} of an edit must be a finite number of at least 0.")
        transpose = np.inf if self.transpose is None else float(self.transpose)
        equal = self.insert == self.delete == self.substitute and self.insert > 0 and self.transpose is None
        return np.array([self.insert, self.delete, self.substitute, transpose, float(equal)], np.float64)


def edit_costs(given: dict[str, Any] | None) -> Costs:
    """Costs from a dictionary of parameters."""
    unknown = set(given or ()) - set(Costs._fields)
    if unknown:
        raise ParameterError(f"The metric 'edit' has no parameter {min(unknown)!r}; it has {', '.join(Costs._fields)}.")
    return Costs(**(given or {}))


class Alphabet(NamedTuple):
    """The numbering of letters: code points by binary search, other items by a dictionary."""

    points: Array | None
    things: dict[Hashable, int] | None

    @property
    def size(self) -> int:
        """The number of known letters plus one: the last number stands for all others."""
        return 1 + (len(self.points) if self.points is not None else len(self.things or ()))

    def number(self, words: Sequence[Any]) -> "Strings":
        """The words as integers."""
        lengths = np.fromiter((len(word) for word in words), np.int64, len(words))
        begins = np.concatenate([[0], np.cumsum(lengths)])
        if self.points is not None:
            letters = code_points(words)
            place = np.minimum(np.searchsorted(self.points, letters), max(len(self.points) - 1, 0))
            known = self.points[place] == letters if len(self.points) else np.zeros(len(letters), bool)
            return Strings(np.where(known, place, len(self.points)).astype(np.int64), begins, self)
        things = self.things or {}
        numbered = (things.get(thing, len(things)) for word in words for thing in word)
        return Strings(np.fromiter(numbered, np.int64, int(begins[-1])), begins, self)


class Strings(NamedTuple):
    """Many words in one flat array: letters[begins[i]:begins[i + 1]] is word i."""

    letters: Array
    begins: Array
    alphabet: Alphabet

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.begins) - 1


def code_points(words: Iterable[str]) -> Array:
    """The code points of all words, one after the other."""
    return np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)


def check_words(words: Any) -> list[Any]:
    """A list of strings, or of sequences (tuples, lists, arrays) as tuples; never both, never numbers."""
    found = [word if isinstance(word, str) else _sequence(word, i) for i, word in enumerate(words)]
    strings = sum(isinstance(word, str) for word in found)
    if strings not in (0, len(found)):
        raise InputError(f"{NOT_WORDS}, but not a string with another sequence: {strings} of {len(found)} are strings.")
    return found


def _sequence(word: Any, row: int) -> tuple[Any, ...]:
    if isinstance(word, (bytes, dict, set)) or not isinstance(word, (Sequence, np.ndarray)):
        raise InputError(f"{NOT_WORDS}; row {row} holds {word!r} of type {type(word).__name__}.")
    items = tuple(np.asarray(word).tolist() if isinstance(word, np.ndarray) else word)
    try:
        hash(items)
    except TypeError:
        raise InputError(f"{NOT_WORDS}; row {row} holds a sequence of {type(items[0]).__name__}s.") from None
    return items


def number_words(words: Any) -> Strings:
    """Number the words to be indexed, with the alphabet of their letters."""
    words = check_words(words)
    if not words or isinstance(words[0], str):
        return Alphabet(np.unique(code_points(words)), None).number(words)
    things = {thing: i for i, thing in enumerate(dict.fromkeys(t for word in words for t in word))}
    return Alphabet(None, things).number(words)


def number_queries(words: Any, known: Alphabet) -> Strings:
    """Number the words of a query in a given alphabet."""
    words = check_words(words)
    if words and isinstance(words[0], str) != (known.points is not None):
        kinds = ("strings", "sequences") if known.points is not None else ("sequences", "strings")
        raise InputError(f"The fitted words are {kinds[0]}, those asked for are {kinds[1]}.")
    return known.number(words)


def _pieces(n: int, m: int) -> list[tuple[int, int]]:
    step = max(1, EDIT_PAIRS // max(m, 1))
    return [(a, min(a + step, n)) for a in range(0, n, step)]


def string_distances(queries: Strings, words: Strings, costs: Array) -> Array:
    """All distances (queries, words)."""
    out = np.empty((queries.n_words, words.n_words))
    size = words.alphabet.size

    def fill(piece: tuple[int, int]) -> None:
        a, b = piece
        fill_distances(queries.letters, queries.begins, words.letters, words.begins, size, costs, a, np.inf, out[a:b])

    parallel_map(fill, _pieces(*out.shape))
    return out


def lines_before(words: Strings, costs: Array, start: int, stop: int) -> Array:
    """The distances of the words start … stop - 1 from all words before `stop`, as a table."""
    out, begins = np.empty((stop - start, stop)), words.begins[: stop + 1]
    fill_distances(words.letters, begins, words.letters, begins, words.alphabet.size, costs, start, np.inf, out)
    return out


def offer_to_all(words: Strings, costs: Array, q: int, best: Array, owner: Array) -> None:
    """Note for each word whether word q is nearer than its owner, at the distance `best`; not for those with best < 0.

    >>> best, owner = np.array([-1.0, 2.0, 2.0]), np.zeros(3, np.int64)
    >>> offer_to_all(number_words(["cat", "dog", "cart"]), Costs().array(), 0, best, owner)
    >>> best
    array([-1.,  2.,  1.])
    """

    def offer(a: int) -> None:
        here = slice(a, a + EDIT_WORDS)
        offer_word(words.letters, words.begins, words.alphabet.size, costs, q, a, best[here], owner[here])

    parallel_map(offer, range(0, len(best), EDIT_WORDS))


def index_words(words: Any, costs: Costs | None = None) -> "EditIndex":
    """An index of the words, which are strings or other sequences."""
    return EditIndex(number_words(_column(words)), (costs or Costs()).array())


def _column(words: Any) -> Any:
    """A table of one column as that column."""
    return words[:, 0] if isinstance(words, np.ndarray) and words.ndim == 2 else words


class EditIndex(NamedTuple):
    """The nearest words by brute force; words whose length alone rules them out are not compared.

    `nearest`, `within` and `within_own` return the same as those of `Index`.
    """

    words: Strings
    costs: Array

    @property
    def n_rows(self) -> int:
        """The number of indexed words."""
        return self.words.n_words

    @property
    def rows(self) -> Array:
        """The letters of all words."""
        return self.words.letters

    def check(self) -> None:
        """Raise an InputError if indices are out of range (in a forged file)."""
        self._sound()

    def _sound(self) -> Strings:
        """The words, after a check of all indices (of a possibly forged file): loops do not check them."""
        letters, begins, alphabet = self.words
        whole = (
            of_types((letters, begins, self.costs), (np.int64, np.int64, np.float64))
            and self.costs.shape == Costs().array().shape
            and len(begins) > 0
            and begins[0] == 0
            and begins[-1] == len(letters)
            and (np.diff(begins) >= 0).all()
        )
        if not (whole and letters.min(initial=0) >= 0 and letters.max(initial=0) < alphabet.size):
            raise InputError("The index of words is broken: letters or the beginnings of words are out of range.")
        return self.words

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        """Distances and numbers (queries, k) of the k nearest words; Q None: of each indexed word, without itself."""
        words, most = self._sound(), self.n_rows - (Q is None)
        if not 1 <= k <= most:
            raise InputError(
                f"Expected n_neighbors <= n_samples_fit: {k} neighbours were asked for, and there are {most} rows."
            )
        queries = words if Q is None else number_queries(_column(Q), words.alphabet)
        dist, rows = np.empty((queries.n_words, k)), np.empty((queries.n_words, k), np.int64)
        fixed = (words.letters, words.begins, words.alphabet.size, self.costs)

        def search(piece: tuple[int, int]) -> None:
            a, b = piece
            nearest_words(queries.letters, queries.begins, *fixed, a, Q is None, dist[a:b], rows[a:b])

        parallel_map(search, _pieces(queries.n_words, words.n_words))
        return dist, rows

    def most(self, Q: Any) -> int:
        """The largest k that `nearest` accepts."""
        return self.n_rows - (Q is None)

    def within(self, Q: Any, radius: float) -> tuple[Array, Array, Array]:
        """(indptr, rows, distances) of all words at most `radius` away from each query, in order of their numbers."""
        words = self._sound()
        return self._near(words if Q is None else number_queries(_column(Q), words.alphabet), Q is None, 0, radius)

    def within_own(self, start: int, stop: int, radius: float) -> tuple[Array, Array]:
        """Edges and numbers of the words at most `radius` away from the words start … stop - 1, without these."""
        words = self._sound()
        return self._near(words._replace(begins=words.begins[start : stop + 1]), True, start, radius)[:2]

    def _near(self, queries: Strings, own: bool, start: int, radius: float) -> tuple[Array, Array, Array]:
        """`within`, where the queries may be the indexed words from `start` on, of which none is near itself."""
        words, limit = self.words, radius + PAST_RADIUS * abs(radius)
        fixed = (words.letters, words.begins, words.alphabet.size, self.costs)

        def search(piece: tuple[int, int]) -> tuple[Array, Array, Array]:
            a, b = piece
            table = np.empty((b - a, words.n_words))
            fill_distances(queries.letters, queries.begins, *fixed, a, limit, table)
            near = table <= radius
            if own:
                near[np.arange(b - a), np.arange(start + a, start + b)] = False
            return near.sum(axis=1), np.nonzero(near)[1], table[near]

        parts = parallel_map(search, _pieces(queries.n_words, words.n_words))
        none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        counts, rows, found = (np.concatenate(part) for part in zip(none, *parts, strict=True))
        return np.append(0, np.cumsum(counts)), rows, found
