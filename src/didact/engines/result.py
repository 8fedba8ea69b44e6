"""What every solver returns."""

from dataclasses import dataclass, field
from typing import Any

MESSAGES = {
    "converged": "Converged.",
    "iteration limit": "The iteration limit was reached before the tolerance: raise max_iter, or scale the data.",
    "not finite": "The objective became NaN or infinite: scale the data, or use a stronger penalty.",
    "no progress": "No step lowered the objective, though the tolerance was not met: the numbers allow no more.",
    "stopped": "Stopped by a callback.",
    "infeasible": "No point satisfies the constraints.",
    "unbounded": "The objective has no lower bound on the feasible set.",
}


@dataclass
class Result:
    """The end of an iteration: where, how good, and why it ended.

    `status` is one of the keys of `MESSAGES`; `optimality` is the measure that was compared with the tolerance;
    `history` lists the value at each iteration (and iterates, where a caller asked for them).
    """

    x: Any
    value: float
    n_iter: int
    status: str
    optimality: float
    history: list[Any] = field(default_factory=list)
    multipliers: Any = None

    @property
    def converged(self) -> bool:
        """Whether the tolerance was met."""
        return self.status == "converged"

    @property
    def message(self) -> str:
        """One sentence for a person."""
        text = MESSAGES[self.status]
        if self.converged:
            return text
        return f"{text} (iterations: {self.n_iter}, optimality: {self.optimality:.3g})"
