"""Statistics that merge: an identity, any grouping, the same as one block, and no cancellation far from zero."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from didact.core.rows import Block
from didact.parts.statistics.moments import Moments, Sums, gram, moments

FIELDS = Moments._fields


def assert_close(got, expected, rtol=1e-12):
    for name, a, b in zip(FIELDS, got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.max(np.abs(b), initial=0.0), err_msg=name)


def direct(X, Y, w):
    """The definition, in twice the precision where the machine has it."""
    X, Y, w = (np.asarray(a, np.longdouble) for a in (X, Y, w))
    weight = w.sum()
    mx, my = (w @ X) / weight, (w @ Y) / weight
    Xc, Yc = X - mx, Y - my
    parts = (weight, mx, my, (Xc.T * w) @ Xc, (Xc.T * w) @ Yc, w @ (Yc * Yc))
    return Moments(len(X), *(np.asarray(a, np.float64) for a in parts))


def data(n=200, p=3, k=2, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + shift, rng.normal(size=(n, k)), rng.integers(0, 4, size=n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, np.asfortranarray, lambda X: X.astype(np.float32)])
def test_moments_of_one_block(convert, weighted):
    X, Y, w = data()
    X = convert(X)
    dense = X.toarray() if sp.issparse(X) else X
    expected = direct(dense, Y, w if weighted else np.ones(len(w)))
    assert_close(moments(Block(X, Y, w if weighted else None)), expected)
    assert_close(
        moments(Block(X, Y[:, 0], w if weighted else None)), direct(dense, Y[:, :1], w if weighted else np.ones(len(w)))
    )


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.booleans())
def test_merge_of_blocks_equals_one_block(sizes, weighted):
    X, Y, w = data(n=sum(sizes) + 1)
    edges = np.cumsum([0, *sizes, 1])
    parts = [moments(Block(X[a:b], Y[a:b], w[a:b] if weighted else None)) for a, b in pairwise(edges)]
    left = parts[0]
    for part in parts[1:]:
        left = left.merge(part)
    right = parts[-1]
    for part in reversed(parts[:-1]):
        right = part.merge(right)
    whole = moments(Block(X, Y, w if weighted else None))
    if whole.weight:
        assert_close(left, whole, rtol=1e-11)
    assert_close(left, right, rtol=1e-11)


@given(st.integers(0, 1000))
def test_merge_is_associative_and_has_an_identity(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (moments(Block(*data(n=int(rng.integers(1, 30)), seed=seed + s))) for s in range(3))
    assert_close(a.merge(b).merge(c), a.merge(b.merge(c)), rtol=1e-11)
    assert_close(a.merge(b), b.merge(a), rtol=1e-11)
    nothing = moments(Block(np.empty((0, 3)), np.empty((0, 2)), None))
    assert_close(a.merge(nothing), a, rtol=0)
    assert_close(nothing.merge(a), a, rtol=0)
    assert nothing.merge(nothing).weight == 0
    unweighted = moments(Block(np.ones((5, 3)), np.ones((5, 2)), np.zeros(5)))
    merged = a.merge(unweighted)
    assert merged.rows == a.rows + 5
    assert_close(merged._replace(rows=a.rows), a, rtol=0)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shift", [1e2, 1e4, 1e6, 1e8])
def test_data_far_from_zero(shift, convert):
    """Raw second moments lose (mean/deviation)² units: at 1e8 nothing would be left. Expected in exact arithmetic."""
    X, Y, _ = data(n=300, shift=shift)
    Y = Y + shift
    values = [[Fraction(float(v)) for v in row] for row in np.column_stack([X, Y])]
    n = len(values)
    means = [sum(column) / n for column in zip(*values, strict=True)]
    scatter = [[float(sum((r[i] - means[i]) * (r[j] - means[j]) for r in values)) for j in range(5)] for i in range(3)]
    got = moments(Block(convert(X[:150]), Y[:150], None)).merge(moments(Block(convert(X[150:]), Y[150:], None)))
    # The data themselves are rounded to shift·eps, and what depends on means to that times the merge.
    rtol = max(1e-11, 10 * shift * np.finfo(float).eps)
    np.testing.assert_allclose(got.xx, np.array(scatter)[:, :3], rtol=rtol, atol=rtol * 300)
    np.testing.assert_allclose(got.xy, np.array(scatter)[:, 3:], rtol=rtol, atol=rtol * 300)
    np.testing.assert_allclose(got.mean_x, [float(m) for m in means[:3]], rtol=1e-15)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("constant", [0.1, 1.0, -1 / 3, 1e8 + 0.1, 1e-9])
def test_constant_columns_have_no_scatter_at_all(constant, convert):
    """Not 1e-34, which a solver would divide by."""
    X, Y, w = data(n=1000)
    X[:, 1] = constant
    for weights in (None, w):
        parts = [moments(Block(convert(X[s]), Y[s], None if weights is None else weights[s])) for s in
                 (slice(0, 333), slice(333, 700), slice(700, None))]  # fmt: skip
        total = parts[0].merge(parts[1]).merge(parts[2])
        assert (total.xx[1] == 0).all()
        assert (total.xx[:, 1] == 0).all()
        assert (total.xy[1] == 0).all()
        assert total.mean_x[1] == constant
        assert total.xx[0, 0] > 0


def test_about_zero():
    X, Y, w = data()
    S = moments(Block(X, Y, w)).about_zero()
    np.testing.assert_allclose(S.xx, (X.T * w) @ X, rtol=1e-12)
    np.testing.assert_allclose(S.xy, (X.T * w) @ Y, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(S.yy, w @ (Y * Y), rtol=1e-12)
    assert not S.mean_x.any()
    assert not S.mean_y.any()


def test_float32_is_summed_in_float64():
    X, Y, _ = data(n=5000)
    single = X.astype(np.float32)
    for convert in (np.asarray, sp.csr_array):
        got = moments(Block(convert(single), Y, None))
        expected = direct(single.astype(np.float64), Y, np.ones(len(Y)))
        assert_close(got, expected, rtol=1e-12)


@given(st.integers(0, 100), st.booleans())
def test_gram(seed, weighted):
    X, _, w = data(n=20, seed=seed)
    w = w if weighted else None
    expected = (X.T * (1.0 if w is None else w)) @ X
    np.testing.assert_allclose(gram(X, w), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gram(sp.csr_array(X), w), expected, rtol=1e-12, atol=1e-12)


def test_sums():
    a, b, c = (Sums((float(k), np.full(2, k), np.full((2, 2), 10.0 * k))) for k in (1, 2, 4))
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    for x, y in zip(left.parts, right.parts, strict=True):
        np.testing.assert_array_equal(x, y)
    assert left.parts[0] == 7
    with pytest.raises(ValueError):
        a.merge(Sums((1.0,)))
