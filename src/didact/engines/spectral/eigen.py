r"""A few eigenpairs of a symmetric matrix, :math:`Av = \lambda v`: dense, sparse, an operator, or a tensor.

1. A dense matrix that is small, or of which many pairs are wanted, is tridiagonalised and only the wanted pairs are
   formed: 4/3 n³ multiply-adds.
2. Otherwise Lanczos iterations: some k products with A each, of a dense matrix by pieces on the library's threads. The
   smallest pairs of a sparse matrix, which is positive semidefinite, are the largest of the inverse of A + ε, by one
   sparse factorisation without pivots.

Lehoucq, Sorensen, Yang (1998), ARPACK Users' Guide, doi:10.1137/1.9780898719628.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from didact.core.backend import is_sparse, is_tensor, namespace
from didact.core.threads import one_blas_thread, parallel_map
from didact.core.typing import Array
from didact.engines.spectral.tuning import DENSE_ROWS, DENSE_SHARE, LANCZOS_ENTRIES

SHIFT = 1e-5  # of the largest entry: beside a singular matrix, so that its factors exist


def eigenpairs(
    A: Any, k: int, *, largest: bool = True, seed: int = 0, tol: float = 0.0, shift: float = SHIFT
) -> tuple[Any, Any]:
    """The k largest (or smallest) eigenvalues, the extreme one first, and their unit vectors (n, k).

    Signs follow `fixed_signs`. The seed gives Lanczos' start, tol its relative accuracy; 0: that of the machine. A
    sparse matrix is inverted at `shift` of its largest entry beside 0, below the eigenvalues to be told apart.
    """
    n = A.shape[0]
    k = min(k, n)
    if is_tensor(A):
        values, vectors = namespace(A).linalg.eigh(A)
        order = slice(n - k, n) if largest else slice(0, k)
        values, vectors = values[order], vectors[:, order]
    elif n <= DENSE_ROWS or k > n * DENSE_SHARE:
        values, vectors = by_tridiagonal(A, k, largest)
    else:
        values, vectors = by_lanczos(A, k, largest, seed, tol, shift=shift)
    if largest:
        xp = namespace(values)
        values, vectors = xp.flip(values, axis=(0,)), xp.flip(vectors, axis=(1,))
    return values, fixed_signs(vectors)


def by_tridiagonal(A: Any, k: int, largest: bool) -> tuple[Array, Array]:
    """The pairs of a matrix that may be dense, in ascending order."""
    n = A.shape[0]
    if is_sparse(A):
        A = A.toarray()
    elif not isinstance(A, np.ndarray):
        A = A @ np.eye(n)
    wanted = (n - k, n - 1) if largest else (0, k - 1)
    try:
        values, vectors = linalg.eigh(A, subset_by_index=wanted, check_finite=False)
    except np.linalg.LinAlgError:  # LAPACK's quickest routine gives up on some crowds of equal eigenvalues
        values, vectors = linalg.eigh(A, check_finite=False, driver="evd")
        values, vectors = values[wanted[0] : wanted[1] + 1], vectors[:, wanted[0] : wanted[1] + 1]
    return values, vectors


def by_lanczos(
    A: Any, k: int, largest: bool, seed: int, tol: float = 0.0, max_iter: int | None = None, shift: float = SHIFT
) -> tuple[Array, Array]:
    """The pairs by products with the matrix, or with its inverse, in ascending order."""
    how: dict[str, Any] = {"v0": np.random.default_rng(seed).uniform(-1.0, 1.0, A.shape[0]), "tol": tol}
    how["maxiter"] = max_iter
    if largest or not is_sparse(A):
        with one_blas_thread:  # between products BLAS's threads would spin, and Lanczos' own vectors are short
            values, vectors = eigsh(_in_pieces(A), k, which="LA" if largest else "SA", **how)
    else:
        beside = shift * (float(abs(A).max()) or 1.0)
        symmetric = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        inverse = splu((A + beside * sp.eye_array(A.shape[0])).tocsc(), **symmetric).solve
        solve = LinearOperator(A.shape, inverse, dtype=A.dtype)
        values, vectors = eigsh(A, k, sigma=-beside, which="LM", OPinv=solve, **how)
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _in_pieces(A: Any) -> Any:
    """An operator for products with a dense matrix on the library's threads; anything else as it is."""
    if not isinstance(A, np.ndarray):
        return A
    edges = list(pairwise([*range(0, len(A), LANCZOS_ENTRIES // A.shape[1] + 1), len(A)]))

    def times(v: Array) -> Array:
        return np.concatenate(parallel_map(lambda edge: np.dot(A[slice(*edge)], v), edges))

    return LinearOperator(A.shape, times, dtype=A.dtype)


def fixed_signs(vectors: Any) -> Any:
    """The columns with signs that make their entry of largest magnitude positive."""
    xp = namespace(vectors)
    top = xp.take_along_axis(vectors, xp.argmax(xp.abs(vectors), axis=0)[None, :], axis=0)
    return vectors * xp.where(top < 0, -xp.ones_like(top), xp.ones_like(top))
