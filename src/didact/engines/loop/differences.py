r"""Derivatives by differences of function values.

* forward: :math:`(f(x+h)-f(x))/h`, one more evaluation per variable, about 8 right digits;
* central: :math:`(f(x+h)-f(x-h))/2h`, two evaluations per variable, about 10 right digits;
* complex step: :math:`\mathrm{Im} f(x+ih)/h`, one complex evaluation per variable, all digits right, for functions that
  are analytic and written so that complex numbers pass through (no absolute values, no comparisons of magnitude).

Steps are relative to the size of each variable, which is taken from its current or its first value, so that variables
may be in very different units.

Squire, Trapp (1998), Using complex variables to estimate derivatives of real functions,
doi:10.1137/S003614459631241X.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.typing import Array

EPS = float(np.finfo(float).eps)
FORWARD, CENTRAL, COMPLEX = math.sqrt(EPS), EPS ** (1 / 3), 1e-30
SIZE_SHARE = 0.01  # a variable that comes near 0 keeps this share of its first size
DIFFERENCE_KINDS = ("forward", "central", "complex")


class Differences(NamedTuple):
    """How to take differences: the kind, the least size of each variable, and bounds of where fun may be evaluated."""

    kind: str
    size: Array
    lower: Any = -math.inf
    upper: Any = math.inf

    @property
    def error(self) -> float:
        """The approximate relative error of a derivative."""
        return {"forward": 1e-7, "central": 1e-9}.get(self.kind, 1e-14)

    def __call__(self, fun: Callable[[Array], Any], x: Array, value: Any = None) -> Array:
        """The derivatives of fun at x, one column (the last axis) per variable; fun may return an array."""
        if self.kind == "complex":
            return np.stack([self._complex(fun, x, j) for j in range(len(x))], axis=-1)
        width = (CENTRAL if self.kind == "central" else FORWARD) * np.maximum(np.abs(x), self.size)
        above = np.minimum(x + width, self.upper)
        below = np.maximum(x - width, self.lower) if self.kind == "central" else np.where(above > x, x, x - width)
        if value is None and ((above == x) | (below == x)).any():  # at a limit differences are one-sided
            value = fun(x)
        columns = []
        for j in range(len(x)):
            high = fun(_moved(x, j, above[j])) if above[j] != x[j] else value
            low = fun(_moved(x, j, below[j])) if below[j] != x[j] else value
            columns.append((high - low) / (above[j] - below[j]))
        return np.stack(columns, axis=-1)

    def _complex(self, fun: Callable[[Array], Any], x: Array, j: int) -> Any:
        z = x.astype(np.complex128)
        z[j] += 1j * COMPLEX
        return np.imag(fun(z)) / COMPLEX


def differences(kind: str, x0: Array, lower: Any = -math.inf, upper: Any = math.inf) -> Differences:
    """Differences for variables of about the size of x0 (1 where that is 0)."""
    return Differences(kind, np.where(x0 != 0, SIZE_SHARE * np.abs(x0), 1.0), lower, upper)


def _moved(x: Array, j: int, value: float) -> Array:
    """A copy of x with another value at position j."""
    moved = x.copy()
    moved[j] = value
    return moved
