r"""One pass over rows for a linear model: predictor, loss, gradient and curvature while the rows are in the cache.

.. math:: \sum_i w_i\,\ell(y_i, \eta_i),\quad \sum_i w_i\,\ell'_i\,(x_i, 1),\quad
    \sum_i w_i\,\ell''_i\,(x_i, 1)(x_i, 1)^T,\qquad \eta_i = x_i^Tb + b_0 + o_i

A tile of some dozens of rows is read from memory once: η by products of eight rows with b, the losses in a loop over
vectors, and the gradient from the same rows. One call handles as many rows as a thread is given, without the
interpreter. X may lie row after row, column after column (then rows and columns change parts) or be CSR.

Memory: X once a pass, 8np bytes. Arithmetic: 2np multiply-adds (2npK for K outputs, n(p + 1)²/2 more for curvature).
"""

from typing import Any

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged, prefetch
from didact.core.jit.simd import (
    LANES,
    add_across_1,
    add_across_2,
    add_across_3,
    add_rows_1,
    add_rows_8,
    dot_rows_1,
    dot_rows_8,
    set_scores_1,
    set_scores_2,
    set_scores_3,
)
from didact.parts.exp_loops import exp1, log1, ratio1
from didact.parts.losses.classification import Logistic
from didact.parts.statistics.moment_loops import NEAR, REASSOCIATE, add_strip, aligned_zeros, fixed, room

Array = np.ndarray[Any, Any]

TILE = 256  # most rows of a tile
ROWS = 8  # that are multiplied at a time
EMPTY = fixed(np.zeros(0))
NO_MATRIX = np.zeros((0, 0))

value_grad_hess1 = dispatch("value_grad_hess1")


def linear_sums(X: Any, y: Array, w: Any, offset: Any, loss: Any, theta: Array, curvature: bool) -> tuple[Any, ...]:
    """Value, gradient (p + 1,) and, if asked for, curvature (p + 1, p + 1) of a block at θ = (b, b₀).

    The loss must have the scalar form `value_grad_hess1`. X is an array of floats or, without curvature, CSR.
    """
    p = X.shape[1]
    at, gradient = filled(theta), filled(np.zeros(p + 1))
    columns = number_column(y), number_column(w), number_column(offset)
    if not isinstance(X, np.ndarray):
        parts = fixed(X.data), fixed(X.indices), fixed(X.indptr)
        value = sparse_pass(*parts, *columns, p, at, loss, aligned_zeros(4, TILE), gradient)
        return value, gradient[: p + 1]
    flat, row_step, column_step = flat_view(X)
    A, G = room(p + 1) if curvature else (NO_MATRIX, NO_MATRIX)
    tile = len(A) if curvature else tile_rows(p, column_step)
    value = linear_pass(flat, row_step, column_step, *columns, p, at, loss, aligned_zeros(4, tile), A, G, gradient)
    if not curvature:
        return value, gradient[: p + 1]
    return value, gradient[: p + 1], G[: p + 1, : p + 1]


def softmax_sums(X: Array, codes: Array, w: Any, table: Array, reference: bool) -> tuple[float, Array]:
    """Value and gradient (K, p + 1) of the softmax loss of class codes, at coefficients and intercepts (K, p + 1).

    With a reference there is one class more, whose scores are 0.
    """
    (K, width), (flat, row_step, column_step) = table.shape, flat_view(X)
    classes = _whole(K + reference)
    turned = aligned_zeros(width, classes)
    turned[:, :K] = table.T
    tile = min(max(NEAR // max(width, classes) // ROWS * ROWS, 2 * ROWS), TILE)
    A, gradient = aligned_zeros(tile, _whole(width)), aligned_zeros(classes, _whole(width))
    y = fixed(codes.astype(np.int64, copy=False))
    Z, spare = aligned_zeros(classes, tile), aligned_zeros(3, tile)
    value = softmax_pass(flat, row_step, column_step, y, number_column(w), K + reference, turned, A, Z, spare, gradient)
    return value, gradient[:K, :width]


def _whole(number: int) -> int:
    """As many, filled up to whole vectors."""
    return -(-number // LANES) * LANES


def filled(theta: Array) -> Array:
    """A vector filled up with zeros to whole vectors of the processor."""
    wide = np.zeros(_whole(len(theta)))
    wide[: len(theta)] = theta
    return wide


def number_column(values: Any) -> Array:
    """A column of numbers as loops take it; none is an empty one."""
    return EMPTY if values is None else fixed(values.astype(np.float64, copy=False))


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
    length = sum((k - 1) * step for k, step in zip(X.shape, steps, strict=True)) + 1 if X.size else 0
    flat = np.lib.stride_tricks.as_strided(X, (length,), (X.itemsize,), writeable=False)
    return flat, steps[0], steps[1]


@jit_unmanaged
def linear_pass(
    X: Array, row_step: int, column_step: int, y: Array, w: Array, offset: Array, p: int, theta: Array, loss: Any,
    spare: Array, A: Array, G: Array, gradient: Array,
) -> float:  # fmt: skip
    """Add to the gradient and, unless it is empty, to G, which begins with zeros; the value. θ is (b, b₀)."""
    total, lost = 0.0, 0.0
    for start in range(0, y.shape[0], spare.shape[1]):
        rows = min(spare.shape[1], y.shape[0] - start)
        first = start * row_step
        for i in range(rows):
            spare[0, i] = theta[p]
        if column_step == 1:
            add_dots(X, first, row_step, rows, p, theta, spare[0])
        else:
            add_lines(X, first, column_step, p, rows, theta, spare[0])
        value, slope = _losses(y, w, offset, start, rows, loss, spare)
        if column_step == 1:
            ask_for(X, first + spare.shape[1] * row_step, row_step, min(rows, y.shape[0] - start - rows), p)
            add_lines(X, first, row_step, rows, p, spare[1], gradient)
        else:
            add_dots(X, first, column_step, p, rows, spare[1], gradient)
        gradient[p] += slope
        if G.shape[0] > 0:
            for i in range(rows):
                spare[2, i] = np.sqrt(spare[2, i])
            copy_rows(X, first, row_step, column_step, rows, p, spare[2], A)
            for i in range(0, A.shape[1], LANES):
                add_strip(A, i, rows, G)
        value -= lost  # Kahan's sum: solvers compare values that are almost equal
        grown = total + value
        lost = (grown - total) - value
        total = grown
    fill_upper(G)
    return total


@jit_unmanaged
def fill_upper(G: Array) -> None:
    """Make a matrix symmetric whose lower triangle is there."""
    for i in range(G.shape[0]):
        for j in range(i):
            G[j, i] = G[i, j]


@jit_unmanaged
def sparse_pass(
    data: Array, indices: Array, indptr: Array, y: Array, w: Array, offset: Array, p: int, theta: Array, loss: Any,
    spare: Array, gradient: Array,
) -> float:  # fmt: skip
    """The same for CSR rows, without curvature."""
    total, lost = 0.0, 0.0
    for start in range(0, y.shape[0], spare.shape[1]):
        rows = min(spare.shape[1], y.shape[0] - start)
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
    """Have rows brought near that come next."""
    for r in range(rows):
        for c in range(0, count, 8):
            prefetch(X, np.uint64(0), np.uint64(first + r * step + c))


@jit_unmanaged
def copy_rows(
    X: Array, first: int, row_step: int, column_step: int, rows: int, p: int, factors: Array, A: Array
) -> None:  # fmt: skip
    """(x, 1) of some rows times their factors as rows of A."""
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


@jit_unmanaged
def softmax_pass(
    X: Array, row_step: int, column_step: int, codes: Array, w: Array, classes: int, table: Array, A: Array, Z: Array,
    spare: Array, gradient: Array,
) -> float:  # fmt: skip
    """Add to the gradient (K, p + 1); the value. The table of coefficients is (p + 1, K)."""
    total, lost, p = 0.0, 0.0, table.shape[0] - 1
    for i in range(A.shape[0]):
        spare[2, i] = 1.0
    for start in range(0, codes.shape[0], A.shape[0]):
        rows = min(A.shape[0], codes.shape[0] - start)
        copy_rows(X, start * row_step, row_step, column_step, rows, p, spare[2], A)
        for i in range(0, rows, LANES):
            _set_scores(A, i, table, Z)
        value = _softmax(codes, w, start, rows, classes, Z, spare)
        for k in range(0, classes, LANES):
            _add_products(Z, k, A, rows, gradient)
        value -= lost
        grown = total + value
        lost = (grown - total) - value
        total = grown
    return total


@jit_unmanaged
def _set_scores(A: Array, i: int, table: Array, Z: Array) -> None:
    """Scores of four rows of A for all classes, as columns of Z."""
    a, k, n, left = np.uint64(i), np.uint64(0), np.uint64(table.shape[0]), table.shape[1] // LANES
    while left > 4 or left == 3:
        set_scores_3(A, a, table, k, n, Z)
        k, left = k + np.uint64(3 * LANES), left - 3
    while left > 1:
        set_scores_2(A, a, table, k, n, Z)
        k, left = k + np.uint64(2 * LANES), left - 2
    if left > 0:
        set_scores_1(A, a, table, k, n, Z)


@jit_unmanaged
def _add_products(Z: Array, k: int, A: Array, rows: int, gradient: Array) -> None:
    """Add to four rows of the gradient the products of four classes' residuals with all columns of A."""
    a, j, n, left = np.uint64(k), np.uint64(0), np.uint64(rows), A.shape[1] // LANES
    while left > 4 or left == 3:
        add_across_3(Z, a, A, j, n, gradient)
        j, left = j + np.uint64(3 * LANES), left - 3
    while left > 1:
        add_across_2(Z, a, A, j, n, gradient)
        j, left = j + np.uint64(2 * LANES), left - 2
    if left > 0:
        add_across_1(Z, a, A, j, n, gradient)


@jit_unmanaged(fastmath=REASSOCIATE)
def _softmax(codes: Array, w: Array, start: int, rows: int, classes: int, Z: Array, spare: Array) -> float:
    """Scores in Z become the loss's slopes in them; the sum of the losses."""
    for i in range(rows):
        spare[0, i] = Z[0, i]
    for k in range(1, classes):
        for i in range(rows):
            spare[0, i] = max(spare[0, i], Z[k, i])
    total = 0.0
    for i in range(rows):  # the largest score less that of the true class; then the sum of exponentials
        spare[1, i] = 0.0
        total += (spare[0, i] - Z[codes[start + i], i]) * (w[start + i] if w.shape[0] > 0 else 1.0)
    for k in range(classes):
        for i in range(rows):
            Z[k, i] = exp1(Z[k, i] - spare[0, i])
            spare[1, i] += Z[k, i]
    for i in range(rows):
        weight = w[start + i] if w.shape[0] > 0 else 1.0
        total += weight * log1(spare[1, i])
        spare[0, i] = ratio1(weight, spare[1, i])
    for k in range(classes):
        for i in range(rows):
            Z[k, i] *= spare[0, i]
    for i in range(rows):
        Z[codes[start + i], i] -= w[start + i] if w.shape[0] > 0 else 1.0
    return total


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        X, y = np.ones((1, 1), dtype), np.zeros(1)
        linear_sums(X, y, None, None, Logistic(), np.zeros(2), False)
        softmax_sums(X, y.astype(np.int64), None, np.zeros((2, 2)), False)
