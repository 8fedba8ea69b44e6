r"""Minimise a smooth function under smooth constraints: min f(x) such that h(x) = 0, g(x) ≤ 0, l ≤ x ≤ u."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.constrained.augmented_lagrangian import Lagrangian, augmented_lagrangian
from didact.engines.constrained.kkt import Multipliers
from didact.engines.loop.differences import differences
from didact.engines.loop.result import Result
from didact.optimize.linear_constraints import bounds as check_bounds
from didact.optimize.minimize import HOPELESS
from didact.optimize.problem import Problem, check_start, shown


@entrance()
def minimize_constrained(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = None,
    equalities: Sequence[Any] = (),
    inequalities: Sequence[Any] = (),
    bounds: Any = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    callback: Callable[[int, float, Array], Any] | None = None,
) -> Result:
    r"""Minimise a function of n variables under nonlinear equalities and inequalities.

    .. math:: \min_x f(x) \quad\text{such that}\quad h(x) = 0,\; g(x) \le 0,\; l \le x \le u.

    Parameters
    ----------
    fun : callable
        fun(x) returns a number, or with jac=True the number and the gradient.
    x0 : array-like of shape (n,)
        Where to start; it need not be feasible.
    jac : callable, True or str, optional
        jac(x) returns the gradient; True: fun does. None takes central differences, 2n evaluations for each gradient.
    equalities, inequalities : sequences of functions or pairs (function, Jacobian), optional
        Each function returns a number or a vector: h(x) = 0, or g(x) ≤ 0. Each Jacobian returns its derivatives, one
        row for each number; without one they are taken by central differences.
    bounds : pair of array-likes, optional
        Lower and upper bounds of the variables, numbers or one for each. Iterates may leave them on the way.
    tol : float
        The largest KKT residual that counts as solved: the gradient of the Lagrangian relative to its terms, and
        violations divided by the size of the constraint's gradient at x0.
    max_iter : int
        Most rounds of the augmented Lagrangian.
    callback : callable, optional
        callback(iteration, value, x) after each round; a true return value stops the iteration.

    Returns
    -------
    Result
        With `x`, `value`, `status` ("converged", "infeasible", "unbounded", "iteration limit", "no progress",
        "stopped"), `optimality` and `multipliers`: a tuple of `equalities`, `inequalities`, `lower` and `upper`, one
        multiplier for each number that the functions return, in their order. The sign is that of
        :math:`L = f + \lambda^Th + \mu^Tg + \mu_l^T(l - x) + \mu_u^T(x - u)` with all μ ≥ 0: λ is the rate at which the
        least value falls as the right-hand side of h(x) = 0 is raised.

    Notes
    -----
    The solution satisfies the KKT conditions: nearly always it is a local minimum, and of a convex problem the global
    one. Each round is a run of L-BFGS, ten to a few hundred evaluations; five to fifteen rounds are usual. "infeasible"
    means that x is at a local minimum of the violation above 0, and that no feasible point was found within the bounds
    either, from x0 or from there. Variables in very different units (1e-4 and 1e4) should be scaled. For quadratic
    objectives and linear constraints use `quadratic_program`.

    References
    ----------
    Hestenes (1969), Multiplier and gradient methods, doi:10.1007/BF00927673.
    Andreani, Birgin, Martínez, Schuverdt (2008), On augmented Lagrangian methods with general lower-level constraints,
    doi:10.1137/060654797.

    Examples
    --------
    The least x + y on the unit circle is at x = y = −1/√2, with the multiplier 1/√2:

    >>> from didact.optimize import minimize_constrained
    >>> found = minimize_constrained(lambda x: x[0] + x[1], [1.0, 0.0], equalities=[lambda x: x @ x - 1])
    >>> found.x.round(6).tolist(), found.multipliers.equalities.round(6).tolist()
    ([-0.707107, -0.707107], [0.707107])
    """
    x = check_start(x0)
    if not (isinstance(tol, (int, float)) and tol > 0):
        raise ParameterError(f"tol must be a number above 0, not {tol!r}.")
    if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)) or max_iter < 0:
        raise ParameterError(f"max_iter must be a whole number of at least 0, not {max_iter!r}.")
    lower, upper = check_bounds(len(x), *_pair(bounds))
    problem = Problem(fun, x, jac)
    problem.check(x)
    equal, unequal = _constraints(equalities, x, "equalities"), _constraints(inequalities, x, "inequalities")
    stack = Stack([*equal, *unequal], lower, upper)
    n_equal = sum(c.size for c in equal)
    report = None if callback is None else lambda i, value, point: bool(callback(i, value, point))
    lagrangian = Lagrangian(problem.value_gradient, stack, n_equal, (lower, upper))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # trial points may be far outside the domain
        result = augmented_lagrangian(lagrangian, x, tol, max_iter, report)
    result.multipliers = stack.split(result.multipliers, n_equal)
    result.evaluations = problem.evaluations
    if result.status == "no progress" and problem.trouble >= HOPELESS:
        result.status = "not finite"
    return result


class Constraint:
    """One of the user's constraint functions, as a vector with its Jacobian, checked on every call."""

    def __init__(self, given: Any, x0: Array, name: str) -> None:
        self.jac: Any
        self.fun, self.jac = given if isinstance(given, tuple | list) and len(given) == 2 else (given, None)
        if not callable(self.fun) or not (self.jac is None or callable(self.jac)):
            raise ParameterError(f"{name} must be a function of x, or a pair of a function and its Jacobian.")
        self.name, self.n = name, len(x0)
        self.size: int | None = None
        self.difference = differences("central", x0)
        first = self.value(x0)
        self.size = len(first)
        if not np.isfinite(first).all():
            raise InputError(f"{name} returned {first[~np.isfinite(first)][0]} at the start x0 = {shown(x0)}.")

    def value(self, x: Array) -> Array:
        """The values that must be 0, or at most 0."""
        try:
            out = np.array(self.fun(x), dtype=np.float64, ndmin=1)
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.name} must return real numbers: {error}.") from error
        if out.ndim != 1 or (self.size is not None and len(out) != self.size):
            wanted = "a number or a vector" if self.size is None else f"{self.size} number(s), as at the start"
            raise InputError(f"{self.name} must return {wanted}; it returned the shape {out.shape}.")
        return out

    def jacobian(self, x: Array) -> Array:
        """The Jacobian, one row for each value."""
        if self.jac is None:
            return self.difference(self.value, x)
        out = np.array(self.jac(x), dtype=np.float64, ndmin=1)
        if out.shape == (self.n,) and self.size == 1:
            out = out[None]
        if out.shape != (self.size, self.n):
            raise InputError(
                f"The Jacobian of {self.name} must have one row for each of its {self.size} number(s) and one column "
                f"for each of the {self.n} variable(s); it has the shape {out.shape}."
            )
        return out


class Stack:
    """All constraints as one function: equalities, inequalities, upper and lower bounds."""

    def __init__(self, parts: list[Constraint], lower: Array, upper: Array) -> None:
        self.parts, self.lower, self.upper = parts, lower, upper
        self.above, self.below = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
        eye = np.eye(len(lower)) if len(self.above) + len(self.below) else np.zeros((0, len(lower)))
        self.rows = np.concatenate([eye[self.above], -eye[self.below]])

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Values and Jacobian."""
        values = [part.value(x) for part in self.parts]
        over, under = (x - self.upper)[self.above], (self.lower - x)[self.below]
        J = [part.jacobian(x) for part in self.parts]
        return np.concatenate([*values, over, under]), np.concatenate([*J, self.rows])

    def split(self, m: Array, n_equal: int) -> Multipliers:
        """The multipliers by kind."""
        ends = np.cumsum([n_equal, len(m) - n_equal - len(self.above) - len(self.below), len(self.above)])
        equal, unequal, over, under = np.split(m, ends)
        lower, upper = np.zeros_like(self.lower), np.zeros_like(self.upper)
        upper[self.above], lower[self.below] = over, under
        return Multipliers(equal, unequal, lower, upper)


def _constraints(given: Any, x0: Array, name: str) -> list[Constraint]:
    """The constraints from a list of functions, or from a single one."""
    if callable(given):
        given = [given]
    if not isinstance(given, Sequence):
        raise ParameterError(f"{name} must be a list of functions, or of pairs of a function and its Jacobian.")
    return [Constraint(c, x0, f"{name}[{i}]") for i, c in enumerate(given)]


def _pair(bounds: Any) -> tuple[Any, Any]:
    if bounds is None:
        return None, None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError("bounds must be a pair (lower, upper), each None, a number or one number per variable.")
    return bounds[0], bounds[1]
