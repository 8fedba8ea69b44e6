r"""Expectation–maximisation for any model with hidden variables.

The log-likelihood of data x with hidden z, :math:`\ell(\theta) = \log\sum_z p(x, z\mid\theta)`, has for every
distribution q of z the lower bound :math:`J(q, \theta) = E_q\log p(x,z\mid\theta) + H(q)`, with equality at
:math:`q = p(z\mid x,\theta)`. The E step takes that q; the M step raises J in θ, and thereby ℓ by at least as much. So
ℓ never falls. The same holds with a log-prior added to both.

`expect(θ)` returns the (penalised) log-likelihood and the statistics of the E step, in one pass over the rows.
`maximize(θ, statistics)` returns a better θ. If that is a single Newton step, which may overshoot, `blend` shortens it
until ℓ does not fall. `blend` can also extrapolate beyond the M step (overrelaxation): steps grow as long as ℓ rises,
which avoids most of the many short steps that EM takes when the hidden z are uncertain.

Dempster, Laird, Rubin (1977), doi:10.1111/j.2517-6161.1977.tb01600.x; Salakhutdinov, Roweis (2003), Adaptive
overrelaxed bound optimization methods, ICML.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from didact.engines.loop.iterate import Keep, Report, iterate
from didact.engines.loop.result import Result

LIKELIHOOD_ROUNDING = 1e-12  # relative size of a fall of the log-likelihood that is rounding
HALVINGS = 12
LONGER = 1.5  # factor by which extrapolation grows while it succeeds
LONGEST_SHARE = 1e6  # to which it grows: `blend` may take the M step itself for what is too long


class EMState(NamedTuple):
    """Parameters with the statistics of their E step."""

    x: Any
    log_likelihood: float
    statistics: Any
    gain: float  # increase of the log-likelihood in the last step
    rate: float = 1.0  # length of the next trial, in units of the M step

    @property
    def value(self) -> float:
        """Minus the log-likelihood, which the loop minimises."""
        return -self.log_likelihood

    @property
    def optimality(self) -> float:
        """The increase of the log-likelihood in the last step."""
        return self.gain


def em(
    expect: Callable[[Any], tuple[float, Any]],
    maximize: Callable[[Any, Any], Any],
    start: Any,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    blend: Callable[[Any, Any, float], Any] | None = None,
    exact: Callable[[Any, Any], Any] | None = None,
    keep: Keep = None,
    longer: float = LONGER,
    leap: Callable[[Any, Any], Any | None] | None = None,
) -> Result:
    """Iterate from `start` until a step gains at most tol; `value` is minus the log-likelihood.

    `blend(old, new, share)` goes that share of the way from old to new, which may exceed 1; without it every step is
    that of `maximize`. While steps succeed they grow by the factor `longer`. If `maximize` is not quite the M step,
    `exact` is, and takes its place where the likelihood would fall. `leap(θ, statistics)` may propose what is better
    than the M step; it is taken if it gains more than tol, so that the end is that of the M step. A step that would
    lower the likelihood all the same is not taken: it ends the loop, as converged if the fall is within tol.
    """

    def leapt(s: EMState) -> EMState | None:
        x = None if leap is None else leap(s.x, s.statistics)
        if x is None:
            return None
        value, statistics = expect(x)
        gain = value - s.log_likelihood
        return EMState(x, value, statistics, gain) if gain > tol else None

    def step(s: EMState) -> EMState | None:
        if (beyond := leapt(s)) is not None:
            return beyond
        proposal = maximize(s.x, s.statistics)
        slack = LIKELIHOOD_ROUNDING * (1.0 + abs(s.log_likelihood))
        shares = [1.0] if blend is None else [s.rate] * (s.rate > 1) + [0.5**k for k in range(HALVINGS)]
        for share in shares:
            x = proposal if blend is None or share == 1.0 else blend(s.x, proposal, share)
            value, statistics = expect(x)
            if value >= s.log_likelihood - slack:
                rate = min(max(longer * share, 1.0), LONGEST_SHARE) if share == shares[0] else 1.0
                return EMState(
                    x=x, log_likelihood=value, statistics=statistics, gain=max(value - s.log_likelihood, 0.0), rate=rate
                )
        if exact is not None:
            x = exact(s.x, s.statistics)
            value, statistics = expect(x)
            if value >= s.log_likelihood - slack:
                return EMState(x, value, statistics, max(value - s.log_likelihood, 0.0))
        return s._replace(gain=0.0) if s.log_likelihood - value <= tol else None

    value, statistics = expect(start)
    return iterate(EMState(start, value, statistics, float("inf")), step, tol, max_iter, report, keep)
