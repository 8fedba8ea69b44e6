r"""Thresholds of the classes that make the least mean loss on rows with known classes.

Of two classes the actions, in order of P(second class), are "first", "reject", "second": the two cuts are found
exactly, by running sums of the losses, in O(n log n). Of more classes one threshold at a time is moved to its
best place: for fixed others a row takes class k exactly if :math:`t_k < P(k\mid x) / \max_j (P(j\mid x)/t_j)`, so that
the mean loss has one step a row, O(n log n) again; rounds end when nothing improves.

Fumera, Roli, Giacinto (2000), Reject option with multiple thresholds, doi:10.1016/S0031-3203(00)00059-5;
Elkan (2001), The foundations of cost-sensitive learning.
"""

import numpy as np
from scipy import special

from didact.core.typing import Array
from didact.decision.rules import LEAST, by_thresholds

ROUNDS = 20
SMALL = 1e-12


def start(loss: Array, rejects: bool) -> Array:
    """Thresholds that would be right if the probabilities were: exact for two classes, and for 0/1 losses."""
    K = loss.shape[1]
    errors = loss[:K] - np.diag(loss)  # what a wrong class costs more than the right one
    false, missed = (errors.sum(axis=axis) / max(K - 1, 1) for axis in (1, 0))
    plain = np.clip(false, SMALL, None) / np.clip(false + missed, SMALL, None)
    if not rejects:
        return np.clip(plain, SMALL, 1.0)
    mean = (loss[:K].sum(axis=1) - np.diag(loss)) / max(K - 1, 1)  # of choosing k wrongly
    others = (loss[K].sum() - loss[K]) / max(K - 1, 1)
    gain, price = mean - others, loss[K] - np.diag(loss)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(gain > 0, gain / np.maximum(gain + price, SMALL), 0.0)
    return np.clip(t if t.sum() > 1.0 else plain, SMALL, 1.0)


def mean_loss(actions: Array, codes: Array, w: Array, loss: Array) -> float:
    """The weighted mean of λ(action, class)."""
    return float(np.average(loss[actions, codes], weights=w))


def tune(P: Array, codes: Array, w: Array | None, loss: Array) -> Array:
    """The thresholds of least mean loss for probabilities P of rows with these classes."""
    P, K = np.asarray(P, np.float64), loss.shape[1]
    w = np.ones(len(P)) if w is None else np.asarray(w, np.float64)
    kept = w > 0
    P, codes, w, rejects = P[kept], codes[kept], w[kept], len(loss) > K
    if K == 2:
        return two_cuts(P, codes, w, loss, start(loss, rejects))
    t = start(loss, rejects)
    best = mean_loss(by_thresholds(P, t, rejects), codes, w, loss)
    for _ in range(ROUNDS):
        for k in range(K):
            t[k] = best_place(P, codes, w, loss, t, k)
        now = mean_loss(by_thresholds(P, t, rejects), codes, w, loss)
        if now >= best * (1 - 1e-12):
            break
        best = now
    return t if rejects else t / t.sum()


def two_cuts(P: Array, codes: Array, w: Array, loss: Array, first: Array) -> Array:
    """Thresholds of two classes: up to the log-odds a the first class, from b on the second, between them a reject."""
    with np.errstate(divide="ignore"):
        odds = np.log(P[:, 1]) - np.log(P[:, 0])  # they tell rows apart where probabilities are 1 to the last digit
    order = np.argsort(odds, kind="stable")
    odds, costs = odds[order], loss[:, codes[order]] * w[order]
    sums = np.concatenate([np.zeros((len(loss), 1)), np.cumsum(costs, axis=1)], axis=1)
    cut = np.append(True, np.append(odds[1:] > odds[:-1], True))  # between equal rows there is no cut
    places, sums = between(odds)[cut], sums[:, cut]
    wanted = special.logit(np.clip(first, SMALL, 1 - SMALL))
    if len(loss) == 2:
        i = j = nearest_least(sums[0] - sums[1], places, wanted[1])
    else:
        left, right = sums[0] - sums[2], sums[2] - sums[1]
        j = nearest_least(np.minimum.accumulate(left) + right, places, wanted[1])
        i = nearest_least(left[: j + 1], places[: j + 1], -wanted[0])
    ends = np.array([-places[i], places[j]])
    t = np.maximum(special.expit(ends), LEAST)
    return np.where(np.isposinf(ends), np.inf, t)  # out of reach: a class that is never taken


def between(odds: Array) -> Array:
    """Places before, between and after rising log-odds, some of which may be infinite."""
    low, high = np.append(-np.inf, odds), np.append(odds, np.inf)
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isneginf(low), high - 1.0, np.where(np.isposinf(high), low + 1.0, (low + high) / 2))
    return np.where(np.isneginf(low) & np.isposinf(high), 0.0, middle)


def nearest_least(values: Array, places: Array, wanted: float) -> int:
    """Where the least value stands; of equal ones the nearest to the wanted place."""
    least = values.min()
    ties = np.flatnonzero(values <= least + SMALL * max(1.0, np.abs(values).max()))
    return int(ties[np.argmin(np.abs(places[ties] - wanted))])


def best_place(P: Array, codes: Array, w: Array, loss: Array, t: Array, k: int) -> float:
    """The threshold of class k of least mean loss while the others stay."""
    K, rows = len(t), np.arange(len(P))
    ratio = P / t
    ratio[:, k] = -1.0
    other = ratio.argmax(axis=1)
    level = ratio[rows, other]
    if len(loss) > K:
        other, level = np.where(level < 1.0, K, other), np.maximum(level, 1.0)
    turn = P[:, k] / np.maximum(level, LEAST)  # the row takes class k below this threshold
    order = np.argsort(turn)
    turn, gain = turn[order], ((loss[other, codes] - loss[k, codes]) * w)[order]
    cost = np.append(0.0, np.cumsum(gain))  # of giving up class k in the first rows, beside that of giving up none
    cut = np.append(True, np.append(turn[1:] > turn[:-1], True))
    ends = np.append(np.append(turn[0] / 2, (turn[1:] + turn[:-1]) / 2), turn[-1] * 1.5)
    places = np.clip(ends[cut], LEAST, None)
    j = nearest_least(np.append(cost[cut], _cost_at(t[k], turn, cost)), np.append(places, t[k]), t[k])
    return float(np.append(places, t[k])[j])


def _cost_at(t: float, turn: Array, cost: Array) -> float:
    return float(cost[np.searchsorted(turn, t, side="right")])
