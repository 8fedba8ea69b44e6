r"""Sums of windows under any metric: :math:`\log\sum_i w_i\,K(d(q, x_i)/h)`, from tables of all distances.

Under a norm the integral of a window is the Euclidean one times the ratio of the volumes of the unit balls; that of
Minkowski's distance has the volume :math:`(2\Gamma(1+1/p))^D/\Gamma(1+D/p)`. For a metric that is not a norm there is
no such integral; its sums are divided by the Euclidean one, as in scikit-learn, and are densities up to a factor.

Wang (2005), Volumes of generalized unit balls, doi:10.1080/0025570X.2005.11953370.
"""

import math
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.engines.neighbors.tables import block_edges, tables
from didact.parts.distances import Chebyshev, Euclidean, Mahalanobis, Manhattan, Minkowski, Scaled
from didact.parts.windows import log_ball

METRICS = (
    "euclidean", "l2", "minkowski", "p", "manhattan", "cityblock", "l1", "chebyshev", "infinity", "seuclidean",
    "mahalanobis", "haversine", "hamming", "canberra", "braycurtis", "jaccard", "dice", "rogerstanimoto", "russellrao",
    "sokalmichener", "sokalsneath",
)  # fmt: skip
ENTRIES = 1 << 20  # distances in memory at once
POWERS = {Manhattan: 1.0, Euclidean: 2.0, Chebyshev: math.inf}


def log_metric_sums(window: Any, noun: Any, X: Array, w: Array, Q: Array | None, scales: Array) -> Array:
    """log S by squared scale 1/h² and query; Q None: at the rows X themselves, each with one copy of it left out."""
    rows, places = (np.ascontiguousarray(noun.rows(part), np.float64) for part in (X, X if Q is None else Q))
    parts = []
    for a, b in block_edges(len(places), max(1, ENTRIES // len(rows))):
        D = noun.finish(np.concatenate([D for _, D in tables(noun.inner, places[a:b], rows)], axis=1))
        weight = np.broadcast_to(w, D.shape)
        if Q is None:
            weight = weight.copy()
            weight[np.arange(b - a), np.arange(a, b)] = np.maximum(w[a:b] - 1.0, 0.0)
        parts.append(np.stack([_log_sum(window, (math.sqrt(scale) * D) ** 2, weight) for scale in scales]))
    return np.concatenate(parts, axis=1)


def _log_sum(window: Any, squares: Array, weight: Array) -> Array:
    if window.tails:
        return np.asarray(logsumexp(window.log_value(squares), b=weight, axis=1))
    with np.errstate(divide="ignore"):
        return np.log((window.value(squares) * weight).sum(axis=1))


def log_volume(noun: Any, dimensions: int) -> float:
    """The log ratio of the unit ball's volume to the Euclidean one; 0 if the metric is not a norm."""
    if isinstance(noun, Scaled):
        return log_volume(noun.of, dimensions) - float(np.log(noun.scale).sum())
    if isinstance(noun, Mahalanobis):
        return -float(np.linalg.slogdet(noun.root)[1])
    p = _power(noun)
    return 0.0 if p is None else log_p_ball(p, dimensions) - log_ball(dimensions)


def log_p_ball(p: float, dimensions: int) -> float:
    """The logarithm of the volume of {Σ|x|ᵖ ≤ 1}.

    >>> round(math.exp(log_p_ball(1.0, 2)), 6), round(math.exp(log_p_ball(math.inf, 3)), 6)
    (2.0, 8.0)
    """
    if p == math.inf:
        return dimensions * math.log(2.0)
    return float(dimensions * (math.log(2.0) + gammaln(1.0 + 1.0 / p)) - gammaln(1.0 + dimensions / p))


def offsets(window: Any, noun: Any, rng: np.random.Generator, count: int, dimensions: int) -> Array:
    """Offsets drawn from a window of width 1 under a norm: a direction by the cone measure, and a length."""
    if isinstance(noun, Scaled):
        return offsets(window, noun.of, rng, count, dimensions) / noun.scale
    if isinstance(noun, Mahalanobis):
        return np.linalg.solve(noun.root.T, offsets(window, Euclidean(), rng, count, dimensions).T).T
    p = _power(noun)
    if p is None:
        raise ParameterError(
            f"There is no rule to draw from a window under {type(noun).__name__}: use a norm as metric."
        )
    if p == 2.0:
        return np.asarray(window.offsets(rng, count, dimensions))
    size = (count, dimensions)
    if p == math.inf:
        direction = rng.uniform(-1.0, 1.0, size)
        length = np.abs(direction).max(axis=1)
    else:
        direction = rng.gamma(1.0 / p, size=size) ** (1.0 / p) * rng.choice([-1.0, 1.0], size)
        length = (np.abs(direction) ** p).sum(axis=1) ** (1.0 / p)
    return direction * (window.radii(rng, count, dimensions) / length)[:, None]


def _power(noun: Any) -> float | None:
    return float(noun.p) if isinstance(noun, Minkowski) else POWERS.get(type(noun))
