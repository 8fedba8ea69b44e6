r"""The elastic embedding: springs between neighbours, Gaussian repulsion between all points.

.. math:: E = \sum_{ij} w^+_{ij}\|y_i-y_j\|^2 + \lambda\sum_{i\ne j}w^-\,e^{-\|y_i-y_j\|^2},\qquad
    \nabla E = 4(L^+ - \lambda L^-)Y

with the Laplacians L = diag(W1) − W of the springs and of :math:`w^- e^{-\|y_i-y_j\|^2}`. The spectral direction
:math:`-(4L^+ + \epsilon)^{-1}\nabla E` takes the springs' curvature, which does not change, for that of E; the length
of a step is found by halving. Sums of Gaussians come from `kernel_sums`: over a tree, or over nodes.

Carreira-Perpiñán (2010), The elastic embedding algorithm for dimensionality reduction, ICML;
Vladymyrov, Carreira-Perpiñán (2012), Partial-Hessian strategies for fast learning of nonlinear embeddings, ICML.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.embedding.tuning import DENSE_SPRINGS
from didact.engines.linear.conjugate_gradients import conjugate_gradients
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.line_search import Armijo
from didact.engines.loop.result import Result
from didact.engines.smoothing.kernel_sums import kernel_sums, prepare
from didact.parts.windows import GaussianWindow

UNIT_SCALE = np.array([2.0])  # the window exp(−u²/2) at u² = 2d²
DAMPING = 1e-4  # ε in units of the mean of the diagonal of 4L⁺, which is singular
CG_STEPS, CG_TOL = 30, 1e-2
NEW_STEPS, NEW_RATE = 100, 0.5
TINY = 1e-300


def gauss_forces(Y: Array, places: Array | None) -> tuple[Array, Array]:
    """Σ_j e^{−d²} and Σ_j e^{−d²}(q − y_j) for each place q, or (None) for each point without itself."""
    found = kernel_sums(GaussianWindow(), prepare(Y, np.ones(len(Y)), Y), places, UNIT_SCALE)
    total, moment = found.weight[0], found.columns[0]
    vanishing = found.nearest > 0  # sums in other units: they underflow
    total, moment = np.where(vanishing, 0.0, total), np.where(vanishing[:, None], 0.0, moment)
    return total, total[:, None] * (Y if places is None else places) - moment


def elastic_objective(W: Any, repulsion: float, d: int) -> Callable[[Array], tuple[float, Array]]:
    """The function of all coordinates in line → E and its gradient, for springs W (sparse, symmetric)."""
    n, degree = W.shape[0], np.asarray(W.sum(axis=1)).ravel()

    def objective(x: Array) -> tuple[float, Array]:
        Y = x.reshape(n, d)
        pull = degree[:, None] * Y - W @ Y
        total, push = gauss_forces(Y, None)
        value = 2.0 * float((Y * pull).sum()) + repulsion * float(total.sum())
        return value, (4.0 * (pull - repulsion * push)).ravel()

    return objective


def spring_solver(W: Any, d: int) -> Callable[[Array], Array]:
    """The function g → (4L⁺ + ε)⁻¹ g: by a Cholesky factor of few points, else by some conjugate gradients."""
    n, degree = W.shape[0], np.asarray(W.sum(axis=1)).ravel()
    more = DAMPING * float(degree.mean())
    if n <= DENSE_SPRINGS:
        with blas_for(n):
            factor = linalg.cho_factor(4.0 * (np.diag(degree + more) - W.toarray()), lower=True, check_finite=False)
        return lambda g: linalg.cho_solve(factor, g.reshape(n, d), check_finite=False).ravel()
    L = (4.0 * (sparse.diags_array(degree + more) - W)).tocsr()
    diagonal = 4.0 * (degree + more)[:, None]

    def solve(g: Array) -> Array:
        return np.asarray(conjugate_gradients(lambda V: L @ V, g.reshape(n, d), diagonal, CG_TOL, CG_STEPS).x).ravel()

    return solve


class _State(NamedTuple):
    x: Array
    value: float
    gradient: Array
    length: float = 1.0  # to try first
    optimality: float = np.inf  # by what share of itself E has fallen


def elastic_embedding(
    W: Any, Y: Array, repulsion: float, tol: float, max_iter: int, report: Report | None = None
) -> Result:
    """Minimise E from the places Y, until a step lowers it by less than a share `tol`; `repulsion` is λw⁻."""
    objective, solve = elastic_objective(W, repulsion, Y.shape[1]), spring_solver(W, Y.shape[1])

    def step(s: _State) -> _State | None:
        found = Armijo()(objective, s, -solve(s.gradient), s.length)
        if found is None:
            return None
        x, value, gradient = found.point
        fall = (s.value - value) / max(abs(value), TINY)
        return _State(x=x, value=value, gradient=gradient, length=2.0 * found.length, optimality=fall)

    x = np.ascontiguousarray(Y, np.float64).ravel()
    return iterate(_State(x, *objective(x)), step, tol, max_iter, report)


def new_elastic(Y: Array, rows: Array, P: Array, repulsion: float) -> Array:
    """Places of new points with affinities P (m, k) to Y[rows], which stay, by damped steps to a fixed point."""
    middle = np.einsum("ik,ikc->ic", P, Y[rows])
    places = middle.copy()
    for _ in range(NEW_STEPS if len(rows) else 0):
        move = middle + repulsion * gauss_forces(Y, places)[1] - places
        places += NEW_RATE * move
        if np.abs(move).max() <= 1e-6:
            break
    return places
