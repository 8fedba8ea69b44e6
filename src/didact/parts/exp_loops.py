r"""The exponential function in plain arithmetic, which the compiler turns into vector instructions.

:math:`e^x = 2^k e^r` with k = round(x/ln 2) and :math:`|r| \le \tfrac12\ln 2`; r is exact to twice the precision
(Cody, Waite), :math:`e^r = 1 + r + r^2 P(r)` with P the polynomial of degree 9 that interpolates at Chebyshev's points
(error 2e-17), and :math:`2^k` is written into the exponent's bits: 17 operations, error below 5e-16. LLVM has no vector
form of the C library's function, which takes ten times as long.
"""

import numpy as np

from didact.core.jit import jit

INVERSE = 1.4426950408889634  # 1/ln 2
HIGH, LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # ln 2, the first with 20 zeros at its end
LEAST, MOST = -708.0, 709.0
C0, C1, C2, C3, C4 = (
    0.5000000000000001,
    0.16666666666666669,
    0.04166666666662413,
    0.008333333333330062,
    0.0013888888917213717,
)
C5, C6, C7, C8 = 0.00019841269863053618, 2.4801521295954376e-05, 2.7557268459997064e-06, 2.7620088445409746e-07
C9 = 2.510038549551032e-08


@jit(fastmath={"contract", "nnan"}, error_model="numpy")
def exp1(x: float) -> float:
    """e^x for x up to 709; below −708, where e^x is less than 4e-308, the value at −708."""
    x = min(max(x, LEAST), MOST)
    k = np.rint(x * INVERSE)
    r = (x - k * HIGH) - k * LOW
    p = C9 * r + C8
    p = p * r + C7
    p = p * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + C2
    p = p * r + C1
    p = p * r + C0
    p = p * (r * r) + r + 1.0
    return p * np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)


@jit
def exponentials(x: np.ndarray, out: np.ndarray) -> None:
    """e^x of many numbers."""
    for j in range(x.shape[0]):
        out[j] = exp1(x[j])


def warm() -> None:
    """Compile for the types that callers use."""
    exponentials(np.zeros(2), np.zeros(2))
