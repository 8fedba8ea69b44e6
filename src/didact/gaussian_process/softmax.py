"""Processes of several classes jointly: the problem, its record, and what it says of new rows."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import like, to_numpy
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.engines.gram.inducing import full_rows
from didact.engines.gram.laplace import full_gram
from didact.gaussian_process.kernel_search import Searched, searched
from didact.gaussian_process.softmax_mode import (
    Curved,
    SoftmaxMode,
    averaged_softmax,
    latent_covariance,
    softmax_mode,
    softmax_slope,
)
from didact.kernels.base import Kernel

TILE = 512  # new rows at a time: each takes n numbers for each class


class SoftmaxLatent(NamedTuple):
    """Processes of all classes with one kernel: the Gaussian about the mode."""

    kernel_: Any
    log_marginal_likelihood_value_: float
    y_train_: Array  # codes
    pi_: Array  # (n, C)
    W_sr_: Array  # √D, (n, C)
    L_: Array  # (C, n, n)
    joint: Array  # the factor of S, (n, n)
    residual: Array  # ω(Y − π), (n, C)
    f_cached: Array
    weight: Array

    def problem(self, X: Any, max_iter: int) -> "SoftmaxProblem":
        """What was solved."""
        return softmax_problem(X, self.y_train_, self.weight, max_iter)


class SoftmaxProblem(NamedTuple):
    """Rows, labels Y (n, C) of zeros and ones, and weights of the processes of all classes."""

    X: Any
    y: AnyArray
    w: AnyArray
    max_iter: int

    def at(self, kernel: Kernel, gradient: bool, start: Any = None) -> tuple[SoftmaxMode, Array]:
        """The mode for a kernel, and the gradient of the evidence."""
        with blas_for(self.X.shape[0]):
            K = full_gram(kernel, self.X)
            found = softmax_mode(K, self.y, self.w, self.max_iter, start)
            return found, softmax_slope(kernel, self.X, K, found, self.w) if gradient else np.zeros(0)

    def latent(self, search: Searched, found: SoftmaxMode) -> SoftmaxLatent:
        """The record of the solved problem, on the host."""
        at = found.L
        return SoftmaxLatent(
            kernel_=search.shown,
            log_marginal_likelihood_value_=np.float64(found.value),
            y_train_=to_numpy(self.y).argmax(axis=1),
            pi_=to_numpy(found.pi),
            W_sr_=to_numpy(at.root),
            L_=np.stack([to_numpy(L) for L in at.L]),
            joint=to_numpy(at.joint),
            residual=to_numpy(found.residual),
            f_cached=to_numpy(found.f),
            weight=to_numpy(self.w),
        )


def softmax_problem(U: Any, codes: Array, w: Array, max_iter: int) -> SoftmaxProblem:
    """That of labels 0 … C − 1."""
    reference = codes if U.dtype == object else U
    Y = (codes[:, None] == np.arange(int(codes.max()) + 1)).astype(np.float64)
    return SoftmaxProblem(X=U, y=like(Y, reference), w=like(w, reference), max_iter=max_iter)


def softmax_moments(X: Any, fitted: Any, latent: SoftmaxLatent) -> tuple[Array, Array]:
    """Means (m, C) and covariances (m, C, C) of the latent functions."""
    kernel, U = searched(latent.kernel_).kernel, full_rows(X)
    points = fitted if fitted.dtype == object else like(full_rows(fitted), U)
    means, covariances = [], []
    with blas_for(len(latent.joint)):
        for a in range(0, U.shape[0], TILE):
            K = kernel.gram(points, U[a : a + TILE])
            at = Curved(like(latent.W_sr_, K), tuple(like(L, K) for L in latent.L_), like(latent.joint, K))
            means.append(to_numpy(K.T @ like(latent.residual, K)))
            covariances.append(to_numpy(latent_covariance(at, K, kernel.diagonal(U[a : a + TILE]))))
    return np.concatenate(means), np.concatenate(covariances)


def softmax_shares(X: Any, fitted: Any, latent: SoftmaxLatent) -> Array:
    """Probabilities of the classes, (n, C)."""
    return averaged_softmax(*softmax_moments(X, fitted, latent))


def softmax_latent_at(X: Any, fitted: Any, latent: SoftmaxLatent) -> Array:
    """Means and variances of the latent functions, (n, C, 2)."""
    mean, covariance = softmax_moments(X, fitted, latent)
    return np.stack([mean, np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0)], axis=2)
