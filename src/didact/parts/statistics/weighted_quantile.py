"""Weighted quantiles: the quantiles of the values, each repeated as often as its weight says."""

from typing import Any

import numpy as np

from didact.core.typing import Array

CLOSE = 1e-12  # differences up to this share of the weight count as rounding errors


def weighted_quantile(x: Array, w: Array | None, q: float, averaged: bool = True) -> Any:
    """The smallest value with at least the share q of the weight at or below it, along the last axis of x.

    If the share is exactly q, every number from this value to the next is a q-quantile: the result is their midpoint,
    or the value itself with `averaged=False` (NumPy's methods "averaged_inverted_cdf" and "inverted_cdf"). Weights (n,)
    are the same for all rows of x (..., n); None: all are 1. Cost: n without weights, n log n with them.

    >>> import numpy as np
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.25)
    1.5
    """
    if w is None:  # a partial sort is enough
        n = x.shape[-1]
        k = min(max(int(np.ceil(q * n * (1 - CLOSE))) - 1, 0), n - 1)
        above = k + 1 if averaged and k + 1 < n and abs(k + 1 - q * n) <= CLOSE * n else k
        found = np.partition(x, sorted({k, above}), axis=-1)
        values = 0.5 * found[..., k] + 0.5 * found[..., above]
    else:
        order = np.argsort(x, axis=-1, kind="stable")
        below = np.cumsum(w[order], axis=-1)
        total = below[..., -1:]
        low = np.argmax(below >= q * total * (1 - CLOSE), axis=-1)[..., None]
        values = np.take_along_axis(x, np.take_along_axis(order, low, -1), -1)
        if averaged:
            beyond = below > (q + CLOSE) * total
            high = np.where(beyond[..., -1:], np.argmax(beyond, axis=-1)[..., None], low)
            values = 0.5 * values + 0.5 * np.take_along_axis(x, np.take_along_axis(order, high, -1), -1)
        values = values[..., 0]
    return float(values) if x.ndim == 1 else values
