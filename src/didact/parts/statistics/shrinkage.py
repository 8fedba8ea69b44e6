r"""Shrinkage of covariances towards a multiple of the identity, by a given or an estimated share γ.

.. math:: \Sigma(\gamma) = (1-\gamma)\,\hat\Sigma + \gamma\,\frac{\mathrm{tr}\,\hat\Sigma}{p}\,I

Ledoit and Wolf choose the γ of least expected squared error, for which they need the mean of :math:`\|x-\mu\|^4` in
addition to the covariance. OAS assumes normal rows and needs the covariance alone. Both are applied to columns scaled
to variance 1, so that units do not matter: they shrink the correlations.

Friedman (1989), doi:10.1080/01621459.1989.10478752; Ledoit, Wolf (2004), doi:10.1016/S0047-259X(03)00096-4; Chen,
Wiesel, Eldar, Hero (2010), doi:10.1109/TSP.2010.2053029.
"""

import numpy as np

from didact.core.backend import to_numpy
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.parts.statistics.counts import label_codes
from didact.parts.statistics.moments import Sums


def shrunk(covariance: Array, share: float) -> Array:
    """(1 − γ) Σ + γ tr(Σ)/p I."""
    out = (1.0 - share) * covariance
    out.flat[:: len(out) + 1] += share * float(np.trace(covariance)) / len(covariance)
    return out


def ledoit_wolf_share(covariance: Array, weight: float, fourth: float) -> float:
    """The γ of Ledoit and Wolf for rows of total weight `weight`, with `fourth` = Σ w ‖x − μ‖⁴."""
    return estimated_share(*_traces(covariance), weight, fourth)


def oas_share(covariance: Array, weight: float) -> float:
    """The oracle-approximating γ for normal rows of total weight `weight`."""
    return estimated_share(*_traces(covariance), weight, None)


def _traces(covariance: Array) -> tuple[int, float, float]:
    """p, tr Σ and tr Σ², which both rules use."""
    return len(covariance), float(np.trace(covariance)), float((covariance * covariance).sum())


def estimated_share(p: int, trace: float, squares: float, weight: float, fourth: float | None) -> float:
    """The γ of Ledoit and Wolf if the fourth moment is given, else that of OAS."""
    if fourth is None:
        mean = trace / p
        bottom = (weight + 1.0) * (squares / p**2 - mean * mean / p)
        return 1.0 if bottom <= 0 else min((squares / p**2 + mean * mean) / bottom, 1.0)
    distance = squares - trace**2 / p
    noise = min((fourth / weight - squares) / weight, distance)
    return max(noise, 0.0) / distance if p > 1 and distance > 0 and noise > 0 else 0.0


def scales(covariance: Array) -> Array:
    """The standard deviations of the columns, 1 for a constant one."""
    deviation = np.sqrt(np.diag(covariance))
    return np.where(deviation > 0, deviation, 1.0)


def auto_shrunk(covariance: Array, weight: float, fourth: float | None) -> Array:
    """The covariance with its correlations shrunk: by Ledoit and Wolf's share, or by OAS if `fourth` is not known."""
    scale = scales(covariance)
    R = covariance / np.outer(scale, scale)
    unknown = fourth is None or np.isnan(fourth)  # as for rows with missing values
    share = oas_share(R, weight) if unknown else ledoit_wolf_share(R, weight, fourth or 0.0)
    return np.outer(scale, scale) * shrunk(R, share)


def fourth_moments(rows: Rows, classes: Array, means: Array, scale: Array) -> Array:
    """Σ w ‖(x − μ)/s‖⁴ of each class (K,), by another pass; `means` and `scale` are (K, p)."""
    return rows.reduce(fourth_of_rows, classes, means, scale).parts[0]


def fourth_of_rows(block: Block, classes: Array, means: Array, scale: Array) -> Sums:
    """The sums of `fourth_moments` for one block."""
    X, y, w = block.X, block.y, block.weight
    X, y = to_numpy(X), to_numpy(y)
    w = np.ones(len(X)) if w is None else to_numpy(w).astype(np.float64)
    X, y, w = X[w > 0], y[w > 0], w[w > 0]  # labels of weight 0 are not among the classes
    codes = label_codes(y, classes)
    squares = np.square((X - means[codes]) / scale[codes]).sum(axis=1)
    return Sums((np.bincount(codes, w * squares**2, len(classes)),))
