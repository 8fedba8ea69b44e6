r"""Measures of prediction on weighted rows, and their bootstrap intervals.

A measure maps targets y, predictions and a matrix of row weights W (replicates × rows) to one value per row of W.
With W = 1 it is the usual score; with W the counts of a resample with replacement it is a bootstrap replicate, so that
a thousand replicates are a few matrix products. Cost O(replicates × rows).

Reference: Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 13 (percentile intervals).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from didact.study.tasks import Task

Array = np.ndarray
_CHUNK = 4_000_000
_FLOOR = 1e-3


@dataclass(frozen=True)
class Measure:
    """A named measure; `words` says what it is, `higher` whether larger is better."""

    key: str
    label: str
    words: str
    higher: bool
    of: Callable[[Array, Array, Array], Array]

    def better(self, a: float, b: float) -> bool:
        """Whether a is the better value."""
        return a > b if self.higher else a < b


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def measures(task: Task) -> list[Measure]:
    """The measures of a task; the first one chooses the model."""
    log_loss = Measure(
        "log_loss", "log loss", "how far the probabilities are from the truth; rewards honest ones", False, _log_loss
    )
    accuracy = Measure("accuracy", "accuracy", "the share of rows whose class is right", True, _accuracy)
    balanced = Measure(
        "balanced_accuracy", "balanced accuracy", "the share that is right, averaged over classes", True, _balanced
    )
    area = Measure(
        "roc_auc",
        "area under the ROC curve",
        "how often a row of the second class ranks above one of the first",
        True,
        _auc,
    )
    rmse = Measure("rmse", "root mean squared error", "a typical error, in units of the target", False, _rmse)
    mae = Measure("mae", "mean absolute error", "the average error, in units of the target", False, _mae)
    r2 = Measure("r2", "R²", "the share of the variation that is explained", True, _r2)
    deviance = Measure(
        "poisson_deviance", "Poisson deviance", "how far the predicted rates are from the counts", False, _deviance
    )
    return {
        "binary": [log_loss, area, accuracy, balanced],
        "multiclass": [log_loss, accuracy, balanced],
        "regression": [rmse, mae, r2],
        "count": [deviance, rmse, mae, r2],
    }[task.kind]


def point(measure: Measure, y: Array, prediction: Array) -> float:
    """The measure on all rows alike."""
    return float(measure.of(y, prediction, np.ones((1, len(y))))[0])


def bootstrap(chosen: list[Measure], y: Array, predictions: dict[str, Array], seed: int) -> dict[str, dict[str, Array]]:
    """Replicates of each measure for each model, on the same resamples of rows, so that differences are paired."""
    blocks: dict[str, dict[str, list[Array]]] = {name: {m.key: [] for m in chosen} for name in predictions}
    for weights in _resamples(len(y), seed):
        for name, prediction in predictions.items():
            for measure in chosen:
                blocks[name][measure.key].append(measure.of(y, prediction, weights))
    return {name: {key: np.concatenate(parts) for key, parts in by.items()} for name, by in blocks.items()}


def interval(value: float, replicates: Array) -> Interval:
    """The percentile interval; resamples in which the measure has no meaning (one class only) are passed over."""
    finite = replicates[np.isfinite(replicates)]
    if not len(finite):
        return Interval(value, np.nan, np.nan)
    low, high = np.quantile(finite, [0.025, 0.975])
    return Interval(value, float(low), float(high))


def _resamples(rows: int, seed: int) -> Iterator[Array]:
    """Counts of a resample of the rows, in blocks of replicates that fit in memory."""
    random = np.random.default_rng(seed)
    left = 1000 if rows <= 20_000 else 200
    size = max(1, _CHUNK // rows)
    while left > 0:
        many = min(size, left)
        draws = random.integers(rows, size=(many, rows)) + rows * np.arange(many)[:, None]
        yield np.bincount(draws.ravel(), minlength=many * rows).reshape(many, rows).astype(float)
        left -= many


def _mean(loss: Array, weights: Array) -> Array:
    return weights @ loss / weights.sum(axis=1)


def _log_loss(y: Array, probability: Array, weights: Array) -> Array:
    tiny = np.finfo(float).eps
    return _mean(-np.log(np.clip(probability[np.arange(len(y)), y], tiny, 1.0)), weights)


def _accuracy(y: Array, probability: Array, weights: Array) -> Array:
    return _mean((probability.argmax(axis=1) == y).astype(float), weights)


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
