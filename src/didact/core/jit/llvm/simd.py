"""The loops of `simd` in LLVM's language; what each of them does, its twin there says in NumPy."""

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils

from didact.core.jit import simd
from didact.core.jit.llvm import instruction
from didact.core.jit.simd import LANES

FUSED = ["contract"]  # a product and a sum may become one fused multiply-add
_index, _small = ir.IntType(64), ir.IntType(32)
_vector = ir.VectorType(ir.DoubleType(), LANES)


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


def _gather(twin: Any, vectors: int) -> None:
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

    @instruction(twin)
    def gather(typingctx, X, order, first, factors, rows, j, shift, A, sums):  # type: ignore[no-untyped-def]
        whole = numba.types.uint64
        return numba.types.void(X, order, whole, factors, whole, whole, shift, A, sums), generate


def _outer(twin: Any, vectors: int) -> None:
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

    @instruction(twin)
    def add_outer(typingctx, A, i, j, rows, G):  # type: ignore[no-untyped-def]
        whole = numba.types.uint64
        return numba.types.void(A, whole, whole, whole, G), generate


@instruction(simd.add_pair)
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


def _lines(context: Any, builder: Any, signature: Any, args: Any, number: int) -> list[Any]:
    """The addresses at which some lines of numbers begin, `args[2]` numbers apart, the first at `args[1]`."""
    first = _place(context, builder, signature.args[0], args[0], args[1])
    return [builder.gep(first, [builder.mul(args[2], _index(k))]) for k in range(number)]


def _each_vector(builder: Any, count: Any, work: Any) -> None:
    """Call work(place, load) for every four of `count` places; the last load leaves out what is beyond them."""
    whole = builder.and_(count, _index(-LANES))
    with cgutils.for_range_slice(builder, _index(0), whole, _index(LANES)) as (place, _):
        work(place, lambda line: _load(builder, builder.gep(line, [place])))
    left = builder.sub(count, whole)
    with builder.if_then(builder.icmp_unsigned("!=", left, _index(0))):
        kind = ir.VectorType(_index, LANES)
        all_left = builder.insert_element(kind(ir.Undefined), left, _small(0))
        all_left = builder.shuffle_vector(all_left, all_left, ir.VectorType(_small, LANES)([0] * LANES))
        there = builder.icmp_unsigned("<", kind(list(range(LANES))), all_left)
        work(whole, lambda line: _load_some(builder, builder.gep(line, [whole]), there))


def _load_some(builder: Any, place: Any, there: Any) -> Any:
    """Numbers from an address on, as float64, and 0 where none is there."""
    kind = ir.VectorType(place.type.pointee, LANES)
    form = ir.FunctionType(kind, [kind.as_pointer(), _small, there.type, kind])
    name = f"llvm.masked.load.v{LANES}f{64 if kind == _vector else 32}.p0"
    load = cgutils.get_or_insert_function(builder.module, form, name)
    size = 8 if kind == _vector else 4
    found = builder.call(load, [builder.bitcast(place, kind.as_pointer()), _small(size), there, kind([0.0] * LANES)])
    return found if kind == _vector else builder.fpext(found, _vector)


def _crosswise(builder: Any, a: Any, b: Any, where: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.VectorType(_small, LANES)(where))


def _transposed(builder: Any, a: Any, b: Any, c: Any, d: Any) -> list[Any]:
    """Four vectors as the columns of four others."""
    ab, cd = ([_crosswise(builder, x, y, w) for w in ([0, 4, 2, 6], [1, 5, 3, 7])] for x, y in ((a, b), (c, d)))
    return [_crosswise(builder, ab[k % 2], cd[k % 2], [0, 1, 4, 5] if k < 2 else [2, 3, 6, 7]) for k in range(LANES)]


def _dot_rows(twin: Any, number: int) -> None:
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        vector = _place(context, builder, signature.args[4], args[4], _index(0))
        out = _place(context, builder, signature.args[5], args[5], args[6])
        lines, totals = _lines(context, builder, signature, args, number), _zeros(builder, number)

        def work(place, load):  # type: ignore[no-untyped-def]
            factor = _load(builder, builder.gep(vector, [place]))
            for line, total in zip(lines, totals, strict=True):
                _add(builder, total, factor, load(line))

        _each_vector(builder, args[3], work)
        for k in range(0, number, LANES):
            found = [builder.load(total) for total in totals[k : k + LANES]]
            found += [_vector([0.0] * LANES)] * (LANES - len(found))
            a, b, c, d = _transposed(builder, *found)
            sums = builder.fadd(builder.fadd(a, c), builder.fadd(b, d))
            if number >= LANES:
                _store(builder, builder.fadd(_load(builder, _after(builder, out, k)), sums), _after(builder, out, k))
            else:
                builder.store(builder.fadd(builder.load(out), builder.extract_element(sums, _small(0))), out)
        return context.get_dummy_value()

    @instruction(twin)
    def dot_rows(typingctx, X, first, step, count, vector, out, at):  # type: ignore[no-untyped-def]
        whole = numba.types.uint64
        return numba.types.void(X, whole, whole, whole, vector, out, whole), generate


def _add_rows(twin: Any, number: int) -> None:
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        factor = _place(context, builder, signature.args[4], args[4], args[5])
        out = _place(context, builder, signature.args[6], args[6], _index(0))
        lines = _lines(context, builder, signature, args, number)
        factors = [_fourfold(builder, _after(builder, factor, k)) for k in range(number)]

        def work(place, load):  # type: ignore[no-untyped-def]
            target = builder.gep(out, [place])
            total = _load(builder, target)
            for line, each in zip(lines, factors, strict=True):
                total = builder.fadd(total, builder.fmul(each, load(line), flags=FUSED), flags=FUSED)
            _store(builder, total, target)

        _each_vector(builder, args[3], work)
        return context.get_dummy_value()

    @instruction(twin)
    def add_rows(typingctx, X, first, step, count, factors, at, out):  # type: ignore[no-untyped-def]
        whole = numba.types.uint64
        return numba.types.void(X, whole, whole, whole, factors, whole, out), generate


def _across(twin: Any, vectors: int, turned: bool) -> None:
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        (L, i, R, j, count, out), kinds = args, signature.args
        left = [_place(context, builder, kinds[0], L, builder.add(i, _index(a)), _index(0)) for a in range(LANES)]
        sums = [_zeros(builder, vectors) for _ in range(LANES)]
        with cgutils.for_range(builder, count) as loop:
            right = _place(context, builder, kinds[2], R, loop.index, j)
            parts = [_load(builder, _after(builder, right, LANES * b)) for b in range(vectors)]
            for line, totals in zip(left, sums, strict=True):
                factor = _fourfold(builder, builder.gep(line, [loop.index]))
                for total, part in zip(totals, parts, strict=True):
                    _add(builder, total, factor, part)
        found = [[builder.load(total) for total in totals] for totals in sums]
        for b in range(vectors):
            block = [row[b] for row in found]
            block = _transposed(builder, *block) if turned else block
            for a, values in enumerate(block):
                if turned:
                    row = builder.add(j, _index(LANES * b + a))
                    _store(builder, values, _place(context, builder, kinds[5], out, row, i))
                else:
                    target = _place(context, builder, kinds[5], out, builder.add(i, _index(a)), j)
                    target = _after(builder, target, LANES * b)
                    _store(builder, builder.fadd(_load(builder, target), values), target)
        return context.get_dummy_value()

    @instruction(twin)
    def across(typingctx, L, i, R, j, count, out):  # type: ignore[no-untyped-def]
        whole = numba.types.uint64
        return numba.types.void(L, whole, R, whole, whole, out), generate


for _twin, _vectors in zip((simd.gather_1, simd.gather_2, simd.gather_3), (1, 2, 3)):
    _gather(_twin, _vectors)
for _twin, _vectors in zip((simd.add_outer_1, simd.add_outer_2, simd.add_outer_3), (1, 2, 3)):
    _outer(_twin, _vectors)
for _twin, _vectors in zip((simd.add_across_1, simd.add_across_2, simd.add_across_3), (1, 2, 3)):
    _across(_twin, _vectors, False)
for _twin, _vectors in zip((simd.set_scores_1, simd.set_scores_2, simd.set_scores_3), (1, 2, 3)):
    _across(_twin, _vectors, True)
for _twin, _number in ((simd.dot_rows_8, 8), (simd.dot_rows_1, 1)):
    _dot_rows(_twin, _number)
for _twin, _number in ((simd.add_rows_8, 8), (simd.add_rows_1, 1)):
    _add_rows(_twin, _number)
