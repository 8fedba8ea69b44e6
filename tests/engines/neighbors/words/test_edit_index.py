"""Edit distances: the compiled ways against the plain recursion, and the index against all distances."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.core.errors import InputError, ParameterError
from didact.engines.neighbors.words.edit_index import (
    Costs,
    index_words,
    number_queries,
    number_words,
    offer_to_all,
    string_distances,
)

PLAIN = Costs()
LETTERS = "abcß漢\U0001f600"


def oracle(a, b, costs=PLAIN):
    """The textbook recursion, cell by cell."""
    insert, delete, substitute, transpose = costs

    @cache
    def cell(i, j):
        if i == 0 or j == 0:
            return i * delete + j * insert
        best = cell(i - 1, j - 1) + (0 if a[i - 1] == b[j - 1] else substitute)
        best = min(best, cell(i - 1, j) + delete, cell(i, j - 1) + insert)
        if transpose is not None and i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            best = min(best, cell(i - 2, j - 2) + transpose)
        return best

    return cell(len(a), len(b))


def table(A, B, costs=PLAIN):
    words = number_words(B)
    return string_distances(number_queries(A, words.alphabet), words, costs.array())


words = st.lists(st.text(LETTERS, max_size=9), min_size=1, max_size=6)
CHOICES = [
    Costs(),
    Costs(2.0, 2.0, 2.0),
    Costs(1.0, 0.5, 0.7),
    Costs(1.0, 1.0, 1.0, 1.0),
    Costs(0.0, 1.0, 3.0, 0.25),
    Costs(1.0, 1.0, 2.0),
]


@settings(max_examples=40, deadline=None)
@given(words, words, st.sampled_from(CHOICES))
def test_distances_equal_the_recursion(A, B, costs):
    expected = [[oracle(a, b, costs) for b in B] for a in A]
    np.testing.assert_allclose(table(A, B, costs), expected, rtol=1e-12)


@pytest.mark.parametrize("length", [63, 64, 65, 128, 200])
def test_words_longer_than_a_machine_word(length):
    rng = np.random.default_rng(length)
    A = ["".join(rng.choice(list("acgt"), size=length + s)) for s in (0, 1, 5)]
    B = [A[0][3:] + "acg", A[1][::-1], "", A[2][:70]]
    expected = [[oracle_by_rows(a, b) for b in B] for a in A]
    np.testing.assert_array_equal(table(A, B), expected)
    np.testing.assert_array_equal(table(B, A), np.transpose(expected))


def oracle_by_rows(a, b):
    """As the recursion, in rows (no deep recursion for long words)."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@settings(max_examples=40, deadline=None)
@given(words, words, st.sampled_from(CHOICES), st.integers(1, 6))
def test_nearest_is_sorting_all_distances(A, B, costs, k):
    k = min(k, len(B))
    d, rows = index_words(B, costs).nearest(A, k)
    all_of_them = table(A, B, costs)
    order = np.argsort(all_of_them, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(rows, order)
    np.testing.assert_allclose(d, np.take_along_axis(all_of_them, order, axis=1), rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(words, words, st.integers(0, 5))
def test_within_is_a_cut_of_all_distances(A, B, radius):
    indptr, rows, d = index_words(B).within(A, radius)
    expected = table(A, B)
    for q in range(len(A)):
        near = np.flatnonzero(expected[q] <= radius)
        np.testing.assert_array_equal(rows[indptr[q] : indptr[q + 1]], near)
        np.testing.assert_array_equal(d[indptr[q] : indptr[q + 1]], expected[q, near])


def test_a_word_is_not_its_own_neighbour():
    words = ["one", "two", "one", "ones"]
    d, rows = index_words(words).nearest(None, 2)
    assert rows.tolist() == [[2, 3], [0, 2], [0, 3], [0, 2]]
    assert d[0].tolist() == [0, 1]
    indptr, rows, _ = index_words(words).within(None, 1)
    assert indptr.tolist() == [0, 2, 2, 4, 6]
    assert rows.tolist() == [2, 3, 0, 3, 0, 2]


def test_letters_that_no_fitted_word_has_match_nothing():
    assert table(["xyx", "xx"], ["aba", "a"]).tolist() == [[3, 3], [3, 2]]


def test_sequences_of_things():
    A, B = [(1, 2, 3), ("to", "be")], [[1, 3], np.array([1, 2, 3]), ["be"]]
    np.testing.assert_array_equal(table(A, B), [[1, 0, 3], [2, 3, 1]])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([1.5, 2.0], "row 0 holds 1.5 of type float"),
        (["a", None], "row 1 holds None"),
        (["a", (1, 2)], "1 of 2 are strings"),
        ([[[1], [2]]], "sequence of lists"),
        ([b"bytes"], "bytes"),
    ],
)
def test_what_is_no_word_is_refused(words, message):
    with pytest.raises(InputError, match=message):
        index_words(words)


def test_strings_and_sequences_do_not_mix_between_fit_and_query():
    with pytest.raises(InputError, match="fitted words are strings"):
        index_words(["ab"]).nearest([(1, 2)], 1)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_costs_are_checked(bad):
    with pytest.raises(ParameterError, match="substitute"):
        index_words(["ab"], Costs(substitute=bad))


@pytest.mark.parametrize("costs", CHOICES)
def test_words_within_a_radius_are_those_of_the_table(costs):
    rng = np.random.default_rng(3)
    A = ["".join(rng.choice(list("abc"), rng.integers(0, 9))) for _ in range(90)]
    index, D = index_words(A, costs), table(A, A, costs)
    for radius in (0.0, 0.3, 1.0, 2.1, 4.0, np.inf):
        near = radius >= D
        edges, rows, distances = index.within(A[:7], radius)
        assert edges.tolist() == [0, *np.cumsum(near[:7].sum(axis=1))]
        np.testing.assert_array_equal(rows, np.nonzero(near[:7])[1])
        np.testing.assert_array_equal(distances, D[:7][near[:7]])
        near[np.arange(90), np.arange(90)] = False
        edges, rows = index.within_own(20, 60, radius)
        assert edges.tolist() == [0, *np.cumsum(near[20:60].sum(axis=1))]
        np.testing.assert_array_equal(rows, np.nonzero(near[20:60])[1])


@pytest.mark.parametrize("cost", [0.1, 0.3, 0.7, 1e-3, 1 / 3])
def test_a_radius_that_is_a_multiple_of_the_cost_takes_in_words_at_that_distance(cost):
    A = ["", "a", "ab", "abc", "abcd", "abcde", "abcdef"]
    index = index_words(A, Costs(cost, cost, cost))
    for edits in range(1, 7):
        assert index.within([""], cost * edits)[1].tolist() == list(range(edits + 1))


def test_offers_of_words_grow_the_nearest():
    A = ["abc", "abd", "xyz", "xbd", "ab"]
    words, D = number_words(A), table(A, A)
    for costs, factor in ((Costs(), 1.0), (Costs(2.0, 2.0, 2.0, 9.0), 2.0)):
        best, owner = np.array([-1.0, 3.0, 3.0, 1.5, 99.0]) * factor, np.full(5, 7)
        offer_to_all(words, costs.array(), 0, best, owner)
        assert best.tolist() == (factor * np.array([-1.0, D[0, 1], 3.0, 1.5, D[0, 4]])).tolist()
        assert owner.tolist() == [7, 0, 7, 7, 0]
