"""The user's objective, gradient and Hessian, checked and counted on every call.

A missing gradient is computed by central differences (2n evaluations each), a missing Hessian by central differences
of the gradient (2n gradients each). Errors say what the function returned and what was expected.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.typing import Array
from didact.engines.loop.differences import DIFFERENCE_KINDS, differences


def check_start(x0: Any, name: str = "x0") -> Array:
    """The starting point as a vector of finite numbers."""
    try:
        if x0 is None:
            raise TypeError
        x = np.array(x0, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a vector of real numbers, and {x0!r} is none.") from error
    if x.ndim != 1 or not x.size:
        raise InputError(f"{name} must be a vector with at least one entry; it has the shape {x.shape}.")
    wrong = np.flatnonzero(~np.isfinite(x))
    if len(wrong):
        raise InputError(f"{name} must be finite; its entry {wrong[0]} is {x[wrong[0]]}.")
    return x


class Problem:
    """An objective of n variables; solvers call `value_gradient`."""

    def __init__(self, fun: Callable[..., Any], x0: Array, jac: Any = None, hess: Any = None):
        if not callable(fun):
            raise ParameterError(f"fun must be a function of x, not {fun!r}.")
        if jac is not None and jac is not True and not callable(jac) and jac not in DIFFERENCE_KINDS:
            raise ParameterError(
                f"jac must be a function, True, None or one of {', '.join(DIFFERENCE_KINDS)}; got {jac!r}."
            )
        self.fun, self.jac, self.hess = fun, jac, hess
        self.n = len(x0)
        self.evaluations = 0
        self._start: Any = None
        self._first: tuple[float, Array] = (math.nan, x0)
        self.trouble = 0  # number of successive evaluations, up to the last, that were not finite
        kind = jac if isinstance(jac, str) else "central"
        self._difference = differences(kind, x0)
        self._difference_gradient = differences("central", x0)

    def value(self, x: Array) -> float:
        """fun(x)."""
        return self._call(x)[0]

    def gradient(self, x: Array) -> Array:
        """The gradient at x."""
        return self.value_gradient(x)[1] if not callable(self.jac) else self._checked(self.jac(x))

    def value_gradient(self, x: Array) -> tuple[float, Array]:
        """Value and gradient at x; those at the start are cached."""
        if x is self._start:
            return self._first
        value, gradient = self._call(x)
        if gradient is not None:
            return value, self._checked(gradient)
        if callable(self.jac):
            return value, self._checked(self.jac(x))
        if not math.isfinite(value):
            return value, np.full(self.n, np.nan)
        return value, self._difference(self._plain, x, value)

    def hessian(self, x: Array) -> Array:
        """The n × n Hessian at x."""
        if self.hess is None:
            H = self._difference_gradient(self.gradient, x)
            return 0.5 * (H + H.T)
        H = np.asarray(self.hess(x) if callable(self.hess) else self.hess, np.float64)
        if H.shape != (self.n, self.n):
            raise InputError(f"hess must return a {self.n} × {self.n} matrix; it returned the shape {H.shape}.")
        if not np.isfinite(H).all():
            raise InputError(f"hess returned numbers that are not finite at x = {shown(x)}.")
        return H

    def diagonal(self, x: Array) -> Array:
        """The Hessian's diagonal at x: hess may return it alone, as a vector."""
        if self.hess is None:
            return np.diag(self.hessian(x))
        H = np.asarray(self.hess(x) if callable(self.hess) else self.hess, np.float64)
        return H if H.shape == (self.n,) else np.diag(self.hessian(x))

    def check(self, x: Array) -> None:
        """Refuse a start where value or gradient are not finite."""
        value, gradient = self.value_gradient(x)
        if not math.isfinite(value):
            raise InputError(f"fun returned {value} at the start x0 = {shown(x)}: start where it is finite.")
        wrong = np.flatnonzero(~np.isfinite(gradient))
        if len(wrong):
            raise InputError(f"The gradient at the start x0 has {gradient[wrong[0]]} in its entry {wrong[0]}.")
        self._start, self._first = x, (value, gradient)

    def _call(self, x: Array) -> tuple[float, Any]:
        self.evaluations += 1
        out = self.fun(x)
        gradient = None
        if self.jac is True:
            if not isinstance(out, tuple) or len(out) != 2:
                raise InputError("With jac=True, fun must return two things: the value and the gradient.")
            out, gradient = out
        value = float(out) if isinstance(out, float) else number(out)
        self.trouble = 0 if math.isfinite(value) else self.trouble + 1
        return value, gradient

    def _plain(self, x: Array) -> Any:
        """The value for differences: complex for the complex step."""
        self.evaluations += 1
        return self.fun(x)

    def _checked(self, gradient: Any) -> Array:
        # A copy: some functions reuse one output array for every call.
        gradient = np.array(gradient, dtype=np.float64)
        if gradient.shape != (self.n,):
            raise InputError(
                f"The gradient must have one number for each of the {self.n} variable(s), the shape ({self.n},); "
                f"it has the shape {gradient.shape}."
            )
        return gradient


def number(out: Any) -> float:
    """The return value of a function as one real number."""
    array = np.asarray(out)
    if array.size != 1 or array.dtype.kind not in "fiub":
        what = "None" if out is None else f"an array of shape {array.shape} and type {array.dtype}"
        raise InputError(f"fun must return one real number; it returned {what}.")
    return float(array.reshape(()))


def shown(x: Array) -> str:
    """A point as text, at most five entries."""
    entries = ", ".join(f"{v:.6g}" for v in x[:5])
    return f"({entries}{', …' if len(x) > 5 else ''})"
