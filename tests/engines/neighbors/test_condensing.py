"""Condensing: the compiled passes against the definition, classified anew for every row."""

import time

import numpy as np
import pytest

from didact.engines.neighbors.condensing import condense, condense_by


def oracle(X, codes, start, candidates, k):
    """Hart's rule with a fresh vote of the k nearest kept rows for each visit; a tie is an error."""
    kept = list(start)

    def right(i, rows):
        rows = [r for r in rows if r != i]
        d = ((X[rows] - X[i]) ** 2).sum(axis=1)
        votes = np.bincount(codes[rows][np.argsort(d, kind="stable")[:k]], minlength=codes.max() + 1)
        return bool(votes[codes[i]] > np.delete(votes, codes[i]).max(initial=0)) if len(rows) else False

    passes, added = 0, True
    while added:
        passes, added = passes + 1, False
        for i in candidates:
            if i not in kept and not right(i, kept):
                kept.append(i)
                added = True
    mask = np.zeros(len(X), bool)
    mask[kept] = True
    return mask, passes, np.mean([right(i, kept) for i in range(len(X))])


def problem(seed, n=120, p=3, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.searchsorted(np.linspace(-0.5, 0.5, classes - 1), X[:, 0] + 0.3 * rng.normal(size=n))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_condensing_is_hart_s_rule(seed, k):
    X, codes = problem(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    start = np.unique(codes, return_index=True)[1]
    found = condense(X, codes, start, order, k)
    mask, passes, accuracy = oracle(X, codes, start, order, k)
    np.testing.assert_array_equal(found.kept, mask)
    assert found.passes == passes
    assert found.accuracy == pytest.approx(accuracy)


def test_strips_and_classes_that_cut_each_other():
    """More rows than a strip holds, classes that begin inside one."""
    X, codes = problem(4, n=1500, p=2, classes=4)
    start, order = np.unique(codes, return_index=True)[1], np.arange(len(X))
    found = condense(X, codes, start, order)
    d = ((X[:, None] - X[None, found.kept]) ** 2).sum(axis=2)
    assert (codes[found.kept][d.argmin(axis=1)] == codes).all(), "the kept rows classify all rows rightly"
    again = condense_by(lambda i: ((X - X[i]) ** 2).sum(axis=1), codes, start, order)
    np.testing.assert_array_equal(again.kept, found.kept)
    assert again.passes == found.passes
    assert again.accuracy == pytest.approx(found.accuracy)


def test_equal_rows_of_different_classes_are_all_kept():
    X = np.zeros((6, 2))
    codes = np.array([0, 1, 0, 1, 0, 1])
    found = condense(X, codes, np.array([0, 1]), np.arange(6))
    assert found.kept.all(), "a tie is an error"
    assert found.accuracy == 0


def test_equal_rows_of_one_class_are_kept_once():
    X, codes = np.repeat([[0.0], [1.0]], 5, axis=0), np.repeat([0, 1], 5)
    found = condense(X, codes, np.array([0, 5]), np.arange(10))
    assert np.flatnonzero(found.kept).tolist() == [0, 5]
    assert found.passes == 1


def test_trees_change_nothing_where_distances_are_equal():
    """A grid has as many ties as there can be: several leaves, each class in a tree of its own."""
    rng = np.random.default_rng(5)
    X, codes = rng.integers(0, 6, (700, 3)).astype(float), rng.integers(0, 3, 700)
    start, order = np.arange(6), rng.permutation(700)
    found = condense(X, codes, start, order)
    again = condense_by(lambda i: ((X - X[i]) ** 2).sum(axis=1), codes, start, order)
    np.testing.assert_array_equal(found.kept, again.kept)
    assert (found.passes, found.accuracy) == (again.passes, pytest.approx(again.accuracy))
    mask, passes, accuracy = oracle(X, codes, start, order, 3)
    found = condense(X, codes, start, order, 3)
    np.testing.assert_array_equal(found.kept, mask)
    assert (found.passes, found.accuracy) == (passes, pytest.approx(accuracy))


def test_a_kept_row_is_not_compared_with_all_rows():
    """Eight times the rows, of which a third are kept: 64 times the work without trees."""

    def seconds(n):
        X, codes = problem(6, n=n, p=2)
        start, spent = np.unique(codes, return_index=True)[1], []
        for _ in range(3):
            begin = time.process_time()
            condense(X, codes, start, np.arange(n))
            spent.append(time.process_time() - begin)
        return min(spent)

    assert seconds(32_000) < 25 * seconds(4_000)
