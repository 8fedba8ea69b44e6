"""Sums of a Gaussian kernel: equal to the whole matrix times the coefficients, and the exponential of float32."""

import numpy as np
import pytest

from didact.core.jit import jit
from didact.core.threads import set_threads
from didact.engines.gram.rows import exponents, images, looped_rows, mirrored_sums
from didact.kernels import RBF
from didact.parts.exp_loops import exp_single1

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 2), (65, 1025, 5), (130, 700, 31)])
@pytest.mark.parametrize("outputs", [(), (1,), (3,), (6,)])
def test_sums(shape, outputs, dtype):
    n, m, p = shape
    A, X, coef = RNG.normal(size=(n, p)), RNG.normal(size=(m, p)), RNG.normal(size=(m, *outputs))
    kernel = RBF(1.5)
    for threads in (1, 3):
        set_threads(threads)
        try:
            found = images(kernel, A, X, coef, dtype)
        finally:
            set_threads(None)
        error = 1e-13 if dtype == np.float64 else 2e-6
        np.testing.assert_allclose(found, kernel.gram(A, X) @ coef, atol=error * np.abs(coef).sum() * p)


@pytest.mark.parametrize("zeros", [0.0, 0.9])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 129, 1500])
def test_columns_that_are_rows(n, zeros):
    """Each value serves both; the sums are the same on any number of threads."""
    X = RNG.normal(size=(n + 40, 30)) * (RNG.random((n + 40, 30)) >= zeros)
    own, coef = np.sort(RNG.choice(n + 40, n, replace=False)), RNG.normal(size=n)
    looped, found = looped_rows(*exponents(RBF(3.0), X, X[own])), []
    assert (len(looped[1]) > 0) == (zeros > 0.5)
    for threads in (1, 3):
        set_threads(threads)
        try:
            found.append(mirrored_sums(*looped, coef, own))
        finally:
            set_threads(None)
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], RBF(3.0).gram(X, X[own]) @ coef, atol=1e-12 * np.abs(coef).sum())


def test_numbers_that_overflow_have_no_loop():
    """NaN must show, which vectorised exponentials do not promise."""
    X = np.array([[1e160], [0.0], [-1e160]])
    with np.errstate(all="ignore"):
        assert looped_rows(*exponents(RBF(1.0), X, X)) is None
        assert looped_rows(*exponents(RBF(1.0), X / 1e141, X / 1e141, np.float32)) is None
    assert looped_rows(*exponents(RBF(1.0), np.eye(2, 200) + 1.0, np.ones((2, 200)) + np.arange(200))) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("outputs", [(), (3,)])
def test_rows_with_many_zeros(outputs, dtype):
    """Their other numbers alone are multiplied; a row may have none, and a dense one many."""
    n, m, p = 67, 530, 150
    A, X = np.zeros((n, p)), np.zeros((m, p))
    for M in (A, X):
        M[:, 0] = RNG.normal(3.0, 1.0, len(M))
        M[np.arange(len(M)), RNG.integers(1, p, len(M))] = 1.0
    A[5], A[6, :40] = 0.0, RNG.normal(size=40)
    coef = RNG.normal(size=(m, *outputs))
    left, places, right = looped_rows(*exponents(RBF(1.5), A, X, dtype))
    assert places.shape == left.shape == (n, 44)
    assert right.shape == (p + 2, m)
    found = images(RBF(1.5), A, X, coef, dtype)
    error = 1e-13 if dtype == np.float64 else 2e-6
    np.testing.assert_allclose(found, RBF(1.5).gram(A, X) @ coef, atol=error * np.abs(coef).sum())


def test_exponential_of_float32():
    @jit
    def all_of(x, out):
        for i in range(x.shape[0]):
            out[i] = exp_single1(x[i])

    x = np.concatenate([-RNG.exponential(10, 5000), np.linspace(-87, 0, 5000), [0.0, -0.0]]).astype(np.float32)
    out = np.empty_like(x)
    all_of(x, out)
    exact = np.exp(np.maximum(x.astype(float), -87))
    assert np.abs(out / exact - 1).max() < 2e-7
    low = np.full(1, -1e9, np.float32)
    all_of(low, out[:1])
    assert 0 <= out[0] < 2e-38


@pytest.mark.parametrize("width", [1.5, (0.5, 2.0, 3.0)])
@pytest.mark.parametrize("n", [1, 400])
def test_few_rows_have_no_loop_but_the_same_values(n, width):
    A, X, coef = RNG.normal(size=(n, 3)), RNG.normal(size=(300, 3)), RNG.normal(size=300)
    np.testing.assert_allclose(images(RBF(width), A, X, coef), RBF(width).gram(A, X) @ coef, atol=1e-11)
