r"""Compiled stochastic gradient descent on a linear model; a slow NumPy twin stands beside its test.

A step on a batch of rows updates the weights by :math:`w \leftarrow (1-\eta\lambda_2)w - \eta\,\bar g` and then shrinks
each of them towards 0 by the rest of the penalty. The cost of a sparse row must be proportional to its entries, not to
the number of features, so

* weights are stored as :math:`w = s\,v`: L2 shrinkage changes only the scalar s;
* L1 and p-norm shrinkage is lazy: a clock counts what is due, and a weight is brought up to date when a row next reads
  it. Both updates are semigroups, so that late is as good as at once: sparse and dense rows give the same result. The
  L1 update is the cumulative one of Tsuruoka, Tsujii, Ananiadou (2009), doi:10.3115/1687878.1687946: a weight pays its
  total debt, so that single noisy steps do not lift weights from 0. The p-norm update is the penalty's gradient flow,
  under which :math:`|w|^{2-p}` falls linearly in time;
* the intercept of very sparse rows is damped: a weight is updated now and then, the intercept by every row, so that
  steps of the right size for the weights would make it oscillate, and all weights with it. Its steps are `damping`
  times those of the weights, but at least 1/(1 + t/100): at first it must settle quickly, or the weights would have to
  fit the rows of a rare class one by one;
* the sum of all iterates, for averaging, is :math:`m\,v - a` with the sum m of all s; a change of v by d adds m·d to a.

Rows are visited in a cheap random order: runs of consecutive rows, drawn from all parts of the table, fill a pool that
fits a core's cache, and the pool is shuffled. Memory is read once per pass, and in advance: while one pool is being
learnt, the rows of the next are prefetched. About two multiply-adds per entry.

Layout, for K weight vectors of p features::

    V (K, p)        v of each; the weights are s·v
    D (K, p)        L1: the total taken from each weight; p-norm: the time of its last update; (K, 0) without these
    A (K, p)        a of each; (K, 0) without averaging
    S (K, 9)        [ TIME | SCALE | CLOCK | MASS | BIAS | BIAS_SUM | AVERAGED | RATE | UPDATES ]:
                    t, s, shrinkage due, m, the intercept, the sum of its iterates, the number of iterates in both sums,
                    the a of the rate, the number of rows with a gradient
    rows            [ run | run | … ] of consecutive rows
    pool, coming    [ rows of some runs, shuffled ], [ rows of the next runs, being prefetched ]
"""

import math
from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit
from didact.core.typing import Array
from didact.engines.stochastic.row_loops import (
    Dense,
    Sparse,
    add_row,
    ask1,
    begin1,
    column1,
    end1,
    entry1,
    row_dot,
    scattered1,
    scattered_dot,
)
from didact.parts.losses import HalfSquared, Hinge, Logistic

SMALLEST_SCALE = 1e-4  # below, s is folded into v
SETTLING = 100.0  # steps within which a damped intercept settles
STEEPEST = 1e12  # largest slope: later, shorter steps can still correct a first step that is far too long

# Columns of S, the state of one weight vector.
TIME, SCALE, CLOCK, MASS, BIAS, BIAS_SUM, AVERAGED, RATE, UPDATES = range(9)
NUMBERS = 9

value1 = dispatch("value1")
grad1 = dispatch("grad1")


class Plan(NamedTuple):
    """Constants of a pass: the rate a/(offset + t)^power (a is in the state), penalties, batches."""

    offset: float
    power: float
    l1: float
    l2: float
    pull: float  # strength of the p-norm penalty
    p: float
    averaged_from: float
    fit_intercept: bool
    damping: float  # of the intercept's steps; 1: none
    batch: int
    low: float
    high: float
    aggressive: int  # 0: steps by the rate; 1 and 2: passive-aggressive steps


@jit
def rate(a: float, plan: Plan, t: float) -> float:
    """a/(offset + t)^power, by square roots where these suffice."""
    if plan.power == 0.0:
        return a
    x = plan.offset + t
    if plan.power == 1.0:
        return a / x
    if plan.power == 0.5:
        return a / math.sqrt(x)
    if plan.power == 0.25:
        return a / math.sqrt(math.sqrt(x))
    return a / x**plan.power


@jit
def aggressive_step(rows: Any, i: int, loss: float, most: float, kind: int) -> float:
    """The step that reduces a row's loss to 0, capped at `most` (PA-I) or regularised by it (PA-II).

    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer (2006), Online passive-aggressive algorithms, section 3.
    """
    square = 0.0
    for k in range(begin1(rows, i), end1(rows, i)):
        square += entry1(rows, i, k) * entry1(rows, i, k)
    if kind == 2:
        return loss / (square + 0.5 / most)
    return min(most, loss / square) if square > 0.0 else 0.0


@jit
def intercept_rate(eta: float, plan: Plan, t: float) -> float:
    """The intercept's step as a share of the weights' step with the rate η."""
    if not plan.fit_intercept:
        return 0.0
    if plan.damping == 1.0 or eta <= 0.0:
        return 1.0
    return min(1.0, plan.damping + 1.0 / (eta * (1.0 + t / SETTLING)))


@jit
def settled(x: float, debt: float, clock: float, plan: Plan) -> tuple[float, float]:
    """A weight after all shrinkage that is due by now, and its new entry of D (`debt`).

    For L1 that is the signed total taken from the weight so far; for the p-norm the time of its last update.
    """
    if plan.pull == 0.0:
        new = x
        if x > 0.0:
            new = max(0.0, x - (clock + debt))
        elif x < 0.0:
            new = min(0.0, x + (clock - debt))
        return new, debt + (new - x)
    if x == 0.0 or clock == debt:
        return x, clock
    q = 2.0 - plan.p
    rest = abs(x) ** q - q * (clock - debt)
    return (math.copysign(rest ** (1.0 / q), x) if rest > 0.0 else 0.0), clock


@jit
def settle_row(rows: Any, i: int, v: Array, debt: Array, shift: Array, clock: float, mass: float, plan: Plan) -> None:
    """Bring the weights that row i reads up to date."""
    for k in range(begin1(rows, i), end1(rows, i)):
        j = column1(rows, k)
        old = v[j]
        v[j], debt[j] = settled(old, debt[j], clock, plan)
        if mass != 0.0:
            shift[j] += mass * (v[j] - old)


@jit
def rescale(v: Array, debt: Array, shift: Array, s: Array) -> None:
    """Fold the scale s into v, and m·v into the shift, so that s = 1 and m = 0."""
    scale, mass = s[SCALE], s[MASS]
    for j in range(shift.shape[0]):
        shift[j] -= mass * v[j]
    for j in range(debt.shape[0]):
        debt[j] *= scale
    for j in range(v.shape[0]):
        v[j] *= scale
    s[CLOCK] *= scale
    s[SCALE], s[MASS] = 1.0, 0.0


@jit
def finish(v: Array, debt: Array, shift: Array, s: Array, plan: Plan) -> None:
    """End a pass: bring all weights up to date, with a scale of 1 and minus the sum of the iterates in the shift."""
    for j in range(debt.shape[0]):
        old = v[j]
        v[j], debt[j] = settled(old, debt[j], s[CLOCK], plan)
        if s[MASS] != 0.0:
            shift[j] += s[MASS] * (v[j] - old)
    rescale(v, debt, shift, s)


@jit
def sgd_steps(
    rows: Any, y: Array, weights: Array, order: Array, count: int, coming: Array, more: int, positive: int, loss: Any,
    plan: Plan, v: Array, debt: Array, shift: Array, s: Array, slopes: Array,
) -> float:  # fmt: skip
    """Steps on the first `count` rows of `order` for one weight vector; returns the sum of the losses before each step.

    Meanwhile the first `more` of the coming rows are prefetched.
    """
    total, guard, updates, batch, value = 0.0, 0.0, 0, plan.batch, 0.0
    t, scale, clock, mass, bias = s[TIME], s[SCALE], s[CLOCK], s[MASS], s[BIAS]
    for start in range(0, count, batch):
        stop = min(start + batch, count)
        for m in range(start, stop):
            i = order[m]
            if m < more:
                ask1(rows, coming[m])
            if debt.shape[0] > 0:
                settle_row(rows, i, v, debt, shift, clock, mass, plan)
            target = y[i]
            if positive >= 0:
                target = plan.high if target == positive else plan.low
            z = scale * (scattered_dot(rows, i, v) if scattered1(rows) else row_dot(rows, i, v)) + bias
            w = weights[i] if weights.shape[0] > 0 else 1.0
            guard += z
            value = value1(loss, target, z)
            total += w * value
            slopes[m - start] = w * min(max(grad1(loss, target, z), -STEEPEST), STEEPEST)
        eta = rate(s[RATE], plan, t)
        scale *= max(0.0, 1.0 - eta * plan.l2)
        if scale < SMALLEST_SCALE:
            s[SCALE], s[CLOCK], s[MASS] = scale, clock, mass
            rescale(v, debt, shift, s)
            scale, clock, mass = s[SCALE], s[CLOCK], s[MASS]
        gain, inverse, share = -eta / (stop - start), 1.0 / scale, intercept_rate(eta, plan, t)
        if plan.aggressive > 0:  # steps on one row each
            gain = -aggressive_step(rows, order[start], value, eta, plan.aggressive)
        for m in range(start, stop):
            slope = slopes[m - start]
            if slope != 0.0:
                step = gain * slope
                add_row(rows, order[m], step * inverse, v)
                if mass != 0.0:
                    add_row(rows, order[m], mass * step * inverse, shift)
                bias += share * step
                updates += 1
        clock += eta * (plan.l1 * inverse + plan.pull)
        if t >= plan.averaged_from:
            mass += scale
            s[BIAS_SUM] += bias
            s[AVERAGED] += 1.0
        t += 1.0
    s[TIME], s[SCALE], s[CLOCK], s[MASS], s[BIAS] = t, scale, clock, mass, bias
    s[UPDATES] += updates
    return total + 0.0 * guard  # NaN if any prediction was infinite or NaN, even where the loss stays finite


@jit
def next_rows(runs: Array, run: int, kept: Array, n: int, cursor: Array, pool: Array) -> int:
    """Fill the pool with the next rows of the pass, from the cursor on; returns their number."""
    count = 0
    while count < pool.shape[0] and cursor[0] < runs.shape[0]:
        first = runs[cursor[0]] * run
        row = first + cursor[1]
        if cursor[1] < run and row < n:
            pool[count] = kept[row] if kept.shape[0] > 0 else row
            count += 1
            cursor[1] += 1
        else:
            cursor[0] += 1
            cursor[1] = 0
    return count


@jit
def mix(pool: Array, count: int, words: Array, cursor: Array) -> None:
    """Shuffle a pool (Fisher–Yates) with the next random 32-bit words, one per row."""
    for m in range(count - 1, 0, -1):
        other = (np.int64(words[cursor[2] + m]) * (m + 1)) >> 32
        pool[m], pool[other] = pool[other], pool[m]
    cursor[2] += count


@jit
def sgd_sweep(
    rows: Any, y: Array, weights: Array, kept: Array, n: int, runs: Array, run: int, words: Array, size: int,
    outputs: Array, positives: Array, loss: Any, plan: Plan, V: Array, D: Array, A: Array, S: Array, losses: Array,
) -> None:  # fmt: skip
    """One pass over the runs for some of the outputs; each has a positive class, or −1 for y taken as a number."""
    cursor = np.zeros(3, np.int64)  # run, row within it, random word
    pool, coming = np.empty(size, np.int64), np.empty(size, np.int64)
    slopes = np.empty(min(plan.batch, size))
    count = next_rows(runs, run, kept, n, cursor, pool)
    while count > 0:
        more = next_rows(runs, run, kept, n, cursor, coming)
        if words.shape[0] > 0:
            mix(pool, count, words, cursor)
        for j in range(outputs.shape[0]):
            k = outputs[j]
            losses[k] += sgd_steps(
                rows, y, weights, pool, count, coming, more if j == 0 else 0, positives[k], loss, plan,
                V[k], D[k], A[k], S[k], slopes,
            )  # fmt: skip
        pool, coming, count = coming, pool, more


def warm() -> None:
    """Compile for the types and the losses that are used most."""
    plan = Plan(
        offset=1.0,
        power=1.0,
        l1=0.0,
        l2=1e-4,
        pull=0.0,
        p=2.0,
        averaged_from=math.inf,
        fit_intercept=True,
        damping=1.0,
        batch=1,
        low=-1.0,
        high=1.0,
        aggressive=0,
    )
    X, y, none, rows = np.ones((2, 2)), np.ones(2), np.zeros(0), np.zeros(0, np.int64)
    indices, indptr = np.array([0, 1], np.int32), np.array([0, 1, 2], np.int32)
    for array in (X, y, none, rows, indices, indptr):
        array.flags.writeable = False
    for design in (Dense(X), Sparse(y, indices, indptr)):
        for loss in (Hinge(), Logistic(), HalfSquared()):
            V, empty, S = np.zeros((1, 2)), np.zeros((1, 0)), np.ones((1, NUMBERS))
            sgd_sweep(
                design, y, none, rows, 2, np.arange(1), 2, np.zeros(2, np.uint32), 2, np.zeros(1, np.int64),
                np.ones(1, np.int64), loss, plan, V, empty, empty, S, np.zeros(1),
            )  # fmt: skip
            finish(V[0], empty[0], empty[0], S[0], plan)
