"""The result of a solver: point, value, and why it stopped."""

from dataclasses import dataclass, field
from typing import Any

from didact.core.errors import ParameterError

MESSAGES = {
    "converged": "Converged.",
    "iteration limit": "The iteration limit was reached before the tolerance: raise max_iter, or scale the data.",
    "time limit": "The time limit was reached before the tolerance: raise time_limit, or scale the data.",
    "not finite": "The objective became NaN or infinite: scale the data, take shorter steps, or penalise more.",
    "diverged": "The loss ended far above that of a model with all weights 0, so the steps are too long for these "
    "data: scale the columns first (didact.preprocessing.StandardScaler), or take a smaller rate.",
    "no progress": "No step lowered the objective, though the tolerance was not met: the numbers allow no more.",
    "stopped": "Stopped by a callback, or because the validation no longer improved.",
    "infeasible": "No point satisfies the constraints.",
    "unbounded": "The objective has no lower bound on the feasible set.",
}


@dataclass
class Result:
    """The result of an iterative solver: the point, its value, and why it stopped.

    `status` is one of the keys of `MESSAGES`; `optimality` is the measure that was compared with the tolerance;
    `history` lists the value at each iteration. The other fields are None where they do not apply: `trace` holds the
    iterates if the caller asked for them, `evaluations` counts calls of the objective, `predicted_rate` is the factor
    by which each step reduces the distance of a quadratic's value from its minimum, `validation` lists the scores that
    early stopping monitored, `jacobian` and `covariance` belong to nonlinear least squares.

    >>> from didact.optimize import minimize
    >>> result = minimize(lambda x: (x - 3) @ (x - 3), [0.0])
    >>> result.converged, result.message
    (True, 'Converged.')
    """

    x: Any
    value: float
    n_iter: int
    status: str
    optimality: float
    history: list[Any] = field(default_factory=list)
    multipliers: Any = None
    trace: Any = None
    evaluations: int | None = None
    predicted_rate: float | None = None
    validation: list[float] | None = None
    jacobian: Any = None
    covariance: Any = None

    @property
    def converged(self) -> bool:
        """Whether the tolerance was met."""
        return self.status == "converged"

    @property
    def message(self) -> str:
        """One sentence for the user: the status, and what to do about it."""
        text = MESSAGES[self.status]
        if self.converged:
            return text
        return f"{text} (iterations: {self.n_iter}, optimality: {self.optimality:.3g})"

    def plot(self, **options: Any) -> Any:
        """The path of the iterates on contours of the objective, for two variables: a Matplotlib figure."""
        if self.trace is None:
            raise ParameterError("There are no iterates to plot: ask for them with keep_iterates=True.")
        return self.trace.plot(**options)
