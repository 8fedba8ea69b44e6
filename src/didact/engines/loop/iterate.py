"""The loop that all solvers share: it owns iterations, tolerance, NaN checks, history and callbacks.

A solver is a state with `x`, `value` and `optimality`, and a function `step(state) -> state` that returns None when no
progress is possible. `report(iteration, value, x)` is called after each iteration and may return True to stop.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from didact.engines.loop.line_search import NOISE
from didact.engines.loop.result import Result


class SolverState(Protocol):
    """What the loop reads of a solver's state."""

    @property
    def x(self) -> Any:
        """The current point."""
        ...

    @property
    def value(self) -> float:
        """The objective there."""
        ...

    @property
    def optimality(self) -> float:
        """The measure that is compared with the tolerance: zero at a solution."""
        ...


BOTTOMLESS = 1e100  # an objective below minus this multiple of its first value counts as unbounded

QUIET_ITERATIONS = 20  # iterations without anything new after which a solver only moves within its rounding errors

T = TypeVar("T", bound=SolverState)
Report = Callable[[int, Any, Any], bool]
Keep = Callable[[Any], Any] | None


class Standstill:
    """Notices a solver that moves without getting anywhere.

    That is so when for some iterations the value is the same but for rounding and the optimality within the limits that
    it has had before. Where the value is flat, as near a saddle, a solver that makes its way changes the optimality.
    """

    def __init__(self, patience: int = QUIET_ITERATIONS):
        self.patience, self.quiet = patience, 0
        self.value, self.least, self.most = math.inf, math.inf, -math.inf

    def __call__(self, value: float, optimality: float) -> bool:
        """Whether the last iterations, up to this one, have brought nothing new."""
        same = abs(value - self.value) <= NOISE * abs(value) and self.least <= optimality <= self.most
        self.quiet = self.quiet + 1 if same else 0
        if not same:
            self.value, self.least, self.most = value, min(self.least, optimality), max(self.most, optimality)
        return self.quiet >= self.patience


def iterate(
    state: T,
    step: Callable[[T], T | None],
    tol: float,
    max_iter: int,
    report: Report | None = None,
    keep: Keep = None,
) -> Result:
    """Step until the optimality is within tol; the result says why the loop ended."""
    history: list[Any] = []
    bottom, standstill = -BOTTOMLESS * (1.0 + abs(state.value)), Standstill()
    for iteration in range(max_iter + 1):
        history.append(state.value if keep is None else keep(state))
        stop = iteration > 0 and report is not None and report(iteration, state.value, state.x)
        optimality = state.optimality  # asked for once: a property that computes
        # Unbounded and non-finite values are reported before convergence is tested.
        if state.value < bottom or state.value == -math.inf:
            status = "unbounded"
        elif not math.isfinite(state.value) or math.isnan(optimality):
            status = "not finite"
        elif optimality <= tol:
            status = "converged"
        elif stop:
            status = "stopped"
        elif iteration == max_iter:
            status = "iteration limit"
        else:
            new = None if standstill(state.value, optimality) else step(state)
            if new is not None:
                state = new
                continue
            status = "no progress"
        return Result(state.x, state.value, iteration, status, state.optimality, history)
    raise AssertionError("unreachable: the last iteration always returns")
