r"""Quadratic programming: minimise :math:`\tfrac12x^TPx + q^Tx` under linear constraints."""

from typing import Any

import numpy as np
from scipy import linalg

from didact.core.errors import InputError
from didact.core.parameters import whole
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.constrained.quadratic_form import Program
from didact.engines.constrained.quadratic_program import solve_quadratic
from didact.engines.constrained.saddle import cholesky
from didact.engines.loop.result import Result
from didact.optimize.linear_constraints import linear_constraints, matrix, vector

SYMMETRIC = 1e-8  # differences of P and Pᵀ, relative to the largest entry, that count as rounding
CONVEX = 1e-9  # negative eigenvalues, relative to the largest entry, that count as rounding


@entrance(max_iter=whole(0))
def quadratic_program(
    P: Any,
    q: Any,
    A_eq: Any = None,
    b_eq: Any = None,
    G: Any = None,
    h: Any = None,
    lower: Any = None,
    upper: Any = None,
    x0: Any = None,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> Result:
    r"""Minimise a convex quadratic under linear equalities, inequalities and bounds.

    .. math:: \min_x \tfrac12 x^TPx + q^Tx \quad\text{such that}\quad A_{eq}x = b_{eq},\; Gx \le h,\; l \le x \le u.

    Parameters
    ----------
    P : array of shape (n, n)
        Symmetric and positive semidefinite.
    q : array of shape (n,)
        The linear part of the objective.
    A_eq, b_eq : arrays of shapes (p, n) and (p,), optional
        Equality constraints; they may be linearly dependent.
    G, h : arrays of shapes (m, n) and (m,), optional
        Inequality constraints; an infinite entry of h is no constraint.
    lower, upper : arrays of shape (n,) or numbers, optional
        Bounds; None and infinite entries are no bounds, equal ones fix a variable.
    x0 : array of shape (n,), optional
        A point near the solution, such as that of a similar problem: the constraints that bind there are tried first.
    tol : float
        The largest KKT residual that counts as solved, relative to its terms.
    max_iter : int
        The largest number of iterations of either method.

    Returns
    -------
    Result
        With `x`, `value`, `status` ("converged", "infeasible", "unbounded", "iteration limit", "no progress"),
        `n_iter` (interior-point iterations, or changes of the active set if that method succeeded alone), `optimality`
        (the relative KKT residual) and `multipliers`: a tuple of `equalities`, `inequalities`, `lower` and
        `upper`, with :math:`Px + q + A_{eq}^T\lambda + G^T\mu - \mu_l + \mu_u = 0` and all μ ≥ 0. Where there is no
        solution x is NaN, and the value ∞ (infeasible) or −∞ (unbounded).

    Notes
    -----
    A strictly convex problem with up to about twice as many constraints as variables is usually solved by an active-set
    method alone: n²k/2 + nk²/2 multiply–adds for the k constraints that it tries, and k³/6 for each of some ten rounds,
    in single precision with iterative refinement. Otherwise a primal–dual interior-point method finds the binding
    constraints, usually in four to eight iterations of mn²/2 + n³/6 multiply–adds, in single precision while that is
    accurate enough; then the active-set method gives the solution up to rounding. Matrices are stored dense. A strictly
    convex problem has one solution; if there are several, one of them is returned.

    References
    ----------
    Mehrotra (1992), On the implementation of a primal–dual interior point method, doi:10.1137/0802028.
    Hintermüller, Ito, Kunisch (2002), The primal–dual active set strategy as a semismooth Newton method,
    doi:10.1137/S1052623401383558.

    Examples
    --------
    The point of the line x + y = 1 that is nearest to (2, 0), with y ≥ ½:

    >>> from didact.optimize import quadratic_program
    >>> found = quadratic_program([[1, 0], [0, 1]], [-2, 0], A_eq=[[1, 1]], b_eq=[1], lower=[float("-inf"), 0.5])
    >>> found.x.round(9), found.multipliers.equalities.round(9), found.multipliers.lower.round(9)
    (array([0.5, 0.5]), array([1.5]), array([0., 2.]))
    """
    q = vector(q, "q")
    with blas_for(len(q)):
        P = convex_matrix(P, len(q))
        constraints = linear_constraints(len(q), A_eq, b_eq, G, h, lower, upper)
        if x0 is not None:
            x0 = vector(x0, "x0", len(q))
        return solve_quadratic(Program(P, q, *constraints), tol, max_iter, x0)


def convex_matrix(P: Any, n: int) -> Array:
    """P as a symmetric, positive semidefinite matrix, or an error that says why it is not."""
    P = matrix(P, "P", n)
    if len(P) != n:
        raise InputError(f"P must be square with a row for each of the {n} entries of q; it has shape {P.shape}.")
    if not (P == P.T).all():
        P = _symmetric(P)
    if cholesky(P, shifted=False) is None:
        _refuse_negative(P)
    return P


def _symmetric(P: Array) -> Array:
    """The symmetric part of P, if the rest is rounding; else an error."""
    skew = np.abs(P - P.T)
    if skew.max() > SYMMETRIC * np.abs(P).max():
        i, j = np.unravel_index(np.argmax(skew), P.shape)
        raise InputError(
            f"P is not symmetric: P[{i}, {j}] = {P[i, j]:g}, but P[{j}, {i}] = {P[j, i]:g}. "
            "(P + P.T)/2 is, and gives the same objective."
        )
    return 0.5 * (P + P.T)


def _refuse_negative(P: Array) -> None:
    """Raise if P has negative eigenvalues beyond rounding."""
    if not P.any():
        return
    values = linalg.eigvalsh(P)
    if values[0] < -CONVEX * np.abs(P).max():
        raise InputError(
            f"The problem is not convex: P has the negative eigenvalue {values[0]:.6g} (the largest is "
            f"{values[-1]:.6g}). Only local minima could be found: minimize_constrained does that."
        )
