"""The time limit holds: what would take too long is foretold, stopped, or given up between folds."""

import signal
import threading
import time

import numpy as np
import polars as pl
import pytest
from sklearn.dummy import DummyRegressor

from didact.study import Study, candidates
from didact.study.candidates import NUMBERS, SCALED, Candidate
from didact.study.clock import Clock, OutOfTime

pytestmark = pytest.mark.usefixtures("few_models")


class Sleeper(DummyRegressor):
    """Takes its time at each fit: some seconds, and some for each row."""

    def __init__(self, seconds=0.0, each=0.0):
        super().__init__()
        self.seconds, self.each = seconds, each

    def fit(self, X, y, sample_weight=None):
        end = time.monotonic() + self.seconds + self.each * len(y)
        while time.monotonic() < end:
            time.sleep(0.01)
        return super().fit(X, y)


def study(monkeypatch, limit, rows=200, folds=2, **sleep):
    slow = Candidate("Slow", "sleeps", NUMBERS, SCALED, lambda facts: Sleeper(**sleep))
    table = candidates.TABLE
    monkeypatch.setattr(candidates, "TABLE", (*table[:2], slow, *table[2:]))
    x = np.random.default_rng(0).normal(size=rows)
    began = time.monotonic()
    result = Study("y", folds=folds, time_limit=limit).run(pl.DataFrame({"x": x, "y": 2 * x + np.sin(9 * x)}))
    return result, time.monotonic() - began


def tried(result):
    return [trial.name for trial in result.trials]


def test_short_limits_keep_half_for_the_comparison():
    assert Clock(None).kept(5.0) == Clock(60.0).kept(5.0) == 5.0
    assert Clock(4.0).kept(5.0) == 2.0


def test_without_a_limit_all_are_tried(monkeypatch):
    result, _ = study(monkeypatch, None)
    assert "Slow" in tried(result)
    assert "Linear regression" in tried(result)


def test_a_fit_that_does_not_end_is_stopped_at_the_limit(monkeypatch):
    result, seconds = study(monkeypatch, 4.0, seconds=1000)
    assert seconds < 8.0  # a busy machine may be late, by far less than a fit that sleeps on
    assert tried(result) == ["Dummy"]
    why = {skipped.name: skipped.why for skipped in result.skipped}
    assert why["Slow"] == why["Linear regression"] == "the time limit of 4 s was reached"
    assert all(skipped.late for skipped in result.skipped)


def test_a_dear_model_is_foretold_from_a_sample_and_the_cheap_ones_still_run(monkeypatch):
    """0.4 ms a row: a sample of 1,000 rows takes half a second; the folds would take a minute."""
    result, seconds = study(monkeypatch, 20.0, rows=50_000, each=4e-4)
    assert seconds < 20.0
    assert tried(result) == ["Dummy", "Linear regression", "Ridge regression (tuned)"]
    assert [skipped.name for skipped in result.skipped] == ["Slow"]
    assert "more than were left of 20 s" in result.skipped[0].why


def test_in_another_thread_there_is_no_alarm_and_folds_are_counted(monkeypatch):
    found = []
    thread = threading.Thread(target=lambda: found.append(study(monkeypatch, 10.0, folds=20, seconds=1.0)))
    thread.start()
    thread.join(60)
    result, seconds = found[0]
    assert "Slow" not in tried(result)
    assert "Linear regression" in tried(result)
    assert seconds < 10.0


def test_an_alarm_of_somebody_else_goes_on():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *arguments: rung.append(True))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(OutOfTime), Clock(0.1).stops():
            time.sleep(5)
        assert rung == []
        time.sleep(0.5)
        assert rung == [True]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_model_that_cannot_be_fitted_is_told_and_the_others_stay(monkeypatch):
    def refuses(self, X, y, sample_weight=None):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(Sleeper, "fit", refuses)
    result, _ = study(monkeypatch, None)
    assert [(s.name, s.why, s.late) for s in result.skipped] == [
        ("Slow", "it could not be fitted: Singular matrix", False)
    ]
    assert "Linear regression" in tried(result)


def test_the_bell_waits_where_an_error_would_be_lost():
    """Errors inside functions that LLVM calls back are printed and forgotten: the bell rings again after them."""

    def _raw_object_cache_notify():
        time.sleep(0.3)
        return "whole"

    reached = []
    with pytest.raises(OutOfTime), Clock(0.1).stops():
        reached.append(_raw_object_cache_notify())
        time.sleep(5)
    assert reached == ["whole"]
