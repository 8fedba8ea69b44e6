r"""Local covariances, for windows that follow the data: :math:`\Sigma_i` of the k nearest points of each point.

Each is shrunk towards its own mean variance, :math:`(1-\rho)C_i + \rho\,\mathrm{tr}(C_i)/D\cdot I` with ρ = 0.1, so
that windows of points on a line or a plane keep some width across it.
"""

import numpy as np

from didact.core.errors import InputError
from didact.core.typing import Array
from didact.engines.neighbors.index import build_index
from didact.neighbors.neighborhoods import nearest_by_weight
from didact.parts.distances import Euclidean

SHRINK = 0.1
BLOCK = 2048


def local_factors(X: Array, w: Array, k: int) -> tuple[Array, Array]:
    """Lower triangles A_i with A_iᵀA_i = Σ_i⁻¹ and the logarithms of their determinants."""
    p = X.shape[1]
    least = 1e-12 * max(float(np.var(X, axis=0).max()), np.finfo(float).tiny)
    if float(np.ptp(X, axis=0).max(initial=0.0)) == 0.0:
        raise InputError("All rows are equal, so there is no covariance around a point: give a bandwidth instead.")
    index = build_index(X, Euclidean())

    parts = []
    for _, rows, take in nearest_by_weight(index, w, X, float(min(k, w.sum())), pairs=BLOCK * k):
        near = X[rows]
        total = take.sum(axis=1)
        centred = near - np.einsum("ij,ijf->if", take, near)[:, None] / total[:, None, None]
        C = np.einsum("ij,ijf,ijg->ifg", take, centred, centred) / total[:, None, None]
        mean = np.maximum(np.trace(C, axis1=1, axis2=2) / p, least)
        parts.append((1 - SHRINK) * C + SHRINK * mean[:, None, None] * np.eye(p))
    S = np.concatenate(parts)
    A = np.linalg.inv(np.linalg.cholesky(S))
    return A, np.log(np.diagonal(A, axis1=1, axis2=2)).sum(axis=1)
