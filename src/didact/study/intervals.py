r"""95 % intervals of measures: made so that, over many studies, 95 of 100 hold the value on endless rows of the kind.

A share s of n rows has Wilson's interval, the values whose own standard error is at most 1/z of their distance to s,

.. math:: \frac{s + z^2/2n \pm z\sqrt{s(1-s)/n + z^2/4n^2}}{1 + z^2/n},

which does not shrink to a point at s = 0 or 1. A difference of two such values gets the root of the summed squares of
its parts' arms (square-and-add); the mean of m shares is taken with 2/m rows more that are right and as many that are
wrong. The area under the ROC curve is inverted like a share, with the variance of Hanley and McNeil. All others have
the bootstrap's bias-corrected accelerated (BCa) interval.

Wilson (1927), doi:10.1080/01621459.1927.10502953; Newcombe (1998), doi:10.1002/(SICI)1097-0258(19981130)17:22
<2635::AID-SIM954>3.0.CO;2-C; Price, Bonett (2004), doi:10.1016/j.csda.2003.09.007; Newcombe (2006),
doi:10.1002/sim.2324; Efron (1987), doi:10.1080/01621459.1987.10478410.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from didact.core.typing import Array

Z = float(norm.ppf(0.975))


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(share: float, rows: float) -> Interval:
    """The interval of a share of so many rows.

    >>> found = wilson(1.0, 20)
    >>> round(found.low, 2), found.high
    (0.84, 1.0)
    """
    middle = share + Z**2 / (2 * rows)
    arm = Z * np.sqrt(share * (1 - share) / rows + Z**2 / (4 * rows**2))
    scale = 1 + Z**2 / rows
    low, high = np.clip([(middle - arm) / scale, (middle + arm) / scale], [0, share], [share, 1])
    return Interval(share, float(low), float(high))


def mean_share(shares: Array, rows: Array) -> Interval:
    """The interval of the mean of shares, each of so many rows of its own."""
    more = 2 / len(shares)
    nudged = (shares * rows + more) / (rows + 2 * more)
    middle = float(np.mean(nudged))
    arm = Z * float(np.sqrt(np.sum(nudged * (1 - nudged) / (rows + 2 * more)))) / len(shares)
    value = float(np.mean(shares))
    return Interval(value, min(max(middle - arm, 0.0), value), max(min(middle + arm, 1.0), value))


def difference(a: Interval, b: Interval, correlation: float = 0.0) -> Interval:
    """The interval of a − b, whose estimates have this correlation."""

    def arm(mine: float, its: float) -> float:
        return float(np.sqrt(max(mine**2 - 2 * correlation * mine * its + its**2, 0.0)))

    value = a.value - b.value
    low, high = arm(a.value - a.low, b.high - b.value), arm(a.high - a.value, b.value - b.low)
    return Interval(value, value - low, value + high)


def area(value: float, first: int, second: int) -> Interval:
    """The interval of the area under a ROC curve, from so many rows of the first and of the second class."""
    half = (first + second) / 2 - 1

    def distance(theta: float) -> float:
        spread = 1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)
        return abs(value - theta) - Z * np.sqrt(theta * (1 - theta) * spread / (first * second))

    near = 1e-9  # beside the value itself the distance is below its allowance, but for the corners 0 and 1
    low = brentq(distance, 0, value - near) if value > near else 0.0
    high = brentq(distance, value + near, 1) if value < 1 - near else 1.0
    return Interval(value, float(low), float(high))


def bca(value: float, replicates: Array, left_out: Array) -> Interval:
    """The BCa interval from bootstrap replicates and the values with some rows left out in turn.

    Resamples in which the measure has no meaning are passed over.
    """
    finite = np.sort(replicates[np.isfinite(replicates)])
    if not len(finite):
        return Interval(value, np.nan, np.nan)
    below = (np.sum(finite < value) + np.sum(finite <= value)) / 2
    bias = norm.ppf(np.clip(below, 0.5, len(finite) - 0.5) / len(finite))
    pull = np.nanmean(left_out) - left_out[np.isfinite(left_out)]
    total = float(np.sum(pull**2))
    bend = float(np.sum(pull**3)) / (6 * total**1.5) if total > 0 else 0.0
    tilted = bias + np.array([-Z, Z])
    levels = norm.cdf(bias + tilted / np.maximum(1 - bend * tilted, 0.1))
    low, high = np.quantile(finite, levels)
    return Interval(value, float(min(low, value)), float(max(high, value)))
