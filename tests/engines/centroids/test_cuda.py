"""The kernel of k-means on a GPU, against sums in float64. Skipped where there is no GPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available():
    pytest.skip("no GPU here", allow_module_level=True)

from didact.cluster import KMeans  # noqa: E402
from didact.engines.centroids.cuda import cluster_sums, lloyd_fits  # noqa: E402


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "p", "K"), [(129, 1, 1), (5000, 5, 3), (70_001, 32, 64), (300, 40, 64)])
def test_sums_are_those_of_float64(n, p, K, weighted):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, p)) + 7).astype(np.float32)
    w = rng.uniform(size=n).astype(np.float32) if weighted else None
    C, v = X[:K].astype(np.float64), np.ones(n) if w is None else w.astype(np.float64)
    T = torch.as_tensor(X, device="cuda")
    assert lloyd_fits(T, K)
    sums, weights, cost = cluster_sums(T, None if w is None else torch.as_tensor(w, device="cuda"), C)
    squares = (X.astype(np.float64) ** 2).sum(axis=1)[:, None] - 2 * X @ C.T + (C**2).sum(axis=1)
    labels, exact = squares.argmin(axis=1), np.zeros((K, p))
    np.add.at(exact, labels, X * v[:, None])
    np.testing.assert_allclose(sums, exact, rtol=1e-4, atol=1e-3 * np.abs(exact).max())  # a tie may go either way
    np.testing.assert_allclose(weights.sum(), v.sum(), rtol=1e-6)
    np.testing.assert_allclose(cost, v @ np.maximum(squares.min(axis=1), 0.0), rtol=1e-4, atol=1e-6)


def test_a_fit_is_that_of_the_rows_in_memory():
    X = np.random.default_rng(0).normal(size=(20_000, 8)).astype(np.float32)
    start = X[:10]
    here, there = (KMeans(10, init=start, n_init=1).fit(rows) for rows in (X, torch.as_tensor(X, device="cuda")))
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-3)
    np.testing.assert_array_equal(there.labels_, there.predict(X))
