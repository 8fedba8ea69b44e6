"""The atomic operations of `atomics` in LLVM's language; the board of tasks is compiled as it stands."""

import os
import platform
from typing import Any

import numba
import numba.extending
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import infer_global

from didact.core.jit import atomics
from didact.core.jit.llvm import instruction


def _element(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The address of an element of the first argument, an int64 array; the second is its place."""
    kind = signature.args[0]
    view = context.make_array(kind)(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, kind, view, [args[1]], wraparound=False)


@instruction(atomics.atomic_add)
def _atomic_add(typingctx, array, place, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.atomic_rmw("add", _element(context, builder, signature, args), args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@instruction(atomics.atomic_load)
def _atomic_load(typingctx, array, place):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.load_atomic(_element(context, builder, signature, args), "seq_cst", 8)

    return types.int64(array, types.int64), generate


@instruction(atomics.atomic_store)
def _atomic_store(typingctx, array, place, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store_atomic(args[2], _element(context, builder, signature, args), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


@instruction(atomics.pause)
def _pause(typingctx):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        if platform.machine() in ("x86_64", "AMD64"):
            form = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, form, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


infer_global(
    atomics.yield_core, types.ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())
)
for _function in (
    atomics.post,
    atomics.take_task,
    atomics.task_of,
    atomics.is_task,
    atomics.is_over,
    atomics.is_last,
    atomics.wait_for_step,
):
    numba.extending.register_jitable(_function)
