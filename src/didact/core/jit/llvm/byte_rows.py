"""The steps of `simd` on rows of bytes in LLVM's language; what each of them does, its twin there says in NumPy."""

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils

from didact.core.jit import simd
from didact.core.jit.llvm import instruction
from didact.core.jit.simd import BYTES

EIGHT = 8  # rows at a time
_index, _small, _byte = ir.IntType(64), ir.IntType(32), ir.IntType(8)
_bytes = ir.VectorType(_byte, BYTES)


def _place(context: Any, builder: Any, signature: Any, args: Any, k: int, *where: Any) -> Any:
    """The address of the vector that begins at an element of the k-th argument."""
    array = context.make_array(signature.args[k])(context, builder, args[k])
    place = cgutils.get_item_pointer(context, builder, signature.args[k], array, where, wraparound=False)
    return builder.bitcast(place, _bytes.as_pointer())


def _filled(builder: Any, byte: Any) -> Any:
    """A vector of one byte, over and over."""
    one = builder.insert_element(_bytes(ir.Undefined), byte, _small(0))
    return builder.shuffle_vector(one, one, ir.VectorType(_small, BYTES)([0] * BYTES))


def _each_row(context: Any, builder: Any, signature: Any, args: Any, work: Any) -> tuple[Any, Any]:
    """Call work(row) for all rows, eight at a time, the last one again until there are eight; it, and how often again.

    Most blocks have a few rows: the end of a loop of one step is never mispredicted.
    """
    end = builder.add(args[1], args[2])
    last = builder.sub(end, _index(1))
    with cgutils.for_range_slice(builder, args[1], end, _index(EIGHT)) as (first, _):
        for k in range(EIGHT):
            row = builder.add(first, _index(k))
            work(builder.select(builder.icmp_unsigned("<", row, last), row, last))
    return last, builder.trunc(builder.and_(builder.neg(args[2]), _index(EIGHT - 1)), _byte)


@instruction(simd.byte_bounds)
def _byte_bounds(typingctx, X, first, rows, j, low, high):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        least = cgutils.alloca_once_value(builder, _bytes([255] * BYTES))
        most = cgutils.alloca_once_value(builder, _bytes([0] * BYTES))

        def work(where):  # type: ignore[no-untyped-def]
            row = builder.load(_place(context, builder, signature, args, 0, where, args[3]), align=1)
            for found, order in ((least, "<"), (most, ">")):
                old = builder.load(found)
                builder.store(builder.select(builder.icmp_unsigned(order, row, old), row, old), found)

        _each_row(context, builder, signature, args, work)
        for k, found in ((4, least), (5, most)):
            builder.store(builder.load(found), _place(context, builder, signature, args, k, args[3]), align=1)
        return context.get_dummy_value()

    whole = numba.types.uint64
    return numba.types.void(X, whole, whole, whole, low, high), generate


@instruction(simd.byte_counts)
def _byte_counts(typingctx, X, first, rows, j, cuts, marks, many, marked):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        cuts = builder.load(_place(context, builder, signature, args, 4, args[3]), align=1)
        totals = [cgutils.alloca_once_value(builder, _bytes([0] * BYTES)) for _ in range(2)]

        def below(where):  # type: ignore[no-untyped-def]
            row = builder.load(_place(context, builder, signature, args, 0, where, args[3]), align=1)
            mark = _place(context, builder, signature, args, 0, where, args[5])
            found = builder.sext(builder.icmp_unsigned("<=", row, cuts), _bytes)  # −1 where it is
            return found, _filled(builder, builder.load(builder.bitcast(mark, _byte.as_pointer())))

        def work(where):  # type: ignore[no-untyped-def]
            found, mark = below(where)
            builder.store(builder.sub(builder.load(totals[0]), found), totals[0])
            builder.store(builder.add(builder.load(totals[1]), builder.and_(found, mark)), totals[1])

        last, again = _each_row(context, builder, signature, args, work)
        found, mark = below(last)
        over = builder.and_(found, _filled(builder, again))
        for k, total, extra in ((6, totals[0], over), (7, totals[1], builder.and_(over, builder.neg(mark)))):
            place = _place(context, builder, signature, args, k, args[3])
            builder.store(builder.sub(builder.load(total), extra), place, align=1)
        return context.get_dummy_value()

    whole = numba.types.uint64
    return numba.types.void(X, whole, whole, whole, cuts, whole, many, marked), generate


@instruction(simd.swap_bytes)
def _swap_bytes(typingctx, X, i, k, j):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        places = [_place(context, builder, signature, args, 0, row, args[3]) for row in args[1:3]]
        rows = [builder.load(place, align=1) for place in places]
        for place, row in zip(places, reversed(rows), strict=True):
            builder.store(row, place, align=1)
        return context.get_dummy_value()

    whole = numba.types.uint64
    return numba.types.void(X, whole, whole, whole), generate
