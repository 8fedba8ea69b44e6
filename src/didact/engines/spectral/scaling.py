r"""Classical scaling: coordinates whose inner products are nearest to those that follow from squared distances.

With S the squared distances and :math:`J = I - 11^T/n`, :math:`B = -\tfrac12 JSJ` are the inner products of centred
points. The k largest eigenpairs give :math:`Z = V\Lambda^{1/2}`: the best B of rank k, and exact coordinates if the
distances are Euclidean in k dimensions. A new point with squared distances s goes to
:math:`z = \tfrac12\Lambda^{-1}Z^T(\bar s - s)`, with :math:`\bar s` the column means of S.

Torgerson (1952), doi:10.1007/BF02288916; Gower (1968), doi:10.1093/biomet/55.3.582.
"""

from typing import NamedTuple

import numpy as np

from didact.core.overflow import too_large, too_small
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.spectral.eigen import eigenpairs

CENTRED_ROWS = 256
SQUARABLE = 1e150  # distances whose squares can be added
NO_VALUE = 1e-12  # of the largest eigenvalue: smaller ones count as zero


class Scaling(NamedTuple):
    """Eigenvalues (k,), coordinates (n, k) and column means (n,) of the squared distances."""

    values: Array
    coordinates: Array
    means: Array

    def new_points(self, S: Array) -> Array:
        """Coordinates (m, k) of points with these squared distances (m, n) from the old ones."""
        root = np.sqrt(np.where(self.values > 0, self.values, np.inf))
        axes = 0.5 * self.coordinates / root / root  # at once the values could be too large or too small
        return np.asarray(self.means @ axes - S @ axes)


def require_squarable(D: Array, power: int = 2) -> None:
    """Refuse a table of distances whose squares, or fourth powers, overflow or vanish."""
    longest, limit = float(D.max(initial=0.0)), SQUARABLE ** (2.0 / power)
    if not longest < limit:
        raise too_large("The matrix of distances", longest)
    if 0.0 < longest < 1.0 / limit:
        raise too_small("The matrix of distances", longest)


def inner_products(D: Array) -> tuple[Array, Array]:
    """Centred inner products (n, n) from distances, and the column means of their squares; in tiles on all threads."""
    require_squarable(D)
    n = len(D)
    B, edges = np.empty((n, n)), range(0, n, CENTRED_ROWS)

    def squares(a: int) -> Array:
        np.multiply(D[a : a + CENTRED_ROWS], D[a : a + CENTRED_ROWS], out=B[a : a + CENTRED_ROWS])
        return np.asarray(B[a : a + CENTRED_ROWS].sum(axis=0))

    means = np.sum(parallel_map(squares, edges), axis=0) / n

    def centre(a: int) -> None:
        tile = B[a : a + CENTRED_ROWS]
        tile -= means
        tile -= means[a : a + CENTRED_ROWS, None] - means.mean()
        tile *= -0.5

    parallel_map(centre, edges)
    return B, means


def classical_scaling(D: Array, k: int, *, tol: float = 0.0) -> Scaling:
    """Coordinates in k dimensions from distances of all pairs; those of eigenvalues that are not positive are 0."""
    B, means = inner_products(D)
    values, vectors = eigenpairs(B, min(k, len(D)), tol=tol)
    values = np.where(values > NO_VALUE * max(float(np.abs(values).max(initial=0.0)), 1e-300), values, 0.0)
    return Scaling(values, vectors * np.sqrt(values), means)
