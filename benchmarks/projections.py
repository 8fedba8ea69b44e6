"""Chapter ``projections``: principal components of many rows, and of a large square matrix.

Answers are the same when the shares of the variance that the axes explain differ by at most 1e-4.

Limits: the covariance of 100,000 × 300 needs n p²/2 = 4.5e9 multiply-adds and has to read 240 MB once; 50 axes of a
5,000 × 5,000 matrix need 9 products with 60 columns, 13.5e9 multiply-adds (scikit-learn: 16).
"""

from pathlib import Path
from typing import Any

from benchmarks.answers import SameScore
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload, import_times

SKLEARN, INTELEX = "scikit-learn", "intelex"
ADAPTER = "benchmarks.adapters.projections.Components"


def components(rows: int, columns: int, count: int, target: float) -> Workload:
    """PCA of a table."""
    options = {"components": count}
    paths = {
        US: "didact.decomposition.PCA",
        SKLEARN: "sklearn.decomposition.PCA",
        INTELEX: "sklearnex.decomposition.PCA",
    }
    ways = {name: [Fit(ADAPTER, {"path": path} | options, "default")] for name, path in paths.items()}
    title = f"PCA, {rows:,} × {columns:,}, {count} axes"
    data = Data("gaussian_classes", rows, columns)
    return Workload(
        title, data, SameScore(1e-4), ways, {SKLEARN: target, INTELEX: target}, multiples=(0.1, 1), rounds=2
    )


WORKLOADS = [components(100_000, 300, 20, 1.5), components(5_000, 5_000, 50, 1)]


def imports(folder: Path, quick: bool) -> dict[str, Any]:
    return {"imports": list(import_times({"didact.decomposition": US, "sklearn.decomposition": SKLEARN}, quick))}


EXTRAS = {"imports": imports}
