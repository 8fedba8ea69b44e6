"""Chapter ``optimize``: quadratic programs, and smooth functions with their gradient.

A quadratic program has as many constraints as rows and as many variables as columns; matrices in a library's own format
and orientation are made before the clock starts. Values must agree, and constraints hold, to 1e-8. Minimisers get the
same function (value and gradient together, `benchmarks.problems`) and start, at several tolerances; the fastest that
comes within 1e-6 of the lowest value counts. Rosenbrock's function has one coordinate a row; the logistic objective,
with a ridge penalty, 50 columns.
"""

from typing import Any

from benchmarks.answers import Check, SameAnswer, SameMinimum, SameProgram
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload, variants

SCIPY, QUADPROG, CVXOPT = "SciPy", "quadprog", "cvxopt"


def fits(module: str, name: str, *changes: dict[str, Any], **common: Any) -> list[Fit]:
    return variants(f"benchmarks.adapters.{module}.{name}", *changes, **common)


def minimum(name: str, problem: str, ours: str, theirs: str, data: Data, check: Check) -> Workload:
    """didact's tol and SciPy's gtol are both the largest entry of the gradient; L-BFGS-B's ftol ends early, so is 0.

    SciPy's L-BFGS-B on short vectors can be many times faster with one thread of BLAS than with all.
    """
    tight = {"ftol": 0.0} if theirs == "L-BFGS-B" else {}
    tolerances = (1e-3, 1e-4, 1e-5)
    scipy = [{}, *({"gtol": tol} | tight for tol in (*tolerances, 1e-6))]
    ways = {
        US: fits("didact_optimize", problem, {}, *({"tol": tol} for tol in tolerances), method=ours),
        SCIPY: fits("scipy", problem, *scipy, *(way | {"threads": 1} for way in scipy), method=theirs),
    }
    return Workload(name, data, check, ways, {SCIPY: 1}, apart=("cold",))


ROSENBROCK = Data("start", 1_000, 1), SameMinimum()
LOGISTIC = Data("binary", 100_000, 50), SameAnswer(loss="logistic", l2=0.5, compare="objective")

WORKLOADS = [
    Workload(
        "quadratic_program, 500 variables",
        Data("inequalities", 1_000, 500, block=1_000),
        SameProgram(),
        {
            US: fits("didact_optimize", "QuadraticProgram", {}, {"tol": 1e-8}),
            QUADPROG: fits("quadprog", "QuadraticProgram"),
            CVXOPT: fits("cvxopt", "QuadraticProgram", {}, *({"tol": tol} for tol in (1e-8, 1e-9, 1e-10))),
        },
        {QUADPROG: 0.7, CVXOPT: 2},
        apart=("cold",),
    ),
    minimum("L-BFGS, Rosenbrock", "Rosenbrock", "lbfgs", "L-BFGS-B", *ROSENBROCK),
    minimum("conjugate gradients, Rosenbrock", "Rosenbrock", "cg", "CG", *ROSENBROCK),
    minimum("L-BFGS, ridge-logistic", "Logistic", "lbfgs", "L-BFGS-B", *LOGISTIC),
    minimum("conjugate gradients, ridge-logistic", "Logistic", "cg", "CG", *LOGISTIC),
]
EXTRAS: dict[str, Any] = {}
