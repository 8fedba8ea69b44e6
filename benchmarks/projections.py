"""Chapter ``projections``: principal components of many rows, and of a large square matrix.

Answers are the same when the shares of the variance that the axes explain differ by at most 1e-4.

Limits: the covariance of 100,000 × 300 needs n p²/2 = 4.5e9 multiply-adds and has to read 240 MB once; 50 axes of a
5,000 × 5,000 matrix need 9 products with 60 columns, 13.5e9 multiply-adds (scikit-learn: 16 products).
"""

from pathlib import Path
from typing import Any

from benchmarks.answers import SameScore
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload, import_times

SKLEARN, INTELEX = "scikit-learn", "scikit-learn-intelex"
ADAPTER = "benchmarks.adapters.projections.Components"
PACKAGE = {US: "didact", SKLEARN: "sklearn", INTELEX: "sklearnex"}


def components(rows: int, columns: int, count: int, target: float) -> Workload:
    """PCA of a table."""
    ways = {
        name: [Fit(ADAPTER, {"path": f"{package}.decomposition.PCA", "components": count}, "default")]
        for name, package in PACKAGE.items()
    }
    title, data = f"PCA, {rows:,} × {columns:,}, {count} axes", Data("gaussian_classes", rows, columns)
    targets = {SKLEARN: target, INTELEX: target}
    return Workload(title, data, SameScore(1e-4), ways, targets, multiples=(0.1, 1), rounds=2)


WORKLOADS = [components(100_000, 300, 20, 1.5), components(5_000, 5_000, 50, 1)]


def imports(folder: Path, quick: bool) -> dict[str, Any]:
    return {"imports": list(import_times({"didact.decomposition": US, "sklearn.decomposition": SKLEARN}, quick))}


EXTRAS = {"imports": imports}
