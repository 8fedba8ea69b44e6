"""Bins: codes agree with thresholds, few values lose nothing, many are cut at weighted quantiles."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from didact.engines.trees.rows.bins import bin_codes, column_cuts, learn_bins

VALUES = st.one_of(st.floats(-1e6, 1e6, width=32), st.just(np.nan), st.sampled_from([0.0, 1.0, -1.0]))


def slow_codes(X, bins):
    """The number of thresholds below each value, by NumPy; the last code for what is missing or unknown."""
    out = np.empty(X.shape, int)
    for f in range(X.shape[1]):
        x, count = X[:, f].astype(float), bins.n_bins[f]
        if bins.categorical[f]:
            out[:, f] = np.where((x >= 0) & (x < count), np.nan_to_num(x), count)
        else:
            code = (bins.thresholds[f][None, : count - 1] < x[:, None]).sum(axis=1)
            out[:, f] = np.where(np.isnan(x), count, code)
    return out


@given(
    X=arrays(np.float64, st.tuples(st.integers(1, 60), st.integers(1, 4)), elements=VALUES),
    max_bins=st.integers(2, 300),
    kind=st.sampled_from([np.float32, np.float64]),
)
def test_codes_are_places_among_thresholds(X, max_bins, kind):
    X = X.astype(kind)
    bins = learn_bins(X, None, max_bins)
    codes = bin_codes(X, bins)
    np.testing.assert_array_equal(codes, slow_codes(X, bins))
    assert (bins.n_bins <= max_bins).all()
    for f in range(X.shape[1]):
        inner = bins.thresholds[f, : bins.n_bins[f] - 1]
        assert (np.diff(inner) > 0).all()
        known = np.unique(X[:, f][~np.isnan(X[:, f])])
        if len(known) <= max_bins:
            assert bins.n_bins[f] == max(len(known), 1), "every value has a bin of its own"


@given(st.lists(st.integers(0, 40), min_size=5, max_size=80), st.integers(2, 12), st.randoms(use_true_random=False))
def test_weights_cut_like_repeated_rows(values, max_bins, rnd):
    x = np.array(values, float)
    w = np.array([rnd.randint(1, 4) for _ in values])
    repeated = column_cuts(np.repeat(x, w), None, max_bins)
    np.testing.assert_array_equal(column_cuts(x, w.astype(float), max_bins), repeated)
    assert len(repeated) == min(len(np.unique(x)), max_bins) - 1 or len(np.unique(x)) > max_bins
    assert len(repeated) < max_bins


def test_bins_of_many_values_have_equal_weight_and_heavy_values_stand_alone():
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)
    counts = np.bincount(bin_codes(x[:, None], learn_bins(x[:, None], None, 64))[:, 0].astype(int))
    assert len(counts) == 64
    assert counts.max() <= 1.1 * 20_000 / 64
    x[:12_000] = 0.0
    bins = learn_bins(x[:, None], None, 64)
    codes = bin_codes(x[:, None], bins)[:, 0]
    assert np.unique(x[codes == codes[0]]).tolist() == [0.0]
    assert bins.n_bins[0] >= 60, "the frequent value does not take the others' bins"


def test_more_bins_than_bytes_categories_and_sparse_rows():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.permutation(1000), rng.integers(0, 400, 1000)]).astype(float)
    X[:5, 1] = np.nan
    bins = learn_bins(X, None, 700, np.array([False, True]))
    codes = bin_codes(X, bins)
    assert codes.dtype == np.uint16
    np.testing.assert_array_equal(codes, slow_codes(X, bins))
    assert bin_codes(np.array([[0.0, 4000.0]]), bins)[0, 1] == bins.n_bins[1]
    S = np.where(rng.random((500, 3)) < 0.7, 0.0, rng.normal(size=(500, 3)))
    for a, b in zip(learn_bins(S), learn_bins(sp.csr_array(S)), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(bin_codes(S, learn_bins(S)), bin_codes(sp.csr_array(S), learn_bins(S)))


def test_a_column_of_missing_values_has_one_empty_bin():
    bins = learn_bins(np.full((4, 1), np.nan))
    assert bins.n_bins.tolist() == [1]
    assert bin_codes(np.array([[np.nan], [3.0]]), bins).tolist() == [[1], [0]]


@pytest.mark.parametrize("extreme", [1e308, 5e-324])
def test_thresholds_of_extreme_values_still_divide(extreme):
    x = np.array([[-extreme], [extreme], [0.0]])
    assert len(np.unique(bin_codes(x, learn_bins(x)))) == 3
