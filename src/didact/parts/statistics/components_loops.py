"""Means and scatter matrices of components in one pass over their rows: the compiled part of `components`.

Some dozens of rows of a component at a time are copied with a shift c subtracted, and their products are summed as in
`moment_loops`: p²/2 multiply-adds per row. The shift is the mean of the first rows of a stretch, and a stretch ends
when these rows are less than 1/64 of its weight. Let rows of weight W have the mean c + d, and a share f of them the
mean c: their scatter S satisfies S ≥ f d dᵀ W/(1 − f), so that moving the sums from c to the mean loses at most a
factor of 64 in rounding, whatever the order of the rows, and nothing if they are shuffled. Stretches are merged by
Chan's rule, so that no sum cancels, however far from the origin the rows lie. Its NumPy twin stands beside the test.

Layout, for K components (a row of X may occur several times in `order`, with a weight each)::

    X (n, p)          rows as given
    order             [ rows of component 0 | rows of component 1 | … ]    numbers of rows in X
    root              [ √w of each of them  | …                       ]    empty: all weights are 1
                        ^ edges[0]            ^ edges[1]       edges[K] ^
    A (strip, q)      √w (x − c) of the next `strip` rows, in the first-level cache; q: p filled up to whole vectors
    G (q, q)          Σ w (x − c)(x − c)ᵀ of the current stretch, lower triangle
    work (3, p)       c; Σ w (x − c) of the stretch; a difference of means
    mean (K, p)       relative to each component's first row, which is added at the end
    scatter (K, p, p) lower triangles, mirrored at the end; (1, p, p) if tied
"""

import numpy as np

from didact.core.jit import jit, prefetch_row
from didact.core.jit.simd import LANES, gather_1, gather_2, gather_3
from didact.core.typing import Array
from didact.parts.statistics.moment_loops import REASSOCIATE, add_strip, fixed, room, share

STRETCH = 64.0  # largest weight of a stretch, in units of the weight of its first rows


def moments_by_component(X: Array, w: Array | None, order: Array, edges: Array, tied: bool) -> tuple[Array, Array]:
    """Means (K, p) and scatter (K, p, p), or (1, p, p) if tied, of the rows order[edges[k] : edges[k+1]] for each k.

    w holds the weights of the entries of `order`, all positive; None stands for ones.
    """
    p, K = X.shape[1], len(edges) - 1
    A, G = room(p)
    work, factors = np.zeros((3, p)), np.ones(len(A))
    mean, scatter = np.zeros((K, p)), np.zeros((1 if tied else K, p, p))
    root = fixed(np.zeros(0) if w is None else np.sqrt(w))
    _accumulate(fixed(X), root, fixed(order), edges, A, G, work, factors, mean, scatter)
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
            if weight + more > STRETCH * first:  # a new stretch: its first rows give the shift
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
    """The total weight of `rows` entries from `start` on."""
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
    """The weighted mean of some rows, computed as the first of them plus the mean difference from it."""
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
    """Copy f (x − shift) of the rows order[start], … to A, and add f² (x − shift) to the sums."""
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
    """Add the products of the first rows of A to G, and meanwhile prefetch the rows of X that come after them."""
    asked = after
    for i in range(0, A.shape[1], LANES):
        until = min(after + share(i, A), order.shape[0])
        for r in range(asked, until):
            prefetch_row(X, np.uint64(order[r]))
        asked = until
        add_strip(A, i, rows, G)


@jit
def _fold(
    X: Array, origin: int, work: Array, weight: float, total: float, G: Array, mean: Array, S: Array
) -> None:  # fmt: skip
    """Centre the sums of a stretch, merge them into its component, of weight `total` so far, and clear them.

    The mean of the component is stored as the difference from its first row, the origin.
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
    """Counting sort of the rows by code: fills `order`, `found` (the codes that occur) and `edges`; returns how many.

    Codes begin at `low`; `edges`, one longer than the number of possible codes, must be zeros.
    """
    for i in range(codes.shape[0]):
        edges[np.uint64(codes[i] - low)] += 1
    begin = 0
    for k in range(found.shape[0]):
        count, edges[k] = edges[k], begin
        begin += count
    for i in range(codes.shape[0]):
        code = np.uint64(codes[i] - low)
        order[np.uint64(edges[code])] = i
        edges[code] += 1  # now where the next code begins
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
    """out = a + b + scaled wayᵀ (Chan's merge), one such term per component, or all in one scatter if it is tied."""
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
    codes = fixed(np.zeros(1, np.int64))
    group(codes, extent(codes)[0], np.empty(1, np.int64), np.zeros(2, np.int64), np.empty(1, np.int64))
    scatter = np.zeros((1, 1, 1))
    add_scatter(scatter, scatter, scatter[0], scatter[0], np.empty((1, 1, 1)))
    for dtype in (np.float64, np.float32):
        moments_by_component(np.ones((1, 1), dtype), None, np.zeros(1, np.int64), np.array([0, 1]), False)
