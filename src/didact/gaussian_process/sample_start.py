"""Where a search among many rows begins: at the best parameters of a sample of them, with the curvature there.

The sample has a quarter of the rows, so that a value costs a 64th. L-BFGS-B finds its best parameters; differences of
its gradient there are a curvature, from which a quasi-Newton method on all rows takes a third of the values that
L-BFGS-B takes. If the sample does not determine some combination of parameters, as a width of a column that hardly
matters, the search begins where it was told to: on such a plateau it might stay.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from didact.core.rows import MemoryRows, Rows
from didact.core.typing import Array
from didact.engines.smooth.box_bfgs import box_bfgs

SHARE = 4  # one of so many rows is in the sample
LEAST_ROWS = 600  # from which on a sample pays
EACH = 10  # rows of a sample for each parameter
DETERMINED = 0.1  # least curvature of log parameters in a sample: a deviation of e³ either way
NUDGE = 1e-3  # of log parameters, for differences of gradients
LONGEST = 2.0  # step of a log parameter
FALL = 1e7 * float(np.finfo(float).eps)  # of the value, relative, at which SciPy's L-BFGS-B ends, too
MOST_STEPS = 100


class SampleStart(NamedTuple):
    """The best parameters of a sample, and the curvature of its objective there."""

    theta: Array
    curvature: Array


def sample_of(rows: Rows, parameters: int) -> MemoryRows | None:
    """A quarter of the rows, drawn by a generator of its own; None of few ones, or of rows that are not arrays."""
    here = rows.memory
    if here is None or not isinstance(here.X, np.ndarray) or here.X.dtype == object:
        return None
    n = here.n_rows
    if n < max(LEAST_ROWS, SHARE * EACH * parameters):
        return None
    return here.some(np.sort(np.random.default_rng(n).permutation(n)[: n // SHARE]))


def sample_start(objective: Any, start: Array, bounds: Array) -> SampleStart | None:
    """The minimum of a sample's objective → (value, gradient) from a start; None if it does not determine θ."""
    run = optimize.minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds)
    inside = (run.x - NUDGE > bounds[:, 0]) & (run.x + NUDGE < bounds[:, 1])
    if not (run.success and inside.all()):
        return None
    apart = [objective(run.x + step)[1] - objective(run.x - step)[1] for step in NUDGE * np.eye(len(start))]
    H = np.array(apart) / (2.0 * NUDGE)
    H = 0.5 * (H + H.T)
    determined = np.isfinite(H).all() and np.linalg.eigvalsh(H)[0] > DETERMINED
    return SampleStart(run.x, H) if determined else None


def from_sample(objective: Any, begin: SampleStart, bounds: Array, report: Any) -> Any:
    """The minimum on all rows from there, as a `Result`."""
    return box_bfgs(objective, begin.theta, bounds, begin.curvature, FALL, MOST_STEPS, LONGEST, report)
