"""Fits on a CUDA GPU beside the time of their passes over the data: ``python3 benchmarks/gpu.py``.

Needs torch with CUDA; didact is taken from src. X is rows × columns of float32 on the device (--rows, --columns).
A pass is plain torch: XᵀX for Ridge, one logistic gradient Xᵀ(σ(Xw) − y) for the iterative models. The answers are
compared with Newton's method in float64 on the same rows. Prints a markdown table; writes gpu.json into $OUT if set.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

try:
    import torch
except ImportError:
    sys.exit("benchmarks/gpu.py needs torch with CUDA: torch is not installed here.")

ROUNDS = 9
BLOCK = 250_000
Tensor = torch.Tensor


def make(rows: int, columns: int, device: str) -> tuple[Tensor, dict[str, Tensor], Tensor]:
    """Standard normal X, and a target for each model."""
    generator = torch.Generator(device).manual_seed(2026)

    def draw(*shape: int, kind: Callable[..., Tensor] = torch.randn) -> Tensor:
        return kind(shape, generator=generator, device=device, dtype=torch.float32)

    X = draw(rows, columns)
    w = draw(columns) / columns**0.5
    z = X @ w
    targets = {
        "Ridge": z + 0.5 * draw(rows),
        "LogisticRegression": (draw(rows, kind=torch.rand) < torch.sigmoid(2 * z - 0.5)).float(),
        "PoissonRegressor": torch.poisson(torch.exp(0.4 * z + 0.5), generator=generator),
    }
    return X, targets, w


def clock(work: Callable[[], Any], synchronize: Callable[[], None], rounds: int = ROUNDS) -> float:
    """The median of the seconds from an idle device to an idle device, after two rounds to warm up."""
    seconds = []
    for _ in range(rounds + 2):
        synchronize()
        start = time.perf_counter()
        work()
        synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[2:])


MEAN: dict[str, Callable[[Tensor], tuple[Tensor, Tensor]]] = {
    "Ridge": lambda z: (z, torch.ones_like(z)),
    "LogisticRegression": lambda z: (p := torch.sigmoid(z), p * (1 - p)),
    "PoissonRegressor": lambda z: (mu := torch.exp(z), mu),
}


def reference(model: str, X: Tensor, y: Tensor, penalty: float) -> Tensor:
    """(w, b) by Newton's method in float64: Σ loss + ½ penalty ‖w‖², the mean μ(z) and its slope by model."""
    p = X.shape[1]
    theta = torch.zeros(p + 1, dtype=torch.float64, device=X.device)
    ridge = torch.full((p + 1,), penalty, dtype=torch.float64, device=X.device)
    ridge[-1] = 0
    for _ in range(50):
        gradient, hessian = ridge * theta, torch.diag(ridge)
        for start in range(0, len(y), BLOCK):
            rows = X[start : start + BLOCK].double()
            rows = torch.cat([rows, torch.ones_like(rows[:, :1])], dim=1)
            mean, slope = MEAN[model](rows @ theta)
            gradient = gradient + rows.T @ (mean - y[start : start + BLOCK].double())
            hessian = hessian + rows.T @ (slope[:, None] * rows)
        step = torch.linalg.solve(hessian, gradient)
        theta = theta - step
        if step.abs().max() < 1e-12 * theta.abs().max():
            return theta
    raise RuntimeError(f"the float64 reference of {model} did not converge")


def parameters(model: Any) -> Tensor:
    """(w, b) of a fitted model, whatever kind of arrays it gives."""
    parts = [torch.as_tensor(part).detach().cpu().double().reshape(-1) for part in (model.coef_, model.intercept_)]
    return torch.cat(parts)


def measure(rows: int, columns: int, device: str, synchronize: Callable[[], None], linear_model: Any) -> dict[str, Any]:
    X, targets, w = make(rows, columns, device)
    y = targets["LogisticRegression"]
    passes = {
        "XᵀX": clock(lambda: X.T @ X, synchronize),
        "logistic gradient": clock(lambda: X.T @ (torch.sigmoid(X @ w) - y), synchronize),
    }
    fits = {}
    for name, options, penalty in (
        ("Ridge", {}, 1.0),
        ("LogisticRegression", {}, 1.0),
        ("PoissonRegressor", {"alpha": 0}, 0.0),
    ):
        model = getattr(linear_model, name)(**options).fit(X, targets[name])
        truth = reference(name, X, targets[name], penalty).cpu()
        gap = ((parameters(model) - truth).abs().max() / truth.abs().max()).item()
        before = peak_start(device)
        seconds = clock(lambda model=model, name=name: model.fit(X, targets[name]), synchronize)
        iterations = getattr(model, "n_iter_", None)
        fits[name] = {
            "seconds": seconds,
            "pass": "XᵀX" if name == "Ridge" else "logistic gradient",
            "n_iter": None if iterations is None else int(torch.as_tensor(iterations).max()),
            "gap": gap,
            "extra_memory": peak_since(device, before) / (X.numel() * X.element_size()),
        }
    return {"rows": rows, "columns": columns, "passes": passes, "fits": fits}


def peak_start(device: str) -> int:
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    return 0


def peak_since(device: str, before: int) -> int:
    return torch.cuda.max_memory_allocated() - before if device == "cuda" else 0


def markdown(found: dict[str, Any]) -> str:
    size, reads = 4 * found["rows"] * found["columns"], {"XᵀX": 1, "logistic gradient": 2}
    text = f"\n## gpu\n\n{found['device']}, torch {found['torch']}; {found['rows']:,} × {found['columns']} float32 "
    text += "on the device. A fit's column `÷ pass` is its time over the time of the pass named before it.\n\n"
    text += "| | ms | pass | ÷ pass | iterations | coefficients off float64 by | memory above X ÷ X |\n"
    text += "|---|---|---|---|---|---|---|\n"
    for name, seconds in found["passes"].items():
        text += f"| torch {name} | {1e3 * seconds:.2f} | {reads[name] * size / seconds / 1e12:.2f} TB/s | 1 | | | |\n"
    for name, fit in found["fits"].items():
        ratio = fit["seconds"] / found["passes"][fit["pass"]]
        iterations = "" if fit["n_iter"] is None else fit["n_iter"]
        text += f"| didact {name} fit | {1e3 * fit['seconds']:.2f} | {fit['pass']} | {ratio:.1f} | {iterations} "
        text += f"| {fit['gap']:.0e} | {fit['extra_memory']:.2f} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=100)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("benchmarks/gpu.py needs a CUDA GPU: torch.cuda.is_available() is False here.")
    import didact.linear_model

    found = measure(arguments.rows, arguments.columns, "cuda", torch.cuda.synchronize, didact.linear_model)
    found |= {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    found["markdown"] = markdown(found)
    print(found["markdown"])
    if out := os.environ.get("OUT"):
        (Path(out) / "gpu.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
