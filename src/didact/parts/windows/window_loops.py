"""Windows in compiled loops, by code number: a loop that takes long to compile is compiled once for all windows.

Layout::

    d     [ d_0 | d_1 | … | d_{m−1} ]   squared distances, contiguous
    out   [ K_0 | K_1 | … | K_{m−1} ]   the window at u² = scale · d
"""

from typing import Any

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged
from didact.core.typing import Array
from didact.parts.windows import (
    CosineWindow,
    Epanechnikov,
    ExponentialWindow,
    GaussianWindow,
    Linear,
    Nearest,
    Tophat,
    Tricube,
)

value1 = dispatch("value1")

CODES = {
    GaussianWindow: 0,
    Tophat: 1,
    Epanechnikov: 2,
    ExponentialWindow: 3,
    Linear: 4,
    CosineWindow: 5,
    Tricube: 6,
    Nearest: 7,
}
GAUSSIAN, TOPHAT, EPANECHNIKOV, EXPONENTIAL = GaussianWindow(), Tophat(), Epanechnikov(), ExponentialWindow()
LINEAR, COSINE, TRICUBE, NEAREST = Linear(), CosineWindow(), Tricube(), Nearest()


@jit_unmanaged(fastmath={"contract"})
def fill_window(window: Any, scale: float, nearest: float, d: Array, m: int, out: Array) -> None:
    """Write the values K of a window for m squared distances."""
    for j in range(np.uint64(m)):
        out[j] = value1(window, scale * d[j], nearest)


@jit_unmanaged
def values(code: int, scale: float, nearest: float, d: Array, m: int, out: Array) -> None:
    """Write the values K for m squared distances, of the window with this code."""
    near = scale * nearest
    if code == 0:
        fill_window(GAUSSIAN, scale, near, d, m, out)
    elif code == 1:
        fill_window(TOPHAT, scale, near, d, m, out)
    elif code == 2:
        fill_window(EPANECHNIKOV, scale, near, d, m, out)
    elif code == 3:
        fill_window(EXPONENTIAL, scale, near, d, m, out)
    elif code == 4:
        fill_window(LINEAR, scale, near, d, m, out)
    elif code == 5:
        fill_window(COSINE, scale, near, d, m, out)
    elif code == 6:
        fill_window(TRICUBE, scale, near, d, m, out)
    else:
        fill_window(NEAREST, scale, near, d, m, out)


@jit_unmanaged
def value(code: int, square: float, nearest: float) -> float:
    """K for one u², for the window with this code."""
    if code == 0:
        return value1(GAUSSIAN, square, nearest)
    if code == 1:
        return value1(TOPHAT, square, nearest)
    if code == 2:
        return value1(EPANECHNIKOV, square, nearest)
    if code == 3:
        return value1(EXPONENTIAL, square, nearest)
    if code == 4:
        return value1(LINEAR, square, nearest)
    if code == 5:
        return value1(COSINE, square, nearest)
    if code == 6:
        return value1(TRICUBE, square, nearest)
    return value1(NEAREST, square, nearest)


def warm() -> None:
    """Compile for the types that callers use."""
    values(0, 1.0, 0.0, np.zeros(2), 2, np.zeros(2))
    value(0, 1.0, 0.0)
