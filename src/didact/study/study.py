"""The whole procedure: read, set rows aside, clean, compare models, look once at the rows set aside, report."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from didact.core.errors import InputError, ParameterError, need
from didact.study.candidates import facts_of
from didact.study.clock import Clock, OutOfTime
from didact.study.columns import Column, judge_columns
from didact.study.comparing import Tally, compare
from didact.study.effects import Importance, effects, entangled, importances
from didact.study.measures import measures
from didact.study.result import StudyResult
from didact.study.tables import read_table
from didact.study.tasks import Task, set_task, strata
from didact.study.validation import choose, fit, look
from didact.study.writing import write

if TYPE_CHECKING:
    import polars as pl

HELD_OUT = 0.2
REPORT = 3.0  # seconds kept for the pictures and files of a report
SHOWN_EFFECTS = 15


@dataclass
class Study:
    """Carry out the whole procedure of supervised learning on a table.

    A fifth of the rows is set aside, the rest is cleaned and cross-validated with every model that suits the table;
    the one with the best mean over the folds is fitted on all of the rest and looked at once on the rows set aside,
    with 95 % intervals and beside a dummy. Cost: one fit per model and fold.

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
        Seconds that the study may take, files included. The cheapest models come first; one whose folds would not be
        done in time, foretold from a sample of the rows, is left out, and the result says so. The dummy is always
        there. What a limit leaves out depends on the machine.
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
        clock, tally = Clock(self.time_limit), Tally(self.on_step)
        self._check()
        tally("reading the table")
        table = read_table(source)
        name = Path(source).name if isinstance(source, (str, Path)) else "the table"
        result = self._study(table, name, clock, tally)
        if self.out is None:
            return result
        tally("writing the report")
        return write(result, Path(self.out))

    def _study(self, table: "pl.DataFrame", source: str, clock: Clock, tally: Tally) -> StudyResult:
        task, labelled, y, notes = set_task(table, self.target, self.task, self.folds)
        if self.folds > len(y) // 4:
            raise ParameterError(f"{self.folds} folds are too many for {len(y)} rows; use at most {len(y) // 4}.")
        train, test = self._set_aside(y, task)
        columns = judge_columns(labelled[train], self.target, len(labelled))
        notes += _table_notes(labelled, columns)
        facts = facts_of(task, columns, y[train], self.folds, self.seed)
        chosen = measures(task)
        data = (labelled[train], y[train], strata(y[train], task, self.folds))
        trials, skipped = compare(data, task, columns, facts, chosen, clock, tally, 3 + (self.out is not None))
        best = choose(trials, chosen[0])
        tally(f"fitting {best.name} on all training rows")
        heard: list[str] = []
        model = fit(clone(best.pipeline), *data[:2], heard)
        dummy = fit(clone(trials[0].pipeline), *data[:2], heard)
        notes += [f"{t.name} warned: {text}" for t in trials for text in t.warnings]
        tally("looking at the held-out rows")
        held_out = look(model, dummy, (labelled[test], y[test], test), task, chosen, self.seed)
        found = effects(model, labelled[train])
        tally("shuffling one column after the other")
        leant: list[Importance] = []
        try:
            with clock.stops(clock.kept(REPORT)):
                if best is not trials[0]:
                    leant = importances(model, columns, (labelled[test], y[test]), task, chosen[0], self.seed)
        except OutOfTime:
            notes.append("There was no time left to find out which columns the model leans on.")
        return StudyResult(
            source=source,
            task=task,
            rows={"table": len(table), "used": len(labelled), "training": len(train), "held_out": len(test)},
            columns=columns,
            measures=chosen,
            trials=trials,
            skipped=skipped,
            best=best.name,
            model=model,
            held_out=held_out,
            importances=leant,
            effects=found,
            entangled=entangled(model, labelled[train], found[:SHOWN_EFFECTS]),
            notes=notes,
            target_values=y,
            settings={"seed": self.seed, "folds": self.folds, "time_limit": self.time_limit},
            seconds=clock.spent(),
        )

    def _set_aside(self, y: np.ndarray, task: Task) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers of the training and the held-out part, alike in their targets."""
        train, test = train_test_split(
            np.arange(len(y)), test_size=HELD_OUT, random_state=self.seed, stratify=strata(y, task, self.folds)
        )
        return train, np.sort(test)

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


def _table_notes(table: "pl.DataFrame", columns: list[Column]) -> list[str]:
    notes = [f"Column “{c.name}” was not used: it {c.dropped}." for c in columns if c.dropped]
    if repeated := len(table) - table.n_unique():
        notes.append(
            f"{repeated:,} rows repeat an earlier row exactly; if they are the same case twice, the scores flatter."
        )
    return notes
