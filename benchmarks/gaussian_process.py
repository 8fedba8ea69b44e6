"""Chapter ``gaussian_process``: processes with a width for each column, of two classes, and with inducing points.

Everybody has the same kernel and start, and runs L-BFGS-B to its default tolerance; an answer counts if its evidence
for each row is not lower than the best one's by more than 1e-4. Peers that are not installed fail with the name of the
module that is missing. The limit of a step at n rows is a Cholesky
factorisation with the inverse, n³ multiply–adds, and one pass over n² entries of the kernel. The rows of inducing
points (a million by 8) are ours alone: no peer takes them in one class; the limit of a step is two passes of n m².
"""

from typing import Any

from benchmarks.answers import SameScore
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload

SKLEARN, GPYTORCH, GPY = "scikit-learn", "gpytorch", "GPy"
ADAPTER = "benchmarks.adapters.gaussian_process"
SURFACE = Data("smooth_surface", 1_500, 5)
LABELS = Data("smooth_surface", 600, 5)
MANY = Data("smooth_surface", 1_000_000, 8)


def both(kind: str) -> dict[str, list[Fit]]:
    return {
        US: [Fit(f"{ADAPTER}.{kind}", {"package": "didact"}, "default")],
        SKLEARN: [Fit(f"{ADAPTER}.{kind}", {"package": "sklearn"}, "default")],
    }


WORKLOADS = [
    Workload(
        "GaussianProcessRegressor, a width for each column",
        SURFACE,
        SameScore(agree=1e-4),
        {
            **both("Process"),
            GPYTORCH: [Fit(f"{ADAPTER}.Exact", {}, "Cholesky")],
            GPY: [Fit(f"{ADAPTER}.Regression", {}, "default")],
        },
        {SKLEARN: 4, GPYTORCH: 4, GPY: 4},
        multiples=(0.2, 1),
        rounds=2,
    ),
    Workload(
        "GaussianProcessClassifier, a width for each column",
        LABELS,
        SameScore(agree=1e-4),
        both("Classes"),
        {SKLEARN: 4},
        multiples=(0.5, 1),
        rounds=2,
    ),
    Workload(
        "GaussianProcessRegressor, 100 inducing points",
        MANY,
        SameScore(agree=1e-4),
        {US: [Fit(f"{ADAPTER}.Process", {"package": "didact", "inducing": 100, "random_state": 0}, "inducing=100")]},
        multiples=(0.1, 1),
        rounds=1,
    ),
]
EXTRAS: dict[str, Any] = {}
