"""Log densities and log probabilities that families and distributions share, for x inside the support."""

import math

import numpy as np
from scipy.special import betaln, gammaln, xlog1py, xlogy

from didact.core.typing import AnyArray

LOG_2PI = math.log(2 * math.pi)


def gaussian_log_density(squares: AnyArray, log_det: AnyArray, columns: AnyArray = 1) -> AnyArray:
    """−½(p·log 2π + log |Σ| + s) with s = (x − μ)ᵀΣ⁻¹(x − μ), for numbers (p = 1) and vectors.

    >>> gaussian_log_density(0.0, 0.0) == -0.5 * LOG_2PI
    True
    """
    return -0.5 * (columns * LOG_2PI + log_det + squares)


def log_poisson(x: AnyArray, rate: AnyArray) -> AnyArray:
    """x·log r − r − log x!."""
    return xlogy(x, rate) - rate - gammaln(x + 1)


def log_gamma(x: AnyArray, shape: AnyArray, rate: AnyArray) -> AnyArray:
    """k·log r + (k − 1)·log x − r·x − log Γ(k)."""
    return shape * np.log(rate) - gammaln(shape) + xlogy(shape - 1, x) - rate * x


def log_beta(x: AnyArray, a: AnyArray, b: AnyArray) -> AnyArray:
    """(a − 1)·log x + (b − 1)·log(1 − x) − log B(a, b)."""
    return xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b)


def log_hits(hits: AnyArray, misses: AnyArray, p: AnyArray) -> AnyArray:
    """k·log p + m·log(1 − p): the log probability of k hits and m misses in a given order."""
    return xlogy(hits, p) + xlog1py(misses, -p)


def log_choose(n: AnyArray, k: AnyArray) -> AnyArray:
    """log n!/(k! (n − k)!)."""
    return -np.log1p(n) - betaln(n - k + 1, k + 1)


def log_failures(x: AnyArray, shape: AnyArray) -> AnyArray:
    """log Γ(x + r)/(Γ(r) x!), accurate for large r, too."""
    return -np.log(x + shape) - betaln(x + 1, shape)
