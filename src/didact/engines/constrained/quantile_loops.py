r"""What an interior-point step of quantile regression does to the rows beside the products with Z.

Each pass is one loop over the vectors of some rows: s = u − d, t = l + d, and whatever else is needed, stay in
registers. In array code a pass was a dozen short calls, and threads queued for the interpreter lock at each.

Layout, for n rows, of which a thread takes those of one piece, in vectors of the point and of its change::

    r p q d u l h   [ piece 0 | piece 1 | … ]   n numbers each
    dp dq dd        [ piece 0 | piece 1 | … ]   written by one pass, read by the next

Memory: each vector of the rows once a pass. Arithmetic: two to eight divisions for each row.
"""

from didact.core.jit import REASSOCIATE, jit
from didact.core.typing import Array

LOOP = {"fastmath": REASSOCIATE, "error_model": "numpy"}


@jit(**LOOP)
def weights(h: Array, v: Array, r: Array, p: Array, q: Array, d: Array, u: Array, l: Array) -> None:  # noqa: E741
    """h = 1/(p/s + q/t), and v = hr + d."""
    for i in range(len(r)):
        h[i] = 1.0 / (p[i] / (u[i] - d[i]) + q[i] / (l[i] + d[i]))
        v[i] = h[i] * r[i] + d[i]


@jit(**LOOP)
def predictor(
    short: float, along: Array, r: Array, p: Array, q: Array, d: Array, u: Array, l: Array, h: Array,  # noqa: E741
    dp: Array, dq: Array, dd: Array,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """Newton's step (dp, dq, dd) for `along` = ZΔb.

    What limits it (see `corrector`), and the sums of which the gap after steps of any lengths a and e is made.
    """
    primal, dual = short, short
    gap, first, second, both = 0.0, 0.0, 0.0, 0.0
    for i in range(len(r)):
        s, t = u[i] - d[i], l[i] + d[i]
        dd[i] = h[i] * (r[i] - along[i])
        dp[i] = p[i] / s * dd[i] - p[i]
        dq[i] = -q[i] / t * dd[i] - q[i]
        primal = _larger(_larger(primal, -dp[i] / p[i]), -dq[i] / q[i])
        dual = _larger(_larger(dual, dd[i] / s), -dd[i] / t)
        gap += p[i] * s + q[i] * t
        first += dp[i] * s + dq[i] * t
        second += (q[i] - p[i]) * dd[i]
        both += (dq[i] - dp[i]) * dd[i]
    return primal, dual, gap, first, second, both


@jit(**LOOP)
def targets(
    mu: float, v: Array, r: Array, d: Array, u: Array, l: Array, h: Array, dp: Array, dq: Array, dd: Array,  # noqa: E741
    above: Array, below: Array,
) -> None:  # fmt: skip
    """Targets of p and q with second-order terms, and v = hg + d."""
    for i in range(len(r)):
        above[i] = (mu + dp[i] * dd[i]) / (u[i] - d[i])
        below[i] = (mu - dq[i] * dd[i]) / (l[i] + d[i])
        v[i] = h[i] * (r[i] - above[i] + below[i]) + d[i]


@jit(**LOOP)
def corrector(
    short: float, along: Array, r: Array, p: Array, q: Array, d: Array, u: Array, l: Array, h: Array,  # noqa: E741
    dp: Array, dq: Array, dd: Array, above: Array, below: Array,
) -> tuple[float, float]:  # fmt: skip
    """The step (dp, dq, dd) to those targets, and one over the lengths at which p or q, and s or t, would reach 0.

    A length is at most 1/`short`.
    """
    primal, dual = short, short
    for i in range(len(r)):
        s, t = u[i] - d[i], l[i] + d[i]
        dd[i] = h[i] * (r[i] - above[i] + below[i] - along[i])
        dp[i] = above[i] - p[i] + p[i] / s * dd[i]
        dq[i] = below[i] - q[i] - q[i] / t * dd[i]
        primal = _larger(_larger(primal, -dp[i] / p[i]), -dq[i] / q[i])
        dual = _larger(_larger(dual, dd[i] / s), -dd[i] / t)
    return primal, dual


@jit(**LOOP)
def take_step(
    a: float, e: float, y: Array, p: Array, q: Array, d: Array, u: Array, l: Array, fit: Array, along: Array,  # noqa: E741
    dp: Array, dq: Array, dd: Array, new_r: Array, new_p: Array, new_q: Array, new_d: Array,
) -> tuple[float, float]:  # fmt: skip
    """The point after steps of lengths a and e, its gap and its loss."""
    gap, loss = 0.0, 0.0
    for i in range(len(y)):
        new_r[i] = y[i] - (fit[i] + a * along[i])
        new_p[i], new_q[i], new_d[i] = p[i] + a * dp[i], q[i] + a * dq[i], d[i] + e * dd[i]
        gap += new_p[i] * (u[i] - new_d[i]) + new_q[i] * (l[i] + new_d[i])
        loss += max(u[i] * new_r[i], -l[i] * new_r[i])
    return gap, loss


@jit(inline="always")
def _larger(most: float, x: float) -> float:
    """The larger number; x that is not a number does not count."""
    return x if x > most else most
