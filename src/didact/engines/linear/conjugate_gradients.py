r"""Conjugate gradients for symmetric positive definite systems :math:`Ab = c`, several right-hand sides at once.

Each column has step lengths of its own; the product with A is the one shared, costly operation. Preconditioned with
the diagonal of A. At most p steps in exact arithmetic, about :math:`\tfrac12\sqrt\kappa\log(2/\epsilon)` in practice.

Hestenes, Stiefel (1952), Methods of conjugate gradients for solving linear systems, doi:10.6028/jres.049.044.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.loop.iterate import iterate
from didact.engines.loop.result import Result


class _State(NamedTuple):
    x: Array
    residual: Array
    scaled: Array
    direction: Array
    rho: Array
    optimality: float

    @property
    def value(self) -> float:
        return self.optimality


def conjugate_gradients(
    product: Callable[[Array], Array], rhs: Array, diagonal: Array, tol: float, max_iter: int
) -> Result:
    """Solve A x = rhs to a relative residual of tol in every column; product(V) = A V."""
    precondition = 1.0 / np.where(diagonal > 0, diagonal, 1.0)
    size = np.maximum(np.sqrt((rhs * rhs).sum(axis=0)), np.finfo(float).tiny)

    def violation(residual: Array) -> float:
        return float(np.max(np.sqrt((residual * residual).sum(axis=0)) / size, initial=0.0))

    def step(s: _State) -> _State:
        image = product(s.direction)
        curvature = (s.direction * image).sum(axis=0)
        length = np.divide(s.rho, curvature, out=np.zeros_like(s.rho), where=curvature > 0)
        x, residual = s.x + length * s.direction, s.residual - length * image
        scaled = precondition * residual
        rho = (residual * scaled).sum(axis=0)
        turn = np.divide(rho, s.rho, out=np.zeros_like(rho), where=s.rho > 0)
        return _State(
            x=x,
            residual=residual,
            scaled=scaled,
            direction=scaled + turn * s.direction,
            rho=rho,
            optimality=violation(residual),
        )

    precondition = precondition if np.ndim(precondition) == 2 else precondition[:, None]
    scaled = precondition * rhs
    start = _State(
        x=np.zeros_like(rhs),
        residual=rhs,
        scaled=scaled,
        direction=scaled,
        rho=(rhs * scaled).sum(axis=0),
        optimality=violation(rhs),
    )
    return iterate(start, step, tol, max_iter)
