r"""The exponential function and a logarithm in plain arithmetic, which the compiler turns into vector instructions.

:math:`e^x = 2^k e^r` with k = round(x/ln 2) and :math:`|r| \le \tfrac12\ln 2`; r is exact to twice the precision
(Cody, Waite), :math:`e^r = 1 + r + r^2 P(r)` with P the polynomial of degree 9 that interpolates at Chebyshev's points
(error 2e-17), and :math:`2^k` is written into the exponent's bits: 17 operations, error below 5e-16. LLVM has no vector
form of the C library's function, which takes ten times as long.

:math:`\log(1+u) = 2s\,Q(s^2)` with s = u/(2 + u) and Q(t) = artanh(√t)/√t, of which a polynomial of degree 10
interpolates the values at Chebyshev's points of 0 ≤ t ≤ 1/9 (error 2e-18).

In single precision a polynomial of degree 7 suffices (that of the Cephes library, error 1e-7).

Layout: scalars only, of which the bits are read and written::

    double   [ sign: 1 | exponent + 1023: 11 | fraction: 52 ]   2^k is [ 0 | k + 1023 | 0 ]
    single   [ sign: 1 | exponent + 127: 8   | fraction: 23 ]   2^k is [ 0 | k + 127  | 0 ]
"""

from typing import Any

import numpy as np

from didact.core.jit import jit

INVERSE = 1.4426950408889634  # 1/ln 2
HIGH, LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # sum to ln 2; the last 20 bits of HIGH are zero
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
Q1, Q2, Q3, Q4 = 0.33333333333333076, 0.20000000000092874, 0.14285714272727057, 0.11111112040373837
Q5, Q6, Q7, Q8 = 0.09090870416252403, 0.07693307021152004, 0.06650187016337313, 0.06055084364034609
Q9, Q10 = 0.0416225325593041, 0.08522081781390699
INVERSE_SINGLE, LEAST_SINGLE, ONE_SINGLE = np.float32(INVERSE), np.float32(-87.0), np.float32(1.0)
HIGH_SINGLE, LOW_SINGLE = np.float32(0.693359375), np.float32(-2.12194440e-4)  # sum to ln 2
S0, S1, S2 = np.float32(5.0000001201e-1), np.float32(1.6666665459e-1), np.float32(4.1665795894e-2)
S3, S4, S5 = np.float32(8.3334519073e-3), np.float32(1.3981999507e-3), np.float32(1.9875691500e-4)


@jit(fastmath={"contract", "nnan"}, error_model="numpy")
def exp1(x: float) -> float:
    """e^x for x up to 709; below −708, where e^x is less than 4e-308, the value at −708."""
    x = min(max(x, LEAST), MOST)
    k = np.rint(x * INVERSE)
    r = (x - k * HIGH) - k * LOW
    r2 = r * r
    r4 = r2 * r2
    # Sums of pairs, and not one term after the other: fewer steps that wait for each other.
    low, high = (C0 + C1 * r) + (C2 + C3 * r) * r2, (C4 + C5 * r) + (C6 + C7 * r) * r2
    p = (low + (high + (C8 + C9 * r) * r4) * r4) * r2 + r + 1.0
    return p * np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)


@jit(fastmath={"contract", "nnan"}, error_model="numpy")
def exp_single1(x: Any) -> Any:
    """e^x of a float32 from −87, below which the value there stands, up to 88."""
    x = max(x, LEAST_SINGLE)
    k = np.rint(x * INVERSE_SINGLE)
    r = (x - k * HIGH_SINGLE) - k * LOW_SINGLE
    r2 = r * r
    p = ((S5 * r + S4) * r2 + (S3 * r + S2)) * r2 + (S1 * r + S0)
    return (p * r2 + r + ONE_SINGLE) * np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)


@jit(fastmath={"contract"}, error_model="numpy")
def log1p1(u: float) -> float:
    """log(1 + u) for u from 0 to 1."""
    s = u / (2.0 + u)
    t = s * s
    t2 = t * t
    # Sums of pairs, and not one term after the other: fewer steps that wait for each other.
    low = (1.0 + Q1 * t) + (Q2 + Q3 * t) * t2
    middle = (Q4 + Q5 * t) + (Q6 + Q7 * t) * t2
    high = (Q8 + Q9 * t) + Q10 * t2
    return 2.0 * s * (low + (middle + high * (t2 * t2)) * (t2 * t2))


@jit(fastmath={"contract"}, error_model="numpy")
def log1(x: float) -> float:
    """log x = k log 2 + log(1 + u) with the exponent k and the fraction u of x, for x ≥ 1: below, they cancel."""
    bits = np.float64(x).view(np.int64)
    k = np.float64((bits >> 52) - 1023)
    u = np.int64((bits & 0xFFFFFFFFFFFFF) | (1023 << 52)).view(np.float64) - 1.0
    return k * HIGH + (log1p1(u) + k * LOW)


@jit(error_model="numpy")
def ratio1(a: float, b: float) -> float:
    """a/b, without a look at whether b is 0, which would keep a loop from being vectorised."""
    return a / b


@jit
def exponentials(x: np.ndarray, out: np.ndarray) -> None:
    """e^x of many numbers."""
    for j in range(x.shape[0]):
        out[j] = exp1(x[j])


def warm() -> None:
    """Compile for the types that callers use."""
    exponentials(np.zeros(2), np.zeros(2))
