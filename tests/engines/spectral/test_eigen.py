"""Eigenpairs by their definition, whichever way they are found, and signs that do not depend on it."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from didact.core import threads
from didact.engines.spectral import eigen
from didact.engines.spectral.eigen import eigenpairs, fixed_signs


def of_spectrum(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric matrix with the eigenvalues 1/1, 1/2, …, 1/n, and these, ascending."""
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0]
    values = 1.0 / np.arange(1, n + 1)
    return (Q * values) @ Q.T, np.sort(values)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, aslinearoperator])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("n", [30, 1100])
def test_pairs_satisfy_their_equation(form, largest, n):
    A, spectrum = of_spectrum(n)
    if not largest:  # well-separated at the small end
        A, spectrum = np.eye(n) - A, np.sort(1.0 - spectrum)
    values, V = eigenpairs(form(A), 4, largest=largest)
    expected = spectrum[::-1][:4] if largest else spectrum[:4]
    np.testing.assert_allclose(values, expected, atol=1e-10)
    np.testing.assert_allclose(A @ V, V * values, atol=1e-8)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-10)
    assert (V[np.abs(V).argmax(axis=0), range(4)] > 0).all()


def test_more_pairs_than_rows_gives_all():
    values, V = eigenpairs(np.diag([3.0, 1.0, 2.0]), 9)
    assert values.tolist() == [3.0, 2.0, 1.0]
    assert V.shape == (3, 3)


def test_signs_of_a_column_and_of_its_opposite_agree():
    V = np.random.default_rng(0).normal(size=(6, 3))
    np.testing.assert_array_equal(fixed_signs(V), fixed_signs(-V))


def test_products_of_lanczos_are_shared_and_do_not_depend_on_the_number_of_threads(monkeypatch):
    """BLAS has one thread meanwhile: its own would spin between the products."""
    A, _ = of_spectrum(1500)
    rounds, limits = [], []

    def shared(fn, items):
        rounds.append(len(items))
        limits.extend(library.num_threads for library in threads._blas())
        return threads.parallel_map(fn, items)

    monkeypatch.setattr(eigen, "parallel_map", shared)
    found = []
    for number in (1, 2, 5):
        threads.set_threads(number)
        try:
            found.append(eigenpairs(A, 3))
        finally:
            threads.set_threads(None)
    assert rounds
    assert set(rounds) == {-(-1500 // (eigen.LANCZOS_ENTRIES // 1500 + 1))}
    assert set(limits) == {1}
    for values, vectors in found[1:]:
        assert np.array_equal(values, found[0][0])
        assert np.array_equal(vectors, found[0][1])
