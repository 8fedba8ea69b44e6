r"""Minimise a smooth function of several variables, :math:`\min_x f(x)`, by the method of one's choice.

The engines are those that fit the library's models; here they minimise a user's function, whose return values are
checked, and record their path on request.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.loop.line_search import largest
from didact.engines.loop.result import Result
from didact.optimize.methods import METHODS, SEARCHES, Run
from didact.optimize.problem import Problem, check_start, number
from didact.optimize.trace import keep, trace

HOPELESS = 10  # successive non-finite evaluations above which these, not the method, explain a lack of progress


@entrance()
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    method: str = "lbfgs",
    jac: Any = None,
    hess: Any = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    callback: Callable[[int, float, Array], Any] | None = None,
    line_search: Any = None,
    keep_iterates: bool = False,
    validation: Callable[[Array], Any] | None = None,
    patience: int = 10,
    **options: Any,
) -> Result:
    r"""Minimise a function of n variables from a starting point.

    =================  ===============================================================  ========================
    method             step                                                             cost per iteration
    =================  ===============================================================  ========================
    "gradient"         :math:`-\gamma g`; γ fixed, "optimal" or from a line search      1 gradient
    "momentum"         heavy ball or Nesterov                                           1 gradient
    "adagrad"          :math:`-\eta g/\sqrt{\sum g^2}` per variable                     1 gradient
    "adam"             mean gradient over its root mean square                          1 gradient
    "newton"           :math:`-H^{-1}g`, abs(H) where H is indefinite                   1 Hessian, n³/3
    "cg"               :math:`-g + \beta p`, Fletcher–Reeves, Polak–Ribière, hybrid     about 2 gradients
    "lbfgs"            quasi-Newton from the last pairs of steps and gradient changes   about 1 gradient, 4mn
    "coordinate"       one variable at a time, by Brent's method                        about 10n values
    "diagonal-newton"  :math:`-g_j/(|h_j|+\mu)` with the Hessian's diagonal h           1 gradient, 1 diagonal
    =================  ===============================================================  ========================

    Parameters
    ----------
    fun : callable
        fun(x) returns a number, or with jac=True the number and the gradient.
    x0 : array-like of shape (n,)
        Where to start.
    method : str
        One of the names in the table.
    jac : callable, True or str, optional
        jac(x) returns the gradient; True: fun does. None or "central" takes central differences, 2n evaluations for
        each gradient; "forward" n, less accurate; "complex" n complex ones, exact, for analytic functions.
    hess : callable or matrix, optional
        hess(x), n × n, or a constant matrix; for "diagonal-newton" the diagonal suffices. Newton's methods take 2n
        gradients instead if it is None. With it, "cg" takes exact first steps and "gradient" predicts its rate.
    tol : float
        The largest entry of the gradient at which the iteration ends.
    max_iter : int
        Most iterations.
    callback : callable, optional
        callback(iteration, value, x) after each iteration; a true return value stops the iteration.
    line_search : str or object, optional
        "armijo", "strong-wolfe", "weak-wolfe", "fixed" (length 1, for "gradient" `step`), or `Armijo`, `StrongWolfe`,
        `WeakWolfe`, `Fixed` with other constants. None: strong Wolfe for "cg" and "lbfgs", else Armijo.
    keep_iterates : bool
        Whether the result has a `trace` of all iterates, values and gradient norms, and a `plot()`.
    validation : callable, optional
        validation(x) returns a number to monitor, such as the error on held-out data: the iterate with the least one is
        returned, and the iteration ends after `patience` successive iterates that are no better.
    patience : int
        See validation.
    **options
        "gradient": step (a number or "optimal", 2/(λmin + λmax) of the Hessian). "momentum": step (also "optimal"),
        decay, nesterov. "adagrad": step, epsilon. "adam": step, beta1, beta2, epsilon. "cg": beta ("fr", "pr" or
        "hybrid", the default). "lbfgs": memory. "diagonal-newton": offset.

    Returns
    -------
    Result
        `x`, `value`, `n_iter`, `status`, `converged`, `message`, `optimality` (largest entry of the gradient),
        `history` (values), `evaluations`, `trace`, `validation`, and for fixed steps with a Hessian `predicted_rate`:
        the factor :math:`\max|1-\gamma\lambda|^2` on f − min f, which is :math:`((Q-1)/(Q+1))^2` for the optimal step.

    References
    ----------
    Nocedal, Wright (2006), Numerical Optimization, doi:10.1007/978-0-387-40065-5.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.optimize import minimize
    >>> A = np.diag([9.0, 1.0])
    >>> result = minimize(lambda x: 0.5 * x @ A @ x, [1.0, 1.0], "gradient", lambda x: A @ x, A, step="optimal")
    >>> result.converged, round(result.predicted_rate, 4), [round(v, 5) for v in result.history[1:4]]
    (True, 0.64, [3.2, 2.048, 1.31072])
    >>> minimize(lambda x: (x[0] - 1) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, [-1.2, 1.0]).x.round(4)
    array([1., 1.])
    """
    x = check_start(x0)
    solve = _method(method, options)
    _check(tol, max_iter, line_search, patience)
    problem = Problem(fun, x, jac, hess)
    watch = Watch(callback, validation, patience)
    with np.errstate(all="ignore"):  # values that are not finite are reported in the result
        problem.check(x)
        watch.begin(x)
        run = Run(
            x0=x,
            tol=float(tol),
            max_iter=int(max_iter),
            search=line_search,
            report=watch,
            keep=keep if keep_iterates else None,
        )
        result = solve(problem, run, **options)
    if keep_iterates:
        result.trace = trace(result.history, problem.value)
        result.history = result.trace.values.tolist()
    if result.status == "no progress" and problem.trouble >= HOPELESS:
        result.status = "not finite"
    watch.finish(result, problem)
    result.evaluations = problem.evaluations
    return result


class Watch:
    """The report function of a run: calls the user's callback, and keeps the iterate with the best validation value."""

    def __init__(self, callback: Any, validation: Any, patience: int):
        self.callback, self.validation, self.patience = callback, validation, patience
        self.seen: list[float] = []
        self.best: tuple[Array, float] | None = None

    def begin(self, x: Array) -> None:
        """Record the start as the first iterate."""
        if self.validation is not None:
            self.seen, self.best = [self._watched(x)], (x, math.nan)

    def __call__(self, iteration: int, value: float, x: Array) -> bool:
        stop = bool(self.callback(iteration, value, x)) if self.callback is not None else False
        if self.validation is None:
            return stop
        new = self._watched(x)
        if new < min(self.seen):
            self.best = (x, value)
        self.seen.append(new)
        return stop or len(self.seen) - 1 - int(np.argmin(self.seen)) >= self.patience

    def _watched(self, x: Array) -> float:
        value = number(self.validation(x))
        return math.inf if math.isnan(value) else value

    def finish(self, result: Result, problem: Problem) -> None:
        """Replace the last iterate of the result by the best one."""
        if self.best is None:
            return
        result.validation = self.seen
        if self.best[0] is not result.x:
            result.x, result.status = self.best[0], "stopped"
            result.value, gradient = problem.value_gradient(result.x)
            result.optimality = largest(gradient)


def _method(name: Any, options: dict[str, Any]) -> Callable[..., Result]:
    """The method of this name; an error if it does not exist or does not have these options."""
    if name not in METHODS:
        raise ParameterError(f"There is no method {name!r}: use one of {', '.join(map(repr, METHODS))}.")
    method = METHODS[name]
    known = [p.name for p in inspect.signature(method).parameters.values() if p.kind == p.KEYWORD_ONLY]
    unknown = [option for option in options if option not in known]
    if unknown:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise ParameterError(f"Method {name!r} has no option {unknown[0]!r}; {has}.")
    return method


def _check(tol: Any, max_iter: Any, line_search: Any, patience: Any) -> None:
    if not isinstance(tol, (int, float, np.number)) or not tol >= 0:
        raise ParameterError(f"tol must be a number of at least 0, not {tol!r}.")
    for name, count, least in (("max_iter", max_iter, 0), ("patience", patience, 1)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < least:
            raise ParameterError(f"{name} must be a whole number of at least {least}, not {count!r}.")
    if isinstance(line_search, str) and line_search not in SEARCHES:
        raise ParameterError(f"There is no line search {line_search!r}: use one of {', '.join(map(repr, SEARCHES))}.")
    if line_search is not None and not callable(line_search) and not isinstance(line_search, str):
        raise ParameterError(f"line_search must be a name or a line search such as Armijo(), not {line_search!r}.")
