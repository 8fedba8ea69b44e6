"""Chapter ``kernels``: support vector machines, their predictions, linear machines, kernel ridge regression.

All at the default tolerance of each library, 10⁻³ of the optimality conditions (10⁻⁴ for linear machines). Answers are
the same when the objective of the dual (of the primal for linear machines), computed anew in float64, is above the
lowest by no more than a share of 10⁻⁴ (10⁻⁶); with several classes, on census data and for kernel ridge regression
when the score on rows held out is no more than 0.005 below the best, for predictions when decision values differ by no
more than 10⁻² of the largest. Everybody has two threads.

Kernel ridge regression chooses one of twenty penalties: didact by exact leave-one-out errors, scikit-learn by a grid
over five folds, as it has no closed form; 5,000 fits for each penalty would be beyond comparison.

What must be done: a machine with s support vectors among n rows of p columns reads about n·s values of the kernel, 2p
multiplications and additions and one exponential each; predicting m rows takes m·s of them.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.answers import LowestObjective, SameScore, SameValues
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload

SKLEARN, INTELEX = "scikit-learn", "scikit-learn-intelex"
PACKAGE = {US: "didact", SKLEARN: "sklearn", INTELEX: "sklearnex"}
ONCE = {"multiples": (0.1, 1), "rounds": 2, "budget": 12.0, "warm": 5.0}
ALPHAS = np.logspace(-4, 1, 20).tolist()


def every(adapter: str, name: str, libraries: tuple[str, ...] = (US, SKLEARN, INTELEX), **options: Any) -> Any:
    """The class of this name of each library, in an adapter."""
    where = f"benchmarks.adapters.kernels.{adapter}"
    return {one: [Fit(where, {"path": f"{PACKAGE[one]}.svm.{name}"} | options)] for one in libraries}


def categories(folder: Path) -> dict[str, Any]:
    """Which columns are categories."""
    return {"categorical": np.load(folder / "categorical.npy").tolist()}


def plain(name: str) -> dict[str, list[Fit]]:
    """The class of this name of each library, as it is."""
    return {one: [Fit(f"{PACKAGE[one]}.svm.{name}", {})] for one in (US, SKLEARN, INTELEX)}


def text_fits(library: str, adapter: str = "Linear") -> list[Fit]:
    """Linear machines at several tolerances: the fastest that is near enough to the lowest objective counts."""
    where, path = f"benchmarks.adapters.kernels.{adapter}", f"{PACKAGE[library]}.svm.LinearSVC"
    return [Fit(where, {"path": path, "tol": tol}, f"tol {tol:g}") for tol in (1e-2, 1e-3, 1e-4)]


WORKLOADS = [
    Workload(
        "SVC, 30 columns",
        Data("wave_labels", 10_000, 30),
        LowestObjective(),
        every("Machine", "SVC"),
        {SKLEARN: 4, INTELEX: 1.3},
        **ONCE,
    ),
    Workload(
        "SVC, census one-hot",
        Data("adult", 32_561, 14, held=16_281),
        SameScore(),
        every("OneHot", "SVC"),
        {SKLEARN: 4, INTELEX: 1.3},
        tune=categories,
        apart=("cold",),
        **(ONCE | {"multiples": (1,)}),
    ),
    Workload(
        "SVR, 10 columns",
        Data("wave_values", 8_000, 10),
        LowestObjective(),
        every("Machine", "SVR"),
        {SKLEARN: 6, INTELEX: 1.2},
        **ONCE,
    ),
    Workload(
        "OneClassSVM, 10 columns",
        Data("normal_mixture", 20_000, 10),
        LowestObjective(),
        every("Machine", "OneClassSVM", (US, SKLEARN)),
        {SKLEARN: 5},
        **ONCE,
    ),
    Workload(
        "SVC, 10 classes, 50 columns",
        Data("ten_classes", 20_000, 50, held=5_000),
        SameScore(),
        plain("SVC"),
        {SKLEARN: 4, INTELEX: 1.2},
        apart=("cold",),
        **ONCE,
    ),
    Workload(
        "SVC, 100,000 predictions",
        Data("wave_labels", 5_000, 30),
        SameValues(1e-2),
        every("Predictions", "SVC", queries=100_000),
        {SKLEARN: 5, INTELEX: 1},
        apart=(),
        **(ONCE | {"multiples": (1,)}),
    ),
    Workload(
        "LinearSVC, sparse text",
        Data("text", 20_000, 50_000),
        LowestObjective(1e-6),
        {US: text_fits(US), SKLEARN: text_fits(SKLEARN)},
        {SKLEARN: 1.5},
        **ONCE,
    ),
    Workload(
        "LinearSVC, 10 classes jointly",
        Data("ten_classes", 5_000, 50),
        LowestObjective(1e-3),
        {US: text_fits(US, "Joint"), SKLEARN: text_fits(SKLEARN, "Joint")},
        **ONCE,
    ),
    Workload(
        "KernelRidge, 20 penalties",
        Data("wave_values", 5_000, 10, held=5_000),
        SameScore(),
        {
            US: [Fit("didact.kernel_ridge.KernelRidge", {"kernel": "rbf", "gamma": 0.05, "alphas": ALPHAS})],
            SKLEARN: [Fit("benchmarks.adapters.kernels.Folds", {"alphas": ALPHAS, "gamma": 0.05})],
        },
        {SKLEARN: 20},
        apart=("memory",),
        **ONCE,
    ),
]
EXTRAS: dict[str, Any] = {}
