"""What a study found, as one value: everything that the report and scores.json are made of."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import didact
from didact.study.candidates import Skipped
from didact.study.columns import Column
from didact.study.effects import Effect, Importance
from didact.study.intervals import Interval
from didact.study.measures import Measure
from didact.study.tasks import Task
from didact.study.validation import HeldOut, Trial


@dataclass(frozen=True)
class StudyResult:
    """What a study found.

    `task` is the question, `columns` says what was done with each column, `scores` is what goes into scores.json,
    `best` the name of the chosen model, `model` the fitted pipeline (it takes a data frame), `skipped` the models that
    were not compared and why, `importances` how much the model leans on each column, `notes` what a person should
    know, `report_path` the report where one was written.

    >>> from didact.datasets import load_penguins
    >>> from didact.study import Study
    >>> result = Study(target="Species", folds=2).run(load_penguins())
    >>> result.task.kind
    'multiclass'
    """

    source: str
    task: Task
    rows: dict[str, int]
    columns: list[Column]
    measures: list[Measure]
    trials: list[Trial]
    skipped: list[Skipped]
    best: str
    model: Pipeline
    held_out: HeldOut
    importances: list[Importance]
    effects: list[Effect]
    entangled: list[str]
    notes: list[str]
    target_values: np.ndarray
    settings: dict[str, Any]
    seconds: float
    report_path: Path | None = None

    @property
    def scores(self) -> dict[str, Any]:
        """All numbers as plain values."""
        return as_scores(self)

    @property
    def best_trial(self) -> Trial:
        """The cross-validation of the chosen model."""
        return next(trial for trial in self.trials if trial.name == self.best)

    @property
    def dummy_trial(self) -> Trial:
        """The cross-validation of the dummy."""
        return self.trials[0]


def as_scores(result: "StudyResult") -> dict[str, Any]:
    """All numbers of a study as plain values, the same for the same seed and table."""
    return {
        "didact": didact.__version__,
        "source": result.source,
        "target": result.task.target,
        "task": result.task.kind,
        "classes": [c if isinstance(c, (bool, int, float)) else str(c) for c in result.task.classes],
        "settings": result.settings,
        "rows": result.rows,
        "columns": [dataclasses.asdict(column) for column in result.columns],
        "measures": [{"key": m.key, "label": m.label, "larger_is_better": m.higher} for m in result.measures],
        "models": [
            {
                "name": trial.name,
                "validation": {key: [_plain(v) for v in folds] for key, folds in trial.validation.items()},
                "training": {key: [_plain(v) for v in folds] for key, folds in trial.training.items()},
            }
            for trial in result.trials
        ],
        "not_compared": [dataclasses.asdict(skipped) for skipped in result.skipped],
        "best": result.best,
        "held_out": {
            name: {key: _ends(value) for key, value in getattr(result.held_out, part).items()}
            for name, part in (("best", "best"), ("dummy", "dummy"), ("gain_over_dummy", "gain"))
        },
        "importances": [
            {"column": i.name, "value": _plain(i.value), "spread": _plain(i.spread)} for i in result.importances
        ],
        "effects": [{"name": e.name, "values": [_plain(v) for v in e.values]} for e in result.effects],
        "notes": result.notes,
    }


def _ends(interval: Interval) -> dict[str, float | None]:
    return {"value": _plain(interval.value), "low": _plain(interval.low), "high": _plain(interval.high)}


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
