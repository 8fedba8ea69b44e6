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

import os
import platform
import threading
import time
from typing import Any

import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from didact.core.typing import Array

_config: Any = numba.config

TICKET, FINISHED, STOP = 0, 8, 16  # places on the board, each in a cache line of its own
BITS = 20  # of the number of a task
TASK_MASK = (1 << BITS) - 1
SPINS = 300  # looks at the board before the core is given away


def _element(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The address of an element of the first argument, an int64 array; the second is its place."""
    kind = signature.args[0]
    view = context.make_array(kind)(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, kind, view, [args[1]], wraparound=False)


@numba.extending.intrinsic
def _atomic_add(typingctx, array, place, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.atomic_rmw("add", _element(context, builder, signature, args), args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@numba.extending.intrinsic
def _atomic_load(typingctx, array, place):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.load_atomic(_element(context, builder, signature, args), "seq_cst", 8)

    return types.int64(array, types.int64), generate


@numba.extending.intrinsic
def _atomic_store(typingctx, array, place, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store_atomic(args[2], _element(context, builder, signature, args), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


@numba.extending.intrinsic
def _pause(typingctx):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        if platform.machine() in ("x86_64", "AMD64"):
            form = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, form, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


_lock = threading.Lock()


def _add_locked(array: Array, place: int, value: int) -> int:
    with _lock:
        before = int(array[place])
        array[place] = before + value
    return before


# atomic_add(array, place, value): add to an element of an int64 array that other threads add to; what it was before.
atomic_add: Any = _add_locked if _config.DISABLE_JIT else _atomic_add

# atomic_load(array, place), atomic_store(array, place, value): what was written before a store is seen after the load.
atomic_load: Any = (lambda array, place: int(array[place])) if _config.DISABLE_JIT else _atomic_load
atomic_store: Any = Array.__setitem__ if _config.DISABLE_JIT else _atomic_store

_pause_once: Any = (lambda: None) if _config.DISABLE_JIT else _pause
_yield_core: Any = (lambda: time.sleep(0)) if _config.DISABLE_JIT else types.ExternalFunction(
    "SwitchToThread" if os.name == "nt" else "sched_yield", types.int32()
)  # fmt: skip


def new_board(tasks: int) -> Array:
    """A board whose first step has so many tasks."""
    board = np.zeros(24, np.int64)
    board[TICKET] = tasks << BITS
    return board


@numba.extending.register_jitable
def post(board, tasks):  # type: ignore[no-untyped-def]
    """Begin a step of so many tasks, less than 2²⁰; 0: all is done. While no task is being worked on."""
    step = (atomic_load(board, TICKET) >> (2 * BITS)) + 1
    atomic_store(board, FINISHED, 0)
    atomic_store(board, TICKET, (step << (2 * BITS)) | (tasks << BITS))


@numba.extending.register_jitable
def take_task(board):  # type: ignore[no-untyped-def]
    """A ticket for the next task of the present step, if there is one left."""
    return atomic_add(board, TICKET, 1)


@numba.extending.register_jitable
def task_of(ticket):  # type: ignore[no-untyped-def]
    """The number of the task."""
    return ticket & TASK_MASK


@numba.extending.register_jitable
def is_task(ticket):  # type: ignore[no-untyped-def]
    """Whether the ticket is for a task; else all tasks of the step have been taken."""
    return (ticket & TASK_MASK) < ((ticket >> BITS) & TASK_MASK)


@numba.extending.register_jitable
def is_over(board, ticket):  # type: ignore[no-untyped-def]
    """Whether there will be no more tasks."""
    return (ticket >> BITS) & TASK_MASK == 0 or atomic_load(board, STOP) != 0


@numba.extending.register_jitable
def is_last(board, ticket):  # type: ignore[no-untyped-def]
    """Say that a task is finished; whether it was the last one of its step."""
    return atomic_add(board, FINISHED, 1) + 1 == (ticket >> BITS) & TASK_MASK


@numba.extending.register_jitable
def wait_for_step(board, ticket):  # type: ignore[no-untyped-def]
    """Wait until the next step has begun, or all has been stopped: looking for some microseconds, then giving way."""
    looks = 0
    while atomic_load(board, TICKET) >> BITS == ticket >> BITS and atomic_load(board, STOP) == 0:
        if looks < SPINS:
            looks += 1
            _pause_once()
        else:
            _yield_core()


def stop_all(board: Array) -> None:
    """Have everybody leave who waits or looks for a task."""
    board[STOP] = 1
