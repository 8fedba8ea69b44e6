"""The instructions of `intrinsics` in LLVM's language."""

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.np.arrayobj import make_array, populate_array

from didact.core.jit import intrinsics
from didact.core.jit.intrinsics import LINE
from didact.core.jit.llvm import instruction

_index, _small, _byte = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()


def _request(builder: Any, place: Any, level: int) -> None:
    """Prefetch the cache line at an address; `level` is LLVM's locality: 3 for the L1 cache, 2 for L2."""
    form = ir.FunctionType(ir.VoidType(), [_byte, _small, _small, _small])
    prefetch = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
    builder.call(prefetch, [builder.bitcast(place, _byte), _small(0), _small(level), _small(1)])  # read, data cache


@instruction(intrinsics.prefetch)
def _prefetch(typingctx, array, row, column):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, args[0])
        place = cgutils.get_item_pointer(context, builder, kind, view, args[3 - kind.ndim :], wraparound=False)
        _request(builder, place, 3)
        return context.get_dummy_value()

    return numba.types.void(array, numba.types.uint64, numba.types.uint64), generate


@instruction(intrinsics.prefetch_row)
def _prefetch_row(typingctx, X, i):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, args[0])
        start = cgutils.get_item_pointer(context, builder, kind, view, [args[1], _index(0)], wraparound=False)
        start, length = builder.bitcast(start, _byte), cgutils.unpack_tuple(builder, view.strides, 2)[0]
        with cgutils.for_range_slice(builder, _index(0), length, _index(LINE)) as (offset, _):
            _request(builder, builder.gep(start, [offset]), 2)
        _request(builder, builder.gep(start, [builder.sub(length, _index(1))]), 2)
        return context.get_dummy_value()

    return numba.types.void(X, numba.types.uint64), generate


@instruction(intrinsics.flat)
def _flat(typingctx, array):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = signature.return_type
        view, out = (make_array(each)(context, builder, *value) for each, value in ((array, args), (kind, ())))
        populate_array(
            out, data=view.data, shape=[view.nitems], strides=[view.itemsize], itemsize=view.itemsize,
            meminfo=view.meminfo, parent=view.parent,
        )  # fmt: skip
        return impl_ret_borrowed(context, builder, kind, out._getvalue())

    return (array.copy(ndim=1)(array), generate) if array.layout == "C" else None


@instruction(intrinsics.lowest_bit)
def _lowest_bit(typingctx, word):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], ir.IntType(1)(1))

    return numba.types.int64(numba.types.uint64), generate
