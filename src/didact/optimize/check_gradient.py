r"""Check a gradient against differences of its function, coordinate by coordinate."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.loop.differences import CENTRAL, EPS, differences
from didact.optimize.problem import check_start

AGREES = 1e-4  # difference of central and complex steps, relative to the gradient, up to which they agree


class GradientCheck(NamedTuple):
    """The comparison of a gradient with differences of its function.

    `relative_error` has one entry per coordinate (for several functions, a row per function), `method` says how each
    coordinate was differenced: "complex" or "central".

    >>> from didact.optimize import check_gradient
    >>> check_gradient(lambda x: x @ x, lambda x: 2 * x, [1.0, 2.0]).worst < 1e-8
    True
    """

    gradient: Array
    numeric: Array
    relative_error: Array
    method: Array
    tol: float

    @property
    def worst(self) -> float:
        """The largest relative error."""
        return float(np.max(self.relative_error))

    @property
    def ok(self) -> bool:
        """Whether all coordinates are within the tolerance."""
        return bool((self.relative_error <= self.tol).all())

    @property
    def wrong(self) -> Array:
        """The coordinates that are beyond the tolerance."""
        errors = self.relative_error.reshape(-1, self.relative_error.shape[-1])
        return np.flatnonzero(~(errors <= self.tol).all(axis=0))


@entrance()
def check_gradient(fun: Callable[..., Any], grad: Callable[..., Any], x: Any, tol: float = 1e-5) -> GradientCheck:
    r"""Compare a gradient (or Jacobian) with differences of the function at x.

    Central differences :math:`(f(x+he_j)-f(x-he_j))/2h` with :math:`h = \epsilon^{1/3}\max(|x_j|, 1)` have about ten
    correct digits; if the function is analytic and accepts complex numbers, :math:`\mathrm{Im}f(x+ihe_j)/h` is accurate
    to all digits. The complex step is used in the coordinates in which it roughly agrees with the central one, as
    functions such as abs are not analytic.

    Parameters
    ----------
    fun : callable
        fun(x) returns a number, or a vector for a Jacobian.
    grad : callable or array-like
        grad(x) returns the derivatives: n numbers, or one row for each entry of fun(x); or these numbers themselves.
    x : array-like of shape (n,)
        Where to check. A general point reveals more errors than a special one such as 0.
    tol : float
        The relative error up to which a coordinate counts as correct.

    Returns
    -------
    GradientCheck
        `relative_error` = :math:`|g_j-d_j|/\max(|g_j|,|d_j|)` per coordinate (of the size of the whole gradient where
        both are rounding errors), `worst`, `ok`, `wrong` (the coordinates beyond tol), `numeric`, `method`.

    Notes
    -----
    Costs 3n evaluations.

    References
    ----------
    Squire, Trapp (1998), Using complex variables to estimate derivatives of real functions,
    doi:10.1137/S003614459631241X.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.optimize import check_gradient
    >>> f = lambda x: np.sum(x**3) + x[0] * x[1]
    >>> right = lambda x: 3 * x**2 + np.array([x[1], x[0], 0.0])
    >>> check_gradient(f, right, [1.0, 2.0, 3.0]).ok
    True
    >>> check_gradient(f, lambda x: 3 * x**2, [1.0, 2.0, 3.0]).wrong
    array([0, 1])
    """
    x = check_start(x, "x")
    given = np.asarray(grad(x.copy()) if callable(grad) else grad, np.float64)
    with np.errstate(all="ignore"):
        value = np.asarray(fun(x.copy()))
        if value.dtype.kind not in "fiub" or not np.isfinite(value).all():
            raise InputError("fun must return finite real numbers at x for its gradient to be checked.")
        # A size of at least 1 for each coordinate: the check does not depend on units.
        central = differences("central", np.ones_like(x))._replace(size=np.ones_like(x))
        numeric = np.asarray(central(lambda z: np.asarray(fun(z), np.float64), x))
        if given.shape != numeric.shape:
            raise InputError(f"The gradient has the shape {given.shape}; the function's has {numeric.shape}.")
        numeric, method = _with_complex_steps(fun, x, numeric)
    size = float(np.max(np.abs(numeric), initial=0.0)) or 1.0
    floor = max(EPS / CENTRAL * float(np.max(np.abs(value), initial=0.0)), CENTRAL**2 * size) / max(tol, EPS)
    floor = min(floor, size)
    error = np.abs(given - numeric) / np.maximum(np.maximum(np.abs(given), np.abs(numeric)), floor)
    return GradientCheck(
        gradient=given, numeric=numeric, relative_error=np.where(np.isnan(error), np.inf, error), method=method, tol=tol
    )


def _with_complex_steps(fun: Callable[..., Any], x: Array, numeric: Array) -> tuple[Array, Array]:
    """The derivatives, by complex steps in the coordinates in which these agree with central differences."""
    method = np.full(len(x), "central")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            exact = np.asarray(differences("complex", x)(fun, x))
    except Exception:  # whatever a function written for real numbers does with complex ones
        return numeric, method
    if exact.shape != numeric.shape:
        return numeric, method
    near = np.abs(exact - numeric) <= AGREES * max(float(np.max(np.abs(numeric), initial=0.0)), EPS)
    good = near.reshape(-1, len(x)).all(axis=0)
    return np.where(good, exact, numeric), np.where(good, "complex", method)
