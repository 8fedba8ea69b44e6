"""Edit distance: known values and the laws of a metric."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from didact.engines.neighbors.words.edit_index import index_words
from didact.neighbors import (
    KNeighborsClassifier,
    KNeighborsSmoother,
    NearestNeighbors,
    edit_distance,
    edit_distances,
)

text = st.text("abcd", max_size=7)


def test_known_values():
    """Wagner and Fischer's kind of examples, by hand."""
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("intention", "execution") == 5
    assert edit_distance("intention", "execution", substitute=2) == 8
    assert edit_distance("", "abc") == edit_distance("abc", "") == 3
    assert edit_distance("", "") == 0
    assert edit_distance("ca", "abc", transpose=1) == 3, "a pair that was exchanged is not edited again"
    assert edit_distance("abc", "abcd", insert=0.25, delete=9) == 0.25
    assert edit_distance("abcd", "abc", insert=9, delete=0.25) == 0.25


@settings(max_examples=60, deadline=None)
@given(text, text, text)
def test_it_is_a_metric(a, b, c):
    D = edit_distances([a, b, c])
    np.testing.assert_array_equal(D, D.T)
    assert (D.diagonal() == 0).all()
    assert (D[0, 1] > 0) == (a != b)
    assert D[0, 2] <= D[0, 1] + D[1, 2]
    assert D[0, 1] <= max(len(a), len(b))
    assert D[0, 1] >= abs(len(a) - len(b))


@settings(max_examples=30, deadline=None)
@given(text, text)
def test_insertions_and_deletions_alone_count_the_longest_common_subsequence(a, b):
    lengths = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            lengths[i + 1, j + 1] = lengths[i, j] + 1 if x == y else max(lengths[i, j + 1], lengths[i + 1, j])
    assert edit_distance(a, b, substitute=2) == len(a) + len(b) - 2 * lengths[-1, -1]


def test_numbers_have_no_edit_distance():
    with pytest.raises(ValueError, match="strings or sequences"):
        edit_distance(12, 13)


def test_nearest_words():
    model = NearestNeighbors(n_neighbors=2, radius=1.0, metric="edit").fit(["cat", "cart", "dog", "dot"])
    distances, rows = model.kneighbors(["cut", "dots"])
    assert rows.tolist() == [[0, 1], [3, 2]]
    assert distances.tolist() == [[1.0, 2.0], [1.0, 2.0]]
    np.testing.assert_array_equal(model.kneighbors()[1][:, 0], [1, 0, 3, 2])
    np.testing.assert_array_equal(
        model.radius_neighbors_graph().toarray(), [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    )
    with pytest.raises(ValueError, match="n_neighbors <= n_samples_fit"):
        model.kneighbors(["cut"], 5)


def test_a_broken_index_of_words_is_refused():
    """Compiled loops do not look at bounds, so a forged file must not get that far."""
    index = index_words(["cat", "dog"])
    broken = [
        index.words._replace(letters=index.words.letters + 100),
        index.words._replace(begins=np.array([0, 3, 99])),
        index.words._replace(begins=np.array([0, -3, 6])),
    ]
    for words in broken:
        with pytest.raises(ValueError, match="broken"):
            index._replace(words=words).nearest(["cat"], 1)


def test_weighted_words_are_repeated_words():
    words, kind, w = np.array(["ship", "tree", "shop", "trees"]), np.array(["sea", "land", "sea", "land"]), [1, 3, 2, 1]
    new = ["sheep", "tee", "chop"]
    model = KNeighborsClassifier(4, metric="edit", weights="distance")
    weighted = clone(model).fit(words, kind, sample_weight=w)
    repeated = clone(model).fit(np.repeat(words, w), np.repeat(kind, w))
    np.testing.assert_allclose(weighted.predict_proba(new), repeated.predict_proba(new), rtol=1e-12)
    size, smoother = np.arange(4.0), KNeighborsSmoother(3, metric="edit")
    weighted = clone(smoother).fit(words, size, sample_weight=w).predict(new)
    np.testing.assert_allclose(weighted, clone(smoother).fit(np.repeat(words, w), np.repeat(size, w)).predict(new))
