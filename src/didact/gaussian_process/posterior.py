r"""What a Gaussian process says about new rows: means, variances and covariances of targets, and draws of functions.

With rows X, coefficients c = Λ(y − Hβ) and K + V = LLᵀ,

.. math:: \mu_* = k_*^Tc + h_*^T\beta,\qquad
    \sigma_*^2 = k_{**} - \|L^{-1}k_*\|^2 + \|A^{-1/2}(h_* - H^T\Lambda k_*)\|^2 ;

the last term is there because β is not known. With inducing points, L is that of K_zz, and ‖B^{-1/2}L⁻¹k_*‖² is added.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.backend import float_type, is_tensor, like, namespace, to_numpy
from didact.core.errors import ParameterError
from didact.core.rows.memory import refuse_square
from didact.core.threads import one_blas_thread, parallel_map
from didact.core.typing import AnyArray, Array
from didact.engines.gram.inducing import LowerBound, full_rows
from didact.engines.gram.process import Evidence, whitened
from didact.kernels.base import Kernel

PIECE_NUMBERS, LEAST_ROWS = 1 << 20, 64  # of a matrix of new rows and fitted ones that is there at a time: 8 MB


class Mean(NamedTuple):
    """The mean of a process, apart from a function of the rows: β of a basis [1, x]·`basis`, and units of targets."""

    basis: Array  # (1 + p, h)
    beta: Array  # (h, T), in units of the scaled targets
    cross: Array  # ΛH or its like for inducing points, (n, h)
    factor: Array  # the Cholesky factor of A
    shift: Array  # (T,): what was subtracted from y
    scale: Array  # (T,): what y was divided by


class Posterior(NamedTuple):
    """A process given rows, or given none."""

    kernel: Kernel
    points: Any  # (n, p): rows, or inducing points
    coef: Array  # (n, T)
    L: Array
    inner: Array  # the factor of B, for inducing points; else empty
    mean: Mean


def columns_of(X: AnyArray, basis: Array) -> AnyArray:
    """H = [1, x]·basis of rows."""
    if not basis.shape[1]:
        return X[:, :0] if is_tensor(X) else np.zeros((len(X), 0))
    if len(basis) == 1:
        return like(np.ones((X.shape[0], 1)), X) * like(basis, X)
    return like(basis[:1], X) + X @ like(basis[1:], X)


def function_values(function: Any, X: Any) -> AnyArray:
    """The values (n, T) of a mean function at rows: a fitted estimator's or a callable's."""
    given = to_numpy(X) if is_tensor(X) and hasattr(function, "predict") else X
    found = function.predict(given) if hasattr(function, "predict") else function(given)
    found = found if is_tensor(found) else np.asarray(found, np.float64)
    if found.shape[:1] != (X.shape[0],) or found.ndim > 2:
        raise ParameterError(
            f"The mean function returned shape {tuple(found.shape)} for {X.shape[0]} rows: it has to return a value, "
            "or one for each target, for every row."
        )
    found = found if is_tensor(found) else like(found, X)
    return found[:, None] if found.ndim == 1 else found


def of_evidence(kernel: Kernel, X: Any, found: Evidence, mean: Mean) -> Posterior:
    """The posterior given all rows."""
    T = found.profile.beta.shape[1]
    S = to_numpy(found.solved)
    coef = S[:, :T] - S[:, T:] @ found.profile.beta
    mean = mean._replace(beta=found.profile.beta, factor=found.profile.factor, cross=S[:, T:])
    return Posterior(kernel=kernel, points=X, coef=coef, L=to_numpy(found.L), inner=np.zeros((0, 0)), mean=mean)


def of_bound(kernel: Kernel, Z: Array, found: LowerBound, mean: Mean) -> Posterior:
    """The posterior by inducing points."""
    T = found.profile.beta.shape[1]
    S = linalg.solve_triangular(found.L, linalg.cho_solve((found.inner, True), found.cross), lower=True, trans="T")
    coef = S[:, :T] - S[:, T:] @ found.profile.beta
    mean = mean._replace(beta=found.profile.beta, factor=found.profile.factor, cross=S[:, T:])
    return Posterior(kernel=kernel, points=Z, coef=coef, L=found.L, inner=found.inner, mean=mean)


def prior(kernel: Kernel, T: int) -> Posterior:
    """The process given no rows."""
    none = np.zeros((0, 0))
    mean = Mean(basis=none, beta=np.zeros((0, T)), cross=none, factor=none, shift=np.zeros(T), scale=np.ones(T))
    return Posterior(kernel=kernel, points=none, coef=np.zeros((0, T)), L=none, inner=none, mean=mean)


def by_pieces(fn: Any, X: Any, points: Any, kernel: Kernel) -> Any:
    """fn of some of the rows X at a time, joined: their values with all fitted points are never there together.

    Pieces are cut by numbers of rows alone and BLAS has one thread, so that bits do not depend on other threads.
    """
    if is_tensor(X):
        return fn(X)
    n, step = X.shape[0], max(LEAST_ROWS, PIECE_NUMBERS // max(len(points), 1))
    pieces = [slice(a, a + step) for a in range(0, max(n, 1), step)]
    with one_blas_thread:
        parts = parallel_map(lambda rows: fn(X[rows]), pieces) if kernel.in_blocks() else [fn(X[r]) for r in pieces]
    return np.concatenate(parts)


def _values(U: Any, p: Posterior) -> AnyArray:
    """k of rows with the points."""
    return p.kernel.gram(U, p.points if p.points.dtype == object else like(p.points, U))


def _means(X: Any, p: Posterior) -> AnyArray:
    """Means of some rows, in units of the targets, without a mean function."""
    U = full_rows(X)
    found = like(np.zeros((X.shape[0], len(p.mean.shift))), U)
    if p.mean.basis.shape[1]:
        found = found + columns_of(U, p.mean.basis) @ like(p.mean.beta, found)
    if len(p.coef):
        found = found + _values(U, p) @ like(p.coef, found)
    return found * like(p.mean.scale, found) + like(p.mean.shift, found)


def _reduced(U: Any, p: Posterior) -> list[tuple[float, AnyArray]]:
    """Matrices M with signs such that the covariance of rows is k(U, U) + Σ ±MᵀM."""
    parts: list[tuple[float, AnyArray]] = []
    if len(p.coef):
        K = _values(U, p)
        V = whitened(like(p.L, K), K.T)
        parts.append((-1.0, V))
        if len(p.inner):
            parts.append((1.0, whitened(like(p.inner, K), V)))
        if p.mean.basis.shape[1]:
            H = columns_of(U, p.mean.basis)
            parts.append((1.0, whitened(like(p.mean.factor, K), H.T - like(p.mean.cross, K).T @ K.T)))
    return parts


def means_at(X: Any, p: Posterior, function: Any) -> AnyArray:
    """Predictive means, (n,) or (n, T)."""
    found = by_pieces(lambda some: _means(some, p), X, p.points, p.kernel)
    return _shaped(found if function is None else found + function_values(function, X), X)


def _shaped(found: AnyArray, X: Any) -> AnyArray:
    """One target without its axis, in the float type of the rows."""
    found = found[:, 0] if found.shape[1] == 1 else found
    if is_tensor(found):
        return namespace(found).astype(found, X.dtype) if X.dtype.is_floating_point else found
    return found.astype(float_type(X), copy=False)


def _variances(X: Any, p: Posterior, noise: bool) -> AnyArray:
    """Variances (n,), before units, with the kernel's white noise if that is asked for."""

    def of_some(some: Any) -> AnyArray:
        U = full_rows(some)
        variance = p.kernel.diagonal(U, same=noise)
        for sign, M in _reduced(U, p):
            variance = variance + sign * (M * M).sum(axis=0)
        return variance

    return by_pieces(of_some, X, p.points, p.kernel)


def _deviations(X: Any, p: Posterior, variance: AnyArray) -> AnyArray:
    """Standard deviations, (n,) or (n, T), in units of the targets."""
    deviation = namespace(variance).clip(variance, 0.0, None) ** 0.5
    return _shaped(deviation[:, None] * like(p.mean.scale, deviation), X)


def deviations_at(X: Any, p: Posterior, function: Any) -> AnyArray:
    """Predictive standard deviations, (n,) or (n, T), with the kernel's white noise."""
    return _deviations(X, p, _variances(X, p, True))


def intervals_at(X: Any, p: Posterior, function: Any, width: float, noise: bool, given: Array) -> AnyArray:
    """Bounds so many standard deviations from the mean, (n, 2) or (n, T, 2); `given` are more variances of noise."""
    if len(given) not in (1, X.shape[0]):
        raise ParameterError(f"noise has {len(given)} variances for {X.shape[0]} rows: give one, or one for each.")
    variance = _variances(X, p, noise)
    mean, half = means_at(X, p, function), width * _deviations(X, p, variance + like(given, variance))
    return namespace(mean).stack([mean - half, mean + half], axis=mean.ndim)


def covariances_at(X: Any, p: Posterior, function: Any) -> AnyArray:
    """The predictive covariance of all rows, (n, n) or (n, n, T)."""
    refuse_square(X.shape[0], "ask for fewer rows at a time, or for return_std=True", len(p.mean.scale) + 1)
    U = full_rows(X)
    covariance = p.kernel.gram(U)
    for sign, M in _reduced(U, p):
        covariance = covariance + sign * (M.T @ M)
    found = covariance[:, :, None] * like(p.mean.scale**2, covariance)
    return found[:, :, 0] if found.shape[2] == 1 else found


def draws(mean: Array, covariance: Array, count: int, rng: np.random.Generator) -> Array:
    """Draws (n, count) from a Gaussian distribution whose covariance may be singular."""
    values, Q = linalg.eigh(covariance)
    root = Q * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(mean[:, None] + root @ rng.normal(size=(len(mean), count)))
