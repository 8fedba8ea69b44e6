r"""Support vector machines as linear models on explicit features.

.. math:: \min_{u,b}\ \tfrac12\|u\|^2 + C\sum_i\omega_i\,\ell_\delta(y_i, u^Tz(x_i) + b)

where ℓ_δ is the hinge, or the ε-insensitive loss, with kinks rounded over a width δ: within δ/2 of it, and smooth.
Newton steps for δ = 1, 1/10, 1/100, 1/1000 in turn (in units of y for regression), each from the last one. A step
is one pass over blocks of rows, n m² multiply–adds, and memory for m² numbers.

Chapelle (2007), Training a support vector machine in the primal, doi:10.1162/neco.2007.19.5.1155.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.rows import Rows
from didact.core.typing import Array
from didact.engines.linear.fit import fit_linear
from didact.engines.linear.objective import LinearObjective
from didact.engines.loop.iterate import Report

WIDTHS = (1.0, 0.1, 0.01, 0.001)
ROUGH = 1e4  # times the tolerance suffices for the widths before the last
FORMED_FEATURES = 2000  # features up to which Newton's matrix is formed


class Primal(NamedTuple):
    """Weights of the features, the constant, the violation of the gradient in units of u, steps, and convergence."""

    weights: Array
    constant: float
    gap: float
    n_iter: int
    status: str

    @property
    def converged(self) -> bool:
        """Whether the gradient is below the tolerance."""
        return self.status == "converged"


def fit_rounded(
    rows: Rows, loss: Callable[[float], Any], weight: float, C: float, tol: float, most: int, report: Report | None
) -> Primal:
    """Minimise for losses of ever smaller width; `weight` is the sum of the weights of the rows."""
    alpha, x, steps = 1.0 / (C * weight), None, 0
    for width in WIDTHS:
        objective = LinearObjective(rows=rows, loss=loss(width), weight=weight, alpha=alpha)
        solver = "newton" if objective.size <= FORMED_FEATURES else "lbfgs"
        enough = tol * alpha * (1.0 if width == WIDTHS[-1] else ROUGH)
        result = fit_linear(objective, 0.0, solver, enough, most, x, x is not None, report)
        x, steps = result.x, steps + result.n_iter
        if result.status == "stopped":
            break
    (table,) = objective.table(np.asarray(x))
    return Primal(
        weights=table[:-1], constant=float(table[-1]), gap=result.optimality / alpha, n_iter=steps, status=result.status
    )
