r"""Where non-negative factors begin: at random, or at the non-negative parts of singular vectors (NNDSVD).

Of a pair of singular vectors u, v the positive or the negative parts count, whichever have the larger product of norms
m; the factor begins at :math:`\sqrt{\sigma m}` times them, scaled to norm 1. What is 0 stays 0 ("nndsvd"), or becomes
the mean of X ("nndsvda") or small random numbers ("nndsvdar").

Boutsidis, Gallopoulos (2008), SVD based initialization, doi:10.1016/j.patcog.2007.09.010; Halko, Martinsson, Tropp
(2011), Finding structure with randomness, doi:10.1137/090771806 (singular vectors of a subspace).
"""

from itertools import pairwise
from typing import Any

import numpy as np

from didact.core.backend import is_sparse, is_tensor, like, local, small_product, to_numpy
from didact.core.errors import ParameterError
from didact.core.threads import parallel_map, parallel_rows
from didact.core.typing import Array
from didact.engines.components.starts import row_shares
from didact.engines.factors.nonnegative_loops import sparse_products
from didact.engines.factors.tuning import MOST_FACTOR_PIECES, SMALL_SIDE
from didact.engines.spectral.eigen import eigenpairs

LEAST_START = 1e-6  # what is smaller becomes 0
BEYOND = 10  # dimensions of a subspace beyond those that are wanted
SUBSPACE_STEPS, FEW_SUBSPACE_STEPS = 7, 4  # products with A and Aᵀ; fewer for a large share of all vectors
RANK = 1e-7  # singular values below, relative to the largest, are rounding of products


def singular_vectors(X: Any, w: Any, k: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """U (n, k), σ (k,) and V (k, p) of rows times the roots of their weights; U is divided by these roots again."""
    n, p = X.shape
    root = np.ones(n) if w is None else np.sqrt(to_numpy(w).astype(np.float64))
    A = X if w is None else X.multiply(root[:, None]).tocsr() if is_sparse(X) else X * like(root[:, None], X)
    tall, turned = p <= n, A.T.tocsr() if is_sparse(A) else A.T
    if min(n, p) > SMALL_SIDE:
        random = np.random.RandomState(int(rng.integers(2**31)))
        sides = local(A), local(turned)
        left, s, right = by_subspace(*(sides if tall else sides[::-1]), k, random)
        U, V = (left, right.T) if tall else (right, left.T)
    else:
        long, short = (A, turned) if tall else (turned, A)
        values, vectors = eigenpairs(to_numpy(squared(long, short)), k)
        s = np.sqrt(np.maximum(values, 0.0))
        known = s > RANK * s[0]
        other = to_numpy(product(long, like(vectors, A) if is_tensor(A) else vectors)) / np.where(known, s, np.inf)
        s = np.where(known, s, 0.0)
        U, V = (other, vectors.T) if tall else (vectors, other.T)
    return (U if w is None else U / np.where(root > 0, root, 1.0)[:, None]), s, V


def squared(A: Any, turned: Any) -> Any:
    """AᵀA of a matrix with few columns, in double precision; of dense rows on the library's threads."""
    if is_tensor(A) or is_sparse(A):
        found = turned @ (A if is_tensor(A) else A.astype(np.float64))
        return found.toarray() if is_sparse(A) else found
    parts = row_parts(A, len(A) // max(A.shape[1], 1) + 1)
    return sum(parallel_map(lambda part: small_product((B := A[part].astype(np.float64, copy=False)).T, B), parts))


def product(A: Any, Q: Any) -> Any:
    """A Q in double precision; on the library's threads unless A is a tensor."""
    if is_tensor(A):
        return A @ Q
    return sparse_products(A, Q) if is_sparse(A) else parallel_rows(lambda rows: rows @ Q, A, Q.shape[1], np.float64)


def row_parts(A: Any, most: int) -> list[slice]:
    """Ranges of rows, at most so many, for the threads."""
    edges = np.linspace(0, len(A), min(most, MOST_FACTOR_PIECES) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def by_subspace(A: Any, turned: Any, k: int, random: np.random.RandomState) -> tuple[Array, Array, Array]:
    """U (n, k), σ and V (p, k) of a matrix A (n, p) by iterations from a random subspace of some more dimensions."""
    p = A.shape[1]
    Q = random.normal(size=(p, min(k + BEYOND, p)))
    for _ in range(SUBSPACE_STEPS if k < 0.1 * p else FEW_SUBSPACE_STEPS):
        Q = levelled(product(turned, levelled(product(A, Q))))
    Q, _ = tall_qr(product(A, Q))
    B, R = tall_qr(product(turned, Q))
    left, s, right = np.linalg.svd(R.T)
    return Q @ left[:, :k], s[:k], B @ right[:k].T


def levelled(Q: Array) -> Array:
    """A basis of the same space, near enough to orthonormal for one more product."""
    values, vectors = np.linalg.eigh(squared(Q, Q.T))
    least = max(float(values[-1]) * np.finfo(float).eps, np.finfo(float).tiny)
    turn = vectors / np.sqrt(np.maximum(values, least))
    return parallel_rows(lambda rows: rows @ turn, Q, Q.shape[1], np.float64)


def tall_qr(A: Array) -> tuple[Array, Array]:
    """Q and R of a matrix with few columns: those of parts of its rows, then of all their R."""
    parts = row_parts(A, len(A) // (4 * A.shape[1]) + 1)
    some = parallel_map(lambda part: np.linalg.qr(A[part]), parts)
    Q, R = np.linalg.qr(np.concatenate([r for _, r in some]))
    at = np.cumsum([0] + [len(r) for _, r in some])
    found = parallel_map(lambda i: some[i][0] @ Q[at[i] : at[i + 1]], range(len(some)))
    return np.concatenate(found), R


def nonnegative_start(
    X: Any, w: Any, k: int, init: str | None, rng: np.random.Generator, mean: float
) -> tuple[Array, Array]:  # fmt: skip
    """W (n, k) and H (k, p), float64."""
    n, p = X.shape
    if init not in (None, "random") and k > min(n, p):
        raise ParameterError(
            f"init = {init!r} can only be used when n_components <= min(n_samples, n_features), but n_components={k} "
            f"and X has shape {(n, p)}: take init='random'."
        )
    if init == "random" or (init is None and k > min(n, p)):
        average = np.sqrt(mean / k)
        H = average * np.abs(rng.standard_normal((k, p)))
        return average * row_numbers(X, k, rng), H
    W, H = nonnegative_parts(*singular_vectors(X, w, k, rng), np.ones(n) if w is None else to_numpy(w))
    if init == "nndsvdar":
        W = np.where(W == 0, mean / 100 * row_numbers(X, k, rng), W)
        H[H == 0] = np.abs(mean * rng.standard_normal(int((H == 0).sum())) / 100)
    elif init != "nndsvd":
        W[W == 0], H[H == 0] = mean, mean
    return W, H


def row_numbers(X: Any, k: int, rng: np.random.Generator) -> Array:
    """Random numbers (n, k) of mean 1, which follow from the values of a row and the seed: equal rows begin alike."""
    return k * row_shares(local(X), int(rng.integers(1 << 62)), k)


def nonnegative_parts(U: Array, s: Array, V: Array, w: Array) -> tuple[Array, Array]:
    """The factors from singular vectors; norms of columns of U count the weights."""
    W, H = np.zeros_like(U), np.zeros_like(V)

    def set_part(j: int) -> None:
        best = 0.0
        for sign in (1.0, -1.0) if j else (np.sign(V[0].sum()) or 1.0,):
            u, v = np.maximum(sign * U[:, j], 0.0), np.maximum(sign * V[j], 0.0)
            size, length = np.sqrt(w @ (u * u)), np.sqrt(v @ v)
            if size * length > best:
                best = size * length
                scale = np.sqrt(s[j] * best)
                W[:, j], H[j] = scale * u / size, scale * v / length

    parallel_map(set_part, range(len(s)))
    W[W < LEAST_START], H[H < LEAST_START] = 0.0, 0.0
    return W, H
