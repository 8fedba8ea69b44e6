"""Square tables of pairs."""

import numpy as np
import pytest

from didact.core.rows.pairs import PAIR_TILE, asymmetry


@pytest.mark.parametrize("n", [0, 1, 2, PAIR_TILE - 1, PAIR_TILE, 2 * PAIR_TILE + 5])
def test_the_largest_difference_from_the_transpose_is_found_with_its_place(n):
    A = np.random.default_rng(n).standard_normal((n, n))
    most, i, j = asymmetry(A)
    assert most == np.abs(A - A.T).max(initial=0.0)
    assert n == 0 or abs(A[i, j] - A[j, i]) == most


@pytest.mark.parametrize(
    "place",
    [
        (0, 1),
        (3, 2 * PAIR_TILE + 4),
        (2 * PAIR_TILE + 4, 3),
        (PAIR_TILE, PAIR_TILE - 1),
        (PAIR_TILE + 2, PAIR_TILE + 1),
    ],
)
def test_one_entry_is_enough(place):
    A = np.ones((2 * PAIR_TILE + 5,) * 2)
    assert asymmetry(A) == (0.0, 0, 0)
    A[place] = 3.0
    assert asymmetry(A) == (2.0, min(place), max(place))
