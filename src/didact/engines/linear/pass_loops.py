r"""One pass over rows for a linear model: predictor, loss, gradient and curvature while the rows are in the cache.

.. math:: \sum_i w_i\,\ell(y_i, \eta_i),\quad \sum_i w_i\,\ell'_i\,(x_i, 1),\quad
    \sum_i w_i\,\ell''_i\,(x_i, 1)(x_i, 1)^T,\qquad \eta_i = x_i^Tb + b_0 + o_i

A tile of some dozens of rows is read from memory once: η by products of eight rows with b, the losses in a loop over
vectors, and the gradient from the same rows. Each thread makes one call, in which it takes piece after piece of the
rows. X may lie row after row, column after column (then rows and columns change parts) or be CSR.
`softmax_loops` does the same for several outputs.

Layout, for rows that are cut into pieces, for threads to take, and these into tiles, for the cache::

    X            [ row 0 | row 1 | … ] or [ column 0 | column 1 | … ]   x_ij at i·row_step + j·column_step

    edges[0] ┌ tile │          spare (3, tile), of a thread     A (tile, width), of a thread
             │ tile │ piece 0  [ predictors, then losses ]      [ x_0 … x_{p−1} | 1 | 0 … ] · √curvature
    edges[1] ├ tile │          [ slopes                  ]      [ …                       ]
             │ tile │ piece 1  [ curvatures, their roots ]      width is a multiple of 4
    edges[2] └ …    │
    values (pieces,), gradients (pieces, width), G (pieces, width, width)   a sum for each piece, so that they do not
                 depend on who took it; G of the columns of A, the lower triangle (`summed` makes the whole of it)

A is there if curvature is asked for. It is added to G when it is full: rows without curvature are left out, where X
lies row after row. A piece with no more than LEFT_ROWS rows of curvature leaves these in few[piece], kept[piece] of
them (−1: none), and its matrix as it is: to add to that could take as long as to read the piece.

Memory: X once a pass, 8np bytes. Arithmetic: 2np multiply-adds, and n(p + 1)²/2 more for curvature.
"""

from typing import Any

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import REASSOCIATE, dispatch, jit_unmanaged, prefetch
from didact.core.jit.atomics import atomic_add
from didact.core.jit.simd import (
    LANES,
    add_rows_1,
    add_rows_8,
    dot_rows_1,
    dot_rows_8,
)
from didact.core.rows.memory import pass_edges
from didact.core.threads import LONG, parallel_map, share_pieces
from didact.core.typing import Array
from didact.parts.losses.classification import Logistic
from didact.parts.statistics.moment_loops import NEAR, add_strip, aligned_zeros, room

TILE = 256  # most rows of a tile
ROWS = 8  # that are multiplied at a time
LEFT_ROWS = 16  # rows that a piece leaves to others
SUMMED_ROWS = 32  # of the matrices of all pieces, summed at a time
EMPTY = read_only(np.zeros(0))
NO_MATRIX = np.zeros((0, 0))
NO_MATRICES = np.zeros((0, 0, 0))

value_grad_hess1 = dispatch("value_grad_hess1")


def linear_sums(X: Any, y: Array, w: Any, offset: Any, loss: Any, theta: Array, curvature: bool) -> tuple[Any, ...]:
    """Value, gradient (p + 1,) and, if asked for, curvature (p + 1, p + 1) of a block at θ = (b, b₀).

    The loss must have the scalar form `value_grad_hess1`. X is an array of floats or, without curvature, CSR.
    """
    p, edges, at = X.shape[1], pass_edges(X, 3, True) if curvature else pass_edges(X, 1, light=1), filled(theta)
    columns = number_column(y), number_column(w), number_column(offset)
    values, gradients = np.zeros(len(edges) - 1), aligned_zeros(len(edges) - 1, len(at))
    if not isinstance(X, np.ndarray):
        sparse = read_only(X.data), read_only(X.indices), read_only(X.indptr), *columns, p, at, loss
        share_pieces(
            len(values), lambda turn: sparse_pass(turn, edges, *sparse, aligned_zeros(3, TILE), gradients, values)
        )
        return values.sum(), gradients.sum(axis=0)[: p + 1]
    rows = flat_view(X)
    G = piece_matrices(len(values), p + 1) if curvature else NO_MATRICES
    few, kept = np.empty((len(G), LEFT_ROWS, G.shape[1])), np.full(len(G), -1)

    def loop(turn: Array) -> None:
        A = room(p + 1)[0] if curvature else NO_MATRIX
        spare = aligned_zeros(3, len(A) if curvature else tile_rows(p, rows[2]))
        linear_pass(turn, edges, *rows, *columns, p, at, loss, spare, A, G, few, kept, gradients, values)

    share_pieces(len(values), loop)
    sums = values.sum(), gradients.sum(axis=0)[: p + 1]
    if not curvature:
        return sums
    left, own = few[np.arange(LEFT_ROWS) < kept[:, None]], kept < 0
    return (*sums, summed(G if own.all() else G[own], left)[: p + 1, : p + 1])


def summed(G: Array, left: Array = NO_MATRIX) -> Array:
    """The sum of symmetric matrices (pieces, …, width, width), by their lower triangles, and leftᵀ left.

    Large ones are summed on all threads.
    """
    out, width = np.empty(G.shape[1:]), G.shape[-1]
    step = width if G.size + len(left) * width < 2 * LONG else SUMMED_ROWS

    def rows(a: int) -> None:
        np.sum(G[..., a : a + step, : a + step], axis=0, out=out[..., a : a + step, : a + step])
        if len(left):
            add_held(left, a, min(a + step, width), len(left), out)

    parallel_map(rows, range(0, width, step))
    for matrix in out.reshape(-1, width, width):
        fill_upper(matrix)
    return out


def piece_matrices(pieces: int, columns: int) -> Array:
    """A matrix of zeros for each piece, filled up to whole vectors."""
    wide = whole_vectors(columns)
    return aligned_zeros(pieces * wide, wide).reshape(pieces, wide, wide)


def whole_vectors(number: int) -> int:
    """A number, rounded up to that of whole vectors."""
    return -(-number // LANES) * LANES


def filled(theta: Array) -> Array:
    """A vector filled up with zeros to whole vectors of the processor."""
    wide = np.zeros(whole_vectors(len(theta)))
    wide[: len(theta)] = theta
    return wide


def number_column(values: Any) -> Array:
    """A column of numbers as loops take it; none is an empty one."""
    return EMPTY if values is None else read_only(values.astype(np.float64, copy=False))


def tile_rows(p: int, column_step: int) -> int:
    """Rows that stay in the first cache beside those asked for; of columns more, as each begins somewhere else."""
    return min(max(NEAR // 2 // max(p, 1) // ROWS * ROWS, 2 * ROWS), TILE) if column_step == 1 else TILE


def flat_view(X: Array) -> tuple[Array, int, int]:
    """All numbers of X in one line, and the steps from row to row and from column to column; one of them is 1."""
    if X.dtype not in (np.float64, np.float32) or not X.dtype.isnative or not X.flags.aligned:
        X = X.astype(np.float32 if X.dtype == np.float32 else np.float64)
    steps = [step // X.itemsize for step in X.strides]
    if 1 not in steps or min(steps) < 1 or X.size == 0:
        X = np.ascontiguousarray(X)
        steps = [max(X.shape[1], 1), 1]
    if X.flags.c_contiguous or X.flags.f_contiguous:
        flat = X.reshape(-1, order="A").view()
        flat.flags.writeable = False
    else:
        length = sum((k - 1) * step for k, step in zip(X.shape, steps, strict=True)) + 1
        flat = np.lib.stride_tricks.as_strided(X, (length,), (X.itemsize,), writeable=False)
    return flat, steps[0], steps[1]


@jit_unmanaged
def linear_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, y: Array, w: Array, offset: Array, p: int,
    theta: Array, loss: Any, spare: Array, A: Array, G: Array, few: Array, kept: Array, gradients: Array,
    values: Array,
) -> None:  # fmt: skip
    """Take pieces until there are no more: value, gradient and, unless there is no G, curvature of each, at (b, b₀)."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= values.shape[0]:
            return
        values[piece] = linear_piece(
            edges[piece], edges[piece + 1], X, row_step, column_step, y, w, offset, p, theta, loss, spare, A,
            G[piece : piece + 1], few[piece : piece + 1], kept[piece : piece + 1], gradients[piece],
        )  # fmt: skip


@jit_unmanaged
def linear_piece(
    begin: int, stop: int, X: Array, row_step: int, column_step: int, y: Array, w: Array, offset: Array, p: int,
    theta: Array, loss: Any, spare: Array, A: Array, G: Array, few: Array, kept: Array, gradient: Array,
) -> float:  # fmt: skip
    """Add to the gradient and, unless it is empty, to G[0], which begins with zeros; the value. θ is (b, b₀)."""
    total, lost, held, full = 0.0, 0.0, 0, column_step != 1
    for start in range(begin, stop, spare.shape[1]):
        rows = min(spare.shape[1], stop - start)
        first = start * row_step
        for i in range(rows):
            spare[0, i] = theta[p]
        if column_step == 1:
            add_dots(X, first, row_step, rows, p, theta, spare[0])
        else:
            add_lines(X, first, column_step, p, rows, theta, spare[0])
        value, slope = _losses(y, w, offset, start, rows, loss, spare)
        if column_step == 1:
            ask_for(X, first + spare.shape[1] * row_step, row_step, min(rows, stop - start - rows), p)
            add_lines(X, first, row_step, rows, p, spare[1], gradient)
        else:
            add_dots(X, first, column_step, p, rows, spare[1], gradient)
        gradient[p] += slope
        if G.shape[0] > 0:
            if column_step == 1:
                held, more = hold_curved(X, first, row_step, rows, p, spare[2], A, held, G[0])
                full = full or more
            else:
                for i in range(rows):
                    spare[2, i] = np.sqrt(spare[2, i])
                copy_rows(X, first, row_step, column_step, rows, p, spare[2], A)
                add_held(A, 0, A.shape[1], rows, G[0])
        value -= lost  # Kahan's sum: solvers compare values that are almost equal
        grown = total + value
        lost = (grown - total) - value
        total = grown
    if G.shape[0] > 0 and (full or held > LEFT_ROWS):
        add_held(A, 0, A.shape[1], held, G[0])
    elif G.shape[0] > 0:
        kept[0] = held
        for i in range(held):
            for c in range(A.shape[1]):
                few[0, i, c] = A[i, c]
    return total


@jit_unmanaged(inline="always")  # of one caller
def hold_curved(
    X: Array, first: int, row_step: int, rows: int, p: int, curvature: Array, A: Array, held: int, G: Array
) -> tuple[int, bool]:
    """Put rows (x, 1)·√h with h ≠ 0 behind those that A holds, which is added to G when it is full.

    Returns how many rows A holds, and whether it was full. Losses with a kink have curvature on few rows.
    """
    full = False
    for r in range(rows):
        if curvature[r] == 0.0:
            continue
        if held == A.shape[0]:
            add_held(A, 0, A.shape[1], held, G)
            held, full = 0, True
        factor = np.sqrt(curvature[r])
        begin = np.uint64(first + r * row_step)  # unsigned: nobody looks whether it is below zero
        for c in range(p):
            A[held, c] = factor * X[begin + np.uint64(c)]
        A[held, p] = factor
        held += 1
    return held, full


@jit_unmanaged
def add_held(A: Array, start: int, stop: int, held: int, G: Array) -> None:
    """Add the products of the first rows of A to the rows start … stop − 1 of G's lower triangle."""
    if held > 0:
        for i in range(start, stop, LANES):
            add_strip(A, i, held, G)


@jit_unmanaged
def fill_upper(G: Array) -> None:
    """Copy the lower triangle of a matrix to the upper one."""
    for i in range(G.shape[0]):
        for j in range(i):
            G[j, i] = G[i, j]


@jit_unmanaged
def sparse_pass(
    turn: Array, edges: Array, data: Array, indices: Array, indptr: Array, y: Array, w: Array, offset: Array, p: int,
    theta: Array, loss: Any, spare: Array, gradients: Array, values: Array,
) -> None:  # fmt: skip
    """`linear_pass` for CSR rows, without curvature."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= values.shape[0]:
            return
        values[piece] = sparse_piece(
            edges[piece], edges[piece + 1], data, indices, indptr, y, w, offset, p, theta, loss, spare, gradients[piece]
        )


@jit_unmanaged
def sparse_piece(
    begin: int, stop: int, data: Array, indices: Array, indptr: Array, y: Array, w: Array, offset: Array, p: int,
    theta: Array, loss: Any, spare: Array, gradient: Array,
) -> float:  # fmt: skip
    """Add to the gradient of CSR rows; the value."""
    total, lost = 0.0, 0.0
    for start in range(begin, stop, spare.shape[1]):
        rows = min(spare.shape[1], stop - start)
        for i in range(rows):
            z = theta[p]
            for k in range(indptr[start + i], indptr[start + i + 1]):
                z += data[k] * theta[indices[k]]
            spare[0, i] = z
        value, slope = _losses(y, w, offset, start, rows, loss, spare)
        for i in range(rows):
            for k in range(indptr[start + i], indptr[start + i + 1]):
                gradient[indices[k]] += spare[1, i] * data[k]
        gradient[p] += slope
        value -= lost
        grown = total + value
        lost = (grown - total) - value
        total = grown
    return total


@jit_unmanaged(fastmath=REASSOCIATE)
def _losses(
    y: Array, w: Array, offset: Array, start: int, rows: int, loss: Any, spare: Array
) -> tuple[float, float]:  # fmt: skip
    """Predictors in the first row of `spare` become losses there; slopes and curvatures go below; sums of two."""
    if offset.shape[0] > 0:
        for i in range(rows):
            spare[0, i] += offset[start + i]
    for i in range(rows):
        value, slope, bend = value_grad_hess1(loss, y[start + i], spare[0, i])
        spare[0, i], spare[1, i], spare[2, i] = value, slope, bend
    if w.shape[0] > 0:
        for i in range(rows):
            spare[0, i] *= w[start + i]
            spare[1, i] *= w[start + i]
            spare[2, i] *= w[start + i]
    total, slopes = 0.0, 0.0
    for i in range(rows):
        total += spare[0, i]
        slopes += spare[1, i]
    return total, slopes


@jit_unmanaged
def add_dots(X: Array, first: int, step: int, lines: int, count: int, vector: Array, out: Array) -> None:
    """Add to out the product of each line with the vector."""
    whole = lines // ROWS * ROWS
    for k in range(0, whole, ROWS):
        dot_rows_8(X, np.uint64(first + k * step), np.uint64(step), np.uint64(count), vector, out, np.uint64(k))
    for k in range(whole, lines):
        dot_rows_1(X, np.uint64(first + k * step), np.uint64(step), np.uint64(count), vector, out, np.uint64(k))


@jit_unmanaged
def add_lines(X: Array, first: int, step: int, lines: int, count: int, factors: Array, out: Array) -> None:
    """Add to out the sum of all lines times their factors."""
    whole = lines // ROWS * ROWS
    for k in range(0, whole, ROWS):
        add_rows_8(X, np.uint64(first + k * step), np.uint64(step), np.uint64(count), factors, np.uint64(k), out)
    for k in range(whole, lines):
        add_rows_1(X, np.uint64(first + k * step), np.uint64(step), np.uint64(count), factors, np.uint64(k), out)


@jit_unmanaged
def ask_for(X: Array, first: int, step: int, rows: int, count: int) -> None:
    """Prefetch the rows that come next."""
    for r in range(rows):
        for c in range(0, count, 8):
            prefetch(X, np.uint64(0), np.uint64(first + r * step + c))


@jit_unmanaged
def copy_rows(
    X: Array, first: int, row_step: int, column_step: int, rows: int, p: int, factors: Array, A: Array
) -> None:  # fmt: skip
    """Write (x, 1) of some rows times their factors to the rows of A."""
    if column_step == 1:
        for r in range(rows):
            begin = np.uint64(first + r * row_step)  # unsigned: nobody looks whether it is below zero
            for c in range(p):
                A[r, c] = factors[r] * X[begin + np.uint64(c)]
    else:
        for c in range(p):
            begin = np.uint64(first + c * column_step)
            for r in range(rows):
                A[r, c] = factors[r] * X[begin + np.uint64(r)]
    for r in range(rows):
        A[r, p] = factors[r]


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        linear_sums(np.ones((1, 1), dtype), np.zeros(1), None, None, Logistic(), np.zeros(2), False)
