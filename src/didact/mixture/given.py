"""Parameters to begin with that a user gives: checked, and as the mixtures take them."""

from typing import Any

import numpy as np

from didact.core.backend import to_numpy
from didact.core.errors import ParameterError
from didact.core.typing import Array


def _shaped(value: Any, shape: tuple[int, ...], name: str) -> Array:
    found = np.asarray(to_numpy(value), np.float64)
    if found.shape != shape:
        raise ParameterError(f"The parameter '{name}' should have the shape of {shape}, but got {found.shape}")
    if not np.isfinite(found).all():
        raise ParameterError(f"The parameter '{name}' holds NaN or infinity.")
    return found


def given_weights(value: Any, K: int) -> Array:
    """Shares that sum to 1."""
    weights = _shaped(value, (K,), "weights")
    if (weights < 0).any() or (weights > 1).any():
        raise ParameterError(
            f"The parameter 'weights' should be in the range [0, 1], but got max value {weights.max():.5f}, min value "
            f"{weights.min():.5f}"
        )
    if abs(weights.sum() - 1.0) > 1e-6:
        raise ParameterError(
            f"The parameter 'weights' should be normalized, but got sum(weights) = {weights.sum():.5f}"
        )
    return weights


def given_means(value: Any, K: int, p: int) -> Array:
    """Means of K components."""
    return _shaped(value, (K, p), "means")


def given_precisions(value: Any, kind: str, K: int, p: int) -> Array:
    """Inverse covariances, positive definite."""
    shapes = {"full": (K, p, p), "tied": (p, p), "diag": (K, p), "spherical": (K,)}
    found = _shaped(value, shapes[kind], f"{kind} precision")
    if kind in ("diag", "spherical"):
        if (found <= 0).any():
            raise ParameterError(f"'{kind} precision' should be positive")
        return found
    for P in found if kind == "full" else found[None]:
        if not np.allclose(P, P.T) or np.linalg.eigvalsh(P)[0] <= 0:
            raise ParameterError(f"'{kind} precision' should be symmetric, positive-definite")
    return found


def covariances_of(precisions: Array, kind: str) -> Array:
    """Covariances in the shape of the statistic."""
    if kind in ("diag", "spherical"):
        return 1.0 / (precisions if kind == "diag" else precisions[:, None])
    inverse = np.linalg.inv(precisions if kind == "full" else precisions[None])
    return 0.5 * (inverse + inverse.transpose(0, 2, 1))
