"""Rows of Gram matrices: how they are cut into pieces."""

import numpy as np
import pytest

from didact.core import threads
from didact.engines.gram.rows import gram_of, tiled
from didact.kernels import RBF


@pytest.fixture
def many_threads(monkeypatch):
    """As many threads as a test asks for, whatever the machine allows."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads._hold, "limits", lambda: [16])
    yield
    threads.set_threads(None)


@pytest.mark.parametrize("n", [1, 100, 700, 3000, 20_000])
def test_pieces_do_not_depend_on_the_number_of_threads(n, many_threads):
    cuts = []
    for number in (1, 16):
        threads.set_threads(number)
        edges = []
        tiled(lambda a, b: edges.append((a, b)), n)  # noqa: B023
        cuts.append(sorted(edges))
    assert cuts[0] == cuts[1]
    assert cuts[0][0][0] == 0
    assert cuts[0][-1][1] == n
    assert all(b == c for (_, b), (c, _) in zip(cuts[0], cuts[0][1:]))


def test_gram_matrix_has_the_same_bits_for_any_number_of_threads(many_threads):
    X = np.random.default_rng(0).normal(size=(1500, 7))
    found = []
    for number in (1, 3, 16):
        threads.set_threads(number)
        found.append(gram_of(RBF(1.5), X, X))
    assert all(np.array_equal(found[0], K) for K in found[1:])
