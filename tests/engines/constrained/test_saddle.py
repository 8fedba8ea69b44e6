"""Saddle systems: against one dense solve, in both precisions, with and without ρ."""

import numpy as np
import pytest

from didact.engines.constrained.saddle import add_gram, cholesky, saddle


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_saddle_systems(rng):
    M, B = rng.standard_normal((7, 7)), rng.standard_normal((3, 7))
    H, r, c = M @ M.T, rng.standard_normal(7), rng.standard_normal(3)
    expected = np.linalg.solve(np.block([[H, B.T], [B, np.zeros((3, 3))]]), np.concatenate([r, c]))
    for kind, tol in ((np.float64, 1e-9), (np.float32, 1e-2)):
        for rho in (0.0, 2.0):
            L = cholesky(np.asarray(H + rho * B.T @ B, kind, order="F"))
            solved = np.concatenate(saddle(L, B, rho).solve(r, c))
            np.testing.assert_allclose(solved, expected, rtol=tol, atol=tol)
    assert cholesky(np.asfortranarray(-np.eye(2)), shifted=False) is None


def test_dependent_rows_pass(rng):
    """Of all multipliers of consistent equalities, which are not unique here, some are found."""
    B = np.repeat(rng.standard_normal((1, 4)), 2, axis=0)
    system = saddle(cholesky(np.eye(4, order="F")), B, 0.0)
    r, c = np.ones(4), np.full(2, 3.0)
    x, y = system.solve(r, c)
    for _ in range(2):
        dx, dy = system.solve(r - x - B.T @ y, c - B @ x)
        x, y = x + dx, y + dy
    np.testing.assert_allclose(B @ x, c, atol=1e-10)
    np.testing.assert_allclose(x + B.T @ y, r, atol=1e-10)


def test_singular_matrices_are_shifted(rng):
    M = rng.standard_normal((5, 2))
    L = np.tril(cholesky(np.asfortranarray(M @ M.T)))
    np.testing.assert_allclose(L @ L.T, M @ M.T, atol=1e-9)
    assert cholesky(np.asfortranarray(M @ M.T - np.eye(5)), shifted=False) is None
    assert np.isfinite(cholesky(np.zeros((3, 3), order="F"))).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("m", [0, 1, 5, 23, 81])
def test_gram_in_pieces(m, kind, rng, monkeypatch):
    """Uneven last pieces, fewer rows than a piece and no rows."""
    M, R, d = rng.standard_normal((5, 5)), rng.standard_normal((m, 5)).astype(kind), rng.random(m)
    H = (M + M.T).astype(kind)
    expected = H + R.T @ (d[:, None] * R)
    for at_once in (True, False):
        monkeypatch.setattr("didact.engines.constrained.saddle.PARALLEL_FROM", np.inf if at_once else 0)
        found = add_gram(H, R, d)
        assert found.flags.f_contiguous
        assert found.dtype == kind
        np.testing.assert_allclose(found, expected, atol=1e-4 if kind is np.float32 else 1e-12)
    np.testing.assert_allclose(add_gram(H, R), H + R.T @ R, atol=1e-4)
