r"""Processes of two classes: the problems that several classes make, their records, and what they say of new rows."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf

from didact.core.backend import float_type, is_tensor, like, rows_at, to_numpy
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.engines.gram.inducing import full_rows
from didact.engines.gram.laplace import Mode, evidence_slope, full_gram, mode
from didact.engines.gram.process import whitened
from didact.gaussian_process.kernel_search import Searched, searched
from didact.gaussian_process.posterior import by_pieces
from didact.gaussian_process.softmax import SoftmaxLatent, softmax_latent_at, softmax_shares
from didact.kernels.base import Kernel

# The sigmoid as ½Σc + ½Σ c_k erf(λ_k x), after Williams and Barber; scikit-learn's coefficients.
SLOPES = np.array([0.41, 0.4, 0.37, 0.44, 0.39])[:, None]
COEFS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])[:, None]


class Latent(NamedTuple):
    """A process of two classes: the kernel, the Gaussian about the mode, and which of the rows it saw."""

    kernel_: Any
    log_marginal_likelihood_value_: float
    y_train_: Array  # 0 or 1
    pi_: Array
    W_sr_: Array
    L_: Array
    residual: Array  # ω(y − π)
    f_cached: Array
    weight: Array
    rows: Array  # numbers of rows

    def problem(self, X: Any, max_iter: int) -> "Problem":
        """What was solved, from all fitted rows."""
        return Problem(X=X[self.rows], y=self.y_train_.astype(np.float64), w=self.weight, max_iter=max_iter,
                       rows=self.rows)  # fmt: skip


class Latents(NamedTuple):
    """The processes of several classes or pairs."""

    estimators_: list[Any]


class Problem(NamedTuple):
    """Rows, labels 0 and 1, and weights of a process of two classes."""

    X: Any
    y: AnyArray
    w: AnyArray
    max_iter: int
    rows: Array  # numbers of rows

    def at(self, kernel: Kernel, gradient: bool, start: Any = None) -> tuple[Mode, Array]:
        """The mode for a kernel, and the gradient of the evidence."""
        with blas_for(self.X.shape[0]):
            K = full_gram(kernel, self.X)
            found = mode(K, self.y, self.w, self.max_iter, start)
            return found, evidence_slope(kernel, self.X, K, found, self.w) if gradient else np.zeros(0)

    def latent(self, search: Searched, found: Mode) -> Latent:
        """The record of the solved problem, on the host."""
        return Latent(
            kernel_=search.shown,
            log_marginal_likelihood_value_=np.float64(found.value),
            y_train_=to_numpy(self.y).astype(np.int64),
            pi_=to_numpy(found.pi),
            W_sr_=to_numpy(found.root),
            L_=to_numpy(found.L),
            residual=to_numpy(found.residual),
            f_cached=to_numpy(found.f),
            weight=to_numpy(self.w),
            rows=self.rows,
        )


def moments_at(X: Any, fitted: Any, latent: Latent) -> tuple[Array, Array]:
    """Mean and variance of the latent function."""
    kernel, points = searched(latent.kernel_).kernel, fitted[latent.rows]

    def of_some(some: Any) -> Array:
        U = full_rows(some)
        K = kernel.gram(points if points.dtype == object else like(full_rows(points), U), U)
        V = whitened(like(latent.L_, K), like(latent.W_sr_, K)[:, None] * K)
        variance = kernel.diagonal(U) - (V * V).sum(axis=0)
        return np.column_stack([to_numpy(like(latent.residual, K) @ K), to_numpy(variance)])

    mean, variance = by_pieces(of_some, X, latent.rows, kernel).T
    return mean, np.maximum(variance, 0.0)


def averaged_sigmoid(mean: Array, variance: Array) -> Array:
    """∫ σ(z) N(z; mean, variance) dz."""
    scaled = SLOPES * mean / np.sqrt(1.0 + 2.0 * variance * SLOPES**2)
    return np.clip((COEFS * erf(scaled)).sum(axis=0) / 2 + 0.5 * COEFS.sum(), 0.0, 1.0)


def shares_at(X: Any, fitted: Any, latents: list[Any]) -> Array:
    """The probability of label 1 of each process, (n, processes); of processes of all classes jointly, those of all."""
    if isinstance(latents[0], SoftmaxLatent):
        return softmax_shares(X, fitted, latents[0])
    return np.stack([averaged_sigmoid(*moments_at(X, fitted, one)) for one in latents], axis=1)


def latent_at(X: Any, fitted: Any, latent: Any) -> Array:
    """Mean and variance of the latent function, (n, 2); of all classes jointly (n, C, 2)."""
    if isinstance(latent, SoftmaxLatent):
        return softmax_latent_at(X, fitted, latent)
    return np.stack(moments_at(X, fitted, latent), axis=1)


def posterior_at(X: Any, fitted: Any, latents: list[Any], present: Array, classes: int) -> Array:
    """Probabilities of all classes, 0 of those without weight; one against the rest are scaled to sum up to 1."""
    found = shares_at(X, fitted, latents)
    if found.shape[1] == 1:
        found = np.hstack([1.0 - found, found])
    total = found.sum(axis=1, keepdims=True)
    out = np.zeros((len(found), classes))
    out[:, present] = np.divide(found, total, out=np.full_like(found, 1.0 / found.shape[1]), where=total > 0)
    return like(out.astype(float_type(X)), X)


def labels_at(X: Any, fitted: Any, latents: list[Any], classes: Array, pairs: bool) -> Array:
    """The class with the largest probability, or with most votes of pairs, where confidence breaks ties."""
    if len(classes) == 2 and isinstance(latents[0], Latent):
        return classes[(moments_at(X, fitted, latents[0])[0] > 0).astype(int)]
    found = shares_at(X, fitted, latents)
    if not pairs:
        return classes[found.argmax(axis=1)]
    votes, sure = np.zeros((2, len(found), len(classes)))
    for k, (i, j) in enumerate(combinations(range(len(classes)), 2)):
        votes[:, i] += found[:, k] <= 0.5
        votes[:, j] += found[:, k] > 0.5
        sure[:, i] -= found[:, k] - 0.5
        sure[:, j] += found[:, k] - 0.5
    return classes[(votes + sure / (3 * (abs(sure) + 1))).argmax(axis=1)]


def binary_sets(codes: Array, classes: int, pairs: bool) -> list[tuple[Array, int]]:
    """The rows of each problem of two classes, and the code that counts as label 1."""
    every = np.arange(len(codes))
    if classes == 2:
        return [(every, 1)]
    if not pairs:
        return [(every, k) for k in range(classes)]
    return [(np.flatnonzero((codes == i) | (codes == j)), j) for i, j in combinations(range(classes), 2)]


def problem_of(U: Any, codes: Array, w: Array, rows: Array, label: int, max_iter: int) -> Problem:
    """One of these problems."""
    X = U if len(rows) == len(codes) else rows_at(U, rows)
    reference = U if is_tensor(U) else codes
    y = like((codes[rows] == label).astype(np.float64), reference)
    return Problem(X=X, y=y, w=like(w[rows], reference), max_iter=max_iter, rows=rows)
