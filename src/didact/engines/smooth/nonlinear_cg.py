r"""Nonlinear conjugate gradients: :math:`p \leftarrow -g + \beta p`, then a line search along p.

With the change of gradient :math:`y = g_+ - g`, Fletcher–Reeves takes :math:`\beta = g_+^Tg_+/g^Tg`, Polak–Ribière
:math:`\max(0, g_+^Ty/g^Tg)`, which restarts by itself when progress stalls, and the hybrid of Hestenes–Stiefel
and Dai–Yuan :math:`\max(0, \min(g_+^Ty, g_+^Tg_+))/p^Ty`, which needs the fewest evaluations. On a quadratic in n
variables with exact steps :math:`a = -g^Tp/p^THp` all three agree and end after at most n steps; if a curvature is
given, this a is the first length tried.

Fletcher, Reeves (1964), doi:10.1093/comjnl/7.2.149; Polak, Ribière (1969), doi:10.1051/m2an/196903R100351;
Dai, Yuan (2001), An efficient hybrid conjugate gradient method, doi:10.1023/A:1012930416777.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from didact.core.typing import Array
from didact.engines.loop.iterate import Keep, Report, iterate
from didact.engines.loop.line_search import NOISE, LineSearch, StrongWolfe, add_scaled, inner, largest
from didact.engines.loop.result import Result

Objective = Callable[[Array], tuple[float, Array]]

DOWNHILL = 1e-6  # least slope of a direction, relative to the squared gradient; else restart
OVERLAP = 0.8  # Powell's restart: Fletcher–Reeves jams when successive gradients are far from orthogonal


class _State(NamedTuple):
    x: Array
    value: float
    gradient: Array
    direction: Array
    slope: float
    length: float  # to try first
    steepest: bool = True

    @property
    def optimality(self) -> float:
        return largest(self.gradient)


def nonlinear_cg(
    objective: Objective,
    x0: Array,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    beta: str = "hybrid",
    search: LineSearch = StrongWolfe(curvature=0.1),  # noqa: B008 - an immutable tuple of constants
    curvature: Callable[[Array, Array], float] | None = None,
    noise: float = NOISE,
    keep: Keep = None,
) -> Result:
    """Minimise objective(x) -> (value, gradient) from x0; curvature(x, p) = pᵀH(x)p gives exact first trials."""

    def afresh(x: Array, value: float, gradient: Array) -> _State:
        square = inner(gradient, gradient)
        return _State(
            x=x,
            value=value,
            gradient=gradient,
            direction=-gradient,
            slope=-square,
            length=1.0 / math.sqrt(square) if square > 0 else 1.0,
        )

    def step(s: _State) -> _State | None:
        length = s.length
        if curvature is not None:
            bend = curvature(s.x, s.direction)
            length = -s.slope / bend if bend > 0 else length
        found = search(objective, s, s.direction, length, noise)
        if found is None:
            return None if s.steepest else afresh(s.x, s.value, s.gradient)
        x, value, gradient = found.point
        square = inner(gradient, gradient)
        overlap = inner(gradient, s.gradient)
        turn = square if beta == "fr" else max(square - overlap, 0.0)
        turn = min(turn, square) if beta == "hybrid" else turn
        below = inner(gradient - s.gradient, s.direction) if beta == "hybrid" else inner(s.gradient, s.gradient)
        # turn / below is β of the chosen formula
        direction = add_scaled(turn / below if below > 0 else 0.0, s.direction, -gradient)
        slope = inner(gradient, direction)
        stuck = beta == "fr" and abs(overlap) > OVERLAP * square
        if stuck or not -slope > DOWNHILL * square:
            return afresh(x, value, gradient)._replace(length=found.length)
        return _State(
            x=x, value=value, gradient=gradient, direction=direction, slope=slope, length=found.length, steepest=False
        )

    return iterate(afresh(x0, *objective(x0)), step, tol, max_iter, report, keep)
