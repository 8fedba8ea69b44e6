"""Chapter ``density``: kernel densities, exact and within a tolerance, and the kernel smoother's cross-validation.

Rows and places are draws from the same mixture of three normal distributions in 4 dimensions. A density counts as found
when it is within the tolerance asked for (exact: 1e-10) of the sum over all pairs, at the first 100 places. Growing the
tree is timed, too. Everybody has two threads; scikit-learn's `KernelDensity` uses one.

The smoother is compared with statsmodels at 2,000 rows. At 20,000 rows, where the aim is set, statsmodels takes about
half a minute for each of the 20 bandwidths (4.6 s at 8,000 rows, and its time grows with the square of the rows); the
second size is therefore ours alone.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.answers import SameDensity, SameValues
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload, import_times

SKLEARN, STATSMODELS = "scikit-learn", "statsmodels"
ADAPTER = "benchmarks.adapters.density"
POINTS = Data("normal_mixture", 50_000, 4)
CURVE = Data("smooth_surface", 2_000, 2)
QUERIES = 5_000
GRID = np.geomspace(0.02, 0.5, 20).round(4).tolist()


def density(bandwidth: float, rtol: float, target: float) -> Workload:
    name = "exact" if rtol == 0 else f"relative tolerance {rtol:g}"
    options = {"queries": QUERIES, "bandwidth": bandwidth, "rtol": rtol}
    ways = {
        US: [Fit(f"{ADAPTER}.Density", {"path": "didact.neighbors.KernelDensity"} | options, "default")],
        SKLEARN: [Fit(f"{ADAPTER}.Density", {"path": "sklearn.neighbors.KernelDensity"} | options, "default")],
    }
    check = SameDensity(agree=max(rtol, 1e-10), bandwidth=bandwidth, queries=QUERIES)
    title = f"KernelDensity, bandwidth {bandwidth:g}, {name}, 5,000 queries"
    return Workload(title, POINTS, check, ways, {SKLEARN: target}, multiples=(0.1, 1), rounds=2, busy=(US,))


def smoother() -> Workload:
    ways = {
        US: [Fit(f"{ADAPTER}.Smoother", {"grid": GRID}, "default")],
        STATSMODELS: [Fit(f"{ADAPTER}.KernelReg", {"grid": GRID}, "cv_loo")],
    }
    title = "KernelSmoother, leave-one-out over 20 bandwidths"
    return Workload(title, CURVE, SameValues(agree=1e-8), ways, {STATSMODELS: 20}, rounds=2)


WORKLOADS = [
    density(0.3, 0.0, 10),
    density(0.3, 1e-3, 3),
    density(0.1, 1e-3, 3),
    density(1.0, 1e-3, 3),
    smoother(),
]


def imports(folder: Path, quick: bool) -> dict[str, Any]:
    return {"imports": list(import_times({"didact.neighbors": US, "sklearn.neighbors": SKLEARN}, quick))}


EXTRAS = {"imports": imports}
