"""Histograms and partitions against slow NumPy twins; exact sums, and fixed point that reads back as what went in."""

import numpy as np
from histogram_cases import label_channels, unit_channels, value_channels
from hypothesis import given
from hypothesis import strategies as st

from didact.engines.trees.splits.histogram_loops import add_column, add_totals, count_columns, part, subtract


def slow_histogram(codes, channels, rows, first):
    """Sums of fixed-point numbers by bin, one row at a time."""
    hist = np.zeros((int(first[-1]), channels.n_channels), np.int64)
    for i in rows:
        for f in range(codes.shape[1]):
            slot = int(first[f]) + int(codes[i, f])
            if channels.labels is not None:
                for label in channels.labels[i]:
                    hist[slot, label] += channels.fixed[i, 0]
            else:
                hist[slot] += channels.fixed[i]
    return hist


def sample(seed, p, kind, code=np.uint8, n=50):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, size=(n, p)).astype(code)
    if kind == "labels":
        channels = label_channels(rng.integers(0, 3, n), 3, rng.random(n))
    elif kind == "outputs":
        channels = label_channels(rng.integers(0, 2, (n, 2)), 2)
    elif kind == "unit":
        channels = unit_channels(rng.normal(size=n))
    else:
        targets = rng.normal(size=(n, 1 if kind == "pair" else 2))
        channels = value_channels(np.column_stack([targets, rng.random(n)]))
    first = (6 * np.arange(p + 1)).astype(np.uint64)
    rows = np.sort(rng.choice(n, 30, replace=False)).astype(np.uint32)
    return codes, channels, rows, first


@given(
    seed=st.integers(0, 1000), p=st.integers(1, 9), code=st.sampled_from([np.uint8, np.uint16]),
    kind=st.sampled_from(["labels", "outputs", "unit", "pair", "triple"]),
)  # fmt: skip
def test_histograms(seed, p, code, kind):
    codes, channels, rows, first = sample(seed, p, kind, code)
    expected = slow_histogram(codes, channels, rows, first)
    found = np.zeros_like(expected)
    count_columns(codes, channels.fixed, channels.labels, rows, 0, p, first[:-1], found)
    np.testing.assert_array_equal(found, expected)
    single = np.zeros_like(expected)
    add_column(codes[:, p - 1].copy(), channels.fixed, channels.labels, rows, int(first[p - 1]), single)
    np.testing.assert_array_equal(single[int(first[p - 1]) :], expected[int(first[p - 1]) :])
    total = np.zeros(channels.n_channels, np.int64)
    add_totals(channels.fixed, channels.labels, rows, total)
    np.testing.assert_array_equal(total, expected[:6].sum(axis=0))
    other = np.setdiff1d(np.arange(len(codes)), rows)
    whole = slow_histogram(codes, channels, np.arange(len(codes)), first)
    subtract(whole, found)
    np.testing.assert_array_equal(whole, slow_histogram(codes, channels, other, first))


@given(seed=st.integers(0, 1000), n=st.integers(0, 40), code=st.sampled_from([np.uint8, np.uint16]))
def test_partition_is_stable(seed, n, code):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, size=(50, 3)).astype(code)
    goes_left = np.zeros(256, np.uint8)
    goes_left[rng.integers(0, 6, 3)] = 1
    rows = rng.choice(50, n, replace=False).astype(np.uint32)
    left = goes_left[codes[rows, 1]].astype(bool)
    expected = np.concatenate([rows[left], rows[~left]])
    found, parted = rows.copy(), np.empty(n, np.uint32)
    assert part(codes[:, 1].copy(), goes_left, rows, parted, False) == left.sum()
    np.testing.assert_array_equal(parted, np.concatenate([rows[left], rows[~left][::-1]]))
    assert part(codes[:, 1].copy(), goes_left, found, np.empty(50, np.uint32), True) == left.sum()
    np.testing.assert_array_equal(found, expected)


@given(seed=st.integers(0, 1000), n=st.integers(1, 300), size=st.sampled_from([1e-9, 1.0, 1e12]))
def test_fixed_point_reads_back_as_sums_and_counts(seed, n, size):
    rng = np.random.default_rng(seed)
    columns = np.column_stack([size * rng.normal(size=n), size * rng.random(n)])
    for channels, expected in [
        (value_channels(columns), columns),
        (unit_channels(columns[:, 0]), np.column_stack([columns[:, 0], np.ones(n)])),
    ]:
        sums, counts = channels.sums(channels.fixed.sum(axis=0, keepdims=True))
        assert counts.tolist() == [n]
        np.testing.assert_allclose(sums[0], expected.sum(axis=0), rtol=1e-9, atol=1e-9 * np.abs(expected).sum() / n)
    labels = rng.integers(0, 3, n)
    channels = label_channels(labels, 3, columns[:, 1])
    fixed = np.zeros((1, 3), np.int64)
    add_totals(channels.fixed, channels.labels, np.arange(n, dtype=np.uint32), fixed[0])
    sums, counts = channels.sums(fixed)
    assert counts.tolist() == [n]
    np.testing.assert_allclose(sums[0], np.bincount(labels, columns[:, 1], 3), rtol=1e-9)


def test_whole_weights_are_exact():
    w = np.random.default_rng(0).integers(0, 50, 100_000).astype(float)
    channels = value_channels(np.column_stack([w * 3, w]))
    sums, _ = channels.sums(channels.fixed.sum(axis=0, keepdims=True))
    assert sums[0].tolist() == [3 * w.sum(), w.sum()]


def test_only_columns_with_a_slot_are_read():
    # A row may be longer than its columns, and no more than these are counted.
    codes = np.array([[1, 0, 255], [0, 1, 255]], np.uint8)
    hist = np.zeros((4, 2), np.int64)
    rows = np.arange(2, dtype=np.uint32)
    count_columns(codes, np.array([[1, 10], [2, 20]]), None, rows, 0, 2, np.array([0, 2], np.uint64), hist)
    assert hist.tolist() == [[2, 20], [1, 10], [1, 10], [2, 20]]
