"""Atomic numbers and the board of tasks: every task is done once, steps follow each other, nobody waits for ever."""

import itertools
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import (
    atomic_add,
    claim_task,
    is_last,
    is_over,
    is_task,
    new_board,
    post,
    stop_all,
    take_task,
    task_of,
    wait_for_step,
)

TASKS = 13


@jit_unmanaged
def count_up(counter, times):
    for _ in range(times):
        atomic_add(counter, 0, 1)


@jit_unmanaged
def play(board, cells, steps, step):
    """Pascal's triangle modulo 1009: each step reads what the step before has written, in other tasks."""
    while True:
        ticket = take_task(board)
        if is_over(board, ticket):
            return
        if not is_task(ticket):
            wait_for_step(board, ticket)
            continue
        k, now = task_of(ticket), step[0]
        cells[(now + 1) % 2, k] = (cells[now % 2, k] + cells[now % 2, (k + 1) % cells.shape[1]]) % 1009
        if is_last(board, ticket):
            step[0] += 1
            post(board, cells.shape[1] if step[0] < steps else 0)


@jit_unmanaged
def play_near(board, cells, steps, step, claims, first):
    """The triangle again, with tasks that a thread looks for from a place of its own on."""
    while True:
        ticket = take_task(board)
        if is_over(board, ticket):
            return
        if not is_task(ticket):
            wait_for_step(board, ticket)
            continue
        k, now = claim_task(claims, cells.shape[1], first), step[0]
        cells[(now + 1) % 2, k] = (cells[now % 2, k] + cells[now % 2, (k + 1) % cells.shape[1]]) % 1009
        if is_last(board, ticket):
            step[0] += 1
            claims[:] = 0
            post(board, cells.shape[1] if step[0] < steps else 0)


def together(threads, run):
    """Run on several threads; whether all have come back within some seconds."""
    team = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join(timeout=60)
    return not any(thread.is_alive() for thread in team)


def test_no_addition_is_lost():
    counter = np.zeros(1, np.int64)
    assert together(4, lambda: count_up(counter, 20_000))
    assert counter[0] == 80_000


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_steps_follow_each_other(threads, near):
    steps = 300
    row = np.arange(TASKS)
    for _ in range(steps):
        row = (row + np.roll(row, -1)) % 1009
    cells, step = np.stack([np.arange(TASKS)] * 2), np.zeros(1, np.int64)
    board, claims, places = new_board(TASKS), np.zeros(TASKS, np.int64), itertools.cycle([0, 5, TASKS - 1])

    def run():
        if near:
            play_near(board, cells, steps, step, claims, next(places))
        else:
            play(board, cells, steps, step)

    assert together(threads, run)
    assert step[0] == steps
    np.testing.assert_array_equal(cells[steps % 2], row)
    play(board, cells, steps, step)  # who comes late finds nothing to do
    assert step[0] == steps


def test_the_nearest_task_that_nobody_has_is_claimed():
    claims = np.array([0, 1, 0, 1, 1])
    assert [claim_task(claims, 5, 3), claim_task(claims, 5, 1)] == [0, 2]
    np.testing.assert_array_equal(claims > 0, True)


def test_nobody_waits_for_one_that_failed():
    board = new_board(1)
    board[0] += 1  # somebody has the only task, and will never finish it
    release = threading.Timer(0.05, lambda: stop_all(board))
    release.start()
    assert together(2, lambda: play(board, np.zeros((2, TASKS), np.int64), 5, np.zeros(1, np.int64)))
    release.join()


def test_without_a_compiler():
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    chosen = "addition or follow or claimed or failed"
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, __file__],
                         env=env, capture_output=True, text=True)  # fmt: skip
    assert run.returncode == 0, run.stdout
    assert "9 passed" in run.stdout
