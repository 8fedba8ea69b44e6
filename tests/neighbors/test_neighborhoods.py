"""Neighbours until their weights sum to k, against a sort of all rows; how many rows are asked for, in what blocks."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.errors import InputError
from didact.engines.neighbors import build_index
from didact.neighbors import KNeighborsClassifier
from didact.neighbors.neighborhoods import class_votes, flat, nearest_by_weight, up_to
from didact.parts.distances import Euclidean


class Counting:
    """An index that notes how many entries it is asked for."""

    def __init__(self, X):
        self.index, self.n_rows, self.asked = build_index(X, Euclidean()), len(X), []

    def most(self, Q):
        return self.index.most(Q)

    def nearest(self, Q, k):
        self.asked.append((self.n_rows if Q is None else len(Q), k))
        return self.index.nearest(Q, k)


def by_sorting(X, w, q, k, own=None):
    """The weight taken of each row: rows in order of distance, equal ones by number; of `own` one row is left out."""
    distance = np.sqrt(((X - q) ** 2).sum(axis=1))
    there = w - (np.arange(len(X)) == own)
    taken, left = np.zeros(len(X)), k
    for row in np.lexsort((np.arange(len(X)), distance)):
        taken[row] = min(max(there[row], 0.0), left)
        left -= taken[row]
    return taken


POINTS = {
    "apart": lambda rng, n: rng.normal(size=(n, 2)),
    "ties": lambda rng, n: rng.integers(0, 3, (n, 2)).astype(float),
    "equal": lambda rng, n: np.ones((n, 2)),
}
WEIGHTS = {
    "whole": lambda rng, n: rng.integers(1, 5, n).astype(float),
    "zeros": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "parts": lambda rng, n: rng.uniform(0.0, 2.0, n),
    "from light to heavy": lambda rng, n: np.geomspace(1e-3, 10.0, n)[rng.permutation(n)],
}


@pytest.mark.parametrize("k", [1, 4, 11])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("points", POINTS)
def test_the_nearest_rows_are_taken_until_their_weights_sum_to_k(points, weights, k):
    rng = np.random.default_rng(k)
    X, w = POINTS[points](rng, 40), WEIGHTS[weights](rng, 40)
    index = build_index(X, Euclidean())
    for Q in (POINTS[points](rng, 150), None):
        tables = list(nearest_by_weight(index, w, Q, k, pairs=100))
        found = [dict(zip(*pair, strict=True)) for _, rows, taken in tables for pair in zip(rows, taken, strict=True)]
        assert len(found) == (40 if Q is None else 150)
        for i, (q, taken) in enumerate(zip(X if Q is None else Q, found, strict=True)):
            expected = by_sorting(X, w, q, k, i if Q is None else None)
            got = np.array([taken.get(row, 0.0) for row in range(40)])
            np.testing.assert_allclose(got, expected, atol=1e-12 * k)


def test_without_weights_each_row_counts_once():
    X = np.random.default_rng(0).normal(size=(30, 2))
    index = build_index(X, Euclidean())
    for Q in (X[:7] + 0.1, None):
        ((distances, rows, weights),) = nearest_by_weight(index, None, Q, 3)
        ((_, same, ones),) = nearest_by_weight(index, np.ones(30), Q, 3)
        assert weights is None
        np.testing.assert_array_equal(distances, index.nearest(Q, 3)[0])
        for row, others, one in zip(rows, same, ones, strict=True):
            assert row.tolist() == others[one > 0].tolist()


def test_rows_are_asked_for_as_they_are_needed_not_as_the_lightest_would_be():
    X = np.arange(400.0)[:, None]
    w = np.where(X[:, 0] < 380, 2.0, 1e-6)
    for Q in (X[:300] + 0.3, X[:370] - 0.2):
        index = Counting(X)
        list(nearest_by_weight(index, w, Q, 6))
        assert index.asked == [(len(Q), 6)]
    index = Counting(X)
    ((_, rows, taken),) = nearest_by_weight(index, w, None, 6)
    assert [k for _, k in index.asked] == [6, 12, 24], "row 399 has 19 light neighbours before the first others"
    np.testing.assert_allclose(taken.sum(axis=1), 6.0)
    assert rows.shape == (400, 25)


def test_blocks_become_smaller_where_more_rows_are_needed():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    w = np.random.default_rng(1).lognormal(0.0, 3.0, 2000)
    index, pairs = Counting(X), 5000
    tables = list(nearest_by_weight(index, w / w.mean(), X + 0.01, 3, pairs))
    assert sum(len(rows) for _, rows, _ in tables) == 2000
    assert max(k for _, k in index.asked) > pairs / 100
    assert all(n * k <= max(pairs, 64 * k) for n, k in index.asked)


def test_part_of_the_weights_that_sums_to_k():
    np.testing.assert_array_equal(up_to(3.0, np.array([[2.0, 2.0, 1.0], [0.0, 1.0, 1.0]])), [[2, 1, 0], [0, 1, 1]])


def test_a_query_without_any_stored_distance_says_so():
    known = sp.csr_array(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]))
    model = KNeighborsClassifier(1, metric="precomputed").fit(known, [0, 1, 1], sample_weight=[1.0, 2.0, 2.0])
    with pytest.raises(InputError, match=r"1 neighbors are required .* only 0 neighbors"):
        model.predict(sp.csr_array((1, 3)))


def test_votes_without_weights_are_counts():
    rows, codes = np.array([[0, 1, 2], [2, 3, 0]]), np.array([1, 1, 0, 2])
    np.testing.assert_array_equal(class_votes(flat(rows, rows), None, codes, 3), [[1, 2, 0], [1, 1, 1]])
