r"""Checking the Karush–Kuhn–Tucker conditions at a point."""

from typing import Any

import numpy as np

from didact.core.errors import InputError
from didact.core.validation.entrance import entrance
from didact.engines.constrained.kkt import KKTResidual, Multipliers, residual
from didact.optimize.linear_constraints import bounds, matrix, vector


@entrance()
def kkt_residual(
    x: Any,
    gradient: Any,
    multipliers: Any,
    equalities: Any = None,
    inequalities: Any = None,
    lower: Any = None,
    upper: Any = None,
) -> KKTResidual:
    r"""Residuals of the first-order conditions of a constrained minimum at a point with its multipliers.

    For min f(x) such that h(x) = 0, g(x) ≤ 0, l ≤ x ≤ u the Lagrangian is
    :math:`L = f + \lambda^Th + \mu^Tg + \mu_l^T(l - x) + \mu_u^T(x - u)`, and the conditions are

    * stationarity :math:`\nabla f + J_h^T\lambda + J_g^T\mu - \mu_l + \mu_u = 0`;
    * primal feasibility h = 0, g ≤ 0, l ≤ x ≤ u;
    * dual feasibility μ ≥ 0;
    * complementarity :math:`\mu_ig_i = 0`: only binding constraints have positive multipliers.

    Parameters
    ----------
    x : array of shape (n,)
        The point.
    gradient : array of shape (n,)
        The gradient of f there: P x + q of a quadratic program, c of a linear one.
    multipliers : Multipliers or tuple
        As in a `Result`: of equalities, inequalities, lower and upper bounds; None for those that do not exist.
    equalities, inequalities : pairs of arrays of shapes (k,) and (k, n), optional
        The values h(x) and g(x) at the point, each with its Jacobian: `(A @ x - b, A)` for linear ones.
    lower, upper : arrays of shape (n,) or numbers, optional
        Bounds.

    Returns
    -------
    KKTResidual
        The largest absolute violations `stationarity`, `primal_feasibility`, `dual_feasibility` and `complementarity`,
        the `largest` of them, and `satisfied(tol)`. All are 0 at a solution. For a convex problem the conditions are
        also sufficient, and the best dual value equals the primal one.

    Notes
    -----
    The cost is that of two products with the Jacobians.

    References
    ----------
    Nocedal, Wright (2006), Numerical Optimization, chapter 12, doi:10.1007/978-0-387-40065-5.

    Examples
    --------
    The least x + y on the unit circle is at x = y = −1/√2, with the multiplier 1/√2:

    >>> import numpy as np
    >>> from didact.optimize import kkt_residual
    >>> x = np.array([-1, -1]) / np.sqrt(2)
    >>> circle = [x @ x - 1], [2 * x]
    >>> kkt_residual(x, [1, 1], ([1 / np.sqrt(2)], None, None, None), equalities=circle).satisfied(1e-12)
    True
    """
    x = vector(x, "x")
    n = len(x)
    h, J_h = _pair(equalities, n, "equalities")
    g, J_g = _pair(inequalities, n, "inequalities")
    given = tuple(multipliers)
    if len(given) != 4:
        raise InputError(
            "multipliers must have four parts (equalities, inequalities, lower, upper; None for those that do not "
            f"exist); it has {len(given)}."
        )
    sizes = len(h), len(g), n, n
    parts = [
        np.zeros(size) if part is None else vector(part, f"multipliers.{name}", size)
        for part, name, size in zip(given, Multipliers._fields, sizes, strict=True)
    ]
    return residual(
        x, vector(gradient, "gradient", n), Multipliers(*parts), (h, J_h), (g, J_g), *bounds(n, lower, upper)
    )


def _pair(pair: Any, n: int, name: str) -> tuple[Any, Any]:
    """Values of constraints and their Jacobian."""
    if pair is None:
        return np.zeros(0), np.zeros((0, n))
    if len(pair) != 2:
        raise InputError(f"{name} must be a pair of values and their Jacobian; it has {len(pair)} parts.")
    values = vector(pair[0], f"{name}[0]", infinite=True)
    J = matrix(pair[1], f"{name}[1]", n, keep_sparse=True)
    if J.shape[0] != len(values):
        raise InputError(f"{name}: {len(values)} values, but a Jacobian with {J.shape[0]} rows.")
    return values, J
