r"""Embeddings of graphs: eigenvectors of the Laplacian :math:`L = D - A`, or of :math:`I - D^{-1/2}AD^{-1/2}`.

A holds the affinities of all pairs of nodes, D on its diagonal their sums, the degrees; an affinity of a node to itself
does not count. Vectors of small eigenvalues vary little along strong edges. The normalised form gives
:math:`u = D^{-1/2}v`, whose first is constant on each connected component.

1. Neighbours as a sparse graph, or affinities of all pairs.
2. The smallest eigenvalues of a sparse Laplacian by its inverse; of a dense one, or of one whose factors would be
   dense, as the largest of a shifted matrix, by products.

von Luxburg (2007), A tutorial on spectral clustering, doi:10.1007/s11222-007-9033-z.
"""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_symmetric

from didact.core.backend import is_sparse, is_tensor, namespace
from didact.core.errors import InputError, users_level
from didact.core.rows.memory import finite_sum, refuse_numbers, refuse_square
from didact.core.rows.pairs import asymmetry
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.neighbors import build_index
from didact.engines.spectral.eigen import eigenpairs, fixed_signs
from didact.engines.spectral.tuning import FILLED_DEGREE
from didact.parts.distances import Euclidean, Precomputed

APART = "Graph is not fully connected, spectral embedding may not work as expected."
SOME_ROWS = 64  # of a dense matrix, worked on at once
SAME_AFFINITY = 1e-10  # between an affinity and that of the same nodes the other way round
NOT_FINITE = "The affinities hold NaN or infinity: check the kernel and the scale of X."


def mutual(rows: Array, n: int) -> Any:
    """The symmetric graph (C + Cᵀ)/2 of rows (m, k) of neighbours: 1 where both are neighbours of each other."""
    edges = np.arange(0, rows.size + 1, rows.shape[1])
    C = sp.csr_matrix((np.ones(rows.size), rows.ravel(), edges), (n, n))
    return (0.5 * (C + C.T)).tocsr()


def nearest_affinity(X: Any, k: int, given: bool) -> Any:
    """The symmetric graph of the k nearest rows of each row, which is the first of its own neighbours.

    With `given`, X holds distances of all pairs of rows, and the k least of each row count.
    """
    n = X.shape[0]
    if k > n:
        raise InputError(f"Expected n_neighbors <= n_samples, but n_neighbors = {k}, n = {n}.")
    refuse_numbers(8 * n * k, f"graphs of {k} neighbours for each of {n} rows", "ask for fewer (n_neighbors)")
    if given:
        return mutual(build_index(X, Precomputed()).nearest(X, k)[1], n)
    own = np.arange(n)[:, None]
    return mutual(np.hstack([own, build_index(X, Euclidean()).nearest(None, k - 1)[1]]) if k > 1 else own, n)


def ball_affinity(X: Any, radius: float, given: bool) -> Any:
    """The graph of all pairs of rows at most `radius` apart; with `given`, X holds their distances."""
    index, n = build_index(X, Precomputed() if given else Euclidean()), X.shape[0]
    starts, rows, _ = index.within(X if given else None, radius)
    return sp.csr_matrix((np.ones(len(rows)), rows, starts), (n, n))


def refuse_affinities(n: int) -> None:
    """Refuse so many rows that their affinities of all pairs, and the Laplacian, exceed the memory."""
    refuse_square(n, "take affinity='nearest_neighbors', or a sample of the rows", 2)


def symmetric(A: Any) -> Any:
    """Affinities of all pairs of nodes, averaged with their transpose where they differ from it (with a warning)."""
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise InputError(f"Affinities of all pairs are a square matrix (rows by rows), not {A.shape[0]}×{A.shape[1]}.")
    if is_tensor(A) or (not is_sparse(A) and asymmetry(A)[0] <= SAME_AFFINITY):
        return A
    return check_symmetric(A, tol=SAME_AFFINITY)


def is_connected(A: Any) -> bool:
    """Whether a path of positive affinities leads from each node to every other."""
    if is_tensor(A) or not is_sparse(A):
        xp = namespace(A)
        if bool(xp.all(A != 0)):
            return True
        A = np.asarray(A) if not is_tensor(A) else A.cpu().numpy()
    return int(connected_components(A, directed=False, return_labels=False)) == 1


def graph_embedding(
    A: Any, k: int, *, normed: bool = True, drop_first: bool = True, tol: float = 0.0, seed: int = 0
) -> Any:
    """The k vectors (n, k) of smallest eigenvalues of the Laplacian, after the first, constant, if that is dropped."""
    if not finite_sum(A.data if is_sparse(A) else A):
        raise InputError(NOT_FINITE)
    A = symmetric(A)
    if not is_connected(A):
        warnings.warn(APART, UserWarning, stacklevel=users_level())
    L, roots, shift = laplacian(A, normed)
    vectors = eigenpairs(L, k + drop_first, largest=shift > 0, seed=seed, tol=tol)[1]
    vectors = vectors / roots[:, None] if normed else vectors
    return fixed_signs(vectors)[:, int(drop_first) :]


def laplacian(A: Any, normed: bool) -> tuple[Any, Any, float]:
    """The Laplacian L, or cI − L where the largest eigenvalues of that are sooner found; the roots of the degrees; c.

    A node without neighbours has the eigenvalue 0, as any other connected component has.
    """
    xp, sparse = namespace(A.data if is_sparse(A) else A), is_sparse(A)
    A = A.astype(np.float64) if sparse else A + 0.0 if is_tensor(A) else np.array(A, np.float64, order="C")
    A = A - sp.diags_array(A.diagonal()) if sparse else put_diagonal(A, 0.0)
    degrees = np.asarray(A.sum(axis=0)).ravel() if sparse else _column_sums(A)
    if bool(xp.any(degrees < 0)):
        row = int(xp.argmin(degrees))
        raise InputError(f"The affinities of row {row} have a negative sum: affinities are at least 0.")
    lonely = degrees == 0
    roots = xp.where(lonely, xp.ones_like(degrees), degrees**0.5)
    if normed:
        A = sp.diags_array(1.0 / roots) @ A @ sp.diags_array(1.0 / roots) if sparse else _scaled(A, 1.0 / roots)
        degrees = xp.where(lonely, xp.zeros_like(degrees), xp.ones_like(degrees))
    shift = 1.0 if normed else 2.0 * float(xp.max(degrees))
    if sparse and A.nnz <= FILLED_DEGREE * A.shape[0]:
        return (sp.diags_array(degrees) - A).tocsr(), roots, 0.0
    return A + sp.diags_array(shift - degrees) if sparse else put_diagonal(A, shift - degrees), roots, shift


def put_diagonal(A: Any, values: Any) -> Any:
    """A dense matrix with these numbers on its diagonal, which are written into it."""
    index = namespace(A).arange(len(A), device=A.device) if is_tensor(A) else np.arange(len(A))
    A[index, index] = values
    return A


def _column_sums(A: Any) -> Any:
    """The sums of the columns of a dense matrix, on the library's threads."""
    if is_tensor(A):
        return namespace(A).sum(A, axis=0)
    return np.sum(parallel_map(lambda a: A[a : a + SOME_ROWS].sum(axis=0), range(0, len(A), SOME_ROWS)), axis=0)


def _scaled(A: Any, scale: Any) -> Any:
    """A_ij s_i s_j of a dense matrix, which an array is overwritten by."""
    if is_tensor(A):
        return A * scale * scale[:, None]

    def rows(a: int) -> None:
        A[a : a + SOME_ROWS] *= scale
        A[a : a + SOME_ROWS] *= scale[a : a + SOME_ROWS, None]

    parallel_map(rows, range(0, len(A), SOME_ROWS))
    return A
