r"""Measures of prediction on weighted rows, and their intervals.

A measure maps targets y, predictions and a matrix of row weights W (replicates × rows) to one value per row of W.
With W = 1 it is the usual score; with W the counts of a resample with replacement it is a bootstrap replicate, so that
a thousand replicates are a few matrix products. Cost O(replicates × rows). Shares and the area under the ROC curve have
intervals in closed form, which the bootstrap would draw to a point where all rows are right (see `intervals`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from didact.core.typing import Array
from didact.study.intervals import Interval, area, bca, difference, mean_share, wilson
from didact.study.tasks import Task

_CHUNK = 4_000_000
_FLOOR = 1e-3


@dataclass(frozen=True)
class Measure:
    """A named measure; `words` says what it is, `higher` whether larger is better.

    `ends` gives the interval in closed form; without it, the bootstrap does.
    """

    key: str
    label: str
    words: str
    higher: bool
    of: Callable[[Array, Array, Array], Array]
    ends: Callable[[Array, Array], Interval] | None = None

    def better(self, a: float, b: float) -> bool:
        """Whether a is the better value."""
        return a > b if self.higher else a < b


def measures(task: Task) -> list[Measure]:
    """The measures of a task; the first one chooses the model."""
    log_loss = Measure(
        "log_loss", "log loss", "how far the probabilities are from the truth; rewards honest ones", False, _log_loss
    )
    accuracy = Measure(
        "accuracy", "accuracy", "the share of rows whose class is right", True, _accuracy, _accuracy_ends
    )
    balanced = Measure(
        "balanced_accuracy",
        "balanced accuracy",
        "the share that is right, averaged over classes",
        True,
        _balanced,
        _balanced_ends,
    )
    ranking = Measure(
        "roc_auc",
        "area under the ROC curve",
        "how often a row of the second class ranks above one of the first",
        True,
        _auc,
        _auc_ends,
    )
    rmse = Measure("rmse", "root mean squared error", "a typical error, in units of the target", False, _rmse)
    mae = Measure("mae", "mean absolute error", "the average error, in units of the target", False, _mae)
    r2 = Measure("r2", "R²", "the share of the variation that is explained", True, _r2)
    deviance = Measure(
        "poisson_deviance", "Poisson deviance", "how far the predicted rates are from the counts", False, _deviance
    )
    return {
        "binary": [log_loss, ranking, accuracy, balanced],
        "multiclass": [log_loss, accuracy, balanced],
        "regression": [rmse, mae, r2],
        "count": [deviance, rmse, mae, r2],
    }[task.kind]


def point(measure: Measure, y: Array, prediction: Array) -> float:
    """The measure on all rows alike."""
    return float(measure.of(y, prediction, np.ones((1, len(y))))[0])


def judge(
    chosen: list[Measure], y: Array, best: Array, dummy: Array, seed: int
) -> tuple[dict[str, Interval], dict[str, Interval], dict[str, Interval]]:
    """The measures of a model and of the dummy on the same rows, and the gain of the first over the second."""
    drawn = {"best": best, "dummy": dummy}
    open_ended = [measure for measure in chosen if measure.ends is None]
    replicates = values(open_ended, y, drawn, resamples(len(y), seed))
    left_out = values(open_ended, y, drawn, leave_out(len(y)))
    scores: dict[str, dict[str, Interval]] = {"best": {}, "dummy": {}, "gain": {}}
    for m in chosen:
        if m.ends is not None:
            a, b = (m.ends(y, prediction) for prediction in drawn.values())
            gain = difference(a, b, _agreement(y, best, dummy) if m.key == "accuracy" else 0.0)
        else:
            sign = 1 if m.higher else -1
            a, b = (bca(point(m, y, p), replicates[n][m.key], left_out[n][m.key]) for n, p in drawn.items())
            both = (sign * (part["best"][m.key] - part["dummy"][m.key]) for part in (replicates, left_out))
            gain = bca(sign * (a.value - b.value), *both)
        same = np.array_equal(best, dummy)
        scores["best"][m.key], scores["dummy"][m.key] = a, b
        scores["gain"][m.key] = Interval(0.0, 0.0, 0.0) if same else gain
    return scores["best"], scores["dummy"], scores["gain"]


def values(
    chosen: list[Measure], y: Array, predictions: dict[str, Array], weights: Iterable[Array]
) -> dict[str, dict[str, Array]]:
    """Each measure of each model for many weightings of the rows, the same for all, so that differences are paired."""
    blocks: dict[str, dict[str, list[Array]]] = {name: {m.key: [] for m in chosen} for name in predictions}
    for block in weights if chosen else ():
        for name, prediction in predictions.items():
            for measure in chosen:
                blocks[name][measure.key].append(measure.of(y, prediction, block))
    return {name: {key: np.concatenate(parts) for key, parts in by.items()} for name, by in blocks.items()}


def resamples(rows: int, seed: int) -> Iterator[Array]:
    """Counts of resamples of the rows with replacement, in blocks that fit in memory."""
    random = np.random.default_rng(seed)
    left = int(np.clip(20_000_000 // rows, 400, 2000))
    size = max(1, _CHUNK // rows)
    while left > 0:
        many = min(size, left)
        draws = random.integers(rows, size=(many, rows)) + rows * np.arange(many)[:, None]
        yield np.bincount(draws.ravel(), minlength=many * rows).reshape(many, rows).astype(float)
        left -= many


def leave_out(rows: int) -> Iterator[Array]:
    """All rows but one, each in turn; with many rows, all but every 200th."""
    groups = min(rows, 200)
    size = max(1, _CHUNK // rows)
    for start in range(0, groups, size):
        places = np.arange(start, min(start + size, groups))
        yield (np.arange(rows)[None, :] % groups != places[:, None]).astype(float)


def _mean(loss: Array, weights: Array) -> Array:
    return weights @ loss / weights.sum(axis=1)


def _log_loss(y: Array, probability: Array, weights: Array) -> Array:
    """Mean of −log p; a probability below a thousandth counts as one, or a single leaf with one class would decide."""
    return _mean(-np.log(np.clip(probability[np.arange(len(y)), y], _FLOOR, 1.0)), weights)


def _accuracy(y: Array, probability: Array, weights: Array) -> Array:
    return _mean((probability.argmax(axis=1) == y).astype(float), weights)


def _accuracy_ends(y: Array, probability: Array) -> Interval:
    return wilson(float(np.mean(probability.argmax(axis=1) == y)), len(y))


def _balanced_ends(y: Array, probability: Array) -> Interval:
    """The mean of the shares of the classes; of a constant guess it is known exactly."""
    right = probability.argmax(axis=1) == y
    rows = np.bincount(y)
    found = mean_share(np.bincount(y, weights=right)[rows > 0] / rows[rows > 0], rows[rows > 0])
    return Interval(*[found.value] * 3) if _is_constant(probability) else found


def _auc_ends(y: Array, probability: Array) -> Interval:
    value = float(_auc(y, probability, np.ones((1, len(y))))[0])
    if not np.isfinite(value) or _is_constant(probability):
        return Interval(value, value, value)
    return area(value, int(np.sum(y == 0)), int(np.sum(y == 1)))


def _is_constant(probability: Array) -> bool:
    return bool(np.all(probability == probability[0]))


def _agreement(y: Array, one: Array, other: Array) -> float:
    """The correlation over rows of being right, of two models."""
    a, b = (p.argmax(axis=1) == y for p in (one, other))
    return 0.0 if a.all() or b.all() or not (a.any() and b.any()) else float(np.corrcoef(a, b)[0, 1])


def _balanced(y: Array, probability: Array, weights: Array) -> Array:
    right = (probability.argmax(axis=1) == y).astype(float)
    member = np.eye(probability.shape[1])[y]
    total = weights @ member
    recall = np.divide(weights @ (member * right[:, None]), total, out=np.zeros_like(total), where=total > 0)
    return recall.sum(axis=1) / (total > 0).sum(axis=1)


def _auc(y: Array, probability: Array, weights: Array) -> Array:
    """The weighted share of pairs (one row of each class) in the right order, a tie counting half."""
    score = probability[:, 1]
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.diff(score[order], prepend=-np.inf))
    positive = np.add.reduceat(weights[:, order] * (y[order] == 1), starts, axis=1)
    negative = np.add.reduceat(weights[:, order] * (y[order] == 0), starts, axis=1)
    below = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    return np.divide((positive * below).sum(axis=1), pairs, out=np.full(len(weights), np.nan), where=pairs > 0)


def _rmse(y: Array, prediction: Array, weights: Array) -> Array:
    return np.sqrt(_mean((y - prediction) ** 2, weights))


def _mae(y: Array, prediction: Array, weights: Array) -> Array:
    return _mean(np.abs(y - prediction), weights)


def _r2(y: Array, prediction: Array, weights: Array) -> Array:
    centred = y - y.mean()
    variance = _mean(centred**2, weights) - _mean(centred, weights) ** 2
    error = _mean((y - prediction) ** 2, weights)
    return 1 - np.divide(error, variance, out=np.full(len(weights), np.nan), where=variance > 0)


def _deviance(y: Array, prediction: Array, weights: Array) -> Array:
    """Mean Poisson deviance; a rate at or below zero counts as a thousandth of the mean target."""
    rate = np.maximum(prediction, _FLOOR * y.mean())
    return _mean(2 * (xlogy(y, y / rate) - y + rate), weights)
