r"""A pass of k-means over rows on a GPU, in one kernel: nearest centres, sums, weights and cost, X read once.

1. Programs take tiles of rows in turn. The scores :math:`x\cdot c_k - \|c_k\|^2/2` about an origin are a matrix
   product in three parts of 11 bits, as exact as float32; the largest one names the centre.
2. The tile's sums are the product of the rows, in two such parts, with a matrix of zeros and ones.
3. Sums of some tiles are float32, those of a program and of all programs float64; their order is fixed, so equal rows
   give equal sums. What is summed over the rows of a tile, weights and squares, is added tile by tile first: threads
   exchange it once in some tiles.

Memory: n p numbers are read, against some 3 n K that array functions write and read besides. Needs Triton, which comes
with torch for GPUs. Tillet, Kung, Cox (2019), doi:10.1145/3315508.3329973.
"""

from typing import Any

import numpy as np

from didact.core.jit.cuda import MOST_SUMS, constexpr, over_tiles, padded, takes_rows_of, tl
from didact.core.typing import Array

LLOYD_ROWS = 64  # of a tile: on an H200 128 take a tenth longer, 256 a half


def lloyd_fits(X: Any, K: int) -> bool:
    """Whether the kernel takes these rows and so many centres."""
    return takes_rows_of(X) and padded(X.shape[1]) * padded(K) <= MOST_SUMS


def cluster_sums(X: Any, w: Any, centers: Array) -> tuple[Array, Array, float]:
    """Σ w x (K, p), Σ w (K,) and Σ w‖x − c‖² of the rows nearest to each centre."""
    p, K, origin = X.shape[1], len(centers), centers.mean(axis=0)
    near = centers - origin
    tables = near, 0.5 * np.einsum("ij,ij->i", near, near), origin
    shapes, sizes = ((K, p), (K,), ()), {"COLUMNS": padded(p), "CENTRES": padded(K)}
    sums, weights, cost = over_tiles(lloyd_tiles, X, w, tables, shapes, K, LLOYD_ROWS, **sizes)
    return sums + weights[:, None] * origin, weights, max(float(cost), 0.0)


def lloyd_tiles(  # type: ignore[no-untyped-def]
    X, w, centers, half, origin, sums, weights, costs, n, p, K, programs, rounds,
    WEIGHTED: constexpr, ROWS: constexpr, TILES: constexpr, COLUMNS: constexpr,
    CENTRES: constexpr,
):  # fmt: skip
    """The sums about the origin, weights and cost of the tiles of one program."""
    program = tl.program_id(0)
    columns, places = tl.arange(0, COLUMNS), tl.arange(0, CENTRES)
    is_column, is_place = columns < p, places < K
    C = tl.load(
        centers + places[None, :] * p + columns[:, None], mask=is_column[:, None] & is_place[None, :], other=0.0
    )
    h = tl.load(half + places, mask=is_place, other=float("inf"))
    o = tl.load(origin + columns, mask=is_column, other=0.0)
    total = tl.zeros((CENTRES, COLUMNS), tl.float64)
    total_weight = tl.zeros((CENTRES,), tl.float64)
    cost = tl.zeros((ROWS,), tl.float64)
    for r in range(rounds):
        part = tl.zeros((CENTRES, COLUMNS), tl.float32)
        members = tl.zeros((ROWS, CENTRES), tl.float32)
        squares = tl.zeros((ROWS, COLUMNS), tl.float32)
        scores = tl.zeros((ROWS,), tl.float32)
        for t in range(TILES):
            rows = ((r * TILES + t) * programs + program).to(tl.int64) * ROWS + tl.arange(0, ROWS)
            there = rows < n
            x = tl.load(X + rows[:, None] * p + columns[None, :], mask=there[:, None] & is_column[None, :], other=0.0)
            x = tl.where(there[:, None], x - o[None, :], 0.0)
            best, near = tl.max(tl.dot(x, C, input_precision="tf32x3") - h[None, :], axis=1, return_indices=True)
            one = tl.where((near[:, None] == places[None, :]) & there[:, None], 1.0, 0.0)
            best = tl.where(there, best, 0.0)
            member = tl.trans(one)
            if WEIGHTED:
                v = tl.load(w + rows, mask=there, other=0.0)
                squares += x * x * v[:, None]
                scores += best * v
                members += one * v[:, None]
                x = x * v[:, None]
            else:
                squares += x * x
                scores += best
                members += one
            high = (x.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)  # its first 11 bits
            part += tl.dot(member, high, input_precision="tf32")
            part += tl.dot(member, x - high, input_precision="tf32")
        total += part.to(tl.float64)
        total_weight += tl.sum(members, axis=0).to(tl.float64)
        cost += (tl.sum(squares, axis=1) - 2.0 * scores).to(tl.float64)
    place = program * K + places
    tl.store(sums + place[:, None] * p + columns[None, :], total, mask=is_place[:, None] & is_column[None, :])
    tl.store(weights + place, total_weight, mask=is_place)
    tl.store(costs + program, tl.sum(cost, axis=0))
