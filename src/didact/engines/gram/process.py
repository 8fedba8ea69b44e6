r"""Gaussian processes: the evidence of targets under a kernel, its gradient, and the conditional distribution.

For targets Y (n, T) that share one kernel, noise variances v and a mean Hβ with a flat prior on β, let
Λ = (K + diag v)⁻¹ and A = HᵀΛH. The restricted likelihood (with h columns of H; the likelihood if there are none) is

.. math:: \log p(Y) = -\tfrac12\sum_t r_t^T\Lambda r_t + \tfrac T2\log|\Lambda| - \tfrac T2\log|A|
    - \tfrac T2(n-h)\log 2\pi,\qquad r_t = y_t - H\beta_t

1. K in tiles of its lower triangle, on all threads. 2. Λ by Cholesky: n³ multiply–adds with the inverse, which only the
gradient needs. 3. With S = Λ[Y H] and a small matrix C, ∂ log p = ½ Σ_ij (S C Sᵀ − TΛ)_ij ∂k(x_i, x_j): a sum over
tiles that forms no derivative matrix.

Rasmussen, Williams (2006), Gaussian Processes for Machine Learning, 2.3, 2.7, 5.4.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.backend import is_tensor, like, namespace, to_numpy
from didact.core.threads import one_blas_thread, parallel_map
from didact.core.typing import AnyArray, Array
from didact.engines.gram.tuning import PULL_TILE, SOLVE_TILE
from didact.kernels.base import Kernel


def lower_gram(kernel: Kernel, X: Any, noise: Any) -> AnyArray:
    """K + diag(noise); of arrays only the lower triangle is set."""
    diagonal = kernel.diagonal(X) + noise
    if is_tensor(X) or not kernel.in_blocks():
        K = kernel.gram(X)
    else:
        K = np.empty((X.shape[0], X.shape[0]))
        _in_tiles(lambda a, b: K.__setitem__((slice(a, b), slice(0, b)), kernel.gram(X[a:b], X[:b])), X.shape[0])
    set_diagonal(K, diagonal)
    return K


def set_diagonal(K: AnyArray, diagonal: Any) -> None:
    """Replace the diagonal of a square matrix."""
    if is_tensor(K):
        K.diagonal().copy_(diagonal)
    else:
        np.fill_diagonal(K, diagonal)


def _in_tiles(work: Any, n: int) -> list[Any]:
    """work(begin, end) for tiles of rows, the longest first: a tile has the columns up to its end."""
    count = 1 if n <= PULL_TILE else max(-(-n // PULL_TILE), min(16, n // 100))
    edges = np.linspace(0, n, count + 1).astype(int).tolist()
    return parallel_map(lambda k: work(edges[k], edges[k + 1]), range(count - 1, -1, -1))


def lower_factor(K: AnyArray) -> AnyArray | None:
    """The lower factor of a matrix whose lower triangle is given, in its place; None if it is not positive definite."""
    if is_tensor(K):
        L, info = namespace(K).linalg.cholesky_ex(K)
        return None if int(info) else L
    U, info = linalg.lapack.dpotrf(K.T, lower=0, clean=1, overwrite_a=1)  # the upper triangle, read by columns
    return None if info or not np.isfinite(U[-1, -1]) else U.T


def solve(L: AnyArray, B: AnyArray) -> AnyArray:
    """(LLᵀ)⁻¹B."""
    if is_tensor(L):
        return namespace(L).cholesky_solve(B, L)
    return linalg.cho_solve((L.T, False), B, check_finite=False)


def whitened(L: AnyArray, B: AnyArray) -> AnyArray:
    """L⁻¹B, of arrays in tiles on all threads.

    SciPy's solve keeps the interpreter lock and rounds by the number of BLAS's threads, which other threads of Python
    change: it gets the tiles on the diagonal, NumPy's products the rest.
    """
    if is_tensor(L):
        return namespace(L).linalg.solve_triangular(L, B, upper=False)
    out = np.empty(B.shape)

    def columns(a: int) -> None:
        V = np.array(B[:, a : a + SOLVE_TILE], np.float64, order="C")
        for i in range(0, len(L), SOLVE_TILE):
            rows = slice(i, i + SOLVE_TILE)
            right = V[rows] - L[rows, :i] @ V[:i] if i else V[rows]
            V[rows] = linalg.solve_triangular(L[rows, rows].T, right, trans="T", lower=False, check_finite=False)
        out[:, a : a + SOLVE_TILE] = V

    with one_blas_thread:
        parallel_map(columns, range(0, B.shape[1], SOLVE_TILE))
    return out


def inverse(L: AnyArray, in_place: bool = False) -> AnyArray:
    """(LLᵀ)⁻¹, of which for arrays only the lower triangle is set; it may take the place of L."""
    if is_tensor(L):
        return namespace(L).cholesky_inverse(L)
    return linalg.lapack.dpotri(L.T, lower=0, overwrite_c=in_place)[0].T


def log_determinant(L: AnyArray) -> float:
    """log|LLᵀ|."""
    xp = namespace(L)
    return 2.0 * float(xp.log(xp.linalg.diagonal(L)).sum())


def contract(kernel: Kernel, X: Any, P: AnyArray, Q: AnyArray, M: AnyArray) -> Array:
    """∂/∂log θ of Σ_ij (P Qᵀ + M)_ij k(x_i, x_j), for a symmetric matrix; of M the lower triangle is read."""
    n = X.shape[0]
    if is_tensor(X) or not kernel.in_blocks():
        A = P @ Q.T + (M if is_tensor(M) else np.tril(M) + np.tril(M, -1).T)
        return np.array(kernel.pull(X, A))
    a = np.einsum("ij,ij->i", P, Q) + np.diagonal(M)

    def tile(begin: int, end: int) -> list[float]:
        A = P[begin:end] @ Q[:end].T
        A += M[begin:end, :end]
        A[:, begin:] *= np.tri(end - begin, k=-1)  # the diagonal is apart; above it is what other tiles have
        return kernel.pull(X[begin:end], A, X[:end])

    below = np.sum(_in_tiles(tile, n), axis=0) if len(kernel.theta) else np.zeros(0)
    return np.asarray(2.0 * below + kernel.pull_diagonal(X, a))


class Profile(NamedTuple):
    """What follows from G = [Y H]ᵀΛ[Y H] when β is integrated out."""

    beta: Array  # (h, T)
    weights: Array  # C, (T + h, T + h)
    factor: Array  # the Cholesky factor of A, (h, h)
    value: float  # −½ Σ rᵀΛr − T/2 log|A|


def profile(G: Array, targets: int) -> Profile:
    """β, C and the part of the log likelihood that comes from them; H has independent columns."""
    T, h = targets, len(G) - targets
    if not h:
        return Profile(np.zeros((0, T)), np.eye(T), np.zeros((0, 0)), -0.5 * float(np.trace(G)))
    factor = np.linalg.cholesky(G[T:, T:])
    beta = linalg.cho_solve((factor, True), G[T:, :T])
    combine = np.vstack([np.eye(T), -beta])
    weights = combine @ combine.T
    weights[T:, T:] += T * linalg.cho_solve((factor, True), np.eye(h))
    quadratic = float(np.trace(combine.T @ G @ combine))
    return Profile(beta, weights, factor, -0.5 * quadratic - T * float(np.log(np.diagonal(factor)).sum()))


class Evidence(NamedTuple):
    """The log likelihood at some parameters with its gradient, or else with what predictions need."""

    value: float
    gradient: Array
    L: Any = None  # the factor of K + diag v
    solved: Any = None  # S = Λ[Y H]
    profile: Any = None


def evidence(kernel: Kernel, X: Any, targets: AnyArray, basis: int, noise: Any, gradient: bool = True) -> Evidence:
    """That of targets [Y H], of which the last `basis` columns are H; −∞ where K is not positive definite."""
    n, T = X.shape[0], targets.shape[1] - basis
    L = lower_factor(lower_gram(kernel, X, noise))
    if L is None:
        return Evidence(-math.inf, np.zeros(len(kernel.theta)))
    S = solve(L, targets)
    found = profile(to_numpy(targets.T @ S), T)
    value = found.value - 0.5 * T * log_determinant(L) - 0.5 * T * (n - basis) * math.log(2 * math.pi)
    if not gradient:
        return Evidence(value=value, gradient=np.zeros(0), L=L, solved=S, profile=found)
    slope = contract(kernel, X, S @ like(found.weights / -T, S), S, inverse(L, in_place=True))
    return Evidence(value=value, gradient=-0.5 * T * slope)
