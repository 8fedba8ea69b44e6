"""Covariances of few rows: a matrix is taken for one of low rank only where it is one."""

import numpy as np
import pytest

from didact.engines.components.low_rank import low_rank_of
from didact.engines.components.mixture import lifted

P = 320


def thin(least, rank, seed=0, scale=1.0):
    F = scale * np.random.default_rng(seed).normal(size=(P, rank))
    return least * np.eye(P) + F @ F.T


@pytest.mark.parametrize("rank", [0, 1, 7])
@pytest.mark.parametrize("least", [0.0, 1e-6, 2.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e8])
def test_the_parts_of_a_low_rank_matrix_make_it_up(least, rank, scale):
    C = thin(least, rank, scale=scale)
    found = low_rank_of(C, least)
    assert found.factor.shape == (P, rank)
    np.testing.assert_allclose(found.dense(), C, atol=2 * P * np.finfo(float).eps * C.max(initial=0.0))


@pytest.mark.parametrize(
    "C",
    [
        thin(0.0, P),
        thin(2.0, 3),  # its smallest eigenvalue is 2, not 1
        np.eye(P) + np.eye(P, k=1) + np.eye(P, k=-1),  # nothing is left on the diagonal, but beside it
        thin(1.0, 3) - 0.5 * np.diag(np.arange(P) == 4),
        np.diag(np.where(np.arange(P) == 4, np.inf, 1.0)),
    ],
    ids=["full rank", "another constant", "beside the diagonal", "a negative direction", "infinite"],
)
def test_other_matrices_are_left_alone(C):
    assert low_rank_of(C, 1.0) is None


@pytest.mark.parametrize("rank", [0, 5, P])
def test_lifted_eigenvalues_are_those_of_the_whole_matrix(rank):
    C = thin(0.0, rank, scale=0.1)
    values, vectors = np.linalg.eigh(C)
    expected = vectors * np.maximum(values, 0.5) @ vectors.T
    np.testing.assert_allclose(lifted(C, 0.5), expected, atol=1e-12 * max(values[-1], 1.0))
