r"""Laplace's approximation of Gaussian processes with softmax likelihood: one process for each class, all jointly.

With latent values f (n, C), a column of each class and f_c ~ N(0, K) independently, π = softmax(f), labels Y (n, C) of
zeros and ones and weights ω,

.. math:: \Psi(f) = \sum_i\omega_i\Big(\sum_cY_{ic}f_{ic} - \log\sum_c e^{f_{ic}}\Big) - \tfrac12\sum_cf_c^TK^{-1}f_c,
    \qquad \log q(Y) = \Psi(\hat f) - \tfrac12\log|I + (I_C\otimes K)W|.

The curvature W of a row is ω(diag π − ππᵀ). With D_c = diag ωπ_c, E_c = (D_c⁻¹ + K)⁻¹ = √D_c(I + √D_c K √D_c)⁻¹√D_c
and S = Σ_c E_c, the matrix R = W(I + KW)⁻¹ has the blocks δ_cd E_c − E_c S⁻¹E_d, so that no matrix is larger than n:

1. Newton steps a = b − RKb, b = Wf + ω(Y − π), f = Ka, halved while Ψ falls (Rasmussen, Williams 2006, 3.3).
2. log|I + KW| = Σ_c log|I + √D_c K √D_c| + log|S| − Σ_i log ω_i.
3. The gradient is Σ_ij A_ij ∂k(x_i, x_j) with A = ½Σ_c(a_ca_cᵀ − R_cc + u_cg_cᵀ + g_cu_cᵀ), g = ω(Y − π), u = (I − RK)s
and s_ik = −½ω_iπ_ik(v_k − Σ_cπ_cv_c − 2q_k + 2Σ_cπ_cq_c), v and q = Vπ from the covariance V of row i's values.

Cost: C n³ multiply–adds for a step, 4C n³ for the gradient, C n² numbers. Two classes are the process of
`engines.gram.laplace` with the kernel 2k.

Rasmussen, Williams (2006), 3.5 and 5.5; Williams, Barber (1998), doi:10.1109/34.735807.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from didact.core.backend import is_tensor, like, namespace
from didact.core.typing import AnyArray, Array
from didact.engines.gram.laplace import ascend, better_start, scaled_factor
from didact.engines.gram.process import contract, inverse, log_determinant, lower_factor, solve, whitened
from didact.kernels.base import Kernel

NODES = 2048  # and as many mirrored ones, by which averages over the latent values are taken
SEED = 3  # of their scrambling, fixed
NODE_ENTRIES = 1 << 21  # numbers of a tile of such averages


class Curved(NamedTuple):
    """The curvature at some latent values, by which R is applied."""

    root: Any  # √D, (n, C)
    L: tuple[Any, ...]  # the factor of I + √D_c K √D_c for each class
    joint: Any  # that of S

    def scaled(self, c: int, B: AnyArray) -> AnyArray:
        """E_c B."""
        root = self.root[:, c, None]
        return root * solve(self.L[c], root * B)

    def applied(self, V: AnyArray) -> AnyArray:
        """R V for V (n, C)."""
        xp, classes = namespace(V), range(len(self.L))
        own = xp.concat([self.scaled(c, V[:, c, None]) for c in classes], axis=1)
        shared = solve(self.joint, xp.sum(own, axis=1)[:, None])
        return own - xp.concat([self.scaled(c, shared) for c in classes], axis=1)


class SoftmaxMode(NamedTuple):
    """The mode of the latent values, and what evidence and predictions need."""

    value: float  # log q(Y)
    f: Any = None
    a: Any = None  # K⁻¹f
    residual: Any = None  # g
    pi: Any = None
    L: Any = None  # a `Curved`
    converged: bool = False


def softmax(f: AnyArray) -> AnyArray:
    """exp(f) of each row (the last axis), divided by its sum."""
    xp = namespace(f)
    e = xp.exp(f - xp.max(f, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def curvature_at(K: AnyArray, pi: AnyArray, w: AnyArray) -> Curved | None:
    """The factors at probabilities π; None if K is not positive semidefinite."""
    root, total, factors = (w[:, None] * pi) ** 0.5, 0.0 * K, []
    for c in range(pi.shape[1]):
        L = scaled_factor(K, root[:, c])
        if L is None:
            return None
        factors.append(L)
        total += root[:, c, None] * inverse(L) * root[:, c]
    joint = lower_factor(total)
    return None if joint is None else Curved(root, tuple(factors), joint)


def softmax_mode(K: AnyArray, Y: AnyArray, w: AnyArray, max_iter: int, start: Any = None) -> SoftmaxMode:
    """The mode of all classes' latent values by Newton's method; value −∞ where K is not positive semidefinite."""
    xp, weight = namespace(K), w[:, None]

    def fit(f: AnyArray, a: AnyArray) -> float:
        top = xp.max(f, axis=1)
        loss = top + xp.log(xp.sum(xp.exp(f - top[:, None]), axis=1)) - xp.sum(Y * f, axis=1)
        return -float((w * loss).sum()) - 0.5 * float((a * f).sum())

    def newton(f: AnyArray) -> AnyArray | None:
        pi = softmax(f)
        at = curvature_at(K, pi, w)
        b = weight * (pi * (f - xp.sum(pi * f, axis=1)[:, None]) + Y - pi)
        return None if at is None else b - at.applied(K @ b)

    slope = None if start is None else weight * (Y - softmax(like(start, Y)))
    found = ascend(K, better_start(K, fit, 0.0 * Y, slope), fit, newton, float(w.sum()), max_iter)
    pi = None if found is None else softmax(found.f)
    at = None if pi is None else curvature_at(K, pi, w)
    if found is None or at is None:
        return SoftmaxMode(-math.inf)
    spread = sum(log_determinant(L) for L in at.L) + log_determinant(at.joint) - float(xp.log(w).sum())
    return SoftmaxMode(
        value=found.psi - 0.5 * spread,
        f=found.f,
        a=found.a,
        residual=weight * (Y - pi),
        pi=pi,
        L=at,
        converged=found.converged,
    )


def softmax_slope(kernel: Kernel, X: Any, K: AnyArray, found: SoftmaxMode, w: AnyArray) -> Array:
    """∂ log q(Y)/∂ log θ at a mode."""
    if found.L is None:
        return np.zeros(len(kernel.theta))
    xp, at, pi, own, shared, M = namespace(K), found.L, found.pi, [], [], 0.0 * K
    for c, L in enumerate(at.L):
        E = both_triangles(at.root[:, c, None] * inverse(L) * at.root[:, c])
        H = whitened(at.joint, E)
        own.append(xp.linalg.diagonal(K) - xp.sum((E @ K) * K, axis=0))
        shared.append(H @ K)
        M -= 0.5 * (E - H.T @ H)
    v = xp.stack([d + xp.sum(G * G, axis=0) for d, G in zip(own, shared, strict=True)], axis=1)
    mixed = sum(pi[:, c] * G for c, G in enumerate(shared))
    q = xp.stack([pi[:, c] * d + xp.sum(G * mixed, axis=0) for c, (d, G) in enumerate(zip(own, shared, strict=True))],
                 axis=1)  # fmt: skip
    inner = v - 2.0 * q
    s = -0.5 * w[:, None] * pi * (inner - xp.sum(pi * inner, axis=1)[:, None])
    u = s - at.applied(K @ s)
    P = xp.concat([0.5 * found.a, 0.5 * u, 0.5 * found.residual], axis=1)
    Q = xp.concat([found.a, found.residual, u], axis=1)
    return contract(kernel, X, P, Q, M)


def both_triangles(M: AnyArray) -> AnyArray:
    """A symmetric matrix of which the lower triangle is given; that of a tensor is whole."""
    return M if is_tensor(M) else np.tril(M) + np.tril(M, -1).T


def latent_covariance(at: Curved, K: AnyArray, diagonal: AnyArray) -> AnyArray:
    """Covariances (m, C, C) of the latent values at new rows, from their kernel with the fitted ones, (n, m)."""
    xp = namespace(K)
    scaled = [at.scaled(c, K) for c in range(len(at.L))]
    own = xp.stack([diagonal - xp.sum(K * B, axis=0) for B in scaled], axis=1)
    G = xp.stack([whitened(at.joint, B) for B in scaled])
    shared = xp.stack([xp.sum(G * G[c], axis=1) for c in range(len(at.L))], axis=1)  # (C, C, m)
    return own[:, :, None] * like(np.eye(len(at.L)), own) + xp.permute_dims(shared, (2, 0, 1))


@cache
def normal_nodes(d: int) -> Array:
    """Points that spread like a normal distribution in d dimensions, and −1 times them; the same in every call.

    Scrambled points of Sobol' fill the unit cube more evenly than draws: averages are off by some 10⁻⁴ for three
    classes, and 10⁻³ for ten, where as many draws leave 5·10⁻³.
    """
    u = qmc.Sobol(d, seed=np.random.default_rng(SEED)).random(NODES)
    z = ndtri(np.clip(u, 2.0**-40, 1.0 - 2.0**-40))
    return np.concatenate([z, -z])


def averaged_softmax(mean: Array, covariance: Array) -> Array:
    """∫ softmax(f) N(f; mean, covariance) df of each row, over differences from the last class."""
    C = mean.shape[1]
    away = np.hstack([np.eye(C - 1), -np.ones((C - 1, 1))])
    values, vectors = np.linalg.eigh(away @ covariance @ away.T)
    spread = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    z, out, tile = normal_nodes(C - 1), np.empty(mean.shape), max(1, NODE_ENTRIES // (2 * NODES * C))
    for a in range(0, len(mean), tile):
        rows = slice(a, a + tile)
        f = np.zeros((len(mean[rows]), 2 * NODES, C))
        f[:, :, :-1] = (mean[rows] @ away.T)[:, None, :] + np.einsum("ijk,lk->ilj", spread[rows], z)
        out[rows] = softmax(f).mean(axis=1)
    return out
