"""Residuals in twice the precision: against rational arithmetic, whatever cancels, and in any grouping of rows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.core.rows import Block
from didact.engines.linear.least_squares import residual_gradient
from didact.engines.linear.residual_loops import residual_products


def exact(X, Y, w, high, low):
    """Σᵢ wᵢ (1, xᵢ) rᵢᵀ in rational arithmetic, and the sum of the sizes of what is added up."""
    k, p = high.shape
    totals, sizes = np.full((k, p), Fraction(0)), np.full((k, p), Fraction(0))
    for x, y, weight in zip(X, Y, w, strict=True):
        row = [Fraction(1), *(Fraction(float(v)) for v in x)]
        for t in range(k):
            parts = [u * (Fraction(h) + Fraction(v)) for u, h, v in zip(row, high[t], low[t], strict=True)]
            residual = Fraction(y[t]) - sum(parts)
            size = abs(Fraction(y[t])) + sum(map(abs, parts))
            totals[t] += [Fraction(weight) * u * residual for u in row]
            sizes[t] += [Fraction(weight) * abs(u) * size for u in row]
    return totals, sizes


@given(st.integers(0, 1000), st.sampled_from([np.float64, np.float32]))
def test_twice_the_precision(seed, dtype):
    rng = np.random.default_rng(seed)
    n, p, k = rng.integers(1, 12), rng.integers(1, 4), rng.integers(1, 3)
    X = (rng.normal(size=(n, p)) * 10.0 ** rng.integers(-6, 7, size=(n, p))).astype(dtype)
    high = rng.normal(size=(k, p + 1))
    low = high * 1e-17
    Y = high[:, 0] + X.astype(float) @ high[:, 1:].T  # so that what is left are rounding errors
    w = rng.uniform(0, 2, size=n)
    total, rest = residual_products(X, Y, w, high, low)
    expected, sizes = exact(X, Y, w, high, low)
    bound = 8 * (n + p) ** 2 * np.finfo(float).eps ** 2
    for got, more, e, size in zip(total.flat, rest.flat, expected.flat, sizes.flat, strict=True):
        assert abs(Fraction(got) + Fraction(more) - e) <= bound * size


@pytest.mark.parametrize("cuts", [[3], [1, 2, 9], list(range(1, 20))])
def test_blocks_merge_without_loss(cuts):
    rng = np.random.default_rng(0)
    X, b = rng.normal(size=(20, 3)) * [1, 1e5, 1e10], rng.normal(size=(1, 4))
    Y = b[:, 0] + X @ b[:, 1:].T
    pieces = [
        residual_gradient(Block(x, y, None), b, 0 * b)
        for x, y in zip(np.split(X, cuts), np.split(Y, cuts), strict=True)
    ]
    total = pieces[0]
    for piece in pieces[1:]:
        total = total.merge(piece)
    expected, sizes = exact(X, Y, np.ones(20), b, 0 * b)
    error = np.abs(
        [Fraction(t) + Fraction(r) for t, r in zip(total.total[0], total.rest[0], strict=True)] - expected[0]
    )
    assert (error <= 1e-28 * sizes[0]).all()
