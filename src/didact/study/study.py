"""The whole procedure: read, set rows aside, clean, compare models, look once at the rows set aside, report."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from didact.core.errors import InputError, ParameterError, need
from didact.study.candidates import candidates, pipeline
from didact.study.columns import Column, judge_columns
from didact.study.effects import effects, entangled
from didact.study.measures import Measure, measures
from didact.study.result import StudyResult
from didact.study.tables import read_table
from didact.study.tasks import Task, set_task, strata
from didact.study.validation import Trial, choose, cross_validate, fit, look
from didact.study.writing import write

if TYPE_CHECKING:
    import polars as pl

HELD_OUT = 0.2
SHOWN_EFFECTS = 15


@dataclass
class Study:
    """Carry out the whole procedure of supervised learning on a table.

    A fifth of the rows is set aside, the rest is cleaned and cross-validated with every model that suits the target;
    the one with the best mean over the folds is fitted on all of the rest and looked at once on the rows set aside,
    with 95 % bootstrap intervals and beside a dummy. Cost: one fit per model and fold.

    Parameters
    ----------
    target : str
        The column to predict.
    seed : int, default=0
        Makes the split, the folds and the bootstrap repeatable.
    folds : int, default=5
        Number of folds of the cross-validation, at least 2.
    task : {"auto", "classification", "regression", "count"}, default="auto"
        What is asked; found from the target by default.
    out : path, optional
        Folder for report.html, scores.json and model.didact.
    time_limit : float, optional
        Seconds after which no further model is tried.
    on_step : callable, optional
        Called with (what is being done, steps done, steps in all).

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, ch. 7,
    https://doi.org/10.1007/978-0-387-84858-7.

    Examples
    --------
    >>> from didact.datasets import load_penguins
    >>> from didact.study import Study
    >>> result = Study(target="Sex", folds=3).run(load_penguins())
    >>> result.task.kind
    'binary'
    >>> result.held_out.gain["accuracy"].low > 0
    True
    """

    target: str
    seed: int = 0
    folds: int = 5
    task: str = "auto"
    out: str | Path | None = None
    time_limit: float | None = None
    on_step: Callable[[str, int, int], None] | None = None

    def run(self, source: Any) -> StudyResult:
        """Study a CSV or Parquet file, a bundled table by name, or a data frame."""
        started = time.monotonic()
        self._check()
        self._done, self._total = 0, 1
        self._step("reading the table")
        table = read_table(source)
        name = Path(source).name if isinstance(source, (str, Path)) else "the table"
        result = self._study(table, name, started)
        if self.out is None:
            return result
        self._step("writing the report")
        return write(result, Path(self.out))

    def _study(self, table: "pl.DataFrame", source: str, started: float) -> StudyResult:
        task, labelled, y, notes = set_task(table, self.target, self.task, self.folds)
        if self.folds > len(y) // 4:
            raise ParameterError(f"{self.folds} folds are too many for {len(y)} rows; use at most {len(y) // 4}.")
        train, test = self._set_aside(y, task)
        columns = judge_columns(labelled[train], self.target, len(labelled))
        notes += _table_notes(labelled, columns)
        chosen = measures(task)
        trials = self._compare(labelled[train], y[train], task, columns, chosen, started, notes)
        best = choose(trials, chosen[0])
        self._step(f"fitting {best.name} on all training rows")
        heard: list[str] = []
        model = fit(clone(best.pipeline), labelled[train], y[train], heard)
        dummy = fit(clone(trials[0].pipeline), labelled[train], y[train], heard)
        notes += [f"{t.name} warned: {text}" for t in trials for text in t.warnings]
        self._step("looking at the held-out rows")
        held_out = look(model, dummy, (labelled[test], y[test], test), task, chosen, self.seed)
        found = effects(model, labelled[train])
        return StudyResult(
            source=source,
            task=task,
            rows={"table": len(table), "used": len(labelled), "training": len(train), "held_out": len(test)},
            columns=columns,
            measures=chosen,
            trials=trials,
            best=best.name,
            model=model,
            held_out=held_out,
            effects=found,
            entangled=entangled(model, labelled[train], found[:SHOWN_EFFECTS]),
            notes=notes,
            target_values=y,
            settings={"seed": self.seed, "folds": self.folds},
            seconds=time.monotonic() - started,
        )

    def _set_aside(self, y: np.ndarray, task: Task) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers of the training and the held-out part, alike in their targets."""
        train, test = train_test_split(
            np.arange(len(y)), test_size=HELD_OUT, random_state=self.seed, stratify=strata(y, task, self.folds)
        )
        return train, np.sort(test)

    def _compare(
        self,
        X: "pl.DataFrame",
        y: np.ndarray,
        task: Task,
        columns: list[Column],
        chosen: list[Measure],
        started: float,
        notes: list[str],
    ) -> list[Trial]:
        tried = candidates(task, min(self.folds, 5))
        self._total = 1 + len(tried) * self.folds + 2 + (self.out is not None)
        trials: list[Trial] = []
        for number, candidate in enumerate(tried):
            late = self.time_limit is not None and time.monotonic() - started > self.time_limit
            if late and len(trials) > 1:
                untried = ", ".join(c.name for c in tried[number:])
                notes.append(f"The time limit of {self.time_limit:g} s was reached before: {untried}.")
                break
            model = pipeline(columns, len(y), candidate.estimator)
            data = (X, y, strata(y, task, self.folds))
            trials.append(cross_validate(candidate, model, data, task, chosen, self.folds, self.seed, self._step))
        return trials

    def _check(self) -> None:
        if not isinstance(self.folds, int) or self.folds < 2:
            raise ParameterError(f"folds must be a whole number of at least 2; got {self.folds!r}.")
        if self.time_limit is not None and self.time_limit <= 0:
            raise ParameterError(f"time_limit must be above 0 seconds; got {self.time_limit!r}.")
        if self.out is not None:  # say now what would otherwise be said after all the work
            for package in ("jinja2", "matplotlib"):
                need(package, "study")
            if Path(self.out).exists() and not Path(self.out).is_dir():
                raise InputError(f"'{self.out}' is a file; give a folder for the report.")

    def _step(self, label: str) -> None:
        if self.on_step is not None:
            self.on_step(label, self._done, self._total)
        self._done += 1


def _table_notes(table: "pl.DataFrame", columns: list[Column]) -> list[str]:
    notes = [f"Column “{c.name}” was not used: it {c.dropped}." for c in columns if c.dropped]
    if repeated := len(table) - table.n_unique():
        notes.append(
            f"{repeated:,} rows repeat an earlier row exactly; if they are the same case twice, the scores flatter."
        )
    return notes
