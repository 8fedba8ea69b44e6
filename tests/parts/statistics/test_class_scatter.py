"""Means and scatter by class: NumPy's sums, merging, gaps, rows far from zero, many columns and tensors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.core.errors import InputError
from didact.core.rows import Block, MemoryRows
from didact.parts.statistics import class_scatter as engine
from didact.parts.statistics.class_scatter import class_scatter, scatter_of_rows


def oracle(X, y, w=None):
    """Labels, weights, means and scatter with nothing but sums."""
    X, w = X.astype(np.float64), np.ones(len(X)) if w is None else w
    classes = np.unique(y[w > 0])
    weight = np.array([w[y == k].sum() for k in classes])
    mean = np.array([w[y == k] @ X[y == k] for k in classes]) / weight[:, None]
    D = [X[y == k] - m for k, m in zip(classes, mean)]
    return classes, weight, mean, np.array([(d * w[y == k][:, None]).T @ d for k, d in zip(classes, D)])


def assert_is(S, X, y, w=None, rtol=1e-10):
    np.testing.assert_array_equal(S.classes, np.unique(y))
    S = S.seen()
    classes, weight, mean, scatter = oracle(X, y, w)
    np.testing.assert_array_equal(S.classes, classes)
    np.testing.assert_allclose(S.weight, weight, rtol=1e-12)
    np.testing.assert_allclose(S.mean, mean, rtol=rtol, atol=rtol)
    scatter = scatter.sum(axis=0, keepdims=True) if S.pooled else scatter
    np.testing.assert_allclose(S.scatter, scatter, rtol=rtol, atol=rtol * np.abs(scatter).max() + 1e-25)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 700),
    p=st.integers(1, 9),
    K=st.integers(1, 6),
    single=st.booleans(),
    weighted=st.booleans(),
    pooled=st.booleans(),
    seed=st.integers(0, 99),
)
def test_sums_are_numpys(n, p, K, single, weighted, pooled, seed):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) * 3 + 2).astype(np.float32 if single else np.float64)
    y = rng.integers(0, K, n)
    w = rng.integers(0, 3, n) + rng.uniform(0, 0.5, n) * (rng.uniform(size=n) < 0.5) if weighted else None
    w = None if w is None or not w.any() else w.astype(float)
    assert_is(class_scatter(MemoryRows(X, y, w), pooled), X, y, w)


@pytest.mark.parametrize("pooled", [True, False])
def test_merging_is_associative_and_classes_may_differ(pooled):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), np.repeat(["b", "a", "c"], 30)
    a, b, c = (
        scatter_of_rows(Block(X[s], y[s], None), pooled, None) for s in (slice(0, 40), slice(40, 41), slice(41, 90))
    )
    for S in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(a).merge(b)):
        assert_is(S.finished(), X, y)


@pytest.mark.parametrize("pooled", [True, False])
def test_far_from_zero_and_constant_columns(pooled):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 2
    near, far = (class_scatter(MemoryRows(Z, y, None), pooled) for Z in (X, X + 1e8))
    np.testing.assert_allclose(far.scatter, near.scatter, rtol=1e-6, atol=1e-5)
    constant = class_scatter(MemoryRows(np.column_stack([X, np.full(400, 0.1)]), y, None), pooled)
    assert (constant.scatter[:, -1] == 0).all()
    assert (constant.scatter[:, :, -1] == 0).all()


def exact(X, y, w=None):
    """Means and scatter of the classes in extended precision."""
    X, w = X.astype(np.longdouble), np.ones(len(X)) if w is None else w
    mean = [(w[y == k] @ X[y == k]) / w[y == k].sum() for k in np.unique(y)]
    D = [X[y == k] - m for k, m in zip(np.unique(y), mean)]
    scatter = [(d * w[y == k][:, None]).T @ d for k, d in zip(np.unique(y), D)]
    return np.array(mean, float), np.array(scatter, float)


@pytest.mark.parametrize("p", [3, 21])
@pytest.mark.parametrize("case", ["drifting", "a start far away", "a light start far away", "weights all over"])
def test_no_order_of_rows_or_weights_costs_digits(p, case):
    rng = np.random.default_rng([p, len(case)])
    n, w = 40_000, None
    X, y = rng.normal(size=(n, p)), np.arange(n) % 2
    if case == "drifting":
        X += np.linspace(0, 1e3, n)[:, None]
    elif case == "weights all over":
        w = 10.0 ** rng.uniform(-12, 3, n)
    else:
        X[:600] += 1e6  # more than are handled at a time
        w = np.where(X[:, 0] > 1e5, 1e-12, 1.0) if "light" in case else None
    S = scatter_of_rows(Block(X, y, w), False, None)
    mean, scatter = exact(X, y, w)
    np.testing.assert_allclose(S.mean, mean, rtol=1e-11, atol=1e-15 * np.abs(X).max())
    np.testing.assert_allclose(S.scatter, scatter, rtol=1e-10, atol=1e-11 * scatter.max())


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-3, 7, 2], np.int64),
        np.array([200, 3], np.uint8),
        np.array([0, 2**64 - 1], np.uint64),
        np.array([2**64 - 5, 2**64 - 1], np.uint64),
        np.array([-(2**62), 5, 2**62]),
        np.array([False, True]),
        np.array(["b", "a", "ä"]),
        np.array([0.5, -1.5]),
    ],
)
def test_labels_of_any_kind(labels):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), labels[rng.integers(0, len(labels), 60)]
    S = scatter_of_rows(Block(X, y, None), False, None)
    assert S.classes.dtype == y.dtype
    assert_is(S, X, y)


def test_rows_with_gaps_are_counted_and_left_out():
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(300, 4)), rng.integers(0, 3, 300), rng.uniform(0.5, 2, 300)
    hole = rng.uniform(size=300) < 0.3
    X[hole, rng.integers(0, 4, hole.sum())] = np.nan
    S = class_scatter(MemoryRows(X, y, w, missing=True), False)
    np.testing.assert_allclose(S.gaps, [w[hole & (y == k)].sum() for k in range(3)])
    assert_is(S._replace(gaps=0 * S.gaps), X[~hole], y[~hole], w[~hole])


@pytest.mark.parametrize("pooled", [True, False])
def test_many_columns_go_through_blas_and_a_few_classes_at_a_time(pooled, monkeypatch):
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(500, 6)), rng.integers(0, 5, 500), rng.uniform(0.5, 2, 500)
    monkeypatch.setattr(engine, "NARROW", 4)
    monkeypatch.setattr(engine, "MEMORY", 8 * 36 * 64 * 2)
    assert_is(class_scatter(MemoryRows(X, y, w), pooled), X, y, w)


def test_tensors():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    X, y, w = rng.normal(size=(200, 4)), rng.integers(0, 3, 200), rng.uniform(0.5, 2, 200)
    for pooled in (True, False):
        S = class_scatter(MemoryRows(*(torch.as_tensor(c) for c in (X, y, w))), pooled)
        assert_is(S, X, y, w)
    X[3, 2] = np.nan
    with pytest.raises(InputError, match="tensors"):
        class_scatter(MemoryRows(torch.as_tensor(X), torch.as_tensor(y), None, missing=True), False)
