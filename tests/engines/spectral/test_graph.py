"""Laplacians by their definition, dense and sparse alike."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.errors import InputError
from didact.engines.spectral.graph import SOME_ROWS, graph_embedding, laplacian


def affinities(n: int) -> np.ndarray:
    """Symmetric affinities of n nodes, with numbers on the diagonal that do not count."""
    A = np.random.default_rng(n).uniform(size=(n, n))
    A = A + A.T
    A[0] = A[:, 0] = 0.0  # a node without neighbours
    A[0, 0] = 3.0
    return A


@pytest.mark.parametrize("n", [5, 2 * SOME_ROWS + 3])
@pytest.mark.parametrize("normed", [True, False])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array])
def test_laplacian_is_degrees_less_affinities(n, normed, form):
    A = affinities(n)
    given = form(A.copy())
    L, roots, shift = laplacian(given, normed)
    edges = A - np.diag(np.diag(A))
    degrees = edges.sum(axis=0)
    expected = np.diag(degrees) - edges
    if normed:
        scale = np.where(degrees > 0, degrees, 1.0) ** -0.5
        expected = scale[:, None] * expected * scale
        np.testing.assert_allclose(roots, 1.0 / scale, rtol=1e-12)
    L = L.toarray() if sp.issparse(L) else L
    found = shift * np.eye(n) - L if shift else L
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_array_equal(given.toarray() if sp.issparse(given) else given, A)  # the user's own


def test_affinities_that_differ_are_averaged_with_a_warning():
    A = affinities(70)[1:, 1:]
    uneven = A + np.triu(np.full(A.shape, 0.1), 1)
    with pytest.warns(UserWarning, match="not symmetric"):
        found = graph_embedding(uneven, 2)
    np.testing.assert_allclose(found, graph_embedding(0.5 * (uneven + uneven.T), 2), atol=1e-8)


def test_negative_sums_are_refused():
    A = affinities(8)[1:, 1:]
    A[2] = A[:, 2] = -1.0
    with pytest.raises(InputError, match="row 2 have a negative sum"):
        graph_embedding(A, 2)
