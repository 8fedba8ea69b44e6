"""Passes of k-means with bounds: the same clusters as without, and as NumPy finds."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from didact.core.rows import Block, MemoryRows
from didact.core.threads import set_threads
from didact.engines.centroids import lloyd as lloyd_module
from didact.engines.centroids import starts
from didact.engines.centroids.lloyd import clusters_of, lloyd, repaired
from didact.engines.centroids.passes import Pass, half_gaps, neighbourhoods
from didact.engines.centroids.starts import (
    by_place,
    hashes,
    plus_plus,
    plus_plus_rows,
    random_partition,
    random_rows,
    sample_of,
)
from didact.parts.statistics.components import components


def nearest(X, C):
    return ((X[:, None].astype(float) - C[None]) ** 2).sum(axis=2).argmin(axis=1)


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 5), st.integers(1, 40), st.sampled_from(["f4", "f8"]),
       st.sampled_from("CF"), st.booleans())  # fmt: skip
def test_bounds_change_nothing(seed, n, p, K, dtype, order, ties):
    rng = np.random.default_rng(seed)
    X = np.asarray(rng.integers(-3, 4, (n, p)) if ties else rng.normal(size=(n, p)), dtype, order=order)
    w = rng.integers(0, 3, n).astype(float)
    C = X[rng.integers(0, n, K)] + rng.normal(size=(K, p)) * (not ties)
    C = C.astype(float)
    kept, plain = Pass(X, w, X.mean(axis=0), bounded=True), Pass(X, w, X.mean(axis=0))
    for _ in range(5):
        (sums, weights), (theirs, others) = kept.clusters(C), plain.clusters(C)
        np.testing.assert_array_equal(kept.labels, plain.labels)
        np.testing.assert_array_equal(kept.labels, nearest(X, C))
        np.testing.assert_allclose(sums, theirs, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(weights, others)
        moved = weights > 0
        C = C.copy()
        C[moved] = X.mean(axis=0, dtype=float) + sums[moved] / weights[moved, None]


def test_many_steps_with_many_groups():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6)) + rng.normal(size=(3000, 1)) * 3
    plain = lloyd(MemoryRows(X, None, None), X[:70], tol=0.0, max_iter=400, bounds=False)
    kept = lloyd(MemoryRows(X, None, None), X[:70], tol=0.0, max_iter=400)
    assert kept.n_iter == plain.n_iter > 20
    np.testing.assert_allclose(kept.x, plain.x, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kept.history, plain.history, rtol=1e-11)


def test_two_scales_and_a_far_origin():
    """Two clouds 1e8 apart with structure of size 1: products alone could not tell the centres of a cloud apart."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2)) + np.repeat([[0.0, 0.0], [1e8, 1e8]], 200, axis=0)
    C = X[[0, 1, 2, 200, 201, 202]].copy()
    for bounded in (False, True):
        run = Pass(X, None, X.mean(axis=0), bounded=bounded)
        run.clusters(C)
        np.testing.assert_array_equal(run.labels, nearest(X, C))


def test_half_gaps_never_exceed_the_truth():
    C = np.random.default_rng(0).normal(size=(40, 3)) + 1e6
    D = np.sqrt(((C[:, None] - C[None]) ** 2).sum(axis=2))
    np.fill_diagonal(D, np.inf)
    found = half_gaps(C)
    assert (found <= 0.5 * D.min(axis=1)).all()
    assert half_gaps(C[:1])[0] == np.inf


@pytest.mark.parametrize(("K", "groups"), [(50, 5), (25, 3), (7, 7), (200, 16)])
def test_groups_hold_every_centre_once_and_are_even(K, groups):
    parts = neighbourhoods(np.random.default_rng(0).normal(size=(K, 4)), groups)
    assert sorted(np.concatenate(parts).tolist()) == list(range(K))
    assert max(map(len, parts)) <= -(-K // groups)


def test_several_empty_clusters_go_to_different_rows():
    X = np.repeat([[0.0], [1.0], [50.0], [60.0]], 3, axis=0)
    C = np.array([[0.5], [1000.0], [2000.0]])
    rows = MemoryRows(X, None, None)
    found = repaired(rows, C, clusters_of(Block(X), C))
    assert sorted(found[1:, 0]) == [50.0, 60.0]


def test_tensors_and_sparse_rows_have_the_same_clusters():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, C, w = rng.normal(size=(300, 4)), rng.normal(size=(5, 4)), rng.uniform(size=300)
    expected = clusters_of(Block(X, None, w), C)
    for block in (Block(sp.csr_array(X), None, w), Block(torch.as_tensor(X), None, torch.as_tensor(w))):
        for a, b in zip(clusters_of(block, C), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def seeds(X, w, K, rng, trials):
    """Greedy k-means++ by whole distances, with draws in the order of projections."""
    order, X = by_place(X)[0], X.astype(float)
    upto = np.cumsum(w[order])
    chosen = [order[np.searchsorted(upto, rng.uniform() * upto[-1], side="right")]]
    near = ((X - X[chosen[0]]) ** 2).sum(axis=1)
    for u in rng.uniform(size=(K - 1, trials)):
        upto = np.cumsum((w * near)[order])
        candidates = order[np.searchsorted(upto, u * upto[-1], side="right")]
        found = np.minimum(near, ((X[candidates][:, None] - X) ** 2).sum(axis=2))
        best = (found @ w).argmin()
        chosen.append(candidates[best])
        near = found[best]
    return np.array(chosen)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("n", "p", "trials", "far"), [(40, 1, 1, 0.0), (1300, 3, 4, 1e6), (1537, 9, 5, 0.0)])
def test_seeds_are_those_of_whole_distances(n, p, trials, far, dtype, threads):
    """Products in float32 rule out pairs and decide nothing: also on clusters that are tiny and far from each other."""
    rng = np.random.default_rng(n)
    X = np.asarray(rng.normal(size=(n, p)) + far * rng.integers(0, 5, (n, 1)), dtype, order="CF"[trials % 2])
    w = rng.integers(0, 3, n).astype(float)
    set_threads(threads)
    try:
        found = plus_plus_rows(X, w, 17, np.random.default_rng(3), trials)
    finally:
        set_threads(None)
    np.testing.assert_array_equal(found, seeds(X, w, 17, np.random.default_rng(3), trials))


def test_seeds_of_few_different_rows():
    """When all rows are at centres the rest is drawn by weight alone, and none without weight."""
    X, w = np.repeat(np.eye(3), 200, axis=0), np.tile([1.0, 0.0], 300)
    found = plus_plus_rows(X, w, 8, np.random.default_rng(0))
    assert len({tuple(row) for row in X[found[:3]]}) == 3
    assert (w[found] > 0).all()


def test_threads_seed_in_compiled_code(monkeypatch):
    """They come back after a number of products, and not for each centre."""
    compiled, calls = starts.seed_off, []
    monkeypatch.setattr(starts, "seed_off", lambda *args: (calls.append(None), compiled(*args))[1])
    set_threads(3)
    try:
        plus_plus_rows(np.random.default_rng(0).normal(size=(3000, 4)), None, 50, np.random.default_rng(0))
    finally:
        set_threads(None)
    assert 1 <= len(calls) <= 3


@pytest.mark.parametrize("kinds", [3, 90, 10_000])
def test_a_sample_has_the_least_hashes_of_all_rows(kinds):
    """Also of many rows, of which only those with low hashes are sorted, and if most of them are equal."""
    rng = np.random.default_rng(kinds)
    X, w = rng.normal(size=(kinds, 3))[rng.integers(0, kinds, 3000)], rng.integers(0, 3, 3000)
    found, (known, inverse) = sample_of(Block(X, None, w), 40), np.unique(hashes(X), return_inverse=True)
    total = np.bincount(inverse, w, len(known))
    np.testing.assert_array_equal(found.hashes, known[total > 0][:40])
    np.testing.assert_allclose(found.weights, total[total > 0][:40])
    np.testing.assert_array_equal(hashes(found.rows), found.hashes)


def test_starts_go_over_the_rows_in_few_pieces(monkeypatch):
    """And not in blocks of two thousand, for each of which threads would wait for the interpreter."""
    calls = []
    monkeypatch.setattr(lloyd_module, "components", lambda *args: (calls.append(None), components(*args))[1])
    MemoryRows(np.zeros((300_000, 2))).reduce(lloyd_module.spread_of)
    assert len(calls) <= 32


def test_hashes_of_dense_and_sparse_rows_agree_and_samples_merge():
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, (200, 3)).astype(float)
    X[0] = -0.0
    np.testing.assert_array_equal(hashes(X), hashes(sp.csr_array(X)))
    whole = sample_of(Block(X), 10)
    parts = sample_of(Block(X[:77]), 10).merge(sample_of(Block(X[77:]), 10))
    np.testing.assert_array_equal(whole.rows, parts.rows)
    everything = sample_of(Block(X), 1000)
    assert len(everything.rows) == len(np.unique(X, axis=0))
    assert everything.weights.sum() == 200


@pytest.mark.parametrize("draw", [random_rows, random_partition])
def test_other_starts_do_not_depend_on_order_or_repetition(draw):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    repeated = np.repeat(X, w, axis=0)[rng.permutation(w.sum())]
    first = draw(X, w.astype(float), 5, np.random.default_rng(1))
    np.testing.assert_allclose(draw(repeated, None, 5, np.random.default_rng(1)), first, rtol=1e-12)
    if draw is random_partition:
        assert np.abs(first - X.mean(axis=0)).max() < 1.5, "means of a partition are near the mean"
    else:
        assert len(np.unique(first, axis=0)) == 5


def test_plain_plus_plus_draws_in_proportion_to_squared_distances():
    """Three places; from the middle one the others are drawn as 1 : 9."""
    X = np.array([[0.0], [1.0], [4.0]])
    seconds = []
    for seed in range(3000):
        C = plus_plus(X, None, 2, np.random.default_rng(seed), trials=1)
        if C[0, 0] == 1.0:
            seconds.append(C[1, 0])
    share = np.mean(np.array(seconds) == 4.0)
    assert abs(share - 0.9) < 5 * np.sqrt(0.09 / len(seconds))
