"""The compiled pass over narrow rows: equal to weighted means and centred products in NumPy; it knows its limits."""

import numpy as np
import pytest

from didact.core.rows import Block
from didact.parts.statistics import moments as statistics
from didact.parts.statistics.moment_loops import centred_products, room
from didact.parts.statistics.moments import moments

SAFE = statistics.SAFE_OFFSET
MOST = len(room(1)[0])  # rows that are handled at a time, if they have few columns


def oracle(X, Y, w):
    """Means and centred products in extended precision."""
    A = np.column_stack([X, Y]).astype(np.longdouble)
    w = np.ones(len(A), np.longdouble) if w is None else w.astype(np.longdouble)
    mean = (w @ A) / w.sum()
    return mean.astype(float), ((A - mean).T @ (w[:, None] * (A - mean))).astype(float)


@pytest.mark.parametrize("n", [1, 2, MOST - 1, MOST, 3 * MOST + 5])
@pytest.mark.parametrize(("p", "k"), [(1, 1), (2, 1), (5, 3), (11, 2), (27, 1), (66, 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_numpy(n, p, k, weighted):
    rng = np.random.default_rng([n, p])
    X, Y = rng.standard_normal((n, p)) + 3.0, 10.0 * rng.standard_normal((n, k)) - 100.0
    w = rng.random(n) + 0.1 if weighted else None
    mean, products = centred_products(X, Y, w, n if w is None else w.sum(), SAFE)
    expected_mean, expected = oracle(X, Y, w)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-13)
    np.testing.assert_allclose(products, expected, rtol=1e-11, atol=1e-11 * max(n, 10))
    np.testing.assert_array_equal(products, products.T)


@pytest.mark.parametrize("change", [np.asfortranarray, lambda A: A[::-1, ::-1], lambda A: A.astype(">f8")])
def test_layout_does_not_matter(change):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 6)), rng.standard_normal((30, 1))
    X = change(X)
    mean, products = centred_products(X, Y, None, 30.0, SAFE)
    expected_mean, expected = oracle(X, Y, None)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-14)
    np.testing.assert_allclose(products, expected, atol=1e-12)


def test_float32_is_summed_in_float64():
    rng = np.random.default_rng(0)
    X, Y = (rng.standard_normal((500, 3)) + 100.0).astype(np.float32), rng.standard_normal((500, 1))
    mean, products = centred_products(X, Y, None, 500.0, SAFE)
    expected_mean, expected = oracle(X, Y, None)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-14)
    np.testing.assert_allclose(products, expected, rtol=1e-12, atol=1e-11)


def test_first_row_far_from_the_mean_is_refused_and_handled_elsewhere(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 3)), rng.standard_normal(2000)
    X[0, 1] = 1e9
    X[1:, 2] += 1e7
    X[0, 2] = 0.0
    assert centred_products(X[:1000], y[:1000, None], None, 1000.0, 1.0) is None
    S = moments(Block(X, y, None))
    monkeypatch.setattr(statistics, "NARROW", 0)
    expected = moments(Block(X, y, None))
    for a, b in zip(S, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_not_a_number_stays_visible():
    X = np.random.default_rng(0).random((2 * MOST, 2))
    X[3, 1] = np.nan
    S = moments(Block(X, np.arange(2.0 * MOST), None))
    assert np.isnan(S.mean_x[1])
    assert np.isnan(S.xx[1, 1])


@pytest.mark.parametrize("constant", [1e8, 0.1, -3.0])
def test_constant_columns_have_no_scatter(constant):
    rng = np.random.default_rng(0)
    n = 2 * MOST
    X, y = rng.standard_normal((n, 2)), rng.standard_normal(n)
    X[:, 1] = constant
    S = moments(Block(X, y, rng.random(n)))
    assert S.xx[1, 1] == 0.0
    np.testing.assert_array_equal(S.xy[1], 0.0)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
def test_offsets_cost_no_digits(offset):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-50, 50, (4000, 3)) / 16.0, rng.integers(-50, 50, 4000) / 16.0
    plain, moved = moments(Block(X, y, None)), moments(Block(X + offset, y + offset, None))
    np.testing.assert_allclose(moved.xx, plain.xx, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(moved.xy, plain.xy, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(moved.yy, plain.yy, rtol=1e-12)
