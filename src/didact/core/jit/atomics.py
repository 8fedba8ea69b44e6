"""Threads that work together inside compiled code: atomic numbers, and a board of tasks that they share.

Work that is done in steps, each of them some tasks that do not depend on each other, runs on any number of threads
without the interpreter lock: every thread calls one loop of this form and leaves it when all is done::

    while True:
        ticket = take_task(board)
        if is_over(board, ticket):
            return
        if not is_task(ticket):
            wait_for_step(board, ticket)
            continue
        ...                                                  # task number `task_of(ticket)` of the present step
        if is_last(board, ticket):
            ...                                              # what has to be done between the steps
            post(board, number_of_tasks_of_the_next_step)    # 0: all is done

Who finishes the last task of a step prepares the next one. Nobody waits for threads that have no task: one that comes
late, was put aside by the system or never came delays no one. A thread that fails with a task in its hands has to call
`stop_all`. A ticket holds the step, its number of tasks and the number of the task, so that one atomic add tells all.
"""

import threading
import time

import numpy as np

from didact.core.typing import Array

TICKET, FINISHED, STOP = 0, 8, 16  # places on the board, each in a cache line of its own
BITS = 20  # of the number of a task
TASK_MASK = (1 << BITS) - 1
SPINS = 300  # looks at the board before the core is given away

_lock = threading.Lock()


def atomic_add(array: Array, place: int, value: int) -> int:
    """Add to an element of an int64 array that other threads add to; what it was before."""
    with _lock:
        before = int(array[place])
        array[place] = before + value
    return before


def atomic_load(array: Array, place: int) -> int:
    """An element of an int64 array: what was written before its `atomic_store` is seen after this."""
    return int(array[place])


def atomic_store(array: Array, place: int, value: int) -> None:
    """Set an element of an int64 array that other threads look at with `atomic_load`."""
    array[place] = value


def pause() -> None:
    """Let the other thread of the core work for some cycles."""


def yield_core() -> None:
    """Give the core to another thread that wants it."""
    time.sleep(0)


def new_board(tasks: int) -> Array:
    """A board whose first step has so many tasks."""
    board = np.zeros(24, np.int64)
    board[TICKET] = tasks << BITS
    return board


def post(board, tasks):  # type: ignore[no-untyped-def]
    """Begin a step of so many tasks, less than 2²⁰; 0: all is done. While no task is being worked on."""
    step = (atomic_load(board, TICKET) >> (2 * BITS)) + 1
    atomic_store(board, FINISHED, 0)
    atomic_store(board, TICKET, (step << (2 * BITS)) | (tasks << BITS))


def take_task(board):  # type: ignore[no-untyped-def]
    """A ticket for the next task of the present step, if there is one left."""
    return atomic_add(board, TICKET, 1)


def task_of(ticket):  # type: ignore[no-untyped-def]
    """The number of the task."""
    return ticket & TASK_MASK


def is_task(ticket):  # type: ignore[no-untyped-def]
    """Whether the ticket is for a task; else all tasks of the step have been taken."""
    return (ticket & TASK_MASK) < ((ticket >> BITS) & TASK_MASK)


def is_over(board, ticket):  # type: ignore[no-untyped-def]
    """Whether there will be no more tasks."""
    return (ticket >> BITS) & TASK_MASK == 0 or atomic_load(board, STOP) != 0


def is_last(board, ticket):  # type: ignore[no-untyped-def]
    """Say that a task is finished; whether it was the last one of its step."""
    return atomic_add(board, FINISHED, 1) + 1 == (ticket >> BITS) & TASK_MASK


def wait_for_step(board, ticket):  # type: ignore[no-untyped-def]
    """Wait until the next step has begun, or all has been stopped: looking for some microseconds, then giving way."""
    looks = 0
    while atomic_load(board, TICKET) >> BITS == ticket >> BITS and atomic_load(board, STOP) == 0:
        if looks < SPINS:
            looks += 1
            pause()
        else:
            yield_core()


def stop_all(board: Array) -> None:
    """Have everybody leave who waits or looks for a task."""
    board[STOP] = 1
