"""Conjugate gradients: at most p steps, several right-hand sides, preconditioned, singular but consistent systems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.engines.linear.conjugate_gradients import conjugate_gradients


def system(p, k=2, seed=0, condition=10.0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    return (Q * np.geomspace(1, condition, p)) @ Q.T, rng.normal(size=(p, k))


@given(st.integers(1, 10), st.integers(1, 3), st.integers(0, 50))
def test_at_most_p_steps(p, k, seed):
    """Worked example 91."""
    A, B = system(p, k, seed)
    result = conjugate_gradients(lambda V: A @ V, B, np.ones((p, 1)), tol=1e-8, max_iter=100)
    assert result.converged
    assert result.n_iter <= p
    np.testing.assert_allclose(result.x, np.linalg.solve(A, B), rtol=1e-6, atol=1e-7)


def test_few_distinct_eigenvalues_take_as_many_steps():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    A = (Q * rng.choice([1.0, 5.0, 9.0], size=30)) @ Q.T
    assert conjugate_gradients(lambda V: A @ V, rng.normal(size=(30, 1)), np.ones(30), 1e-8, 100).n_iter <= 3


@pytest.mark.parametrize("shape", ["vector", "column", "matrix"])
def test_the_diagonal_repairs_bad_units(shape):
    A, B = system(12)
    D = np.geomspace(1, 1e6, 12)
    A, B = A * D[:, None] * D, B * D[:, None]
    diagonal = {"vector": np.diag(A), "column": np.diag(A)[:, None], "matrix": np.tile(np.diag(A)[:, None], 2)}[shape]
    good = conjugate_gradients(lambda V: A @ V, B, diagonal, 1e-10, 1000)
    plain = conjugate_gradients(lambda V: A @ V, B, np.ones(12), 1e-10, 1000)
    assert good.converged
    assert good.n_iter <= 14 < plain.n_iter


def test_residual_is_what_it_says_in_every_column():
    A, B = system(40, 3, condition=1e3)
    B[:, 1] *= 1e6
    result = conjugate_gradients(lambda V: A @ V, B, np.diag(A), 1e-6, 200)
    sizes = np.linalg.norm(A @ result.x - B, axis=0) / np.linalg.norm(B, axis=0)
    assert result.converged
    assert (sizes <= 1.1e-6).all()


def test_zero_right_hand_sides_and_zero_columns():
    A, B = system(5)
    B[:, 0] = 0.0
    result = conjugate_gradients(lambda V: A @ V, B, np.diag(A), 1e-10, 100)
    assert not result.x[:, 0].any()
    np.testing.assert_allclose(result.x[:, 1], np.linalg.solve(A, B[:, 1]), rtol=1e-8)
    A = np.diag([1.0, 0.0, 2.0])  # a constant column: consistent, since its right-hand side is 0, too
    result = conjugate_gradients(lambda V: A @ V, np.array([[1.0], [0.0], [2.0]]), np.diag(A), 1e-10, 100)
    np.testing.assert_allclose(result.x[:, 0], [1.0, 0.0, 1.0], rtol=1e-12)


def test_singular_consistent_systems_give_the_least_norm_solution():
    """From zero the iterates stay in the range of A, as long as the preconditioner is a multiple of 1."""
    Z = np.random.default_rng(0).normal(size=(4, 7))
    A, y = Z.T @ Z, np.random.default_rng(1).normal(size=(4, 1))
    result = conjugate_gradients(lambda V: A @ V, Z.T @ y, np.ones(7), 1e-12, 100)
    np.testing.assert_allclose(result.x, np.linalg.pinv(Z) @ y, rtol=1e-8)


def test_iteration_limit():
    A, B = system(30, condition=1e8)
    result = conjugate_gradients(lambda V: A @ V, B, np.ones(30), 1e-12, 3)
    assert (result.status, result.n_iter) == ("iteration limit", 3)
