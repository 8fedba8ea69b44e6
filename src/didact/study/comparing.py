"""Comparing the candidates of a table, the cheapest first, within the time that there is."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from didact.core.errors import DidactError
from didact.core.typing import Array
from didact.study.candidates import Candidate, Facts, Skipped, candidates
from didact.study.clock import Clock, OutOfTime
from didact.study.columns import Column
from didact.study.measures import Measure
from didact.study.pipelines import pipeline
from didact.study.tasks import Task
from didact.study.validation import Trial, cross_validate, fit, predict

if TYPE_CHECKING:
    import polars as pl

AFTERWARDS = 5.0  # seconds kept for what follows the comparison: importances, pictures, files
LAST_FIT = 1.5  # times of a fold kept for the fit to all training rows and the look at the rows held out
FORETOLD = 2000  # rows above which the time of a fit is foretold


class Tally:
    """Steps told to a person: what is being done, how many are done, how many there are."""

    def __init__(self, tell: Callable[[str, int, int], None] | None) -> None:
        self.tell, self.done, self.total = tell, 0, 1

    def __call__(self, label: str) -> None:
        """Tell the step that begins now."""
        if self.tell is not None:
            self.tell(label, self.done, self.total)
        self.done += 1


class TooSlow(Exception):
    """A candidate would take this many seconds, more than there are."""


def compare(
    data: tuple["pl.DataFrame", Array, Array],
    task: Task,
    columns: list[Column],
    facts: Facts,
    chosen: list[Measure],
    clock: Clock,
    tally: Tally,
    after: int,
) -> tuple[list[Trial], list[Skipped]]:
    """Cross-validate every candidate that suits and can be fitted in time; `after` is the number of steps to follow."""
    tried, skipped = candidates(facts)
    trials: list[Trial] = []
    for number, candidate in enumerate(tried):
        tally.total = tally.done + (len(tried) - number) * facts.folds + after
        model = pipeline(candidate, columns, facts)

        def check(trial: Trial) -> None:
            cost = float(np.mean(trial.seconds)) * (facts.folds - len(trial.seconds) + LAST_FIT)
            if trials and cost > clock.left() - clock.kept(AFTERWARDS):
                raise TooSlow(cost)

        try:
            with clock.stops(_reserve(trials, clock)) if trials else nullcontext():
                if trials and clock.limit is not None and facts.rows > FORETOLD:
                    _foretell(candidate, model, data, task, facts, clock)
                trials.append(
                    cross_validate(candidate, model, data, task, chosen, facts.folds, facts.seed, tally, check)
                )
        except OutOfTime:
            skipped.append(Skipped(candidate.name, f"the time limit of {clock.limit:g} s was reached", late=True))
        except TooSlow as error:
            why = f"it would take about {error.args[0]:.0f} s, more than were left of {clock.limit:g} s"
            skipped.append(Skipped(candidate.name, why, late=True))
        except (DidactError, np.linalg.LinAlgError) as error:
            if not trials:
                raise
            skipped.append(Skipped(candidate.name, f"it could not be fitted: {error}"))
    tally.total = tally.done + after
    return trials, skipped


def _reserve(trials: list[Trial], clock: Clock) -> float:
    """Seconds kept for what follows the comparison, whichever of the trials is chosen."""
    return clock.kept(AFTERWARDS) + LAST_FIT * max(float(np.mean(trial.seconds)) for trial in trials)


def _foretell(
    candidate: Candidate,
    model: Pipeline,
    data: tuple["pl.DataFrame", Array, Array],
    task: Task,
    facts: Facts,
    clock: Clock,
) -> None:
    """Raise TooSlow if the folds would take longer than there is time, by a fit to some of the rows.

    A first fit to fewer rows pays for loading and compiling, which happens but once.
    """
    X, y, groups = data
    alike = np.argsort(groups, kind="stable")
    some = int(np.clip(facts.rows // 20, FORETOLD // 2, 20_000))
    for many in (FORETOLD // 4, some):
        rows = np.sort(alike[:: len(alike) // many][:many])
        began = time.monotonic()
        predict(fit(clone(model), X[rows], y[rows], []), X[rows], task)
        seconds = time.monotonic() - began
    fold = seconds * (facts.rows * (facts.folds - 1) / facts.folds / some) ** candidate.growth
    cost = fold * (facts.folds + LAST_FIT)
    if cost > clock.left() - clock.kept(AFTERWARDS):
        raise TooSlow(cost)
