r"""Logistic and softmax regression in the features of a kernel: Newton's method on the coefficients of the rows.

.. math:: J(\beta, b) = \sum_i\omega_i\,\ell(y_i, f_i) + \frac1{2C}\langle\beta, K\beta\rangle,\qquad f = K\beta + b

With the residuals R = ∂ℓ/∂f (probabilities less ones) the gradient in the features is K G, G = β/C + ωR, and a Newton
step (iteratively reweighted least squares) solves

.. math:: (I/C + HK)\,\delta + H1\,\delta_b = -G,\qquad 1^TH(K\delta + 1\delta_b) = -1^T\omega R

with the curvature H of the losses. Two classes and few rows: by one Cholesky factor of I/C + √H K √H, n³/3, which
divides by no curvature. Else by conjugate gradients in the inner product of the kernel, in which the system is
symmetric and the gradient is G itself: one product with K an iteration, the constants eliminated. Steps are halved
until J falls.

Zhu, Hastie (2005), Kernel logistic regression and the import vector machine, doi:10.1198/106186005X25619; Rasmussen,
Williams (2006), Gaussian Processes for Machine Learning, section 3.5.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from didact.core.backend import is_tensor
from didact.core.typing import AnyArray, Array
from didact.engines.gram.systems import factored, product_with, scaled
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.line_search import DECREASE, NOISE
from didact.engines.loop.result import Result
from didact.parts.losses.classification import Logistic, Softmax

DIRECT = 2000  # rows up to which a Cholesky factor is quicker than conjugate gradients
FORCING = 0.1  # a step is solved to this share of the gradient at first, and better the smaller that is
CONJUGATE, NEWTON_HALVINGS = 500, 30
SMALL_FALL = 1e-13  # of the objective: a smaller fall is rounding


class Classes(NamedTuple):
    """Losses of rows: codes (n,), weights, and the number of score columns (1 for two classes)."""

    codes: Array
    weight: Array
    columns: int

    def look(self, f: Array) -> tuple[float, Array, Array]:
        """Σωℓ, ωR (n, d), and the probabilities or curvatures that `curve` needs."""
        w = self.weight[:, None]
        if self.columns == 1:
            value, r, h = Logistic().value_grad_hess(self.codes.astype(np.float64), f[:, 0])
            return float(self.weight @ value), w * r[:, None], w * h[:, None]
        value, R = Softmax().value_grad(self.codes, f)
        P = R.copy()
        P[np.arange(len(P)), self.codes] += 1.0
        return float(self.weight @ value), w * R, P

    def curve(self, shape: Array, V: Array) -> Array:
        """H V."""
        if self.columns == 1:
            return shape * V
        product = shape * V
        return self.weight[:, None] * (product - shape * product.sum(axis=1, keepdims=True))

    def constants(self, shape: Array) -> Array:
        """An inverse of 1ᵀH1 (d, d), of softmax where constants sum to zero: one added to all changes nothing."""
        if self.columns == 1:
            return np.linalg.pinv(shape.sum(axis=0)[:, None])
        M = np.diag(self.weight @ shape) - shape.T @ (self.weight[:, None] * shape)
        return np.linalg.pinv(M + np.trace(M) / len(M) ** 2, hermitian=True)


class _State(NamedTuple):
    x: tuple[Array, Array]  # β and b
    fit: Array  # Kβ
    value: float
    gradient: Array  # G
    tilt: Array  # 1ᵀωR
    shape: Array
    lifted: Array  # K G
    optimality: float


def kernel_logistic(
    K: AnyArray, rows: Classes, C: float, constant: bool, tol: float, max_iter: int, report: Report | None = None
) -> Result:
    """Minimise J; x of the result is (β, b). The optimality is the length of the mean gradient in the features."""
    product, weight = product_with(K), float(rows.weight.sum())

    def state(beta: Array, b: Array, fit: Array) -> _State:
        value, R, shape = rows.look(fit + b)
        G, tilt = beta / C + R, R.sum(axis=0) * constant
        lifted = product(G)
        size = np.sqrt(max(float((G * lifted).sum()), 0.0) + float(tilt @ tilt)) / weight
        J = value + float((beta * fit).sum()) / (2.0 * C)
        return _State(x=(beta, b), fit=fit, value=J, gradient=G, tilt=tilt, shape=shape, lifted=lifted, optimality=size)

    def step(s: _State) -> _State | None:
        if rows.columns == 1 and len(rows.codes) <= DIRECT and not is_tensor(K):
            d, db = _direct(K, s, C, constant)
            Kd = product(d)
        else:
            d, Kd, db = _conjugate(product, rows, s, C, constant)
        slope = float((s.lifted * d).sum() + s.tilt @ db)
        t = 1.0
        if -slope <= SMALL_FALL * abs(s.value):  # no value can tell: the gradient decides
            new = state(s.x[0] + d, s.x[1] + db, s.fit + Kd)
            return new if new.optimality < 0.5 * s.optimality else s._replace(optimality=min(s.optimality, tol))
        for _ in range(NEWTON_HALVINGS):
            new = state(s.x[0] + t * d, s.x[1] + t * db, s.fit + t * Kd)
            if new.value <= s.value + DECREASE * t * slope + NOISE * abs(s.value):
                return new
            t *= 0.5
        return None

    n = len(rows.codes)
    start = state(np.zeros((n, rows.columns)), np.zeros(rows.columns), np.zeros((n, rows.columns)))
    return iterate(start, step, tol, max_iter, report)


def _direct(K: Array, s: _State, C: float, constant: bool) -> tuple[Array, Array]:
    """The Newton step of two classes: (I/C + HK)⁻¹ = C − C√H (I/C + √H K √H)⁻¹ √H K."""
    h = s.shape[:, 0]
    root = np.sqrt(h)
    solve = factored(scaled(K, root), 1.0 / C)
    right = np.column_stack([-s.gradient[:, 0], h])
    found = C * (right - root[:, None] * solve(root[:, None] * (K @ right)))
    if not constant:
        return found[:, :1], np.zeros(1)
    lifted = K @ found
    left = h.sum() - h @ lifted[:, 1]
    db = -(s.tilt[0] + h @ lifted[:, 0]) / left if left > 0 else 0.0
    return found[:, :1] - db * found[:, 1:], np.array([db])


def _conjugate(
    product: Callable[[Array], Array], rows: Classes, s: _State, C: float, constant: bool
) -> tuple[Array, Array, Array]:
    """The Newton step δ, Kδ and δ_b by conjugate gradients in the inner product ⟨δ, Kδ'⟩.

    The constants are eliminated: given V = Kδ they are c(V) = −M⁻¹1ᵀHV, with M = 1ᵀH1, beside those of the start. What
    is left, I/C + H̃K, has no eigenvalue below 1/C, which is that of the null space of K: so its part of the residuals,
    which ⟨δ, Kδ'⟩ does not see, never grows.
    """
    inverse = rows.constants(s.shape) * constant

    def free(tilt: Array) -> Array:
        return -inverse @ tilt

    def curved(V: Array) -> Array:
        HV = rows.curve(s.shape, V)
        return HV + rows.curve(s.shape, np.broadcast_to(free(HV.sum(axis=0)), V.shape))

    first = free(s.tilt)
    r = -s.gradient - rows.curve(s.shape, np.broadcast_to(first, s.gradient.shape))
    d, Kd, Kr = np.zeros_like(r), np.zeros_like(r), product(r)
    p, Kp = r.copy(), Kr.copy()
    size = float((r * Kr).sum())
    enough = min(FORCING, np.sqrt(s.optimality)) ** 2 * size
    for _ in range(CONJUGATE):
        HV = curved(Kp)
        curvature = float((p * Kp).sum()) / C + float((Kp * HV).sum())
        if not curvature > 0:
            break
        a = size / curvature
        d += a * p
        Kd += a * Kp
        r -= a * (p / C + HV)
        Kr = product(r)
        new = float((r * Kr).sum())
        if not new > enough:
            break
        p = r + (new / size) * p
        Kp = Kr + (new / size) * Kp
        size = new
    return d, Kd, first + free(rows.curve(s.shape, Kd).sum(axis=0))
