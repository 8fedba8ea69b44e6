r"""Nonlinear least squares for a user's residuals: :math:`\min_x \tfrac12\|r(x)\|^2`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from didact.core.errors import InputError, ParameterError
from didact.core.parameters import whole
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.loop.differences import DIFFERENCE_KINDS, differences
from didact.engines.loop.result import Result
from didact.engines.smooth.levenberg_marquardt import DEPENDENT_DIRECTION, levenberg_marquardt
from didact.optimize.minimize import Watch
from didact.optimize.problem import check_start, shown
from didact.optimize.trace import keep, trace


@entrance(max_iter=whole(0))
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = None,
    method: str = "lm",
    *,
    bounds: Any = None,
    tol: float = 1e-8,
    max_iter: int = 2000,
    callback: Callable[[int, float, Array], Any] | None = None,
    keep_iterates: bool = False,
) -> Result:
    r"""Minimise half the sum of squares of residuals, by Levenberg–Marquardt or Gauss–Newton.

    With residuals r(x) and their Jacobian J, Gauss–Newton takes the step :math:`-(J^TJ)^{-1}J^Tr`, halved until the sum
    decreases; Levenberg–Marquardt takes :math:`-(J^TJ+\lambda D^2)^{-1}J^Tr`, with D the lengths of J's columns and λ
    such that the step stays within a trust region.

    Parameters
    ----------
    fun : callable
        fun(x) returns the m residuals.
    x0 : array-like of shape (n,)
        Where to start; its entries also set the scale of variables that come near 0.
    jac : callable or str, optional
        jac(x) returns the m × n Jacobian. None or "central" takes central differences, 2n evaluations per iteration;
        "forward" n, less accurate; "complex" n complex ones, exact, for analytic functions.
    method : {"lm", "gauss-newton"}
        Levenberg–Marquardt or Gauss–Newton.
    bounds : pair of array-likes, optional
        Lower and upper limits of the variables, numbers or one for each.
    tol : float
        The iteration ends when the projection of r on the columns of J is at most this share of r.
    max_iter : int
        Most iterations.
    callback : callable, optional
        callback(iteration, value, x) after each iteration; a true return value stops the iteration.
    keep_iterates : bool
        Whether the result has a `trace` of the iterates.

    Returns
    -------
    Result
        With `value` = ½‖r‖², `jacobian` at the solution and `covariance` :math:`s^2(J^TJ)^{-1}`,
        :math:`s^2 = \|r\|^2/(m-n)`: the covariance of x if residuals are independent errors of equal
        variance. Variables that the residuals do not determine, and all of them if m ≤ n, have infinite variance.

    Notes
    -----
    An iteration costs one Jacobian, 2mn² operations, and one evaluation of the residuals per trial step.

    References
    ----------
    Moré (1978), doi:10.1007/BFb0067700; Nocedal, Wright (2006), chapter 10, doi:10.1007/978-0-387-40065-5.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.optimize import least_squares
    >>> t = np.arange(6.0)
    >>> y = 3.0 * np.exp(-0.5 * t)
    >>> least_squares(lambda b: b[0] * np.exp(-b[1] * t) - y, [1.0, 1.0]).x.round(6)
    array([3. , 0.5])
    """
    start = check_start(x0)
    if method not in ("lm", "gauss-newton"):
        raise ParameterError(f"There is no method {method!r}: use 'lm' or 'gauss-newton'.")
    limits = check_bounds(bounds, start)
    residuals = Residuals(fun, jac, start, limits)
    watch = Watch(callback, None, 1)
    with np.errstate(all="ignore"):  # values that are not finite are reported in the result
        residuals.check(start)
        result = levenberg_marquardt(
            residuals.half_sum, residuals.factor, start, tol, max_iter, watch, keep if keep_iterates else None,
            limits, method == "lm", dependent=residuals.error,
        )  # fmt: skip
        result.jacobian = residuals.jacobian(result.x)
        variance = 2.0 * result.value / max(residuals.m - residuals.n, 0) if residuals.m > residuals.n else math.inf
        result.covariance = covariance(result.jacobian, variance, residuals.error)
    if keep_iterates:
        result.trace = trace(result.history, residuals.half_sum)
        result.history = result.trace.values.tolist()
    result.evaluations = residuals.evaluations
    return result


def covariance(jacobian: Array, variance: float, dependent: float = DEPENDENT_DIRECTION) -> Array:
    """variance·(JᵀJ)⁻¹, from a Jacobian or its triangular factor; infinite for variables that J does not determine."""
    n = jacobian.shape[1]
    if not math.isfinite(variance):
        return np.full((n, n), math.inf)
    scale = np.sqrt((jacobian**2).sum(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    _, s, Vt = linalg.svd(jacobian / scale, full_matrices=True, check_finite=False)
    s = np.concatenate([s, np.zeros(n - len(s))])
    known = s > dependent * max(s[0], np.finfo(float).tiny)
    root = Vt[known].T / s[known] / scale[:, None]
    out = variance * (root @ root.T)
    lost = np.abs(Vt[~known]).max(axis=0, initial=0.0) > math.sqrt(dependent)
    out[lost, :] = out[:, lost] = math.inf
    return np.asarray(out)


def check_bounds(bounds: Any, x: Array) -> tuple[Array, Array]:
    """Lower and upper bounds of each variable; x must lie within them."""
    if bounds is None:
        return np.full_like(x, -math.inf), np.full_like(x, math.inf)
    try:
        lower, upper = (np.broadcast_to(np.asarray(b, np.float64), x.shape) for b in bounds)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"bounds must be a pair (lower, upper), each a number or {len(x)} numbers; got {bounds!r}."
        ) from error
    if not (lower < upper).all():
        raise ParameterError("Every lower bound must be below its upper bound.")
    outside = np.flatnonzero((x < lower) | (x > upper))
    if len(outside):
        j = outside[0]
        raise ParameterError(f"The start must lie within the bounds; its entry {j} is {x[j]:.6g}.")
    return lower, upper


class Residuals:
    """The user's residuals and Jacobian, checked and counted; the residuals at the last point are cached."""

    def __init__(self, fun: Any, jac: Any, x0: Array, bounds: tuple[Array, Array]):
        if not callable(fun):
            raise ParameterError(f"fun must be a function of x, not {fun!r}.")
        if jac is not None and not callable(jac) and jac not in DIFFERENCE_KINDS:
            raise ParameterError(f"jac must be a function, None or one of {', '.join(DIFFERENCE_KINDS)}; got {jac!r}.")
        self.fun, self.jac, self.n, self.m = fun, jac, len(x0), 0
        self.evaluations = 0
        self._difference = differences(jac if isinstance(jac, str) else "central", x0, *bounds)
        self._last: tuple[Any, Array] = (None, x0)

    def __call__(self, x: Array) -> Array:
        if self._last[0] is x:
            return self._last[1]
        self.evaluations += 1
        r = np.array(self.fun(x), dtype=np.complex128 if np.iscomplexobj(x) else np.float64, ndmin=1)
        if r.ndim != 1 or (self.m and len(r) != self.m):
            expected = f"{self.m} numbers, as at the start" if self.m else "a vector of numbers"
            raise InputError(f"fun must return {expected}; it returned an array of shape {r.shape}.")
        self._last = (x, r)
        return r

    @property
    def error(self) -> float:
        """The approximate relative error of the Jacobian."""
        return DEPENDENT_DIRECTION if callable(self.jac) else self._difference.error

    def half_sum(self, x: Array) -> float:
        """½‖r‖²."""
        r = self(x)
        return 0.5 * float(r @ r)

    def jacobian(self, x: Array) -> Array:
        """The m × n Jacobian at x."""
        r = self(x)
        J = np.asarray(self.jac(x), np.float64) if callable(self.jac) else self._difference(self, x, r)
        self._last = (x, r)
        if J.shape != (self.m, self.n):
            raise InputError(
                f"jac must return one row for each of the {self.m} residuals and one column for each of the {self.n} "
                f"variables, the shape ({self.m}, {self.n}); it returned {J.shape}."
            )
        if not np.isfinite(J).all():
            raise InputError(f"The Jacobian has numbers that are not finite at x = {shown(x)}.")
        return J

    def factor(self, x: Array) -> Array:
        """The triangular factor of [J r]."""
        return np.asarray(np.linalg.qr(np.column_stack([self.jacobian(x), self(x)]), mode="r"))

    def check(self, x: Array) -> None:
        """Refuse a start where residuals are not finite."""
        r = self(x)
        self.m = len(r)
        wrong = np.flatnonzero(~np.isfinite(r))
        if len(wrong):
            raise InputError(
                f"fun returned {r[wrong[0]]} as residual {wrong[0]} at the start x0 = {shown(x)}: start where all "
                "residuals are finite."
            )
