"""Comparing candidates: cross-validation on the training rows, then one look at the rows held out."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from didact.study.candidates import Candidate
from didact.study.measures import Interval, Measure, bootstrap, interval, point
from didact.study.tasks import Task

if TYPE_CHECKING:
    import polars as pl

Array = np.ndarray


@dataclass(frozen=True)
class Trial:
    """What cross-validation said of a candidate: each measure per fold, on rows not fitted and on rows fitted."""

    candidate: Candidate
    pipeline: Pipeline
    validation: dict[str, list[float]]
    training: dict[str, list[float]]
    warnings: list[str] = field(default_factory=list)

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
) -> Trial:
    """Fit a pipeline on all folds but one, and measure it on that one, for each fold in turn."""
    X, y, groups = data
    trial = Trial(candidate, model, {m.key: [] for m in chosen}, {m.key: [] for m in chosen})
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(groups, groups)
    for number, (fitted, left) in enumerate(splits, start=1):
        step(f"{candidate.name}, fold {number} of {folds}")
        one = fit(clone(model), X[fitted], y[fitted], trial.warnings)
        for rows, scores in ((left, trial.validation), (fitted, trial.training)):
            prediction = predict(one, X[rows], task)
            for measure in chosen:
                scores[measure.key].append(point(measure, codes(y[rows], task), prediction))
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
    """The candidate with the best mean of the measure; the earlier, simpler one where two are equal."""
    best = trials[0]
    for trial in trials[1:]:
        if measure.better(trial.mean(measure.key), best.mean(measure.key)):
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
    """Scores on the held-out rows with 95 % bootstrap intervals, beside the dummy's, and the gain over it."""
    X, y, rows = data
    truth = codes(y, task)
    predictions = {"best": predict(best, X, task), "dummy": predict(dummy, X, task)}
    replicates = bootstrap(chosen, truth, predictions, seed)
    values = {name: {m.key: point(m, truth, p) for m in chosen} for name, p in predictions.items()}
    scores = {
        name: {m.key: interval(values[name][m.key], replicates[name][m.key]) for m in chosen} for name in predictions
    }
    gain = {}
    for m in chosen:
        sign = 1 if m.higher else -1
        difference = sign * (replicates["best"][m.key] - replicates["dummy"][m.key])
        gain[m.key] = interval(sign * (values["best"][m.key] - values["dummy"][m.key]), difference)
    return HeldOut(rows, y, predictions["best"], scores["best"], scores["dummy"], gain)
