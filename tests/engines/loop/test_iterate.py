"""The one loop: why it ends, what it reports, what it keeps."""

import math
from typing import NamedTuple

import pytest

from didact.engines.loop.iterate import QUIET_ITERATIONS, iterate
from didact.engines.loop.result import MESSAGES, Result


class State(NamedTuple):
    x: float
    value: float
    optimality: float


def halve(s):
    return State(s.x / 2, s.x / 2, s.x / 2)


START = State(1.0, 1.0, 1.0)


def test_converged():
    result = iterate(START, halve, tol=0.1, max_iter=50)
    assert (result.status, result.converged, result.n_iter) == ("converged", True, 4)
    assert result.x == result.value == result.optimality == 1 / 16
    assert result.history == [1, 1 / 2, 1 / 4, 1 / 8, 1 / 16]
    assert result.message == "Converged."


def test_converged_at_the_start_takes_no_step():
    result = iterate(START, lambda s: pytest.fail("a step was taken"), tol=1.0, max_iter=5)
    assert (result.status, result.n_iter) == ("converged", 0)


def test_iteration_limit():
    result = iterate(START, halve, tol=0.0, max_iter=3)
    assert (result.status, result.converged, result.n_iter, result.x) == ("iteration limit", False, 3, 1 / 8)
    assert "max_iter" in result.message
    assert "iterations: 3, optimality: 0.125" in result.message


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_not_finite(bad):
    result = iterate(START, lambda s: State(s.x, bad, 1.0), tol=0.1, max_iter=50)
    assert (result.status, result.n_iter) == ("not finite", 1)
    assert iterate(State(0.0, bad, 0.0), halve, 0.1, 5).status == "not finite"


def test_no_progress():
    result = iterate(START, lambda s: None if s.x < 0.3 else halve(s), tol=0.0, max_iter=50)
    assert (result.status, result.n_iter, result.x) == ("no progress", 2, 1 / 4)


def test_moving_within_rounding_errors_is_no_progress():
    """Steps that change neither the value nor the range of the optimality end the loop long before its limit."""
    result = iterate(START, lambda s: State(s.x + 1, 1.0, 1.5 + math.sin(s.x) / 2), tol=1e-6, max_iter=10_000)
    assert (result.status, result.value) == ("no progress", 1.0)
    assert result.n_iter < 1000
    assert iterate(START, lambda s: s, 1e-6, 10_000).n_iter == QUIET_ITERATIONS


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_a_flat_value_is_progress_while_the_optimality_changes(factor):
    """As of a gradient that fades where the value is rounded, or grows on the way out of a saddle."""
    result = iterate(START, lambda s: State(s.x, 1.0, s.optimality * factor), tol=0.5, max_iter=60)
    assert (result.status, result.n_iter) == ("iteration limit", 60)


def test_a_slow_fall_of_the_value_is_progress():
    """Falls of one rounding error each add up."""
    result = iterate(START, lambda s: State(s.x, s.value * (1 - 2.0**-52), 1.0), tol=0.5, max_iter=200)
    assert (result.status, result.n_iter) == ("iteration limit", 200)


def test_stopped_by_a_report():
    heard = []

    def report(iteration, value, x):
        heard.append((iteration, value, x))
        return iteration == 3

    result = iterate(START, halve, tol=0.0, max_iter=50, report=report)
    assert (result.status, result.n_iter) == ("stopped", 3)
    assert heard == [(1, 1 / 2, 1 / 2), (2, 1 / 4, 1 / 4), (3, 1 / 8, 1 / 8)]


@pytest.mark.parametrize(("tol", "max_iter"), [(0.1, 50), (0.0, 4)])
def test_every_iteration_is_reported_once_the_last_too(tol, max_iter):
    heard = []
    result = iterate(START, halve, tol, max_iter, report=lambda i, value, x: heard.append(i))
    assert heard == list(range(1, result.n_iter + 1))
    assert len(result.history) == result.n_iter + 1


def test_convergence_beats_a_request_to_stop():
    assert iterate(START, halve, 0.6, 50, report=lambda *a: True).status == "converged"


def test_iterates_are_kept_on_request():
    result = iterate(START, halve, 0.0, 2, keep=lambda s: (s.value, s.x))
    assert result.history == [(1.0, 1.0), (0.5, 0.5), (0.25, 0.25)]


def test_every_status_has_a_message():
    for status in MESSAGES:
        assert Result(0, 0.0, 1, status, 0.0).message.startswith(MESSAGES[status])
    assert set(MESSAGES) == {
        "converged", "iteration limit", "infeasible", "unbounded", "not finite", "stopped", "no progress",
        "diverged", "time limit",
    }  # fmt: skip


def test_the_optimality_is_asked_for_once_an_iteration():
    asked = []

    class Counting(NamedTuple):
        x: int
        value: float

        @property
        def optimality(self) -> float:
            asked.append(self.x)
            return self.value

    result = iterate(Counting(0, 8.0), lambda s: Counting(s.x + 1, s.value / 2), 1.5, 10)
    assert result.converged
    assert asked == [0, 1, 2, 3, 3]  # the last one for the result, too
