"""k-means: the compiled loop against NumPy, cost that never rises, fixed points, starts, and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs

from didact.core.errors import InputError
from didact.core.rows import Block, MemoryRows
from didact.engines.centroids.lloyd import assign, clusters_of, kmeans, lloyd
from didact.engines.centroids.starts import plus_plus


def slow(X, w, C):
    D = ((X[:, None, :].astype(float) - C[None]) ** 2).sum(axis=2)
    labels = D.argmin(axis=1)
    sums = np.array([(w[labels == k, None] * X[labels == k]).sum(axis=0) for k in range(len(C))])
    return labels, D.min(axis=1), sums, np.bincount(labels, w, len(C)), w @ D.min(axis=1)


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 6), st.integers(1, 5), st.sampled_from(["f4", "f8"]))
def test_a_block_equals_numpy(seed, n, p, K, dtype):
    rng = np.random.default_rng(seed)
    X, C, w = rng.normal(size=(n, p)).astype(dtype), rng.normal(size=(K, p)), rng.integers(0, 3, n).astype(float)
    labels, distances, sums, weights, cost = slow(X, w, C)
    found = clusters_of(Block(X, None, w), C)
    np.testing.assert_allclose(found.sums, sums, atol=1e-5)
    np.testing.assert_allclose(found.weights, weights)
    assert found.cost == pytest.approx(cost, rel=1e-5, abs=1e-9)
    mine, theirs = assign(X, C), (labels, distances)
    np.testing.assert_array_equal(mine[0], theirs[0])
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-5, atol=1e-9)
    sparse = clusters_of(Block(sp.csr_array(X), None, w), C)
    np.testing.assert_allclose(sparse.sums, found.sums, atol=1e-4)
    assert sparse.cost == pytest.approx(found.cost, rel=1e-3, abs=1e-4)


def test_far_from_the_origin_no_digit_is_lost():
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(500, 3)), rng.normal(size=(4, 3))
    near, far = assign(X, C), assign(X + 1e7, C + 1e7)
    np.testing.assert_array_equal(near[0], far[0])
    np.testing.assert_allclose(near[1], far[1], rtol=1e-6, atol=1e-6)


def test_blocks_merge():
    rng = np.random.default_rng(0)
    X, C, w = rng.normal(size=(300, 4)), rng.normal(size=(5, 4)), rng.uniform(size=300)
    parts = [clusters_of(Block(X[k : k + 100], None, w[k : k + 100]), C) for k in (0, 100, 200)]
    whole = clusters_of(Block(X, None, w), C)
    for merged in (parts[0].merge(parts[1]).merge(parts[2]), parts[0].merge(parts[1].merge(parts[2]))):
        for a, b in zip(merged, whole, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_cost_never_rises_and_ends_at_a_fixed_point(seed):
    X, _ = make_blobs(1500, 5, centers=7, random_state=seed, cluster_std=3.0)
    result = lloyd(MemoryRows(X, None, None), X[:7], tol=0.0, max_iter=500)
    assert result.converged
    assert (np.diff(result.history) <= 1e-9 * result.value).all()
    labels, _ = assign(X, result.x)
    np.testing.assert_allclose(result.x, [X[labels == k].mean(axis=0) for k in range(7)])


def test_same_centres_as_scikit_learn_from_the_same_start():
    X = load_digits().data
    start = X[:10].copy()
    ours = lloyd(MemoryRows(X, None, None), start, tol=0.0, max_iter=1000)
    theirs = KMeans(10, init=start, n_init=1, tol=0.0, max_iter=1000, algorithm="lloyd").fit(X)
    assert ours.value == pytest.approx(theirs.inertia_, rel=1e-9)
    np.testing.assert_allclose(ours.x, theirs.cluster_centers_, atol=1e-8)


def test_weights_are_repetitions():
    X, _ = make_blobs(200, 3, centers=4, random_state=0)
    w = np.random.default_rng(0).integers(0, 4, 200)
    weighted = lloyd(MemoryRows(X, None, w.astype(float)), X[:4], tol=0.0)
    repeated = lloyd(MemoryRows(np.repeat(X, w, axis=0), None, None), X[:4], tol=0.0)
    np.testing.assert_allclose(weighted.x, repeated.x, rtol=1e-9)


def test_a_centre_without_rows_moves_to_the_farthest_row():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [30.0]])
    result = lloyd(MemoryRows(X, None, None), np.array([[0.0], [10.0], [1000.0]]), tol=0.0)
    np.testing.assert_allclose(np.sort(result.x[:, 0]), [0.5, 10.5, 30.0])


def test_the_start_spreads_and_beats_random_rows():
    X, _ = make_blobs(2000, 4, centers=20, random_state=1, cluster_std=0.3)
    cost = lambda C: assign(X, C)[1].sum()
    rng = np.random.default_rng(0)
    spread = [cost(plus_plus(X, None, 20, rng)) for _ in range(5)]
    random = [cost(X[rng.choice(2000, 20, replace=False)]) for _ in range(5)]
    assert max(spread) < 0.2 * min(random)
    sparse = plus_plus(sp.csr_array(X), None, 20, np.random.default_rng(3))
    np.testing.assert_allclose(sparse, plus_plus(X, None, 20, np.random.default_rng(3)))


def test_rows_without_weight_are_no_start():
    X = np.arange(10.0)[:, None]
    w = np.where(np.arange(10) < 3, 1.0, 0.0)
    assert plus_plus(X, w, 3, np.random.default_rng(0)).max() <= 2.0
    with pytest.raises(InputError, match="3 rows with weight"):
        plus_plus(X, w, 4, np.random.default_rng(0))
    assert plus_plus(np.ones((5, 2)), None, 3, np.random.default_rng(0)).shape == (3, 2), "equal rows"


def test_the_best_of_several_runs():
    X, _ = make_blobs(1000, 2, centers=12, random_state=3, cluster_std=0.8)
    rows = MemoryRows(X, None, None)
    best = kmeans(rows, 12, list(range(20)))
    assert best.value == min(kmeans(rows, 12, [seed]).value for seed in range(20))
    reference = KMeans(12, n_init=10, random_state=0).fit(X).inertia_
    assert best.value <= 1.02 * reference
    assert kmeans(MemoryRows(sp.csr_array(X), None, None), 12, [0]).value == pytest.approx(kmeans(rows, 12, [0]).value)


@pytest.mark.parametrize("sparse", [False, True])
def test_neither_the_order_of_the_rows_nor_their_repetition_changes_a_start(sparse):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    repeated = np.repeat(X, w, axis=0)[rng.permutation(w.sum())]
    kind = sp.csr_array if sparse else np.asarray
    for seed in range(5):
        expected = plus_plus(kind(X), w.astype(float), 7, np.random.default_rng(seed))
        np.testing.assert_array_equal(plus_plus(kind(repeated), None, 7, np.random.default_rng(seed)), expected)
        scaled = plus_plus(kind(X), 1e-3 * w, 7, np.random.default_rng(seed))
        np.testing.assert_array_equal(scaled, expected)
        assert (np.abs(expected[:, None] - X[w > 0]).sum(axis=2).min(axis=1) == 0).all()
    results = [kmeans(MemoryRows(kind(A), None, v), 7, [0, 1]) for A, v in ((X, w.astype(float)), (repeated, None))]
    np.testing.assert_allclose(results[0].x, results[1].x, rtol=1e-9)
