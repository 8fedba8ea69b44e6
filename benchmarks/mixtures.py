"""Chapter ``mixtures``: Gaussian mixtures by EM from the same start, for the same number of steps, and factor analysis.

Answers are the same when the mean log-likelihoods of the rows differ by at most 1e-6; of factor analysis, which ends by
the gain of a step, ours may not be more than 1e-4 below the other.

Limits: a step of a mixture with full covariances needs n K p² multiply-adds for densities and n K p²/2 for the sums of
the M step, 0.24e9 at 200,000 × 10 with 8 components, and has to read 16 MB. Factor analysis needs n p²/2 once, 0.04e9
at 20,000 × 60; a step is then a decomposition of a 60 × 60 matrix.
"""

from pathlib import Path
from typing import Any

from benchmarks.answers import SameScore
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload, import_times

SKLEARN, POMEGRANATE = "scikit-learn", "pomegranate"
ADAPTER = "benchmarks.adapters.mixtures"
ROWS = Data("uneven_clusters", 200_000, 10)
COLUMNS = Data("gaussian_classes", 20_000, 60)
STEPS = 30


def mixture() -> Workload:
    options = {"components": 8, "steps": STEPS}
    ways = {
        US: [Fit(f"{ADAPTER}.Mixture", {"path": "didact.mixture.GaussianMixture"} | options, "default")],
        SKLEARN: [Fit(f"{ADAPTER}.Mixture", {"path": "sklearn.mixture.GaussianMixture"} | options, "default")],
        POMEGRANATE: [Fit(f"{ADAPTER}.Pomegranate", options, "default")],
    }
    title = f"GaussianMixture, full, 8 components, {STEPS} steps"
    return Workload(title, ROWS, SameScore(1e-6), ways, {SKLEARN: 6, POMEGRANATE: 6}, multiples=(0.1, 1), rounds=2)


def factors() -> Workload:
    ways = {
        US: [Fit(f"{ADAPTER}.Factors", {"path": "didact.decomposition.FactorAnalysis", "components": 8}, "default")],
        SKLEARN: [
            Fit(f"{ADAPTER}.Factors", {"path": "sklearn.decomposition.FactorAnalysis", "components": 8}, "default")
        ],
    }
    return Workload("FactorAnalysis, 8 factors", COLUMNS, SameScore(1e-4), ways, {SKLEARN: 3}, multiples=(0.1, 1))


WORKLOADS = [mixture(), factors()]


def imports(folder: Path, quick: bool) -> dict[str, Any]:
    return {"imports": list(import_times({"didact.mixture": US, "sklearn.mixture": SKLEARN}, quick))}


EXTRAS = {"imports": imports}
