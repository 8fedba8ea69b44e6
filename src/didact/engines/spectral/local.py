r"""Matrices whose null vectors are embeddings: what the neighbourhoods of all rows agree on.

Each neighbourhood says by a small matrix which coordinates Z of its members it finds plausible, zᵀBz = 0, and
:math:`M = \sum_i B_i` joins them; the vectors of its smallest eigenvalues, but for the constant one, are the embedding.

=========  =============================================================================================
standard   each row stays the weighted mean of its neighbours, B = (e − w)(e − w)ᵀ
modified   as standard, with several weights for each row, so that noise in one does not matter
ltsa       coordinates are an affine function of those in the local tangent space, B = I − 11ᵀ/k − UUᵀ
hessian    the second derivatives along the tangent space vanish
=========  =============================================================================================

Roweis, Saul (2000), doi:10.1126/science.290.5500.2323; Zhang, Wang (2006), NIPS 19; Zhang, Zha (2004),
doi:10.1137/S1064827502419154; Donoho, Grimes (2003), doi:10.1073/pnas.1031596100.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.errors import InputError
from didact.core.overflow import refuse_extreme
from didact.core.threads import parallel_map, share_pieces
from didact.core.typing import Array
from didact.engines.spectral.local_loops import weight_pass
from didact.engines.spectral.tuning import LOCAL_NUMBERS, WEIGHT_ROWS

WEIGHT_RIDGE = 1e-3  # of the trace, for the weights of which the modified method makes several
Part = tuple[Array, Array]  # members (m, q) of neighbourhoods, and their matrices (m, q, q)


def neighbor_weights(Q: Array, Y: Array, starts: Array, ends: Array, reg: float) -> Array:
    """Weights (edges,) that make each row of Q the nearest mean of its neighbours in Y; those of a row sum to 1."""
    k, weights, bad = int(np.diff(starts).max(initial=1)), np.empty(len(ends)), np.full(1, -1)
    Q, Y = (np.ascontiguousarray(rows, np.float64) for rows in (Q, Y))
    edges = starts.astype(np.int64), ends.astype(np.int64)

    def loop(turn: Array) -> None:
        room = np.empty((Q.shape[1], k)), np.empty((k, k)), np.empty(k)
        weight_pass(turn, WEIGHT_ROWS, Q, Y, *edges, float(reg), weights, *room, bad)

    share_pieces(-(-len(Q) // WEIGHT_ROWS), loop)
    if bad[0] >= 0:
        refuse_extreme(Y, None)
        raise InputError(
            f"The weights of the neighbours of row {bad[0]} are not determined (its matrix is singular): enlarge reg."
        )
    return weights


def barycentric(X: Array, starts: Array, ends: Array, reg: float) -> Any:
    """The matrix (I − W)ᵀ(I − W) of the weights of neighbours."""
    n = len(X)
    W = sp.csr_array((neighbor_weights(X, X, starts, ends, reg), ends, starts), (n, n))
    apart = sp.eye_array(n, format="csr") - W
    return (apart.T @ apart).tocsr()


def tangents(X: Array, starts: Array, ends: Array, d: int) -> Any:
    """The matrix of local tangent spaces of d dimensions (LTSA)."""
    return assembled(len(X), mapped(partial(_tangent_part, X, d), starts, ends))


def hessians(X: Array, starts: Array, ends: Array, d: int, tol: float) -> Any:
    """The matrix of second derivatives along local tangent spaces of d dimensions."""
    return assembled(len(X), mapped(partial(_hessian_part, X, d, tol), starts, ends))


def modified(X: Array, starts: Array, ends: Array, d: int, tol: float) -> Any:
    """The matrix of several weights for each row: as many as its neighbourhood has directions of little variance."""
    spreads = mapped(partial(_spread_part, X, d), starts, ends)
    eta = float(np.median(np.concatenate([ratio for *_, ratio in spreads])))
    parts = parallel_map(lambda spread: list(_modified_parts(spread, eta, tol)), spreads)
    return assembled(len(X), [part for some in parts for part in some])


def neighborhoods(starts: Array, ends: Array) -> Iterator[tuple[Array, Array]]:
    """Rows and their neighbours (m, k), those with the same number of neighbours together, in pieces of work."""
    counts = np.diff(starts)
    for k in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == k)
        for some in np.array_split(rows, -(-len(rows) * k * k // LOCAL_NUMBERS)):
            yield some, ends[starts[some][:, None] + np.arange(k)]


def mapped(fn: Callable[[tuple[Array, Array]], Any], starts: Array, ends: Array) -> list[Any]:
    """fn((rows, neighbours)) of all pieces, on all threads."""
    return parallel_map(fn, neighborhoods(starts, ends))


def assembled(n: int, parts: list[Part]) -> Any:
    """The sum of small matrices, each at the rows and columns of its members, as a sparse matrix (n, n)."""
    i = np.concatenate([np.repeat(members, members.shape[1], axis=1).ravel() for members, _ in parts])
    j = np.concatenate([np.tile(members, members.shape[1]).ravel() for members, _ in parts])
    values = np.concatenate([blocks.ravel() for _, blocks in parts])
    return sp.coo_array((values, (i, j)), (n, n)).tocsr()


def axes(C: Array, full: bool = False) -> tuple[Array, Array]:
    """Left singular vectors (m, k, ·) and squared singular values of the tables C (m, k, p), the largest first."""
    k, p = C.shape[1:]
    if k > p:
        U, s, _ = np.linalg.svd(C, full_matrices=full)
        return U, s * s
    values, U = np.linalg.eigh(C @ C.transpose(0, 2, 1))
    return U[:, :, ::-1], np.maximum(values[:, ::-1], 0.0)


def _tangent_space(X: Array, near: Array, d: int) -> Array:
    """The d main directions (m, k, d) of the neighbours of each row, in which their coordinates lie."""
    C = X[near]
    U = axes(C - C.mean(axis=1, keepdims=True))[0][:, :, :d]
    return np.asarray(U)


def _tangent_part(X: Array, d: int, piece: tuple[Array, Array]) -> Part:
    _, near = piece
    U, k = _tangent_space(X, near, d), near.shape[1]
    return near, np.eye(k) - 1.0 / k - U @ U.transpose(0, 2, 1)


def _hessian_part(X: Array, d: int, tol: float, piece: tuple[Array, Array]) -> Part:
    _, near = piece
    U = _tangent_space(X, near, d)
    squares = [U[:, :, a : a + 1] * U[:, :, a:] for a in range(d)]
    basis = np.concatenate([np.ones((*near.shape, 1)), U, *squares], axis=2)
    H = np.linalg.qr(basis)[0][:, :, d + 1 :]
    sums = H.sum(axis=1, keepdims=True)
    H = H / np.where(np.abs(sums) < tol, 1.0, sums)
    return near, H @ H.transpose(0, 2, 1)


def _spread_part(X: Array, d: int, piece: tuple[Array, Array]) -> tuple[Array, Array, Array, Array, Array]:
    """Members, axes, variances along them, regularised weights, and the ratio of the small to the d large variances."""
    rows, near = piece
    V, spread = axes(X[near] - X[rows][:, None], full=True)
    ridge = WEIGHT_RIDGE * spread.sum(axis=1, keepdims=True)
    every = np.pad(spread, ((0, 0), (0, V.shape[1] - spread.shape[1])))  # along the other axes there is none
    w = np.einsum("mka,ma->mk", V, V.sum(axis=1) / (every + np.where(ridge > 0, ridge, 1.0)))
    large = spread[:, :d].sum(axis=1)
    ratio = spread[:, d:].sum(axis=1) / np.where(large > 0, large, 1.0)
    return np.column_stack([rows, near]), V, spread, w / w.sum(axis=1, keepdims=True), ratio


def _modified_parts(spread_part: tuple[Array, Array, Array, Array, Array], eta: float, tol: float) -> Iterator[Part]:
    """The matrices of neighbourhoods with the same number s of weights together."""
    members, V, spread, w, _ = spread_part
    k, upto = V.shape[1], np.cumsum(spread, axis=1)
    rest = upto[:, -1:] / np.where(upto[:, :-1] > 0, upto[:, :-1], 1.0) - 1.0
    number = np.maximum((rest < eta).sum(axis=1) + k - spread.shape[1], 1)
    for s in np.unique(number):
        some = number == s
        W = V[some, :, k - s :]
        sums = W.sum(axis=1)
        alpha = np.linalg.norm(sums, axis=1) / np.sqrt(s)
        h = alpha[:, None] - sums
        norms = np.linalg.norm(h, axis=1, keepdims=True)
        h = np.where(norms < tol, 0.0, h / np.where(norms > 0, norms, 1.0))
        W = W - 2.0 * (W @ h[:, :, None]) * h[:, None] + ((1.0 - alpha)[:, None] * w[some])[:, :, None]
        apart = np.concatenate([np.full((len(W), 1, s), -1.0), W], axis=1)
        yield members[some], apart @ apart.transpose(0, 2, 1)
