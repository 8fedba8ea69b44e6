"""Starts: neither the order of rows, nor blocks, nor repeating rows instead of weighting them changes the sample."""

import numpy as np
import pytest

from didact.core.errors import InputError
from didact.core.rows import Block
from didact.engines.centroids.starts import sample_of
from didact.engines.components.starts import check_codes, placed_by_codes, row_shares
from didact.parts.statistics.components import components


def test_the_sample_depends_on_the_rows_alone():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(200, 3)), rng.integers(0, 4, size=200)
    whole = sample_of(Block(X, None, w), 40)
    order = rng.permutation(200)
    parts = [sample_of(Block(X[i], None, w[i]), 40) for i in np.array_split(order, 6)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    repeated = sample_of(Block(np.repeat(X, w, axis=0)), 40)
    for other in (merged, repeated):
        for got, want in zip(other, whole, strict=True):
            np.testing.assert_array_equal(got, want)
    assert len(whole.rows) == 40
    assert (whole.weights > 0).all()


def test_a_small_sample_is_all_rows():
    X = np.random.default_rng(1).normal(size=(30, 2))
    found = sample_of(Block(X), 1000).rows
    np.testing.assert_array_equal(found[np.lexsort(found.T)], X[np.lexsort(X.T)])


def test_keys_are_spread_evenly():
    """Shares of many rows have the moments of uniform numbers, divided by their sum: means of 1/K."""
    X = np.arange(20_000.0)[:, None]
    R = row_shares(X, 3, 4)
    np.testing.assert_allclose(R.sum(axis=1), 1.0)
    np.testing.assert_allclose(R.mean(axis=0), 0.25, atol=0.01)
    assert np.abs(np.corrcoef(R.T)[0, 1] + 1 / 3) < 0.05  # exchangeable shares of one whole


def test_known_rows_place_their_centres():
    known = components(np.array([[9.0], [11.0]]), np.array([[0.0, 1.0], [0.0, 1.0]]), "diagonal")
    np.testing.assert_array_equal(placed_by_codes(np.array([[10.5], [0.0]]), known), [[0.0], [10.0]])


def test_codes_that_are_no_components_are_refused():
    check_codes(np.array([-1.0, 0.0, 2.0]), 3)
    for wrong in (3.0, -2.0, 0.5):
        with pytest.raises(InputError, match=r"from 0 to 2, or -1.* row 1"):
            check_codes(np.array([0.0, wrong]), 3)
