r"""Squared distances of rows by one matrix product, and by differences where the product has lost the digits.

.. math:: \|x - z\|^2 = \|x\|^2 + \|z\|^2 - 2x^Tz

errs by some units of rounding of :math:`\|x\|^2 + \|z\|^2`. Of s = ‖x − z‖² in widths a kernel needs the digits of
1 + s. All but eleven binary ones are there if

.. math:: \|x\|^2 + \|z\|^2 \le 2\cdot 1024\,\max(1, s),

and that holds, up to a factor of three, where one of the two rows is near: at most 32 widths from the centre. So where
all rows are near their mean nothing else is computed. Otherwise the centre is the median of some rows, which a few far
ones do not move, and pairs of two far rows without this bound get the sum of their squared differences. What the far
rows are, one, a group or all, changes the time alone. Sparse rows cannot be moved: their centre is 0.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from didact.core.backend import as_dense, is_sparse, is_tensor, namespace, to_numpy
from didact.core.typing import AnyArray, Array
from didact.kernels.base import inner_products, maximum, squares
from didact.kernels.distance_loops import NEAR, take_differences

MEDIAN_ROWS = 500  # of which the median is taken
PAIRS_AT_ONCE = 1 << 20  # numbers in differences of sparse rows


class Centred(NamedTuple):
    """Rows X about a centre, other rows Z or None, the squared lengths of both, and both as they were given.

    Far rows are subtracted as they were given: about a centre, those near 0 have lost digits.
    """

    X: AnyArray
    Z: AnyArray | None
    x: AnyArray
    z: AnyArray | None
    given: tuple[AnyArray, AnyArray]
    lossless: bool  # no pair is of two far rows

    def pair(self) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """X, Z, x and z, with X in the place of other rows that are None."""
        return (self.X, self.X, self.x, self.x) if self.Z is None else (self.X, self.Z, self.x, self.z)


def centred(X: AnyArray, Z: AnyArray | None = None) -> Centred:
    """Dense rows about the mean of Z, or where that is far from most of them, about the median of some."""
    Y = X if Z is None else Z
    found = _about(namespace(Y).mean(Y, axis=0), X, Z)
    return found if found.lossless else _about(middle(Y), X, Z)


def _about(centre: Any, X: AnyArray, Z: AnyArray | None) -> Centred:
    given = X, X if Z is None else Z
    if centre is not None:
        X, Z = X - centre, None if Z is None else Z - centre
    x, z = squares(X), None if Z is None else squares(Z)
    return Centred(X=X, Z=Z, x=x, z=z, given=given, lossless=lossless(x, x if z is None else z))


def middle(X: AnyArray) -> AnyArray:
    """The median of some of the rows, column by column."""
    some = X[:: max(1, X.shape[0] // MEDIAN_ROWS)]
    return namespace(X).sort(some, axis=0)[some.shape[0] // 2]


def lossless(x: AnyArray, z: AnyArray) -> bool:
    """Whether products of rows of these squared lengths can be trusted: on one side all are near."""
    return bool((z <= NEAR).all()) or (x is not z and bool((x <= NEAR).all()))


def far_rows(lengths: AnyArray) -> AnyArray:
    """The numbers of those that are not near."""
    return namespace(lengths).nonzero(~(lengths <= NEAR))[0]


def differences(X: AnyArray, Z: AnyArray, power: float) -> AnyArray:
    """(Σ_j abs(x_j − z_j)^power)^(1/power) of dense rows, from differences."""
    if is_tensor(X):
        return namespace(X).cdist(X, Z, p=power, compute_mode="donot_use_mm_for_euclid_dist")
    return cdist(X, Z, "cityblock" if power == 1.0 else "euclidean").astype(X.dtype, copy=False)


def squared_distances(X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
    """‖x_i − z_j‖² of rows of any kind."""
    if is_sparse(X):
        return distances_of(_about(None, X, Z))
    return distances_of(centred(X, Z))


def distances_of(rows: Centred) -> AnyArray:
    """‖x_i − z_j‖²."""
    S = inner_products(rows.X, rows.Z)
    S *= -2.0
    S += rows.x[:, None]
    S += rows.x if rows.Z is None else rows.z
    S = maximum(S, 0.0)
    restore(S, rows, 1.0)
    if rows.Z is None:
        xp = namespace(S)
        index = xp.arange(S.shape[0]) if xp is np else xp.arange(S.shape[0], device=S.device)
        S[index, index] = 0.0
    return S


def half_distances(rows: Centred) -> Array:
    """−‖x_i − z_j‖²/2 of arrays, from one product of rows with their squares beside them as two columns more."""
    X, Z, x, z = rows.pair()
    u = -0.5 * x[:, None]
    v = u if rows.Z is None else -0.5 * z[:, None]
    H = np.hstack([X, u, np.ones_like(u)]) @ np.hstack([Z, np.ones_like(v), v]).T
    np.minimum(H, 0.0, out=H)
    restore(H, rows, -0.5)
    if rows.Z is None:
        np.fill_diagonal(H, 0.0)
    return H


def restore(S: AnyArray, rows: Centred, factor: float) -> None:
    """Overwrite those of factor·‖x_i − z_j‖², made by products, that have lost their digits."""
    if rows.lossless:
        return
    (X, Z), (_, _, x, z) = rows.given, rows.pair()
    if is_tensor(S):
        i, j = far_rows(x), far_rows(z)
        S[i[:, None], j] = factor * differences(X[i], Z[j], 2.0) ** 2
    elif is_sparse(X):
        _restore_sparse(S, rows, factor)
    else:
        X, Z, x, z = (np.ascontiguousarray(M, S.dtype) for M in (X, Z, x, z))
        take_differences(S, X, Z, x, z, factor)


def _restore_sparse(S: Array, rows: Centred, factor: float) -> None:
    X, Z, x, z = rows.pair()
    dense = not is_sparse(Z)
    step = max(1, PAIRS_AT_ONCE // max(1, X.shape[1] if dense else -(-(X.nnz + Z.nnz) // max(X.shape[0], 1))))
    columns = far_rows(z)
    for i in far_rows(x):
        lengths = x[i] + z[columns]
        lost = columns[~((lengths <= 2.0 * NEAR) | (lengths <= 2.0 * NEAR * (S[i, columns] / factor)))]
        for a in range(0, len(lost), step):
            j = lost[a : a + step]
            one = X[np.full(len(j), i)]
            S[i, j] = factor * squares(as_dense(one) - Z[j] if dense else one - Z[j])


def squares_between(M: AnyArray, rows: Centred) -> Array:
    """Σ_ik M_ik (x_ij − z_kj)² for each column j of dense rows, by one product; overwrites M."""
    X, Z, x, z = rows.pair()
    apart: Any = 0.0
    if not rows.lossless:
        i, j = far_rows(x), far_rows(z)
        far = M[i[:, None], j]
        M[i[:, None], j] = 0.0
        first, second = rows.given[0][i], rows.given[1][j]
        steps = (first[:, c, None] - second[:, c] for c in range(X.shape[1]))
        apart = np.array([float((far * step**2).sum()) for step in steps])
    each = M.sum(axis=1) @ (X * X) + M.sum(axis=0) @ (Z * Z) - 2.0 * (X * (M @ Z)).sum(axis=0)
    return to_numpy(each) + apart
