"""Chapter ``gpu_clusters``: a step of k-means and of a Gaussian mixture on a GPU, beside plain torch and the limits.

``python -m benchmarks.gpu_clusters`` on a machine with a CUDA GPU; writes gpu_clusters.json into $OUT, if that is set.
The limit of a step is the greater of reading X once at the memory's bandwidth and its multiply-adds at the rate of
float32 without tensor cores.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

try:
    import torch
except ImportError:
    sys.exit("benchmarks.gpu_clusters needs torch with CUDA.")

from benchmarks.tables import table
from didact.cluster import KMeans
from didact.core.rows import Block
from didact.engines.centroids.lloyd import clusters_of
from didact.engines.components.mixture import GaussianFamily, e_step, gaussians
from didact.mixture import GaussianMixture

BANDWIDTH, RATE = 4.8e12, 6.7e13  # bytes and float32 operations a second of an H200
KMEANS, MIXTURE = (20_000_000, 32, 64), (5_000_000, 16, 8)


def clock(work: Callable[[], Any], repeats: int = 5) -> float:
    """The least seconds of some runs after one to warm up."""
    found = []
    for _ in range(repeats + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return min(found[1:])


def torch_lloyd(X: Any, C: Any) -> Any:
    """A step as people write it."""
    labels = torch.cdist(X, C).argmin(dim=1)
    sums = torch.zeros_like(C).index_add_(0, labels, X)
    return sums / torch.bincount(labels, minlength=len(C))[:, None]


def torch_mixture(X: Any, logs: Any, means: Any, chols: Any) -> Any:
    """A step as people write it."""
    law = torch.distributions.MultivariateNormal(means, scale_tril=chols)
    R = torch.softmax(torch.cat([law.log_prob(part[:, None]) for part in X.split(500_000)]) + logs, dim=1)
    centres = (R.T @ X) / R.sum(dim=0)[:, None]
    return [((X - m) * r[:, None]).T @ (X - m) for m, r in zip(centres, R.T, strict=True)]


def limit(n: int, p: int, operations: float) -> float:
    return max(4.0 * n * p / BANDWIDTH, operations / RATE)


def main() -> None:
    """Measure, print and save."""
    if not torch.cuda.is_available():
        sys.exit("benchmarks.gpu_clusters needs a CUDA GPU: torch.cuda.is_available() is False here.")
    rows = []

    def row(name: str, ours: float, bound: float, plain: float | None = None) -> None:
        rows.append([name, f"{1e3 * ours:.2f}", "" if plain is None else f"{1e3 * plain:.2f}", f"{1e3 * bound:.2f}",
                     f"{100 * bound / ours:.0f} %"])  # fmt: skip
        print(rows[-1], flush=True)

    n, p, K = KMEANS
    torch.manual_seed(0)
    X = torch.randn(n, p, device="cuda")
    C = X[:K].cpu().numpy().astype(np.float64)
    ours = clock(lambda: clusters_of(Block(X), C))
    plain = clock(lambda: torch_lloyd(X, X[:K].clone()))
    row(f"KMeans, a step, {n:,} × {p}, K = {K}", ours, limit(n, p, 2.0 * n * p * K), plain)
    fit = clock(lambda: KMeans(K, init=C, n_init=1, max_iter=20, tol=0).fit(X), 1)
    row("KMeans, fit of 20 steps", fit, 20 * limit(n, p, 2.0 * n * p * K))
    n, p, K = MIXTURE
    X = torch.randn(n, p, device="cuda")
    theta = gaussians(np.full(K, 1 / K), X[:K].cpu().numpy().astype(float), np.stack([np.eye(p)] * K), "full")
    ours = clock(lambda: e_step(Block(X), GaussianFamily("full"), theta, False))
    eyes = torch.eye(p, device="cuda").expand(K, p, p)
    plain = clock(lambda: torch_mixture(X, torch.zeros(K, device="cuda"), X[:K].clone(), eyes), 2)
    row(f"GaussianMixture, a step, {n:,} × {p}, K = {K}", ours, limit(n, p, 4.0 * n * K * p * p), plain)
    fit = clock(lambda: GaussianMixture(K, means_init=theta.means, max_iter=20, tol=0).fit(X), 1)
    row("GaussianMixture, fit of 20 steps", fit, 20 * limit(n, p, 4.0 * n * K * p * p))
    header = ["ms, float32", "didact", "plain torch", "limit", "of the limit"]
    text = f"\n## gpu_clusters\n\n{torch.cuda.get_device_name()}, torch {torch.__version__}.\n\n" + table(header, rows)
    print(text)
    if out := os.environ.get("OUT"):
        (Path(out) / "gpu_clusters.json").write_text(json.dumps({"rows": rows, "markdown": text}, indent=1))


if __name__ == "__main__":
    main()
