"""Windows, means, medians and lines of sorted rows against slow oracles; leaving out by really leaving out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.engines.smoothing import running
from didact.engines.smoothing.running import (
    RunningWindow,
    nearest_place,
    running_left_out,
    running_smooth,
    sort_rows,
    windows,
)

KINDS = ("mean", "median", "line")


def slow_window(x, q, window):
    """Row numbers in the window at q, from the words of the rule."""
    u = np.unique(x)
    centre = min(range(len(u)), key=lambda j: (abs(u[j] - q), u[j]))
    if window.k:
        k = min(window.k, len(u))
        low = min(max(centre - (k - 1) // 2, 0), len(u) - k)
        return np.flatnonzero(np.isin(x, u[low : low + k]))
    inside = np.flatnonzero(np.abs(x - q) <= window.h * (1 + 1e-9))
    return inside if len(inside) else np.flatnonzero(x == u[centre])


def slow_value(x, y, w, q, kind):
    if kind == "mean":
        return np.average(y, weights=w)
    if kind == "median":
        return np.median(np.repeat(y, w.astype(int)))
    if len(np.unique(x)) == 1:
        return np.average(y, weights=w)
    constant = np.polyfit(x - q, y, 1, w=np.sqrt(w))[1]
    return constant


def slow(x, y, w, q, window, kind):
    rows = slow_window(x, q, window)
    return slow_value(x[rows], y[rows], w[rows], q, kind)


def slow_without(x, y, w, window, kind):
    out = []
    for i in range(len(x)):
        rest = w.copy()
        rest[i] -= 1
        kept = rest > 0
        out.append(slow(x[kept], y[kept], rest[kept], x[i], window, kind))
    return np.array(out)


def data(seed, n=30, ties=True, weights=True):
    rng = np.random.default_rng(seed)
    x = np.round(rng.uniform(0, 3, n), 1) if ties else rng.uniform(0, 3, n)
    w = rng.integers(1, 4, n).astype(float) if weights else np.ones(n)
    return x, rng.normal(size=n), w


WINDOWS = [
    RunningWindow(1, 0.0),
    RunningWindow(2, 0.0),
    RunningWindow(5, 0.0),
    RunningWindow(0, 0.05),
    RunningWindow(0, 0.3),
    RunningWindow(0, 10.0),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_smooth_equals_the_slow_way(seed, window, kind):
    x, y, w = data(seed, ties=seed % 2 == 0, weights=seed < 2)
    rows = sort_rows(x, np.column_stack([y, 2 - 3 * y]), w)
    q = np.concatenate([np.linspace(-1, 4, 41), x])
    got = running_smooth(rows, q, window, kind)
    np.testing.assert_allclose(got[:, 0], [slow(x, y, w, v, window, kind) for v in q], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got[:, 1], 2 - 3 * got[:, 0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_leaving_out_is_leaving_out(seed, window, kind):
    x, y, w = data(seed, n=20, ties=seed % 2 == 0, weights=seed < 2)
    order = np.argsort(x, kind="stable")
    x, y, w = x[order], y[order], w[order]
    got = running_left_out(sort_rows(x, y[:, None], w), window, kind)[:, 0]
    np.testing.assert_allclose(got, slow_without(x, y, w, window, kind), rtol=1e-8, atol=1e-8)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=12), st.integers(1, 12), st.sampled_from(KINDS))
def test_leaving_out_with_any_ties(places, k, kind):
    x = np.sort(np.array(places, float))
    y, w = np.sin(3 * np.arange(len(x))), np.ones(len(x))
    window = RunningWindow(min(k, len(np.unique(x))), 0.0)
    got = running_left_out(sort_rows(x, y[:, None], w), window, kind)[:, 0]
    np.testing.assert_allclose(got, slow_without(x, y, w, window, kind), rtol=1e-8, atol=1e-8)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 100))
def test_windows_hold_k_places(n, k, seed):
    x = np.random.default_rng(seed).permutation(n).astype(float)
    rows, k = sort_rows(x, x[:, None], np.ones(n)), min(k, n)
    start, stop = windows(rows, np.linspace(-2, n + 1, 50), RunningWindow(k, 0.0))
    assert (stop - start == k).all()


def test_the_lower_of_two_equally_near_places():
    assert nearest_place(np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.5, -3.0, 9.0, 1.51])).tolist() == [0, 1, 0, 2, 2]


@pytest.mark.parametrize("kind", ["mean", "line"])
def test_one_huge_value_spoils_no_window_without_it(kind):
    x = np.arange(2000.0)
    y = np.sin(x / 50)
    clean = running_smooth(sort_rows(x, y[:, None], np.ones(2000)), x, RunningWindow(9, 0.0), kind)
    y[1000] = 1e17
    spoilt = running_smooth(sort_rows(x, y[:, None], np.ones(2000)), x, RunningWindow(9, 0.0), kind)
    far = np.abs(x - 1000) > 8
    np.testing.assert_allclose(spoilt[far], clean[far], rtol=1e-12)


def test_lines_far_from_zero_are_exact():
    x = 1e8 + np.arange(300.0)
    y = 3.0 * (x - 1e8) - 7.0
    got = running_smooth(sort_rows(x, y[:, None], np.ones(300)), x + 0.25, RunningWindow(7, 0.0), "line")[:, 0]
    np.testing.assert_allclose(got, y + 0.75, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_do_not_matter(kind, monkeypatch):
    x, y, w = data(3, n=500, ties=False)
    rows, q = sort_rows(x, y[:, None], w), np.linspace(0, 3, 333)
    whole = running_smooth(rows, q, RunningWindow(21, 0.0), kind), running_left_out(rows, RunningWindow(21, 0.0), kind)
    monkeypatch.setattr(running, "RUNNING_WINDOWS", 17)
    np.testing.assert_array_equal(running_smooth(rows, q, RunningWindow(21, 0.0), kind), whole[0])
    np.testing.assert_array_equal(running_left_out(rows, RunningWindow(21, 0.0), kind), whole[1])


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_any_size_are_shares(kind):
    """Weights 0.1 … 0.3 are the weights 1 … 3, but for what leaving out a copy means."""
    x, y, w = data(1)
    q = np.linspace(0, 3, 50)
    tenth = running_smooth(sort_rows(x, y[:, None], w / 10), q, RunningWindow(4, 0.0), kind)
    np.testing.assert_allclose(
        tenth, running_smooth(sort_rows(x, y[:, None], w), q, RunningWindow(4, 0.0), kind), rtol=1e-9
    )
