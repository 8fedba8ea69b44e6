r"""Where non-negative factors begin: at random, or at the non-negative parts of singular vectors (NNDSVD).

Of a pair of singular vectors u, v the positive or the negative parts count, whichever have the larger product of norms
m; the factor begins at :math:`\sqrt{\sigma m}` times them, scaled to norm 1. What is 0 stays 0 ("nndsvd"), or becomes
the mean of X ("nndsvda") or small random numbers ("nndsvdar").

Boutsidis, Gallopoulos (2008), SVD based initialization, doi:10.1016/j.patcog.2007.09.010.
"""

from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from didact.core.backend import is_sparse, is_tensor, like, local, to_numpy
from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.engines.components.starts import row_shares
from didact.engines.factors.tuning import SMALL_SIDE
from didact.engines.spectral.eigen import eigenpairs

LEAST_START = 1e-6  # what is smaller becomes 0
RANK = 1e-7  # singular values below, relative to the largest, are rounding of products


def singular_vectors(X: Any, w: Any, k: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """U (n, k), σ (k,) and V (k, p) of rows times the roots of their weights; U is divided by these roots again."""
    n, p = X.shape
    root = np.ones(n) if w is None else np.sqrt(to_numpy(w).astype(np.float64))
    A = X if w is None else X.multiply(root[:, None]).tocsr() if is_sparse(X) else X * like(root[:, None], X)
    if min(n, p) > SMALL_SIDE:
        U, s, V = randomized_svd(local(A), k, random_state=int(rng.integers(2**31)))
    else:
        A = A if is_tensor(A) else A.astype(np.float64)
        product = A.T @ A if p <= n else A @ A.T
        values, vectors = eigenpairs(product.toarray() if is_sparse(product) else to_numpy(product), k)
        s = np.sqrt(np.maximum(values, 0.0))
        other = to_numpy(A @ like(vectors, A) if p <= n else A.T @ like(vectors, A))
        known = s > RANK * s[0]
        other, s = other / np.where(known, s, np.inf), np.where(known, s, 0.0)
        U, V = (other, vectors.T) if p <= n else (vectors, other.T)
    return U / np.where(root > 0, root, 1.0)[:, None], s, V


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
    for j in range(len(s)):
        best = 0.0
        for sign in (1.0, -1.0) if j else (np.sign(V[0].sum()) or 1.0,):
            u, v = np.maximum(sign * U[:, j], 0.0), np.maximum(sign * V[j], 0.0)
            size, length = np.sqrt(w @ (u * u)), np.sqrt(v @ v)
            if size * length > best:
                best = size * length
                scale = np.sqrt(s[j] * best)
                W[:, j], H[j] = scale * u / size, scale * v / length
    W[W < LEAST_START], H[H < LEAST_START] = 0.0, 0.0
    return W, H
