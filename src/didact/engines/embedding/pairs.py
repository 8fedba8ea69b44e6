r"""The forces of t-SNE by all pairs, in tiles, on the device where the points are."""

from collections.abc import Callable
from typing import Any

from didact.core.backend import namespace
from didact.engines.embedding.tuning import TILE_NUMBERS


def squared_distances(A: Any, B: Any) -> Any:
    """Squared Euclidean distances of all rows of A from all of B, column by column: differences lose no digits."""
    found = namespace(A).zeros((A.shape[0], B.shape[0]), dtype=A.dtype, device=A.device)
    for c in range(A.shape[1]):
        found = found + (A[:, c][:, None] - B[:, c][None, :]) ** 2
    return found


def pair_gradient(P: Any, freedom: int) -> Callable[[Any, float], tuple[Any, Any]]:
    """The function (places, exaggeration) → gradient, divergence for the affinities P (n, n)."""
    xp, n = namespace(P), P.shape[0]
    tile = max(1, TILE_NUMBERS // n)
    factor, power = 2.0 * (freedom + 1.0) / freedom, 0.5 * (freedom + 1.0)
    constant = xp.sum(xp.where(P > 0, P * xp.log(xp.where(P > 0, P, xp.ones_like(P))), xp.zeros_like(P)))

    def gradient(Y: Any, exaggeration: float) -> tuple[Any, Any]:
        Y = Y - xp.mean(Y, axis=0, keepdims=True)
        pulls, pushes, Z, logs = [], [], 0.0, 0.0
        for a in range(0, n, tile):
            here = Y[a : a + tile]
            far = 1.0 + squared_distances(here, Y) / freedom
            t = 1.0 / far
            K = t**power
            rows = xp.arange(here.shape[0], device=Y.device)
            K[rows, a + rows] = 0.0
            Z = Z + xp.sum(K)
            logs = logs + xp.sum(P[a : a + tile] * xp.log(far))
            pulls.append(_force(xp, P[a : a + tile] * t, here, Y))
            pushes.append(_force(xp, K * t, here, Y))
        g = factor * (exaggeration * xp.concat(pulls) - xp.concat(pushes) / Z)
        return g, constant + power * logs + xp.log(Z)

    return gradient


def _force(xp: Any, W: Any, here: Any, Y: Any) -> Any:
    """Σ_j w_ij (y_i − y_j)."""
    return xp.sum(W, axis=1, keepdims=True) * here - W @ Y
