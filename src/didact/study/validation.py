"""Measuring models: cross-validation on the training rows, then one look at the rows held out."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from didact.core.typing import Array
from didact.study.candidates import Candidate
from didact.study.intervals import Interval
from didact.study.measures import Measure, judge, point
from didact.study.tasks import Task

if TYPE_CHECKING:
    import polars as pl
_FITTED = 5000  # rows of those fitted on which a fold is measured, too


@dataclass(frozen=True)
class Trial:
    """What cross-validation said of a candidate: each measure per fold, on rows not fitted and on rows fitted, and the
    seconds that each fold took.
    """

    candidate: Candidate
    pipeline: Pipeline
    validation: dict[str, list[float]]
    training: dict[str, list[float]]
    warnings: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name

    def mean(self, key: str) -> float:
        """The mean over folds of a measure."""
        return float(np.mean(self.validation[key]))

    def spread(self, key: str) -> float:
        """The standard deviation over folds of a measure."""
        return float(np.std(self.validation[key], ddof=1))


@dataclass(frozen=True)
class HeldOut:
    """The one look at the held-out rows: targets, predictions of the best model and the dummy, and their scores."""

    rows: Array
    y: Array
    prediction: Array
    best: dict[str, Interval]
    dummy: dict[str, Interval]
    gain: dict[str, Interval]


def cross_validate(
    candidate: Candidate,
    model: Pipeline,
    data: tuple["pl.DataFrame", Array, Array],
    task: Task,
    chosen: list[Measure],
    folds: int,
    seed: int,
    step: Callable[[str], None],
    check: Callable[[Trial], None],
) -> Trial:
    """Fit a pipeline on all folds but one, and measure it on that one, for each fold in turn; `check` may end it."""
    X, y, groups = data
    trial = Trial(candidate, model, {m.key: [] for m in chosen}, {m.key: [] for m in chosen})
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(groups, groups)
    for number, (fitted, left) in enumerate(splits, start=1):
        step(f"{candidate.name}, fold {number} of {folds}")
        began = time.monotonic()
        one = fit(clone(model), X[fitted], y[fitted], trial.warnings)
        for rows, scores in ((left, trial.validation), (fitted[:_FITTED], trial.training)):
            prediction = predict(one, X[rows], task)
            for measure in chosen:
                scores[measure.key].append(point(measure, codes(y[rows], task), prediction))
        trial.seconds.append(time.monotonic() - began)
        check(trial)
    return trial


def fit(model: Pipeline, X: "pl.DataFrame", y: Array, heard: list[str]) -> Pipeline:
    """Fit, and keep what the model warned of for the report instead of printing it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    for warning in caught:
        text = str(warning.message).strip().partition("\n")[0]
        if issubclass(warning.category, (ConvergenceWarning, RuntimeWarning)) and text not in heard:
            heard.append(text)
    return model


def predict(model: Any, X: "pl.DataFrame", task: Task) -> Array:
    """Probabilities of the classes in their order, or numbers."""
    if not task.is_classification:
        return np.asarray(model.predict(X), dtype=float)
    return np.asarray(model.predict_proba(X), dtype=float)


def codes(y: Array, task: Task) -> Array:
    """Classes as their places in the order of classes; numbers as they are."""
    return np.searchsorted(np.array(task.classes), y) if task.is_classification else y


def choose(trials: list[Trial], measure: Measure) -> Trial:
    """The candidate with the best mean of the measure; the earlier, simpler one where two are equal.

    One whose mean is not finite is taken only if there is no other.
    """
    best = trials[0]
    for trial in trials[1:]:
        mean, least = trial.mean(measure.key), best.mean(measure.key)
        if measure.better(mean, least) or (np.isfinite(mean) and not np.isfinite(least)):
            best = trial
    return best


def look(
    best: Pipeline,
    dummy: Pipeline,
    data: tuple["pl.DataFrame", Array, Array],
    task: Task,
    chosen: list[Measure],
    seed: int,
) -> HeldOut:
    """Scores on the held-out rows with 95 % intervals, beside the dummy's, and the gain over it."""
    X, y, rows = data
    prediction = predict(best, X, task)
    scores = judge(chosen, codes(y, task), prediction, predict(dummy, X, task), seed)
    return HeldOut(rows, y, prediction, *scores)
