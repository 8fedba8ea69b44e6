"""Chapter ``linear``: least squares, ridge, GLMs, logistic regression; lasso, stochastic gradients, local regression.

Peers run with every solver that can reach the answer, at their default tolerance (``default``, or the solver's name
alone) and at tighter ones where the default may stop short of the answer; didact runs in the same way, at its default
tolerance and at looser ones where the default may go beyond it. The harness takes the fastest variant that gets there.

Penalties are equal in the objective: Ridge ‖y − Xw − b‖² + α‖w‖² (α = 1); logistic C Σ loss + ½‖w‖² (C = 1); GLMs
without penalty, log link. Data are in NumPy's order (rows together) or CSR: who prefers columns turns them in the fit.

The lasso's α is a twentieth of the smallest one at which all coefficients are zero; its answers must have a duality gap
of 1e-6 of ½‖y − ȳ‖²/n, by the harness's own sums and against the best dual point of all answers. Tolerances mean
different things (scikit-learn, celer and didact: gap ÷ ‖y‖²/n; skglm: largest violation of the optimality conditions),
so each library gets a few. Cross-validated fits have the same 100 penalties and five folds of neighbouring rows; they
must choose the same penalty and reach the same objective to 1e-4. Stochastic gradients make five passes at equal α with
the ``optimal`` schedule from six seeds, to a mean objective of at most 1.01 times the peer's.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import out_of_core
from benchmarks.answers import NotWorse, SameAnswer, SameChoice, SameValues, SmallDualityGap, blocks
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload, import_times, variants

SKLEARN, INTELEX, GLUM, STATSMODELS = "scikit-learn", "scikit-learn-intelex", "glum", "statsmodels"
CELER, SKGLM = "celer", "skglm"
MODULE = {
    US: "didact.linear_model",
    SKLEARN: "sklearn.linear_model",
    INTELEX: "sklearnex.linear_model",
    GLUM: "glum",
    CELER: "celer",
    SKGLM: "skglm",
}


def fits(library: str, name: str, *changes: dict[str, Any], **common: Any) -> list[Fit]:
    return variants(f"{MODULE[library]}.{name}", *changes, **common)


def tolerances(*values: float) -> list[dict[str, Any]]:
    """The default tolerance and the given ones."""
    return [{}, *({"tol": tol} for tol in values)]


def solvers(names: str, *values: float) -> list[dict[str, Any]]:
    """Each solver at its default tolerance and at each of the given ones."""
    return [{"solver": s} | t for s in names.split() for t in tolerances(*values)]


LOGISTIC = {"max_iter": 10_000}
LOWESS = {"span": 0.1, "rounds": 3}
ALPHAS = np.geomspace(1e-2, 1e5, 30).tolist()


def logistic(name: str, data: Data, sklearn: list[dict[str, Any]], intelex: list[dict[str, Any]]) -> Workload:
    ways = {
        US: fits(US, "LogisticRegression", *tolerances(1e-4, 1e-5)),
        SKLEARN: fits(SKLEARN, "LogisticRegression", *sklearn, **LOGISTIC),
        INTELEX: fits(INTELEX, "LogisticRegression", *intelex, **LOGISTIC),
    }
    targets = {SKLEARN: 1.5} | ({INTELEX: 1.0} if intelex else {})
    loss = "softmax" if data.kind == "ten_classes" else "logistic"
    check = SameAnswer(loss=loss, l2=0.5, compare="objective")
    return Workload(name, data, check, {k: v for k, v in ways.items() if k != INTELEX or intelex}, targets)


def glm(name: str, data: Data, loss: str) -> Workload:
    regressor = f"{loss.capitalize()}Regressor"
    ways = {
        US: fits(US, regressor, *tolerances(1e-4, 1e-5), alpha=0),
        SKLEARN: fits(SKLEARN, regressor, *solvers("lbfgs newton-cholesky", 1e-6), alpha=0, max_iter=10_000),
        GLUM: fits(GLUM, "GeneralizedLinearRegressor", {}, {"gradient_tol": 1e-6}, family=loss, link="log", alpha=0)
        + fits(GLUM, "GeneralizedLinearRegressor", {"solver": "lbfgs"}, family=loss, link="log", alpha=0),
        STATSMODELS: [Fit("benchmarks.adapters.statsmodels.GLM", {"family": loss.capitalize()})],
    }
    check = SameAnswer(loss=loss, compare="objective")
    return Workload(name, data, check, ways, {SKLEARN: 1.5, GLUM: 2, STATSMODELS: 5})


def strongest(folder: Path) -> float:
    """The smallest α at which all coefficients of a lasso are zero: max ‖Xᵀ(y − ȳ)‖ / n over the columns."""
    y = np.concatenate([part for _, part in blocks(folder)])
    products = sum(X.T @ (part - y.mean(axis=0)).reshape(len(part), -1) for X, part in blocks(folder))
    return float(np.linalg.norm(products, axis=1).max()) / len(y)


def lasso(name: str, data: Data) -> Workload:
    ways = {
        US: fits(US, "Lasso", *tolerances(1e-4, 1e-5, 5e-7)),
        SKLEARN: fits(SKLEARN, "Lasso", *tolerances(1e-5, 1e-6, 5e-7), max_iter=100_000),
        CELER: fits(CELER, "Lasso", *tolerances(1e-5, 1e-6, 5e-7)),
        SKGLM: fits(SKGLM, "Lasso", *tolerances(1e-5, 1e-6, 1e-7, 1e-8), max_iter=200),
    }
    targets = {SKLEARN: 1.5, CELER: 1.5, SKGLM: 1}
    return Workload(name, data, SmallDualityGap(), ways, targets, lambda folder: {"alpha": strongest(folder) / 20})


def multi_task(name: str, data: Data) -> Workload:
    ways = {
        US: fits(US, "MultiTaskLasso", *tolerances(1e-4, 1e-5, 5e-7)),
        SKLEARN: fits(SKLEARN, "MultiTaskLasso", *tolerances(1e-5, 1e-6, 5e-7), max_iter=100_000),
    }
    tune = lambda folder: {"alpha": strongest(folder) / 20}  # noqa: E731
    return Workload(name, data, SmallDualityGap(), ways, {SKLEARN: 1.5}, tune)


def lasso_cv(name: str, **options: Any) -> Workload:
    ratio = options.get("l1_ratio", 1.0)
    options["cv"] = 5
    jobs = [{"n_jobs": n} | t for n in (1, 2) for t in tolerances(1e-3)]
    ways = {
        US: fits(US, name, *tolerances(1e-3), **options),
        SKLEARN: fits(SKLEARN, name, {"n_jobs": 2}, max_iter=100_000, **options),
        CELER: variants(f"benchmarks.adapters.celer.{name}", *jobs, **options),
    }
    data, check = Data("wide", 1_000, 5_000, block=1_000), SameChoice(1e-4, ratio)
    return Workload(
        f"{name}, 100 penalties, 5 folds",
        data,
        check,
        ways,
        {SKLEARN: 3, CELER: 2},
        lambda folder: {"alphas": (strongest(folder) / ratio * np.geomspace(1, 1e-3, 100)).tolist()},
        multiples=(1,),
    )


def sgd(loss: str, data: Data, target: float) -> Workload:
    options = {"loss": loss, "alpha": 1e-4, "max_iter": 5, "tol": None, "learning_rate": "optimal"}
    seeds = [{"random_state": seed} for seed in range(6)]
    kind = "sparse 0.1 %" if data.kind.startswith("sparse") else "dense"
    return Workload(
        f"SGDClassifier, {loss}, {kind}",
        data,
        NotWorse(loss="logistic" if loss == "log_loss" else loss, alpha=1e-4),
        {library: fits(library, "SGDClassifier", *seeds, **options) for library in (US, SKLEARN)},
        {SKLEARN: target},
    )


WORKLOADS = [
    Workload(
        "LinearRegression",
        Data("regression", 1_000_000, 50),
        SameAnswer(),
        {library: fits(library, "LinearRegression") for library in (US, SKLEARN, INTELEX)},
        {SKLEARN: 20, INTELEX: 1},
    ),
    Workload(
        "Ridge",
        Data("regression", 200_000, 200),
        SameAnswer(l2=1.0),
        {
            US: fits(US, "Ridge"),
            SKLEARN: fits(SKLEARN, "Ridge", {}, *solvers("cholesky"), *solvers("lsqr sparse_cg", 1e-8)),
            INTELEX: fits(INTELEX, "Ridge"),
        },
        {SKLEARN: 3, INTELEX: 0.9},
    ),
    Workload(
        "Ridge, sparse 0.5 %",
        Data("sparse_regression", 100_000, 5_000),
        SameAnswer(l2=1.0, compare="objective"),
        {
            US: fits(US, "Ridge", *tolerances(1e-4, 1e-6)),
            SKLEARN: fits(SKLEARN, "Ridge", *solvers("auto sparse_cg lsqr sag", 1e-6)),
        },
        {SKLEARN: 1.5},
    ),
    Workload(
        "RidgeCV, 30 alphas",
        Data("regression", 50_000, 200),
        SameAnswer(),
        {
            US: fits(US, "RidgeCV", alphas=ALPHAS),
            SKLEARN: fits(SKLEARN, "RidgeCV", {}, {"gcv_mode": "svd"}, {"gcv_mode": "eigen"}, alphas=ALPHAS),
        },
        {SKLEARN: 10},
    ),
    Workload(
        "RidgeClassifier, 10 classes",
        Data("ten_classes", 200_000, 60),
        SameAnswer(loss="signs", l2=1.0),
        {US: fits(US, "RidgeClassifier"), SKLEARN: fits(SKLEARN, "RidgeClassifier", {}, *solvers("cholesky"))},
        {SKLEARN: 3},
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
    lasso("Lasso, dense", Data("wide", 1_000, 20_000, block=1_000)),
    lasso("Lasso, sparse 0.1 %", Data("sparse_wide", 20_000, 200_000, block=20_000)),
    multi_task("MultiTaskLasso, 4 targets", Data("wide_tasks", 1_000, 5_000, block=1_000)),
    lasso_cv("LassoCV"),
    lasso_cv("ElasticNetCV", l1_ratio=0.5),
    *(sgd(loss, Data("scaled_binary", 1_000_000, 50), 3) for loss in ("hinge", "log_loss")),
    *(sgd(loss, Data("sparse_binary", 200_000, 50_000), 2) for loss in ("hinge", "log_loss")),
    Workload(
        "LocallyWeightedRegression, 3 robust rounds",
        Data("curve", 20_000, 1),
        SameValues(),
        {
            US: [Fit("benchmarks.adapters.didact.LocallyWeightedRegression", LOWESS)],
            STATSMODELS: [Fit("benchmarks.adapters.statsmodels.Lowess", LOWESS)],
        },
        {STATSMODELS: 2},
    ),
]


def imports(folder: Path, quick: bool) -> dict[str, Any]:
    modules = {"didact": US, MODULE[US]: US, MODULE[SKLEARN]: SKLEARN, MODULE[INTELEX]: INTELEX, GLUM: GLUM}
    modules |= {"celer": CELER, "skglm": SKGLM}
    return {"imports": list(import_times(modules, quick))}


EXTRAS = {"imports": imports, "out of core": out_of_core.measure}
