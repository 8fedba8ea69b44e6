"""Chan's rule: two sets, runs of sets and the compiled twins say the same, and that of all rows at once."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.core.rows import Block
from didact.engines.smoothing.running_loops import merge
from didact.parts.statistics.chan import join, join_runs
from didact.parts.statistics.components_loops import add_scatter
from didact.parts.statistics.moments import moments


def sets(seed, sizes):
    """Rows with weights, and weight, mean and scatter (column by column) of consecutive sets of them."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(sum(sizes), 2)) + 100.0, rng.uniform(0.1, 2.0, sum(sizes))
    edges = np.cumsum([0, *sizes])
    parts = [(X[a:b], w[a:b]) for a, b in pairwise(edges)]
    weight = np.array([[v.sum()] for _, v in parts])
    mean = np.array([v @ Z / v.sum() if len(v) else np.zeros(2) for Z, v in parts])
    scatter = np.array([v @ (Z - m) ** 2 for (Z, v), m in zip(parts, mean)])
    return X, w, weight, mean, scatter


@given(st.integers(0, 1000), st.integers(0, 5), st.integers(0, 5))
def test_two_sets_are_all_rows(seed, a, b):
    X, w, weight, mean, scatter = sets(seed, [a, b])
    both = join(weight[0], mean[0], weight[1], mean[1])
    number = join(float(weight[0, 0]), mean[0], float(weight[1, 0]), mean[1])
    np.testing.assert_allclose(number.mean, both.mean, rtol=1e-15)
    if a + b:
        expected = w @ X / w.sum()
        np.testing.assert_allclose(both.mean, expected, rtol=1e-14)
        total = scatter[0] + scatter[1] + both.factor * both.way**2
        np.testing.assert_allclose(total, w @ (X - expected) ** 2, rtol=1e-9, atol=1e-10)
    else:
        assert both.weight == 0
        assert not both.mean.any()


@given(st.integers(0, 1000), st.lists(st.integers(1, 4), min_size=2, max_size=6), st.integers(1, 5))
def test_runs_of_sets_are_joined_one_by_one(seed, sizes, cut):
    _, _, weight, mean, scatter = sets(seed, sizes)
    start = np.unique([0, min(cut, len(sizes) - 1)])
    found = join_runs(weight, mean, scatter, start)
    for r, (a, b) in enumerate(zip(start, [*start[1:], len(sizes)])):
        w, m, S = weight[a], mean[a], scatter[a]
        for i in range(a + 1, b):
            w, m, d, factor = join(w, m, weight[i], mean[i])
            S = S + scatter[i] + factor * d * d
        for got, expected in zip(found, (w, m, S)):
            np.testing.assert_allclose(got[r], expected, rtol=1e-9, atol=1e-10)


def test_the_compiled_twins_join_as_numpy_does():
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(3, 12))
    w = np.abs(w)
    a, b = (moments(Block(x[s, None], y[s], w[s])) for s in (slice(0, 5), slice(5, 12)))
    node = np.array([a.weight, a.mean_x[0], a.mean_y[0], a.xx[0, 0], a.xy[0, 0]])
    merge(node, b.weight, b.mean_x[0], b.mean_y[0], b.xx[0, 0], b.xy[0, 0])
    both = a.merge(b)
    np.testing.assert_allclose(node, [both.weight, both.mean_x[0], both.mean_y[0], both.xx[0, 0], both.xy[0, 0]])
    d, factor = rng.normal(size=(3, 4)), rng.uniform(size=(3, 1))
    A, B = rng.normal(size=(2, 3, 4, 4))
    gain = (factor * d)[:, :, None] * d[:, None, :]
    for first, second, expected in ((A, B, A + B + gain), (A[:1], B[:1], A[:1] + B[:1] + gain.sum(axis=0))):
        out = np.empty_like(first)
        add_scatter(first, second, factor * d, d, out)
        np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)


def test_no_weight_at_all():
    weight, mean, scatter = join_runs(np.zeros((2, 1)), np.ones((2, 3)), np.zeros((2, 3)), np.array([0]))
    assert not weight.any()
    assert np.isfinite(mean).all()
    assert scatter == pytest.approx(0.0)
