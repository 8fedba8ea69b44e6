"""SIMD written by hand: loops over columns in vector registers that LLVM does not vectorise well by itself.

Under Numba, LLVM keeps a block of sums in registers across a loop only if it is written as vectors, and its own vector
loops are unrolled too far for rows of a few dozen numbers. Here are the inner loops behind sums of products: `gather`
copies some columns of chosen rows, `add_outer` adds products of four columns with others. Up to three vectors of four
numbers per row leave enough of the sixteen AVX registers for everything else. `add_pair` is the step of a histogram.
Without a compiler (NUMBA_DISABLE_JIT) NumPy twins stand in. Arrays are C-contiguous; indices are uint64.
"""

from typing import Any

import numba
import numba.extending
from llvmlite import ir
from numba.core import cgutils

LANES = 4  # numbers in a vector, and columns that `add_outer` multiplies with others at a time
FUSED = ["contract"]  # a product and a sum may become one fused multiply-add
_index, _small = ir.IntType(64), ir.IntType(32)
_vector = ir.VectorType(ir.DoubleType(), LANES)
_config: Any = numba.config


def _place(context: Any, builder: Any, kind: Any, value: Any, *where: Any) -> Any:
    """The address of an element of an array."""
    array = context.make_array(kind)(context, builder, value)
    return cgutils.get_item_pointer(context, builder, kind, array, where, wraparound=False)


def _after(builder: Any, place: Any, step: int) -> Any:
    return builder.gep(place, [_index(step)])


def _load(builder: Any, place: Any) -> Any:
    """The four numbers that start at an address, as float64."""
    kind = ir.VectorType(place.type.pointee, LANES)
    size = 8 if kind == _vector else 4
    found = builder.load(builder.bitcast(place, kind.as_pointer()), align=size)
    return found if kind == _vector else builder.fpext(found, _vector)


def _store(builder: Any, value: Any, place: Any) -> None:
    builder.store(value, builder.bitcast(place, _vector.as_pointer()), align=8)


def _fourfold(builder: Any, place: Any) -> Any:
    """One number, broadcast to all lanes of a vector."""
    one = builder.insert_element(_vector(ir.Undefined), builder.load(place), _small(0))
    return builder.shuffle_vector(one, one, ir.VectorType(_small, LANES)([0] * LANES))


def _zeros(builder: Any, number: int) -> list[Any]:
    """Stack slots for vectors, set to zero; LLVM promotes them to registers."""
    return [cgutils.alloca_once_value(builder, _vector([0.0] * LANES)) for _ in range(number)]


def _add(builder: Any, total: Any, a: Any, b: Any) -> None:
    """total += a · b."""
    product = builder.fmul(a, b, flags=FUSED)
    builder.store(builder.fadd(builder.load(total), product, flags=FUSED), total)


def _gather(vectors: int) -> Any:
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        first, rows, j = args[2], args[4], args[5]

        def place(k, *where):  # type: ignore[no-untyped-def]
            return _place(context, builder, signature.args[k], args[k], *where)

        columns = range(0, LANES * vectors, LANES)
        # Shifts and totals are loaded before the loop over rows, so that they stay in registers throughout.
        shifts = [_load(builder, _after(builder, place(6, j), c)) for c in columns]
        totals = _zeros(builder, vectors)
        with cgutils.for_range(builder, rows) as loop:
            row = builder.load(place(1, builder.add(first, loop.index)))
            factor = _fourfold(builder, place(3, loop.index))
            source, target = place(0, row, j), place(7, loop.index, j)
            for c, moved, total in zip(columns, shifts, totals, strict=True):
                value = builder.fmul(factor, builder.fsub(_load(builder, _after(builder, source, c)), moved))
                _store(builder, value, _after(builder, target, c))
                _add(builder, total, factor, value)
        for c, total in zip(columns, totals, strict=True):
            target = _after(builder, place(8, j), c)
            _store(builder, builder.fadd(_load(builder, target), builder.load(total)), target)
        return context.get_dummy_value()

    @numba.extending.intrinsic
    def gather(typingctx, X, order, first, factors, rows, j, shift, A, sums):  # type: ignore[no-untyped-def]
        whole = numba.types.uint64
        return numba.types.void(X, order, whole, factors, whole, whole, shift, A, sums), generate

    def plain(X: Any, order: Any, first: Any, factors: Any, rows: Any, j: Any, shift: Any, A: Any, sums: Any) -> None:
        first, rows, part = int(first), int(rows), slice(int(j), int(j) + LANES * vectors)
        factor = factors[:rows, None]
        A[:rows, part] = factor * (X[order[first : first + rows], part] - shift[part])
        sums[part] += (factor * A[:rows, part]).sum(axis=0)

    return plain if _config.DISABLE_JIT else gather


def _outer(vectors: int) -> Any:
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        (A, i, j, rows, G), kinds = args, signature.args
        # 4 × 4k sums stay in registers while the loop runs over rows; they are added to G once, after it.
        sums = [_zeros(builder, vectors) for _ in range(LANES)]
        with cgutils.for_range(builder, rows) as loop:
            left, right = (_place(context, builder, kinds[0], A, loop.index, column) for column in (i, j))
            parts = [_load(builder, _after(builder, right, LANES * b)) for b in range(vectors)]
            for a, totals in enumerate(sums):
                factor = _fourfold(builder, _after(builder, left, a))
                for total, part in zip(totals, parts, strict=True):
                    _add(builder, total, factor, part)
        for a, totals in enumerate(sums):
            row = _place(context, builder, kinds[4], G, builder.add(i, _index(a)), j)
            for b, total in enumerate(totals):
                target = _after(builder, row, LANES * b)
                _store(builder, builder.fadd(_load(builder, target), builder.load(total)), target)
        return context.get_dummy_value()

    @numba.extending.intrinsic
    def add_outer(typingctx, A, i, j, rows, G):  # type: ignore[no-untyped-def]
        whole = numba.types.uint64
        return numba.types.void(A, whole, whole, whole, G), generate

    def plain(A: Any, i: Any, j: Any, rows: Any, G: Any) -> None:
        i, j, rows, wide = int(i), int(j), int(rows), LANES * vectors
        G[i : i + LANES, j : j + wide] += A[:rows, i : i + LANES].T @ A[:rows, j : j + wide]

    return plain if _config.DISABLE_JIT else add_outer


# gather_k(X, order, first, factors, rows, j, shift, A, sums), k = 1, 2, 3, for the 4 k columns from j on:
# A[r] = f_r (X[order[first + r]] − shift) for r < rows, and Σ f_r A[r] is added to the sums.
gather_1, gather_2, gather_3 = (_gather(vectors) for vectors in (1, 2, 3))

# add_outer_k(A, i, j, rows, G): G[i : i + 4, j : j + 4 k] += A[:rows, i : i + 4]ᵀ A[:rows, j : j + 4 k].
add_outer_1, add_outer_2, add_outer_3 = (_outer(vectors) for vectors in (1, 2, 3))


@numba.extending.intrinsic
def _add_pair(typingctx, table, row, a, b):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = ir.VectorType(_index, 2)
        place = _place(context, builder, signature.args[0], args[0], args[1], _index(0))
        place, both = builder.bitcast(place, kind.as_pointer()), kind(ir.Undefined)
        for k, word in enumerate(args[2:]):
            both = builder.insert_element(both, word, _small(k))
        builder.store(builder.add(builder.load(place, align=8), both), place, align=8)
        return context.get_dummy_value()

    return numba.types.void(table, numba.types.uint64, numba.types.int64, numba.types.int64), generate


def _add_one_by_one(table: Any, row: Any, a: Any, b: Any) -> None:
    table[row, 0] += a
    table[row, 1] += b


# add_pair(table, row, a, b): add two numbers to a row of a C-contiguous int64 table (n, 2) with one vector addition.
add_pair: Any = _add_one_by_one if _config.DISABLE_JIT else _add_pair
