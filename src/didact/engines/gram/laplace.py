r"""Laplace's approximation of a Gaussian process with logistic likelihood: its mode, its evidence, the gradient.

With labels y ∈ {0, 1}, weights ω, latent values f ~ N(0, K), π = σ(f), W = diag ωπ(1 − π) and B = I + √W K √W,

.. math:: \Psi(f) = \sum_i\omega_i\log p(y_i\mid f_i) - \tfrac12f^TK^{-1}f,\qquad
    \log q(y) = \Psi(\hat f) - \tfrac12\log|B|.

1. Newton steps a = b − √W B⁻¹√W K b, b = Wf + g, f = Ka, halved while Ψ falls (Rasmussen, Williams 2006, 3.1).
2. The gradient in all parameters is one contraction Σ A_ij ∂k(x_i, x_j), with g = ω(y − π), R = √W B⁻¹√W,
A = ½(aaᵀ − R + ugᵀ + guᵀ) and u = (I − RK)s, s_i = −½(K − KRK)_ii ∂W_i/∂f_i (5.1). Cost n³ for a value, 4n³ with it.

Williams, Barber (1998), doi:10.1109/34.735807.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_tensor, like, namespace
from didact.core.threads import parallel_map
from didact.core.typing import AnyArray, Array
from didact.engines.gram.process import (
    contract,
    inverse,
    log_determinant,
    lower_factor,
    lower_gram,
    set_diagonal,
    solve,
    whitened,
)
from didact.engines.gram.tuning import PULL_TILE
from didact.kernels.base import Kernel

GAIN = 1e-10  # of Ψ, relative to the number of rows: the mode is found
MODE_HALVINGS = 30


class Mode(NamedTuple):
    """The mode of the latent values, and what evidence and predictions need."""

    value: float  # log q(y)
    f: Any = None
    a: Any = None  # K⁻¹f
    residual: Any = None  # g
    pi: Any = None
    root: Any = None  # √W
    L: Any = None  # the factor of B
    converged: bool = False


def full_gram(kernel: Kernel, X: Any) -> AnyArray:
    """The whole Gram matrix, both triangles."""
    K = lower_gram(kernel, X, 0.0)
    if is_tensor(X) or not kernel.in_blocks():
        return K
    edges = [*range(0, len(K), PULL_TILE), len(K)]

    def mirror(k: int) -> None:
        a, b = edges[k], edges[k + 1]
        K[:a, a:b] = K[a:b, :a].T
        K[a:b, a:b] = np.tril(K[a:b, a:b]) + np.tril(K[a:b, a:b], -1).T

    parallel_map(mirror, range(len(edges) - 1))
    return K


def _sigmoid(xp: Any, f: AnyArray) -> AnyArray:
    e = xp.exp(-abs(f))
    return xp.where(f >= 0, 1.0, e) / (1.0 + e)


def _fit(xp: Any, f: AnyArray, a: AnyArray, sign: AnyArray, w: AnyArray) -> float:
    """Ψ(f) for f = Ka."""
    z = sign * f
    loss = xp.log1p(xp.exp(-abs(z))) + xp.clip(-z, 0.0, None)
    return -float((w * loss).sum()) - 0.5 * float((a * f).sum())


class Ascent(NamedTuple):
    """The largest Ψ, where it is, and whether the last step gained nothing."""

    psi: float
    f: Any
    a: Any
    converged: bool


def ascend(K: AnyArray, a: AnyArray, fit: Any, newton: Any, weight: float, max_iter: int) -> Ascent | None:
    """Newton steps to the largest fit(f, a), f = Ka: newton(f) is the next a, on the way to which steps are halved.

    None if newton is None somewhere: K is not positive semidefinite.
    """
    f = K @ a
    psi, converged = fit(f, a), False
    for _ in range(max_iter):
        new = newton(f)
        if new is None:
            return None
        step, t = new - a, 1.0
        for _ in range(MODE_HALVINGS):
            a_new = a + t * step
            f_new = K @ a_new
            found = fit(f_new, a_new)
            if found >= psi - GAIN * K.shape[0]:
                break
            t *= 0.5
        gain, psi, f, a = found - psi, found, f_new, a_new
        if abs(gain) < GAIN * max(1.0, weight) * 1e-2:
            converged = True
            break
    return Ascent(psi, f, a, converged)


def better_start(K: AnyArray, fit: Any, none: AnyArray, slope: AnyArray | None) -> AnyArray:
    """Where to begin: at the slope of the likelihood at values of another kernel, if that is better than at zero."""
    if slope is None:
        return none
    return slope if fit(K @ slope, slope) > fit(none, none) else none


def mode(K: AnyArray, y: AnyArray, w: AnyArray, max_iter: int, start: Any = None) -> Mode:
    """The mode of the latent values by Newton's method; value −∞ where K is not positive semidefinite."""
    xp = namespace(K)
    sign = 2.0 * y - 1.0

    def fit(f: AnyArray, a: AnyArray) -> float:
        return _fit(xp, f, a, sign, w)

    def newton(f: AnyArray) -> AnyArray | None:
        pi = _sigmoid(xp, f)
        W = w * pi * (1.0 - pi)
        root = W**0.5
        L = scaled_factor(K, root)
        b = W * f + w * (y - pi)
        return None if L is None else b - root * solve(L, (root * (K @ b))[:, None])[:, 0]

    slope = None if start is None else w * (y - _sigmoid(xp, like(start, y)))
    found = ascend(K, better_start(K, fit, 0.0 * y, slope), fit, newton, float(w.sum()), max_iter)
    if found is None:
        return Mode(-math.inf)
    psi, f, a, converged = found
    pi = _sigmoid(xp, f)
    root = (w * pi * (1.0 - pi)) ** 0.5
    L = scaled_factor(K, root)
    if L is None:
        return Mode(-math.inf)
    return Mode(
        value=psi - 0.5 * log_determinant(L),
        f=f,
        a=a,
        residual=w * (y - pi),
        pi=pi,
        root=root,
        L=L,
        converged=converged,
    )


def scaled_factor(K: AnyArray, root: AnyArray) -> AnyArray | None:
    """The factor of B = I + √W K √W."""
    B = root[:, None] * K
    B *= root
    set_diagonal(B, 1.0 + namespace(B).linalg.diagonal(B))
    return lower_factor(B)


def evidence_slope(kernel: Kernel, X: Any, K: AnyArray, found: Mode, w: AnyArray) -> Array:
    """∂ log q(y)/∂ log θ at a mode."""
    if found.L is None:
        return np.zeros(len(kernel.theta))
    xp, root = namespace(K), found.root
    C = whitened(found.L, root[:, None] * K)
    variance = xp.linalg.diagonal(K) - (C * C).sum(axis=0)
    s = -0.5 * variance * w * found.pi * (1.0 - found.pi) * (1.0 - 2.0 * found.pi)
    u = s - root * solve(found.L, (root * (K @ s))[:, None])[:, 0]
    M = inverse(found.L)
    M *= -0.5 * root[:, None]
    M *= root
    P = xp.stack([0.5 * found.a, 0.5 * u, 0.5 * found.residual], axis=1)
    Q = xp.stack([found.a, found.residual, u], axis=1)
    return contract(kernel, X, P, Q, M)
