"""Compiled edit distances between words, given as integers below the size of an alphabet.

Two algorithms fill the dynamic-programming table D, the distances between prefixes of two words:

* equal costs: bit-parallel, 64 cells of a column at a time, as two 64-bit masks of the cells where D rises and where it
  falls by one (Myers 1999, doi:10.1145/316542.316550);
* any costs: row by row, with three rows in memory (transpositions look back two), abandoned as soon as a whole row is
  above a limit.

Layout::

    letters [ word 0 | word 1 | … ]      begins [ 0, end of word 0, end of word 1, … ]
    costs   [ insert, delete, substitute, transpose (∞: not allowed), 1 if the bit-parallel algorithm applies, else 0 ]
    places (blocks, alphabet)    bit i of places[b, letter]: the query has this letter at place 64 b + i
    rises, falls (blocks,)       [ 64 cells of a column of D | the next 64 | … ]; bit i: D rises (falls) by one there
    rows (3, longest + 1)        the last three rows of D, row i at i % 3
"""

import numpy as np

from didact.core.jit import jit, jit_unmanaged
from didact.core.typing import Array


@jit_unmanaged
def note_places(word: Array, places: Array, forget: bool) -> None:
    """Set, or with `forget` clear, the bits of the places of each letter of the word."""
    for i in range(word.shape[0]):
        if forget:
            places[i >> 6, word[i]] = np.uint64(0)
        else:
            places[i >> 6, word[i]] |= np.uint64(1) << np.uint64(i & 63)


@jit_unmanaged
def equal_cost_distance(length: int, places: Array, other: Array, rises: Array, falls: Array, limit: float) -> float:
    """The number of edits between a word of this length, whose letters are noted in `places`, and another word.

    Returns some number above `limit` as soon as the distance is certain to exceed it.
    """
    if length == 0 or other.shape[0] == 0:
        return float(max(length, other.shape[0]))
    one, zero = np.uint64(1), np.uint64(0)
    blocks = (length + 63) >> 6
    last = np.uint64((length - 1) & 63)
    top = np.uint64(63)
    for b in range(blocks):
        rises[b] = ~zero
        falls[b] = zero
    score = length
    n = other.shape[0]
    for j in range(n):
        up, down = one, zero  # the first row of D rises by one from column to column
        # Names follow Myers: masks of equal letters, of vertical and of horizontal differences; up and down carry over.
        for b in range(blocks):
            p, m, equal = rises[b], falls[b], places[b, other[j]]
            vertical = equal | m
            equal |= down
            horizontal = (((equal & p) + p) ^ p) | equal
            rise = m | ~(horizontal | p)
            fall = p & horizontal
            edge = last if b == blocks - 1 else top
            next_up, next_down = (rise >> edge) & one, (fall >> edge) & one
            rise = (rise << one) | up
            fall = (fall << one) | down
            rises[b] = fall | ~(vertical | rise)
            falls[b] = rise & vertical
            up, down = next_up, next_down
        score += int(up) - int(down)
        if score - (n - 1 - j) > limit:  # each remaining letter lowers it by one at most
            return float(score - (n - 1 - j))
    return float(score)


@jit_unmanaged
def any_cost_distance(
    a: Array, b: Array, insert: float, delete: float, substitute: float, transpose: float, rows: Array, limit: float
) -> float:
    """The least cost of turning a into b; `transpose` is infinite where neighbouring letters may not be swapped.

    `rows` is a buffer for three rows of D. Returns infinity as soon as the distance is known to exceed `limit`.
    """
    n, m = a.shape[0], b.shape[0]
    for j in range(m + 1):
        rows[0, j] = j * insert
    last_least = 0.0
    for i in range(1, n + 1):
        now, before, earlier = i % 3, (i + 2) % 3, (i + 1) % 3
        rows[now, 0] = i * delete
        least = rows[now, 0]
        for j in range(1, m + 1):
            best = rows[before, j - 1] + (0.0 if a[i - 1] == b[j - 1] else substitute)
            best = min(best, rows[before, j] + delete, rows[now, j - 1] + insert)
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, rows[earlier, j - 2] + transpose)
            rows[now, j] = best
            least = min(least, best)
        if least > limit and (transpose == np.inf or last_least > limit):
            return np.inf
        last_least = least
    return rows[n % 3, m]


@jit_unmanaged
def least_cost(n: int, m: int, insert: float, delete: float) -> float:
    """A lower bound of the distance between words of n and m letters: the cost of the difference in length."""
    return (m - n) * insert if m > n else (n - m) * delete


@jit_unmanaged
def word_distance(
    query: Array, word: Array, costs: Array, places: Array, rises: Array, falls: Array, rows: Array, limit: float
) -> float:
    """The distance from a query to a word, bit-parallel (with the query noted in `places`) if the costs are equal."""
    if costs[4] > 0.0:
        return costs[0] * equal_cost_distance(query.shape[0], places, word, rises, falls, limit / costs[0])
    return any_cost_distance(query, word, costs[0], costs[1], costs[2], costs[3], rows, limit)


@jit
def fill_distances(
    letters: Array,
    begins: Array,
    other: Array,
    other_begins: Array,
    alphabet: int,
    costs: Array,
    start: int,
    limit: float,
    out: Array,
) -> None:
    """Fill in out[i, j], the distance from word start + i to the j-th of the other words; above the limit any such."""
    longest, other_longest = 1, 1
    for i in range(start, start + out.shape[0]):
        longest = max(longest, begins[i + 1] - begins[i])
    for j in range(out.shape[1]):
        other_longest = max(other_longest, other_begins[j + 1] - other_begins[j])
    blocks = (longest + 63) >> 6
    places = np.zeros((blocks if costs[4] > 0.0 else 1, alphabet), np.uint64)
    rises, falls = np.empty(blocks, np.uint64), np.empty(blocks, np.uint64)
    rows = np.empty((3, other_longest + 1))
    for i in range(out.shape[0]):
        query = letters[begins[start + i] : begins[start + i + 1]]
        if costs[4] > 0.0:
            note_places(query, places, False)
        for j in range(out.shape[1]):
            word = other[other_begins[j] : other_begins[j + 1]]
            out[i, j] = least_cost(query.shape[0], word.shape[0], costs[0], costs[1])
            if out[i, j] <= limit:
                out[i, j] = word_distance(query, word, costs, places, rises, falls, rows, limit)
        if costs[4] > 0.0:
            note_places(query, places, True)


@jit
def nearest_words(
    letters: Array,
    begins: Array,
    other: Array,
    other_begins: Array,
    alphabet: int,
    costs: Array,
    start: int,
    skip: bool,
    distances: Array,
    found: Array,
) -> None:
    """Find the k nearest of the other words for some queries, sorted by distance, ties by number.

    `distances` and `found` are (queries, k). With `skip` the queries are the other words, none its own neighbour.
    """
    longest, other_longest = 1, 1
    for i in range(start, start + found.shape[0]):
        longest = max(longest, begins[i + 1] - begins[i])
    for j in range(other_begins.shape[0] - 1):
        other_longest = max(other_longest, other_begins[j + 1] - other_begins[j])
    blocks = (longest + 63) >> 6
    places = np.zeros((blocks if costs[4] > 0.0 else 1, alphabet), np.uint64)
    rises, falls = np.empty(blocks, np.uint64), np.empty(blocks, np.uint64)
    rows = np.empty((3, other_longest + 1))
    k = found.shape[1]
    for i in range(found.shape[0]):
        query = letters[begins[start + i] : begins[start + i + 1]]
        if costs[4] > 0.0:
            note_places(query, places, False)
        distances[i] = np.inf
        found[i] = -1
        for j in range(other_begins.shape[0] - 1):
            limit = distances[i, k - 1]  # the k-th best so far: words that cannot beat it are abandoned early
            word = other[other_begins[j] : other_begins[j + 1]]
            if (skip and j == start + i) or least_cost(query.shape[0], word.shape[0], costs[0], costs[1]) >= limit:
                continue
            d = word_distance(query, word, costs, places, rises, falls, rows, limit)
            if d < limit:
                slot = k - 1
                while slot > 0 and distances[i, slot - 1] > d:
                    distances[i, slot], found[i, slot] = distances[i, slot - 1], found[i, slot - 1]
                    slot -= 1
                distances[i, slot], found[i, slot] = d, j
        if costs[4] > 0.0:
            note_places(query, places, True)


@jit
def offer_word(
    letters: Array, begins: Array, alphabet: int, costs: Array, q: int, start: int, best: Array, owner: Array
) -> None:
    """Note for some words from `start` on whether word q is nearer than their owner; not for those with best < 0."""
    longest, query = 1, letters[begins[q] : begins[q + 1]]
    for j in range(start, start + best.shape[0]):
        longest = max(longest, begins[j + 1] - begins[j])
    blocks = max(query.shape[0] + 63, 64) >> 6
    places = np.zeros((blocks if costs[4] > 0.0 else 1, alphabet), np.uint64)
    rises, falls = np.empty(blocks, np.uint64), np.empty(blocks, np.uint64)
    rows = np.empty((3, longest + 1))
    if costs[4] > 0.0:
        note_places(query, places, False)
    for j in range(best.shape[0]):
        word = letters[begins[start + j] : begins[start + j + 1]]
        if least_cost(query.shape[0], word.shape[0], costs[0], costs[1]) < best[j]:
            d = word_distance(query, word, costs, places, rises, falls, rows, best[j])
            if d < best[j]:
                best[j], owner[j] = d, q


def warm() -> None:
    """Compile for both kinds of costs."""
    letters, begins = np.zeros(2, np.int64), np.array([0, 1, 2])
    for equal in (0.0, 1.0):
        costs = np.array([1.0, 1.0, 1.0, np.inf, equal])
        fill_distances(letters, begins, letters, begins, 1, costs, 0, np.inf, np.empty((2, 2)))
        offer_word(letters, begins, 1, costs, 0, 0, np.ones(2), np.zeros(2, np.int64))
        nearest_words(
            letters, begins, letters, begins, 1, costs, 0, True, np.empty((2, 1)), np.empty((2, 1), np.int64)
        )  # fmt: skip
