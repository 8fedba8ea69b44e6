"""The methods of `minimize`: each reads its options and calls its engine.

A method is a function of the problem, the settings of the run (`Run`), and its own options as keywords; its line
search is the user's or its own default.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.engines.loop.line_search import Armijo, Fixed, StrongWolfe, WeakWolfe
from didact.engines.loop.result import Result
from didact.engines.smooth.coordinate_search import coordinate_search
from didact.engines.smooth.first_order import Adagrad, Adam, Momentum, first_order
from didact.engines.smooth.gradient_descent import gradient_descent, spectrum
from didact.engines.smooth.lbfgs import lbfgs
from didact.engines.smooth.newton import newton
from didact.engines.smooth.nonlinear_cg import nonlinear_cg
from didact.optimize.problem import Problem

SEARCHES = ("fixed", "armijo", "weak-wolfe", "strong-wolfe")
MEMORY = 15  # pairs of L-BFGS: more than usual, as evaluations cost more than vector operations


class Run(NamedTuple):
    """The settings that all methods share: start, tolerance, iteration limit, line search and callbacks."""

    x0: Array
    tol: float
    max_iter: int
    search: Any
    report: Callable[[int, float, Any], bool]
    keep: Any

    @property
    def ending(self) -> dict[str, Any]:
        """The keyword arguments that all engines share: tolerance, limit, report and keep."""
        return {"tol": self.tol, "max_iter": self.max_iter, "report": self.report, "keep": self.keep}

    def line_search(self, default: Any, curvature: float = 0.9, fixed: float | None = 1.0) -> Any:
        """The line search: the user's, by name or as an object, or the method's default."""
        if self.search is None:
            return default
        if not isinstance(self.search, str):
            return self.search
        if self.search == "fixed":
            if fixed is None:
                raise ParameterError("line_search='fixed' needs its length: give step=… as a number or 'optimal'.")
            return Fixed(fixed)
        return {"armijo": Armijo(), "weak-wolfe": WeakWolfe(), "strong-wolfe": StrongWolfe(curvature=curvature)}[
            self.search
        ]

    def refuse_search(self, method: str) -> None:
        """Raise if a line search is given to a method that makes none."""
        if self.search is not None:
            raise ParameterError(f"Method {method!r} makes no line search: leave line_search at None.")


def gradient(problem: Problem, run: Run, *, step: float | str | None = None) -> Result:
    """Gradient descent with a fixed step, the best one for a quadratic, or a line search."""
    bends = None if problem.hess is None else spectrum(problem.hessian(run.x0))
    length = None if step is None else convex(bends).best_step if step == "optimal" else positive("step", step)
    if length is not None and run.search not in (None, "fixed"):
        raise ParameterError("A fixed step and a line search exclude each other: give step or line_search.")
    default = Armijo() if length is None else Fixed(length)
    search = run.line_search(default, curvature=0.1, fixed=length)
    result = gradient_descent(problem.value_gradient, run.x0, search=search, **run.ending)
    if bends is not None and isinstance(search, Fixed):
        result.predicted_rate = bends.rate(search.step)
    return result


def momentum(
    problem: Problem, run: Run, *, step: float | str = 0.01, decay: float | None = None, nesterov: bool = False
) -> Result:
    """The heavy ball, or Nesterov's momentum."""
    run.refuse_search("momentum")
    rate = None
    if step == "optimal":
        if nesterov or decay is not None:
            raise ParameterError("step='optimal' chooses Polyak's step and decay: leave out decay and nesterov.")
        bends = convex(None if problem.hess is None else spectrum(problem.hessian(run.x0)))
        step, decay = bends.best_momentum
        rate = decay
    decay = 0.9 if decay is None else decay
    if not 0 <= decay < 1:
        raise ParameterError(f"decay must be at least 0 and less than 1, not {decay!r}.")
    rule = Momentum(positive("step", step), decay, nesterov)
    result = first_order(problem.value_gradient, run.x0, rule, **run.ending)
    result.predicted_rate = rate
    return result


def adagrad(problem: Problem, run: Run, *, step: float = 0.5, epsilon: float = 1e-10) -> Result:
    """Adagrad."""
    run.refuse_search("adagrad")
    rule = Adagrad(positive("step", step), positive("epsilon", epsilon))
    return first_order(problem.value_gradient, run.x0, rule, **run.ending)


def adam(
    problem: Problem,
    run: Run,
    *,
    step: float = 0.05,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> Result:
    """Adam."""
    run.refuse_search("adam")
    if not (0 <= beta1 < 1 and 0 <= beta2 < 1):
        raise ParameterError(f"beta1 and beta2 must be at least 0 and less than 1, not {beta1!r} and {beta2!r}.")
    rule = Adam(positive("step", step), beta1, beta2, positive("epsilon", epsilon))
    return first_order(problem.value_gradient, run.x0, rule, **run.ending)


def newton_method(problem: Problem, run: Run) -> Result:
    """Newton's method with damping."""
    search = run.line_search(Armijo())
    return newton(problem.value_gradient, run.x0, search=search, hessian=problem.hessian, **run.ending)


def cg(problem: Problem, run: Run, *, beta: str = "hybrid") -> Result:
    """Nonlinear conjugate gradients; with a Hessian, first trials are exact on a quadratic."""
    if beta not in ("pr", "fr", "hybrid"):
        raise ParameterError(f"beta must be 'pr' (Polak–Ribière), 'fr' (Fletcher–Reeves) or 'hybrid', not {beta!r}.")

    def curvature(x: Array, p: Array) -> float:
        return float(p @ problem.hessian(x) @ p)

    search = run.line_search(StrongWolfe(curvature=0.1), curvature=0.1)
    bend = None if problem.hess is None else curvature
    return nonlinear_cg(problem.value_gradient, run.x0, beta=beta, search=search, curvature=bend, **run.ending)


def lbfgs_method(problem: Problem, run: Run, *, memory: int = MEMORY) -> Result:
    """Limited-memory BFGS."""
    if isinstance(memory, bool) or not isinstance(memory, (int, np.integer)) or memory < 1:
        raise ParameterError(f"memory must be a whole number of at least 1, not {memory!r}.")
    search = run.line_search(StrongWolfe())
    return lbfgs(problem.value_gradient, run.x0, search=search, memory=int(memory), **run.ending)


def coordinate(problem: Problem, run: Run) -> Result:
    """Coordinate descent."""
    run.refuse_search("coordinate")
    return coordinate_search(problem.value, problem.gradient, run.x0, **run.ending)


def diagonal_newton(problem: Problem, run: Run, *, offset: float = 1e-6) -> Result:
    """A step size for each variable: 1/(|h| + offset·max|h|) with the Hessian's diagonal h."""
    offset = positive("offset", offset)

    def scale(x: Array) -> Array:
        size = np.abs(problem.diagonal(x))
        return 1.0 / (size + offset * (size.max() or 1.0))

    search = run.line_search(Armijo())
    return gradient_descent(problem.value_gradient, run.x0, search=search, scale=scale, **run.ending)


METHODS: dict[str, Callable[..., Result]] = {
    "gradient": gradient,
    "momentum": momentum,
    "adagrad": adagrad,
    "adam": adam,
    "newton": newton_method,
    "cg": cg,
    "lbfgs": lbfgs_method,
    "coordinate": coordinate,
    "diagonal-newton": diagonal_newton,
}


def positive(name: str, value: Any) -> float:
    """A number above 0."""
    if isinstance(value, (bool, str)) or not np.isreal(value) or not 0 < value < np.inf:
        raise ParameterError(f"{name} must be a number above 0, not {value!r}.")
    return float(value)


def convex(bends: Any) -> Any:
    """The spectrum of the Hessian, if it is given and positive definite; else an error."""
    if bends is None:
        raise ParameterError("step='optimal' needs the Hessian of the quadratic: give hess.")
    if not bends.least > 0:
        raise ParameterError(
            f"step='optimal' needs a positive definite Hessian; its smallest eigenvalue at x0 is {bends.least:.3g}."
        )
    return bends
