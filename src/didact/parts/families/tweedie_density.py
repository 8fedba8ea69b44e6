"""The compound Poisson–gamma density (Tweedie with 1 < p < 2), which has no closed form, by Dunn and Smyth's series.

f(0) = exp(−μ^(2−p)/(φ(2−p))), and for y > 0, with α = (2−p)/(1−p),

    f(y) = (1/y) · Σⱼ z^j / (j! Γ(−αj)) · exp((yθ − κ)/φ),   z = y^−α (p−1)^α / (φ^(1−α) (2−p)).

The terms are log-concave in j around y^(2−p)/(φ(2−p)), with a spread of √(j/(1−α)): the sum runs over ten spreads to
either side, which costs O(n √j). Reference: doi:10.1007/s11222-005-4070-y.
"""

import numpy as np
from scipy.special import gammaln

from didact.core.typing import AnyArray


def tweedie_log_density(y: AnyArray, mu: AnyArray, dispersion: float, power: float) -> AnyArray:
    """The log density at y > 0 and the log mass at y = 0, element by element.

    >>> import numpy as np
    >>> tweedie_log_density(np.array([0.0]), np.array([1.0]), 1.0, 1.5)
    array([-2.])
    """
    y, mu = np.broadcast_arrays(y, mu)
    result = -(mu ** (2 - power)) / (dispersion * (2 - power))
    positive = y > 0
    y, theta = y[positive], mu[positive] ** (1 - power) / (1 - power)
    result[positive] += y * theta / dispersion - np.log(y) + _log_series(y, dispersion, power)
    return result


def _log_series(y: AnyArray, dispersion: float, power: float) -> AnyArray:
    """log Σⱼ z^j / (j! Γ(−αj))."""
    alpha = (2 - power) / (1 - power)
    log_z = -alpha * np.log(y / (power - 1)) - (1 - alpha) * np.log(dispersion) - np.log(2 - power)

    def log_term(j: AnyArray) -> AnyArray:
        return j * log_z - gammaln(1 + j) - gammaln(-alpha * j)

    peak = y ** (2 - power) / (dispersion * (2 - power))
    reach = 10 * np.sqrt(peak / (1 - alpha)) + 20
    first = np.maximum(1.0, np.floor(peak - reach))
    top = log_term(np.maximum(1.0, np.round(peak)))
    total = np.zeros_like(y)
    for step in range(int(np.max(peak + reach - first, initial=0.0)) + 1):
        total += np.exp(log_term(first + step) - top)
    return top + np.log(total)
