"""A table larger than memory allows: a Parquet file is fitted and predicted from, the whole process under 1 GiB.

The file has 20 columns of features and a target y in {0, 1}, which all four models can take (a Poisson model of a
binary outcome estimates relative risks). The answer is checked in a pass of its own over the file: the gradient of
the objective there, relative to the gradient at zero.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import SEED
from benchmarks.processes import ROOT

COLUMNS = 20
GROUP = 100_000  # rows in a row group
MODELS: dict[str, dict[str, Any]] = {
    "LinearRegression": {},
    "Ridge": {},
    "PoissonRegressor": {"alpha": 0},
    "LogisticRegression": {},
}


def write(path: Path, rows: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    names = [f"x{j}" for j in range(COLUMNS)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [("y", pa.int8())])
    weights = np.random.default_rng(SEED).standard_normal(COLUMNS) / np.sqrt(COLUMNS)
    with parquet.ParquetWriter(path, schema) as file:
        for i in range(rows // GROUP):
            rng = np.random.default_rng([SEED, i])
            X = rng.standard_normal((COLUMNS, GROUP))
            y = (rng.random(GROUP) < 1 / (1 + np.exp(1 - weights @ X))).astype(np.int8)
            file.write_table(pa.table([*X, y], schema=schema))


def read(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    from pyarrow import parquet

    for batch in parquet.ParquetFile(path).iter_batches(GROUP):
        *X, y = (column.to_numpy() for column in batch.columns)
        yield np.column_stack([*X, np.ones(len(y))]), y.astype(float)


def optimality(path: Path, fitted: dict[str, dict[str, Any]]) -> dict[str, float]:
    """max |gradient| at each answer over max |gradient| at zero; the penalties of Ridge (2α w) and C Σ loss + ½‖w‖²."""
    inverse = {"PoissonRegressor": np.exp, "LogisticRegression": lambda z: 1 / (1 + np.exp(-z))}
    penalty = {"Ridge": 1.0, "LogisticRegression": 1.0}
    theta = {m: np.append(np.ravel(r["coef"]), np.ravel(r["intercept"])) for m, r in fitted.items()}
    at_answer = {m: penalty.get(m, 0.0) * np.append(t[:-1], 0.0) for m, t in theta.items()}
    at_zero = {m: np.zeros(COLUMNS + 1) for m in theta}
    for X, y in read(path):
        for m, t in theta.items():
            mean = inverse.get(m, lambda z: z)
            at_answer[m] += X.T @ (mean(X @ t) - y)
            at_zero[m] += X.T @ (mean(0.0) - y)
    return {m: float(np.abs(at_answer[m]).max() / np.abs(at_zero[m]).max()) for m in theta}


def measure(folder: Path, quick: bool) -> dict[str, Any]:
    path = folder / "table.parquet"
    rows = 2_000_000 if quick else 20_000_000
    write(path, rows)
    found: dict[str, dict[str, Any]] = {}
    for model in MODELS:
        command = [sys.executable, "-m", "benchmarks.out_of_core", model, str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            found[model] = {"error": (done.stderr.strip().splitlines() or ["died"])[-1][:200]}
        else:
            found[model] = json.loads(done.stdout.splitlines()[-1])
    gradients = optimality(path, {m: r for m, r in found.items() if "coef" in r})
    size = path.stat().st_size
    path.unlink()
    models = {m: r | {"gradient": gradients.get(m)} for m, r in found.items()}
    return {"out_of_core": {"rows": rows, "columns": COLUMNS, "bytes": size, "models": models}}


def count(predictions: Any) -> int:
    """The number of predicted rows, whether they come as one array or as batches."""
    return sum(len(part) for part in predictions.open()) if hasattr(predictions, "open") else len(predictions)


def fit_and_predict(name: str, path: str) -> dict[str, Any]:
    import didact
    from benchmarks.worker import answer, find, resident

    batches = didact.Batches.from_parquet(path, target="y")
    start = time.perf_counter()
    model = find(f"didact.linear_model.{name}")(**MODELS[name]).fit(batches)
    fitted = time.perf_counter()
    predicted = count(model.predict(batches))
    seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
    return answer(model) | seconds | {"predicted": predicted, "peak": resident("VmHWM")}


if __name__ == "__main__":
    print(json.dumps(fit_and_predict(sys.argv[1], sys.argv[2])))
