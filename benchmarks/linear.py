"""Chapter ``linear``: least squares, ridge, generalised linear models and logistic regression.

Peers run with every solver that can reach the answer, at their default tolerance (``default``, or the solver's name
alone) and at tighter ones where the default may stop short of 1e-6; the harness takes the fastest that gets there.
Penalties are equal in the objective: Ridge ‖y − Xw − b‖² + α‖w‖² (α = 1); logistic C Σ loss + ½‖w‖² (C = 1); GLMs
without penalty, log link.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import out_of_core
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload, import_times

SKLEARN, INTELEX, GLUM, STATSMODELS = "scikit-learn", "scikit-learn-intelex", "glum", "statsmodels"
MODULE = {US: "didact.linear_model", SKLEARN: "sklearn.linear_model", INTELEX: "sklearnex.linear_model", GLUM: "glum"}


def fits(library: str, name: str, *variants: dict[str, Any], **common: Any) -> list[Fit]:
    """Variants of one class; the label of a variant is what it changes."""
    return [
        Fit(f"{MODULE[library]}.{name}", common | v, ", ".join(str(x) for x in v.values()) or "default")
        for v in variants or ({},)
    ]


def solvers(names: str, *tolerances: float) -> list[dict[str, Any]]:
    """Each solver at its default tolerance and at each of the given ones."""
    return [{"solver": s} | t for s in names.split() for t in ({}, *({"tol": tol} for tol in tolerances))]


LOGISTIC = {"max_iter": 10_000}
ALPHAS = np.geomspace(1e-2, 1e5, 30).tolist()


def logistic(name: str, data: Data, sklearn: list[dict[str, Any]], intelex: list[dict[str, Any]]) -> Workload:
    ways = {
        US: fits(US, "LogisticRegression"),
        SKLEARN: fits(SKLEARN, "LogisticRegression", *sklearn, **LOGISTIC),
        INTELEX: fits(INTELEX, "LogisticRegression", *intelex, **LOGISTIC),
    }
    targets = {SKLEARN: 1.5} | ({INTELEX: 1.0} if intelex else {})
    loss = "softmax" if data.kind == "ten_classes" else "logistic"
    return Workload(
        name, data, loss, {k: v for k, v in ways.items() if k != INTELEX or intelex}, 0.5, "objective", targets
    )


def glm(name: str, data: Data, loss: str) -> Workload:
    regressor = f"{loss.capitalize()}Regressor"
    ways = {
        US: fits(US, regressor, alpha=0),
        SKLEARN: fits(SKLEARN, regressor, *solvers("lbfgs newton-cholesky", 1e-6), alpha=0, max_iter=10_000),
        GLUM: fits(GLUM, "GeneralizedLinearRegressor", {}, {"gradient_tol": 1e-6}, family=loss, link="log", alpha=0)
        + fits(GLUM, "GeneralizedLinearRegressor", {"solver": "lbfgs"}, family=loss, link="log", alpha=0),
        STATSMODELS: [Fit("benchmarks.adapters.StatsmodelsGLM", {"family": loss.capitalize()})],
    }
    return Workload(name, data, loss, ways, 0.0, "objective", {SKLEARN: 1.5, GLUM: 2, STATSMODELS: 5})


WORKLOADS = [
    Workload(
        "LinearRegression",
        Data("regression", 1_000_000, 50),
        "squared",
        {library: fits(library, "LinearRegression") for library in (US, SKLEARN, INTELEX)},
        targets={SKLEARN: 20, INTELEX: 1},
    ),
    Workload(
        "Ridge",
        Data("regression", 200_000, 200),
        "squared",
        {
            US: fits(US, "Ridge"),
            SKLEARN: fits(SKLEARN, "Ridge", {}, *solvers("cholesky"), *solvers("lsqr sparse_cg", 1e-8)),
            INTELEX: fits(INTELEX, "Ridge"),
        },
        l2=1.0,
        targets={SKLEARN: 3, INTELEX: 0.9},
    ),
    Workload(
        "Ridge, sparse 0.5 %",
        Data("sparse_regression", 100_000, 5_000),
        "squared",
        {US: fits(US, "Ridge"), SKLEARN: fits(SKLEARN, "Ridge", *solvers("auto sparse_cg lsqr sag", 1e-6))},
        l2=1.0,
        compare="objective",
        targets={SKLEARN: 1.5},
    ),
    Workload(
        "RidgeCV, 30 alphas",
        Data("regression", 50_000, 200),
        "squared",
        {
            US: fits(US, "RidgeCV", alphas=ALPHAS),
            SKLEARN: fits(SKLEARN, "RidgeCV", {}, {"gcv_mode": "svd"}, {"gcv_mode": "eigen"}, alphas=ALPHAS),
        },
        targets={SKLEARN: 10},
    ),
    logistic(
        "LogisticRegression, binary",
        Data("binary", 200_000, 50),
        solvers("lbfgs newton-cholesky newton-cg", 1e-6),
        solvers("lbfgs newton-cg", 1e-6),
    ),
    logistic(
        "LogisticRegression, 10 classes",
        Data("ten_classes", 50_000, 60),
        solvers("lbfgs newton-cholesky newton-cg", 1e-6),
        solvers("lbfgs newton-cg", 1e-6),
    ),
    logistic(
        "LogisticRegression, sparse text-like 0.2 %",
        Data("text", 20_000, 50_000),
        # liblinear penalises the intercept too; a large scaling of the constant column makes that penalty negligible
        solvers("lbfgs newton-cg sag", 1e-6)
        + [{"solver": "liblinear", "tol": t, "intercept_scaling": 1e3} for t in (1e-4, 1e-6)],
        [],
    ),
    glm("Poisson GLM", Data("counts", 300_000, 40), "poisson"),
    glm("Gamma GLM", Data("amounts", 300_000, 40), "gamma"),
]


def imports(folder: Path, quick: bool) -> dict[str, Any]:
    modules = {"didact": US, MODULE[US]: US, MODULE[SKLEARN]: SKLEARN, MODULE[INTELEX]: INTELEX, GLUM: GLUM}
    return {"imports": list(import_times(modules, quick))}


EXTRAS = {"imports": imports, "out of core": out_of_core.measure}
