r"""Gradient descent on a linear model, row by row, batch by batch or on all rows at once.

.. math:: f(w) = \frac1n \sum_i s_i\,\ell(y_i, x_i^Tw + b) + \text{penalty}(w)

Step t moves the weights against the gradient of one row, of a batch or of all rows, at the rate
:math:`\eta_t = a/(c + t)^q`. Several outputs (one versus rest) are learnt side by side; each stops by itself. Steps on
rows and batches run in compiled loops, and their order matters; a step on all rows is one map-reduce pass (both are in
`passes`).

Robbins, Monro (1951), doi:10.1214/aoms/1177729586; Bottou (2012), doi:10.1007/978-3-642-35289-8_25; averaging: Polyak,
Juditsky (1992), doi:10.1137/0330046.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result
from didact.engines.stochastic.sgd_loops import AVERAGED, BIAS, BIAS_SUM, NUMBERS, RATE, SCALE, TIME, UPDATES, Plan
from didact.parts.penalties import L1, L2, ElasticNet, Penalty, PNorm

SMALLEST_RATE = 1e-6  # below, an adaptive rate is not cut any more


class Rate(NamedTuple):
    """The rate scale/(offset + t)^power of step t = 1, 2, …; `adaptive`: divided by 5 whenever progress ends.

    `aggressive` of 1 or 2: passive-aggressive steps (PA-I or PA-II), with the scale as their C.
    """

    scale: float
    offset: float = 0.0
    power: float = 0.0
    adaptive: bool = False
    aggressive: int = 0


class Training(NamedTuple):
    """The objective (loss and penalty) and the steps that minimise it."""

    loss: Any
    penalty: Penalty | None
    rate: Rate
    fit_intercept: bool = True
    batch: int = 1  # rows per step; 0: all of them
    averaged_from: float = math.inf  # the first step whose weights count in the average
    shuffle: bool = True

    @property
    def targets(self) -> tuple[float, float]:
        """The targets of the negative and the positive class."""
        return self.loss.classes or (-1.0, 1.0)

    def strengths(self) -> tuple[float, float, float, float]:
        """L1, L2, p-norm strength and p; p-norms with p of 1 and 2 are L1 and L2."""
        match self.penalty:
            case L2(alpha) | PNorm(alpha, 2.0):
                return 0.0, alpha, 0.0, 2.0
            case L1(alpha) | PNorm(alpha, 1.0):
                return alpha, 0.0, 0.0, 1.0
            case ElasticNet(alpha, l1_ratio):
                return alpha * l1_ratio, alpha * (1.0 - l1_ratio), 0.0, 2.0
            case PNorm(alpha, p):
                return 0.0, 0.0, alpha, p
        return 0.0, 0.0, 0.0, 2.0

    def plan(self, damping: float = 1.0) -> Plan:
        """What compiled loops need to know of it; `damping` is of the intercept's steps."""
        (l1, l2, pull, p), (low, high) = self.strengths(), self.targets
        return Plan(
            offset=self.rate.offset, power=self.rate.power, l1=l1, l2=l2, pull=pull, p=p,
            averaged_from=self.averaged_from, fit_intercept=self.fit_intercept, damping=damping,
            batch=max(self.batch, 1), low=low, high=high, aggressive=self.rate.aggressive,
        )  # fmt: skip


@dataclass
class Weights:
    """The state of learning: one row for each output. Between passes all weights are up to date."""

    V: Array  # (K, p) weights
    D: Array  # (K, p) state of the lazy L1 or p-norm shrinkage (see `sgd_loops`), else (K, 0)
    A: Array  # (K, p) minus the sum of the averaged weights, else (K, 0)
    S: Array  # (K, NUMBERS) scalars of each output
    positives: Array  # (K,) the positive class of each output; −1 in regression

    @classmethod
    def zeros(cls, positives: Array, n_features: int, training: Training) -> "Weights":
        """The state before the first step."""
        K, (l1, _, pull, _) = len(positives), training.strengths()
        S = np.zeros((K, NUMBERS))
        S[:, SCALE] = S[:, TIME] = 1.0
        S[:, RATE] = training.rate.scale
        accounts = n_features if l1 > 0 or pull > 0 else 0
        sums = n_features if training.averaged_from < math.inf else 0
        return cls(np.zeros((K, n_features)), np.zeros((K, accounts)), np.zeros((K, sums)), S, positives)

    def table(self) -> Array:
        """Coefficients and, last, intercepts (K, p + 1): averaged if averaging has begun, else the current ones."""
        count = self.S[:, AVERAGED]
        if not self.A.size or not (count > 0).all():
            return np.column_stack([self.V, self.S[:, BIAS]])
        return np.column_stack([-self.A, self.S[:, BIAS_SUM]]) / count[:, None]


class Stopping(NamedTuple):
    """When to stop: after `patience` passes without an improvement by tol (None: never), or after max_iter.

    The first `trial` passes are not counted.
    """

    tol: float | None
    patience: int
    max_iter: int
    judge: Callable[[Weights], Array] | None = None  # losses of held-out rows, monitored instead of the objective
    trial: int = 0


Advance = Callable[[Weights, Array, int], Array]


def run_passes(advance: Advance, weights: Weights, training: Training, stopping: Stopping, report: Report) -> Result:
    """Pass after pass until every output has stopped.

    In the result, `x` are the weights, `history` the objective (mean over outputs, each loss before its step) and
    `optimality` is the last improvement. Without a penalty, a pass in which no row had a gradient is the last: nothing
    would change any more.
    """
    K = len(weights.S)
    best, since, objective, gain = np.full(K, np.inf), np.zeros(K, np.int64), np.zeros(K), np.zeros(K)
    active, history, status, epoch = np.arange(K), [], "iteration limit", 0
    while status == "iteration limit" and epoch < stopping.max_iter:
        epoch += 1
        before = weights.S[:, UPDATES].copy()
        losses = advance(weights, active, epoch)
        objective[active] = (losses + _penalties(weights, training))[active]
        value = float(objective.mean())
        history.append(value)
        stop = report(epoch, value, weights)
        if not np.isfinite(objective).all() or not np.isfinite(weights.V).all():
            return Result(weights, value, epoch, "not finite", math.inf, history)
        watched = objective if stopping.judge is None else stopping.judge(weights)
        gain = best - watched
        if stopping.tol is not None and epoch > stopping.trial:
            since = np.where(gain < stopping.tol, since + 1, 0)
        best = np.minimum(best, watched)
        done = since >= stopping.patience
        # Where progress ended, an adaptive rate is cut and the output goes on, until the rate is too small.
        if training.rate.adaptive:
            slower = done & (weights.S[:, RATE] > SMALLEST_RATE)
            weights.S[slower, RATE] /= 5.0
            since[slower], done = 0, done & ~slower
        if training.penalty is None:
            done |= weights.S[:, UPDATES] == before
        active = active[~done[active]]
        status = "converged" if not len(active) else "stopped" if stop else status
    return Result(weights, history[-1], epoch, status, float(np.max(gain)), history)


def _penalties(weights: Weights, training: Training) -> Array:
    if training.penalty is None:
        return np.zeros(len(weights.V))
    return np.asarray([training.penalty.value(v) for v in weights.V])
