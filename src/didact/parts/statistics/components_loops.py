"""Means and scatter matrices of components in one pass over their rows: the compiled part of `components`.

Layout::

    order   [ rows of component 0 | rows of component 1 | … ]   of X (n, p); a row may be several times in it
    root    [ √w of each entry    | …                       ]   empty if all weights are 1
              ^ edges[0]            ^ edges[1]
    A       row i [ √w (x − c) | 0 … ]   (tile, width), in the L1 cache; G (width, width): sums of one stretch, of which
            the lower triangle is computed; width is p filled up to a multiple of 4

A tile of a few dozen rows of a component at a time is copied minus a shift c, and its products are summed as in
`moment_loops`: p²/2 multiply-adds per entry of `order`. The rows of a component are divided into stretches. The shift
of a stretch is the mean of its first tile, and the stretch ends when this tile has less than 1/64 of its weight. If
rows of weight W have mean c + d, and a share f of them has mean c, their scatter is S ≥ f d dᵀ W/(1 − f). So moving the
sums from c to the mean loses at most a factor of 64 in rounding, whatever the order of the rows, and nothing if they
are shuffled. Chan's rule merges the stretches, so that no sum cancels, wherever the rows lie. The NumPy twin stands
beside the test.
"""

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import REASSOCIATE, jit, prefetch_row
from didact.core.jit.simd import LANES, gather_1, gather_2, gather_3
from didact.core.typing import Array
from didact.parts.statistics.moment_loops import add_strip, prefetched_rows, room

STRETCH = 64.0  # largest weight of a stretch, relative to that of its first tile


def moments_by_component(X: Array, w: Array | None, order: Array, edges: Array, tied: bool) -> tuple[Array, Array]:
    """Means (K, p) and scatter (K, p, p), or (1, p, p) if tied, of the rows order[edges[k] : edges[k+1]] for each k.

    w holds the weights of the entries of `order`, all positive; None: all are 1.
    """
    p, K = X.shape[1], len(edges) - 1
    A, G = room(p)
    work, factors = np.zeros((3, p)), np.ones(len(A))
    mean, scatter = np.zeros((K, p)), np.zeros((1 if tied else K, p, p))
    root = read_only(np.zeros(0) if w is None else np.sqrt(w))
    _accumulate(read_only(X), root, read_only(order), edges, A, G, work, factors, mean, scatter)
    return mean, scatter


@jit
def _accumulate(
    X: Array, root: Array, order: Array, edges: Array, A: Array, G: Array, work: Array, factors: Array, mean: Array,
    scatter: Array,
) -> None:  # fmt: skip
    shift, sums = work[0], work[1]
    for k in range(mean.shape[0]):
        S, total, weight, first = scatter[k if scatter.shape[0] > 1 else 0], 0.0, 0.0, 0.0
        for start in range(edges[k], edges[k + 1], A.shape[0]):
            rows = min(A.shape[0], edges[k + 1] - start)
            more = _weight(root, start, rows)
            if weight + more > STRETCH * first:  # begin a new stretch, with a new shift
                if weight > 0.0:
                    _fold(X, order[edges[k]], work, weight, total, G, mean[k], S)
                total, weight, first = total + weight, 0.0, more
                _find_shift(X, root, order, start, rows, more, shift)
            for r in range(rows if root.shape[0] > 0 else 0):
                factors[r] = root[start + r]
            _copy(X, order, start, rows, factors, shift, A, sums)
            _add_products(X, order, start + rows, A, rows, G)
            weight += more
        if weight > 0.0:
            _fold(X, order[edges[k]], work, weight, total, G, mean[k], S)
        for j in range(mean.shape[1] if edges[k + 1] > edges[k] else 0):
            mean[k, j] += X[order[edges[k]], j]
    for g in range(scatter.shape[0]):
        for i in range(scatter.shape[1]):
            for j in range(i):
                scatter[g, j, i] = scatter[g, i, j]


@jit
def _weight(root: Array, start: int, rows: int) -> float:
    """The weight of the entries from `start` on."""
    if root.shape[0] == 0:
        return float(rows)
    total = 0.0
    for r in range(rows):
        total += root[start + r] ** 2
    return total


@jit(fastmath=REASSOCIATE)
def _find_shift(
    X: Array, root: Array, order: Array, start: int, rows: int, weight: float, shift: Array
) -> None:  # fmt: skip
    """The mean of some rows, computed as the first row plus the mean difference from it, which avoids cancellation."""
    p, origin = X.shape[1], order[start]
    for j in range(p):
        shift[j] = 0.0
    for r in range(rows):
        i = order[start + r]
        factor = root[start + r] ** 2 if root.shape[0] > 0 else 1.0
        for j in range(p):
            shift[j] += factor * (np.float64(X[i, j]) - X[origin, j])
    for j in range(p):
        shift[j] = X[origin, j] + shift[j] / weight


@jit
def _copy(
    X: Array, order: Array, start: int, rows: int, factors: Array, shift: Array, A: Array, sums: Array
) -> None:  # fmt: skip
    """Write f (x − shift) for the rows order[start], … to the rows of A, and add f² (x − shift) to the sums."""
    first, n, j, left = np.uint64(start), np.uint64(rows), np.uint64(0), X.shape[1] // LANES
    while left > 4 or left == 3:
        gather_3(X, order, first, factors, n, j, shift, A, sums)
        j, left = j + np.uint64(3 * LANES), left - 3
    while left > 1:
        gather_2(X, order, first, factors, n, j, shift, A, sums)
        j, left = j + np.uint64(2 * LANES), left - 2
    if left > 0:
        gather_1(X, order, first, factors, n, j, shift, A, sums)
    for c in range(X.shape[1] // LANES * LANES, X.shape[1]):
        total = 0.0
        for r in range(rows):
            value = factors[r] * (np.float64(X[order[start + r], c]) - shift[c])
            A[r, c] = value
            total += factors[r] * value
        sums[c] += total


@jit
def _add_products(X: Array, order: Array, after: int, A: Array, rows: int, G: Array) -> None:
    """Add the products of the first rows of A to G, and prefetch the rows of X that come next."""
    asked = after
    for i in range(0, A.shape[1], LANES):
        until = min(after + prefetched_rows(i, A), order.shape[0])
        for r in range(asked, until):
            prefetch_row(X, np.uint64(order[r]))
        asked = until
        add_strip(A, i, rows, G)


@jit
def _fold(
    X: Array, origin: int, work: Array, weight: float, total: float, G: Array, mean: Array, S: Array
) -> None:  # fmt: skip
    """Centre the sums of a stretch at its mean, merge them into its component, of weight `total`, and reset them.

    Until the end, `mean` holds the difference of the component's mean from its first row, the origin.
    """
    p, shift, sums, way = mean.shape[0], work[0], work[1], work[2]
    factor = total * weight / (total + weight)
    for j in range(p):
        way[j] = (shift[j] - X[origin, j]) + sums[j] / weight - mean[j]
    for i in range(p):
        part = sums[i] / weight
        for j in range(i + 1):
            S[i, j] += G[i, j] - part * sums[j] + factor * way[i] * way[j]
    for i in range(p):
        mean[i] += way[i] * weight / (total + weight)
        sums[i] = 0.0
    G[:] = 0.0


@jit
def extent(codes: Array) -> tuple[int, int]:
    """The smallest and the largest of some integers."""
    low, high = codes[0], codes[0]
    for i in range(codes.shape[0]):
        low, high = min(low, codes[i]), max(high, codes[i])
    return low, high


@jit
def group(codes: Array, low: int, order: Array, edges: Array, found: Array) -> int:
    """Counting sort of rows by code: fills `order`, the codes `found` and the `edges` of each; returns their number K.

    Codes start at `low`. On entry the edges, one more than possible codes, must be zeros.
    """
    # Count the codes; turn counts into starts; place the rows; then close up over codes that do not occur.
    for i in range(codes.shape[0]):
        edges[np.uint64(codes[i] - low)] += 1
    begin = 0
    for k in range(found.shape[0]):
        count, edges[k] = edges[k], begin
        begin += count
    for i in range(codes.shape[0]):
        code = np.uint64(codes[i] - low)
        order[np.uint64(edges[code])] = i
        edges[code] += 1  # in the end, where the next code begins
    K, begin = 0, 0
    for k in range(found.shape[0]):
        end = edges[k]
        if end > begin:
            found[K], edges[K] = low + k, begin
            K, begin = K + 1, end
    edges[K] = begin
    return K


@jit(fastmath=REASSOCIATE)
def add_scatter(a: Array, b: Array, scaled: Array, way: Array, out: Array) -> None:
    """out = a + b + Σ scaled wayᵀ, over the component of each scatter, or over all components if they share one."""
    K, p = way.shape
    for g in range(out.shape[0]):
        for i in range(p):
            for j in range(p):
                out[g, i, j] = a[g, i, j] + b[g, i, j]
            for k in range(g, g + 1 if out.shape[0] > 1 else K):
                factor = scaled[k, i]
                for j in range(p):
                    out[g, i, j] += factor * way[k, j]


def warm() -> None:
    """Compile for both float types."""
    codes = read_only(np.zeros(1, np.int64))
    group(codes, extent(codes)[0], np.empty(1, np.int64), np.zeros(2, np.int64), np.empty(1, np.int64))
    scatter = np.zeros((1, 1, 1))
    add_scatter(scatter, scatter, scatter[0], scatter[0], np.empty((1, 1, 1)))
    for dtype in (np.float64, np.float32):
        moments_by_component(np.ones((1, 1), dtype), None, np.zeros(1, np.int64), np.array([0, 1]), False)
