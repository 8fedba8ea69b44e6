r"""A mixture of experts on blocks of rows: the E step, its sufficient statistics, and the M step.

.. math:: p(y\mid x) = \sum_m g_m(x)\,p_m(y\mid x),\qquad g_m(x) = e^{v_m^Tz}/\textstyle\sum_j e^{v_j^Tz},\ z = (x, 1)

Experts are linear with Gaussian noise, :math:`N(b_m^Tz, \sigma_m^2)`, or softmax regressions. With the responsibilities
:math:`r_m = g_mp_m/\sum_jg_jp_j` of the experts, linear ones are fitted by weighted least squares; gates and softmax
experts take a Newton step. All of this follows from sums over rows, so an EM iteration is one pass over the data.

Jordan, Jacobs (1994), Hierarchical mixtures of experts and the EM algorithm, doi:10.1162/neco.1994.6.2.181.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.backend import is_sparse, small_product, to_numpy
from didact.core.rows import Block
from didact.core.typing import Array
from didact.engines.smooth.newton import newton_direction
from didact.parts.families.log_densities import gaussian_log_density
from didact.parts.statistics.counts import label_codes
from didact.parts.statistics.moments import Sums

WELL_POSED = 1e-7  # reciprocal condition above which the normal equations are solved by Cholesky
CONSTANT_CURVATURE = 1e-8  # least curvature of constant terms, in units of the penalty: they stop growing near 23
LEAST_VARIANCE = 1e-6  # of an expert's noise, relative to the variance of y: the likelihood stays finite


class Mixture(NamedTuple):
    """Parameters on standardised data, constant terms last: gates (M, q), experts (M, q) or (M, K, q), variances."""

    gates: Array
    experts: Array
    variances: Array

    def towards(self, other: "Mixture", share: float) -> "Mixture":
        """Parameters a share of the way to others; variances geometrically, so that they stay positive."""
        gates = self.gates + share * (other.gates - self.gates)
        experts = self.experts + share * (other.experts - self.experts)
        variances = self.variances * (other.variances / self.variances) ** share
        return Mixture(gates, experts, np.maximum(variances, LEAST_VARIANCE))


class Frame(NamedTuple):
    """How rows are standardised: means and scales of X and y; the classes, or None for numbers.

    If there are more columns than rows, `basis` (p, r) is an orthonormal basis of the standardised rows. Coefficients
    in this basis lose nothing: the penalty is the same, and components outside of it affect no prediction.
    """

    mean: Array
    scale: Array
    centre: float
    spread: float
    classes: Array | None
    basis: Array | None = None

    def design(self, X: Any) -> Array:
        """[(X − mean)/scale, 1] in float64, the first part in the basis if there is one."""
        X = X.toarray() if is_sparse(X) else to_numpy(X)
        Z = (X - self.mean) / self.scale
        return np.column_stack([Z if self.basis is None else Z @ self.basis, np.ones(len(X))])

    def raised(self, coef: Array) -> Array:
        """Coefficients of the design converted to coefficients of X."""
        return (coef if self.basis is None else coef @ self.basis.T) / self.scale

    def flat(self) -> "Frame":
        """The frame for rows that are already expressed in the basis."""
        r = 0 if self.basis is None else self.basis.shape[1]
        return Frame(mean=np.zeros(r), scale=np.ones(r), centre=self.centre, spread=self.spread, classes=self.classes)

    def target(self, y: Any) -> Array:
        """Standardised numbers, or class codes."""
        y = to_numpy(y)
        return (y - self.centre) / self.spread if self.classes is None else label_codes(y, self.classes)


def log_softmax(z: Array) -> Array:
    """z − log Σ e^z along the last axis."""
    z = z - z.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def log_densities(Z: Array, t: Array, theta: Mixture) -> Array:
    """log p_m(y|x) of every row and expert, (n, M)."""
    if theta.experts.ndim == 2:
        r = t[:, None] - Z @ theta.experts.T
        return gaussian_log_density(r * r / theta.variances, np.log(theta.variances))
    return np.stack([log_softmax(Z @ expert.T)[np.arange(len(t)), t] for expert in theta.experts], axis=1)


def expectation(block: Block, theta: Mixture, frame: Frame) -> Sums:
    """The E step of one block: log-likelihood, score and curvature of the gates, and the statistics of the experts."""
    X, y, w = block.X, block.y, block.weight
    Z, t = frame.design(X), frame.target(y)
    w = np.ones(len(Z)) if w is None else to_numpy(w)
    gates = log_softmax(Z @ theta.gates.T)
    joint = gates + log_densities(Z, t, theta)
    top = joint.max(axis=1, keepdims=True)
    each = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
    R, G = w[:, None] * np.exp(joint - each[:, None]), np.exp(gates)
    experts = _linear_sums(Z, t, R) if theta.experts.ndim == 2 else _softmax_sums(Z, t, R, theta.experts)
    return Sums((float(w @ each), small_product((R - w[:, None] * G).T, Z), curvature(Z, G, w), *experts))


def curvature(Z: Array, P: Array, w: Array) -> Array:
    """Σ w (diag(p) − ppᵀ) ⊗ zzᵀ, of shape (Kq, Kq): minus the second derivative of a softmax log-likelihood."""
    K, q = P.shape[1], Z.shape[1]
    H = np.empty((K, q, K, q))
    for k in range(K):
        for m in range(k + 1):
            H[k, :, m, :] = small_product(Z.T, (w * P[:, k] * ((k == m) - P[:, m]))[:, None] * Z)
            H[m, :, k, :] = H[k, :, m, :].T
    return H.reshape(K * q, K * q)


def _linear_sums(Z: Array, t: Array, R: Array) -> tuple[Array, ...]:
    """Σ r zzᵀ (M, q, q), Σ r z t (M, q), Σ r t² (M,) and Σ r (M,)."""
    grams = np.stack([small_product(Z.T, r[:, None] * Z) for r in R.T])
    return grams, small_product(R.T, Z * t[:, None]), small_product(R.T, t * t), R.sum(axis=0)


def _softmax_sums(Z: Array, t: Array, R: Array, experts: Array) -> tuple[Array, ...]:
    """Scores (M, K, q) and curvatures (M, Kq, Kq) of the experts' weighted log-likelihoods."""
    truth = np.eye(experts.shape[1])[t]
    P = [np.exp(log_softmax(Z @ expert.T)) for expert in experts]
    scores = np.stack([small_product((r[:, None] * (truth - p)).T, Z) for p, r in zip(P, R.T, strict=True)])
    return scores, np.stack([curvature(Z, p, r) for p, r in zip(P, R.T, strict=True)])


def penalty(theta: Mixture, alpha: float) -> float:
    """½α times the sum of squares of all coefficients except the constant terms."""
    return 0.5 * alpha * float((theta.gates[:, :-1] ** 2).sum() + (theta.experts[..., :-1] ** 2).sum())


def improved(theta: Mixture, statistics: tuple[Array, ...], alpha: float) -> Mixture:
    """The parameters after an M step: least squares for linear experts, a Newton step for gates and softmax experts."""
    score, hessian, *experts = statistics
    gates = _newton_step(theta.gates, score, hessian, alpha)
    each = range(len(theta.experts))
    if theta.experts.ndim == 3:
        scores, hessians = experts
        steps = [_newton_step(theta.experts[m], scores[m], hessians[m], alpha) for m in each]
        return Mixture(gates, np.stack(steps), theta.variances)
    grams, zt, tt, weights = experts
    found = [_least_squares(grams[m], zt[m], tt[m], weights[m], theta.variances[m], alpha) for m in each]
    return Mixture(gates, np.stack([coef for coef, _ in found]), np.asarray([variance for _, variance in found]))


def _newton_step(x: Array, score: Array, hessian: Array, alpha: float) -> Array:
    """x + (H + αD)⁻¹(score − αDx), with D = 0 for the constant terms.

    Where one class is certain, its constant term grows with every step and its curvature vanishes, until the step is a
    quotient of rounding errors. Its curvature is therefore at least a small share of the penalty, which moves no
    solution.
    """
    D = np.full(x.shape, alpha)
    D[..., -1] = CONSTANT_CURVATURE * alpha
    H = hessian + np.diag(D.ravel())
    D[..., -1] = 0.0
    return x + newton_direction(H, -(score - D * x).ravel()).reshape(x.shape)


def _least_squares(
    gram: Array, zt: Array, tt: float, weight: float, variance: float, alpha: float
) -> tuple[Array, float]:
    """The coefficients for the current variance, then the variance for these coefficients."""
    weight = max(weight, np.finfo(float).tiny)
    mean, centre = gram[-1, :-1] / weight, zt[-1] / weight
    scatter, cross = gram[:-1, :-1] - weight * np.outer(mean, mean), zt[:-1] - weight * centre * mean
    slopes = _ridge(scatter, cross, alpha * variance)
    coef = np.append(slopes, centre - slopes @ mean)
    residual = tt - 2 * coef @ zt + coef @ gram @ coef
    return coef, max(float(residual) / weight, LEAST_VARIANCE)


def _ridge(A: Array, b: Array, penalty: float) -> Array:
    """(A + penalty·I)⁻¹b for b in the range of A; rounding errors outside that range are dropped.

    The penalty falls with the variance, to 1e-8 and below: rounding errors in directions that an expert's rows do not
    determine would be divided by it.
    """
    largest = max(float(np.abs(np.diag(A)).max(initial=0.0)), np.finfo(float).tiny)
    factor, failed = linalg.lapack.dpotrf(A + penalty * np.eye(len(A)), lower=1, clean=0)
    if len(A) and not failed:
        reciprocal, _ = linalg.lapack.dpocon(factor, np.abs(A).sum(axis=0).max(), uplo="L")
        if reciprocal > WELL_POSED:
            return np.asarray(linalg.lapack.dpotrs(factor, b, lower=1)[0])
    values, V = linalg.eigh(A, check_finite=False)
    keep = values > 8 * len(A) * np.finfo(float).eps * largest
    return np.asarray((V[:, keep] / (values[keep] + penalty)) @ (V[:, keep].T @ b))
