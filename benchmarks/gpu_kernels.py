"""Chapter ``gpu_kernels``: kernel models on a GPU, beside the multiply-adds that they need and gpytorch.

``python -m benchmarks.gpu_kernels`` on a machine with a CUDA GPU; writes gpu_kernels.json into $OUT, if that is set.
The limit is that of the operations of Cholesky factors, inverses and products, at the rates of an H200.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

try:
    import torch
except ImportError:
    sys.exit("benchmarks.gpu_kernels needs torch with CUDA.")

from benchmarks.gpu_clusters import RATE, clock
from benchmarks.tables import table
from didact.engines.gram.process import evidence
from didact.kernel_ridge import KernelRidge
from didact.kernels import RBF, White
from didact.svm import SVC

DOUBLE = 6.7e13  # float64 operations a second, with tensor cores


def gpytorch_gradient(X: Any, y: Any) -> Any:
    """A function that computes one likelihood with its gradient, by Cholesky; None without gpytorch."""
    try:
        import gpytorch
    except ImportError:
        return None

    class Exact(gpytorch.models.ExactGP):  # type: ignore[misc]
        def __init__(self, likelihood: Any) -> None:
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(X)
    model = Exact(likelihood).to(X)
    model.train()
    likelihood.train()
    value = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def gradient() -> None:
        model.zero_grad()
        with gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.cholesky_max_tries(1):
            (-value(model(X), y)).backward()

    return gradient


def main() -> None:
    """Measure, print and save."""
    if not torch.cuda.is_available():
        sys.exit("benchmarks.gpu_kernels needs a CUDA GPU: torch.cuda.is_available() is False here.")
    rows = []

    def row(name: str, ours: float, bound: float, peer: float | None = None) -> None:
        rows.append([name, f"{ours:.3g}", "" if peer is None else f"{peer:.3g}", f"{bound:.3g}",
                     f"{100 * bound / ours:.0f} %"])  # fmt: skip
        print(rows[-1], flush=True)

    torch.manual_seed(0)
    n, p = 20_000, 8
    X = torch.randn(n, p, device="cuda", dtype=torch.float64)
    y = torch.sin(X[:, 0]) + 0.1 * torch.randn(n, device="cuda", dtype=torch.float64)
    kernel = 1.0 * RBF(width=(1.0,) * p) + White(0.1)
    ours = clock(lambda: evidence(kernel, X, y[:, None], 0, 0.0), 2)
    theirs = gpytorch_gradient(X, y)
    peer = None
    if theirs is not None:
        try:
            peer = clock(theirs, 2)
        except torch.OutOfMemoryError:
            print("gpytorch: out of memory", flush=True)
    torch.cuda.empty_cache()
    row("Gaussian process, a likelihood with gradient, 20,000 × 8, float64", ours, 2.0 * n**3 / DOUBLE, peer)
    n, p = 50_000, 100
    X = torch.randn(n, p, device="cuda") / p**0.5
    y = torch.sin(3 * X[:, 0])
    ours = clock(lambda: KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(X, y), 1)
    row("KernelRidge, 50,000 × 100, float32", ours, (n**3 / 3 + 2.0 * n * n * p) / RATE)
    labels = (X[:, 0] + X[:, 1] * X[:, 2] * 5 > 0).to(torch.int64)
    model = SVC(gamma=0.5)
    ours = clock(lambda: model.fit(X, labels), 1)
    steps = int(np.max(model.n_iter_))
    row(f"SVC, 50,000 × 100, float32, {steps:,} iterations", ours, 2.0 * n * n * p / RATE)
    header = ["s", "didact", "gpytorch", "limit", "of the limit"]
    text = f"\n## gpu_kernels\n\n{torch.cuda.get_device_name()}, torch {torch.__version__}.\n\n" + table(header, rows)
    print(text)
    if out := os.environ.get("OUT"):
        (Path(out) / "gpu_kernels.json").write_text(json.dumps({"rows": rows, "markdown": text}, indent=1))


if __name__ == "__main__":
    main()
