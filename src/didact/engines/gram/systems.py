r"""Linear systems with a Gram matrix: a ridge on its diagonal, weights of the rows, a constant beside it.

.. math:: (K + \lambda\Omega^{-1})\,\alpha + b\,1 = y,\qquad 1^T\alpha = 0

With u = α/√ω the matrix is √Ω K √Ω + λ, positive definite, and rows without weight get α = 0. One Cholesky factor
serves all columns of y and the constant: with Eη = √ω and Eν = √ω y, b = √ωᵀν/√ωᵀη and u = ν − bη. Cost n³/3.

Suykens, Vandewalle (1999), doi:10.1023/A:1018628609742.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from didact.core.backend import as_dense, is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError, users_level
from didact.core.overflow import refuse_large
from didact.core.rows.memory import finite_sum, refuse_square
from didact.core.rows.pairs import asymmetry
from didact.core.typing import AnyArray, Array
from didact.engines.gram.rows import gram_of
from didact.kernels import RBF, Kernel, Linear, is_positive_semidefinite

INFINITE_KERNEL = "The kernel gave NaN or infinity: check the kernel function and the scale of X."
SOME = 200  # rows on which a kernel is looked at
BELOW_ZERO = 1e-6  # of the largest value: what rounding may do to eigenvalues, and to symmetry
NO_GRAM = "approximation='nystroem' needs none of this size"


def own_gram(kernel: Any, X: AnyArray) -> AnyArray:
    """The Gram matrix of rows with themselves, also of what depends on being the same row, such as white noise."""
    refuse_square(X.shape[0], NO_GRAM, matrices=2)
    if isinstance(kernel, Kernel):
        refuse_large(X)
    K = gram_of(kernel, X, X)
    if isinstance(kernel, Kernel):
        index = range(X.shape[0])
        K[index, index] = kernel.diagonal(X)
    K = K if is_tensor(K) else np.asarray(K, np.float64)
    if not finite_sum(K):
        raise InputError(INFINITE_KERNEL)
    return K


def square_kernel(X: AnyArray) -> Array:
    """A Gram matrix of the fitted rows as an array, once it is square and symmetric."""
    require_gram(X)
    return np.asarray(to_numpy(as_dense(X)), np.float64)


def require_gram(X: AnyArray) -> None:
    """Refuse a precomputed kernel that is not square, or differs from its transpose by more than rounding."""
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"X should be a square kernel matrix: it has {X.shape[0]} rows and {X.shape[1]} columns. A precomputed "
            "kernel needs a value for every pair of fitted rows."
        )
    K = to_numpy(as_dense(X))
    apart, i, j = asymmetry(K)
    if apart > 0 and apart > BELOW_ZERO * np.abs(K).max():
        raise InputError(
            f"The kernel matrix X is not symmetric: X[{i}, {j}] is {K[i, j]:g}, and X[{j}, {i}] is {K[j, i]:g}. "
            "Both are the kernel of the same two rows."
        )


def factored(S: AnyArray, ridge: float) -> Callable[[Array], Array]:
    """A function that solves (S + ridge·I) x = t for columns t, by Cholesky; overwrites S."""
    n = S.shape[0]
    if is_tensor(S):
        xp = namespace(S)
        index = xp.arange(n, device=S.device)
        S[index, index] += ridge
        L, failed = xp.linalg.cholesky_ex(S)
        if not int(failed):
            return lambda T: to_numpy(xp.cholesky_solve(like(T, S), L)).astype(np.float64)
    else:
        S.flat[:: n + 1] += ridge
        L, failed = linalg.lapack.dpotrf(S, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return lambda T: np.asarray(linalg.lapack.dpotrs(L, T, lower=1)[0])
    raise InputError(
        "The kernel is not positive semidefinite on these rows, so that the system has no stable solution: use another "
        "kernel (didact.kernels.is_positive_semidefinite tells), or a stronger penalty."
    )


def with_constant(K: AnyArray, Y: Array, w: Array, ridge: float, constant: bool) -> tuple[Array, Array]:
    """α (n, d) and b (d,) for targets (n, d); b is 0 without a constant."""
    root = np.sqrt(w)
    solve = factored(scaled(K, root), ridge)
    found = solve(np.column_stack([root[:, None] * Y, root]))
    u, ones = found[:, :-1], found[:, -1]
    b = (root @ u) / (root @ ones) if constant else np.zeros(Y.shape[1])
    return root[:, None] * (u - ones[:, None] * b), b


def scaled(K: AnyArray, root: Array) -> AnyArray:
    """√Ω K √Ω, in memory of its own, in the order that LAPACK reads."""
    if is_tensor(K):
        r = like(root, K)
        return r[:, None] * K * r
    S = np.empty(K.shape, order="F")
    np.multiply(K.T, root[:, None], out=S)  # K is symmetric: its transpose has that order
    S *= root
    return S


def product_with(K: AnyArray) -> Callable[[Array], Array]:
    """V ↦ K V for columns on the host; K may be on a device."""
    if not is_tensor(K):
        return lambda V: K @ V
    return lambda V: to_numpy(K @ namespace(K).asarray(V, dtype=K.dtype, device=K.device)).astype(np.float64)


def warn_indefinite(model: Any, kernel: Any, values: Callable[[], AnyArray]) -> None:
    """Say that the kernel is none, if its values (n, n) have a negative eigenvalue on the first rows."""
    if isinstance(kernel, (RBF, Linear)) or is_positive_semidefinite(to_numpy(values()[:SOME, :SOME]), tol=BELOW_ZERO):
        return
    say_indefinite(model, "fitted rows", "the problem is not convex and what was found need not be the best")


def say_indefinite(model: Any, where: str, so: str) -> None:
    """Warn that the kernel is none on some rows, and of what comes of it."""
    warnings.warn(
        f"{type(model).__name__}: the kernel is not positive semidefinite on the {where}, so that {so}: take another "
        "kernel, or other parameters of it.",
        stacklevel=users_level(),
    )
