"""Code matrices: the courses' examples, distances that correct errors, and codes that must be refused."""

import numpy as np
import pytest

from didact.core.errors import ParameterError
from didact.multiclass import code_matrix
from didact.multiclass.codes import KINDS, checked_code, column_distances, row_distances


def least(D):
    return D[~np.eye(len(D), dtype=bool)].min()


def test_four_classes_as_in_the_course():
    rest, pairs, every = (code_matrix(kind, 4) for kind in ("one_vs_rest", "one_vs_one", "exhaustive"))
    np.testing.assert_array_equal(rest, 2 * np.eye(4) - 1)
    expected = [[1, 1, 1, 0, 0, 0], [-1, 0, 0, 1, 1, 0], [0, -1, 0, -1, 0, 1], [0, 0, -1, 0, -1, -1]]
    np.testing.assert_array_equal(pairs, expected)
    printed = [[-1] * 7, [-1, -1, -1, 1, 1, 1, 1], [-1, 1, 1, -1, -1, 1, 1], [1, -1, 1, -1, 1, -1, 1]]
    np.testing.assert_array_equal(every, printed)
    assert (row_distances(every)[np.triu_indices(4, 1)] == 4).all()
    assert (row_distances(rest)[np.triu_indices(4, 1)] == 2).all()


@pytest.mark.parametrize("K", [2, 3, 5, 6])
def test_exhaustive_codes_hold_every_learner_once(K):
    W = code_matrix("exhaustive", K)
    assert W.shape == (K, 2 ** (K - 1) - 1)
    signed = np.where(W[0] > 0, -1, 1) * W  # a column and its negative are one learner
    assert len(np.unique(signed, axis=1).T) == W.shape[1]
    assert (np.abs(W.sum(axis=0)) < K).all()
    if K > 2:
        assert least(row_distances(W)) == 2 ** (K - 2)


def test_the_nearest_word_corrects_every_single_wrong_learner():
    W = code_matrix("exhaustive", 4).astype(float)
    for k in range(4):
        for wrong in range(7):
            word = W[k].copy()
            word[wrong] *= -1
            assert np.argmax(W @ word) == k


@pytest.mark.parametrize("kind", ["random", "sparse", "optimized"])
@pytest.mark.parametrize("K", [2, 4, 7])
def test_drawn_codes_are_codes_and_repeat_with_their_seed(kind, K):
    W = code_matrix(kind, K, 9, 3)
    np.testing.assert_array_equal(checked_code(W, K), W)
    np.testing.assert_array_equal(code_matrix(kind, K, 9, 3), W)
    assert W.shape == (K, 9)
    assert (W == 0).any() == (kind == "sparse" and K > 2)


@pytest.mark.parametrize(("K", "L"), [(5, 8), (8, 15), (10, 15)])
def test_optimised_codes_are_farther_apart_than_random_ones(K, L):
    best = code_matrix("optimized", K, L, 0)
    random = [code_matrix("random", K, L, seed) for seed in range(20)]
    assert least(row_distances(best)) >= max(least(row_distances(W)) for W in random)
    assert least(column_distances(best)) > 0, "no learner twice"
    bound = L * K / (2 * (K - 1))  # Plotkin: the mean distance of rows of a code cannot be larger than this by much
    assert least(row_distances(best)) >= 0.75 * bound


def test_zero_counts_one_half():
    assert row_distances(np.array([[1, 0, -1], [1, 1, 1]]))[0, 1] == 1.5


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ([[1, -1], [1, 1]], "Column 0"),
        ([[1, 1], [-1, 0]], "Column 1"),
        ([[1, 2], [-1, -1]], "entries"),
        ([[1, -1, 1]], "row for each"),
        ([1, -1], "row for each"),
    ],
)
def test_bad_codes_are_refused(code, words):
    with pytest.raises(ParameterError, match=words):
        checked_code(code, 2)


def test_other_refusals():
    with pytest.raises(ParameterError, match="same row"):
        checked_code([[1], [-1], [-1]], 3)
    with pytest.raises(ParameterError, match="exhaustive code for 13"):
        code_matrix("exhaustive", 13)
    with pytest.raises(ParameterError, match="at least 2 classes"):
        code_matrix("random", 1)
    with pytest.raises(ParameterError, match="one of"):
        code_matrix("hadamard", 4)
    with pytest.raises(ParameterError, match="cannot tell 5 classes"):
        code_matrix("random", 5, 2)
    assert "sparse" in KINDS
