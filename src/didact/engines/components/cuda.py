r"""An EM step of Gaussian components over rows on a GPU, in one kernel: X is read once, nothing is written per row.

1. Programs take tiles of rows in turn: differences :math:`d_{ik} = x_i-\mu_k`, their whitened squares
   :math:`\|W_k^Td_{ik}\|^2`, responsibilities :math:`r_{ik}`, and the sums of :math:`r`, :math:`rd` and :math:`rdd^T`.
2. Matrix products, one for each component, are in three parts of 11 bits, as exact as float32.
3. Sums of some tiles are float32, those of a program and of all programs float64, in a fixed order.

Cost: 4 n K p² multiply-adds. Tillet, Kung, Cox (2019), doi:10.1145/3315508.3329973.
"""

from typing import Any

from didact.core.jit.cuda import MOST_SUMS, constexpr, over_tiles, padded, takes_rows_of, tl
from didact.core.typing import Array

DIFFERENCES = 1 << 12  # of the differences of a tile's rows from the means: half and twice as many were slower


def mixture_fits(X: Any, K: int) -> bool:
    """Whether the kernel takes these rows and so many components."""
    return takes_rows_of(X) and padded(K, 1) * padded(X.shape[1]) ** 2 <= MOST_SUMS


def tensor_sums(X: Any, w: Any, constants: Array, means: Array, whiten: Array) -> tuple[float, Array, Array, Array]:
    """Σ w log p(x), and Σ r (K,), Σ r d (K, p), Σ r ddᵀ (K, p, p); `constants` is what log p(x, k) has at d = 0."""
    p, K = X.shape[1], len(means)
    shapes, sizes = ((), (K,), (K, p), (K, p, p)), {"COLUMNS": padded(p), "COMPONENTS": padded(K, 1)}
    rows = max(DIFFERENCES // (padded(K, 1) * padded(p)), 16)
    value, *sums = over_tiles(mixture_tiles, X, w, (constants, means, whiten), shapes, K, rows, **sizes)
    return float(value), sums[0], sums[1], sums[2]


def mixture_tiles(  # type: ignore[no-untyped-def]
    X, w, constants, means, whiten, values, weights, firsts, seconds, n, p, K, programs, rounds,
    WEIGHTED: constexpr, ROWS: constexpr, TILES: constexpr, COLUMNS: constexpr, COMPONENTS: constexpr,
):  # fmt: skip
    """The sums of the tiles of one program."""
    program = tl.program_id(0)
    i, k = tl.arange(0, COLUMNS), tl.arange(0, COMPONENTS)
    row_of, col_of, both = (k < K)[:, None, None] & (i < p)[None, :, None], (i < p)[None, None, :], (k < K)[:, None]
    both = both & (i < p)[None, :]
    square = k[:, None, None] * p * p + i[None, :, None] * p + i[None, None, :]
    W = tl.load(whiten + square, mask=row_of & col_of, other=0.0)
    mu = tl.load(means + k[:, None] * p + i[None, :], mask=both, other=0.0)
    c = tl.load(constants + k, mask=k < K, other=float("-inf"))
    value = tl.zeros((ROWS,), tl.float64)
    total = tl.zeros((COMPONENTS,), tl.float64)
    first = tl.zeros((COMPONENTS, COLUMNS), tl.float64)
    second = tl.zeros((COMPONENTS, COLUMNS, COLUMNS), tl.float64)
    for r in range(rounds):
        part = tl.zeros((COMPONENTS, COLUMNS, COLUMNS), tl.float32)
        part_first = tl.zeros((COMPONENTS, COLUMNS), tl.float32)
        for t in range(TILES):
            rows = ((r * TILES + t) * programs + program).to(tl.int64) * ROWS + tl.arange(0, ROWS)
            there = rows < n
            x = tl.load(X + rows[:, None] * p + i[None, :], mask=there[:, None] & (i < p)[None, :], other=0.0)
            D = tl.where(there[None, :, None], x[None, :, :] - mu[:, None, :], 0.0)
            Y = tl.dot(D, W, input_precision="tf32x3")
            joint = c[:, None] - 0.5 * tl.sum(Y * Y, axis=2)
            top = tl.max(joint, axis=0)
            shares = tl.exp(joint - top[None, :])
            whole = tl.sum(shares, axis=0)
            each = top + tl.log(whole)
            R = tl.where(there[None, :], shares / whole[None, :], 0.0)
            if WEIGHTED:
                v = tl.load(w + rows, mask=there, other=0.0)
                R = R * v[None, :]
                each = each * v
            value += tl.where(there, each, 0.0).to(tl.float64)
            total += tl.sum(R, axis=1).to(tl.float64)
            RD = D * R[:, :, None]
            part_first += tl.sum(RD, axis=1)
            part += tl.dot(tl.permute(RD, (0, 2, 1)), D, input_precision="tf32x3")
        first += part_first.to(tl.float64)
        second += part.to(tl.float64)
    tl.store(values + program, tl.sum(value, axis=0))
    tl.store(weights + program * K + k, total, mask=k < K)
    tl.store(firsts + program * K * p + k[:, None] * p + i[None, :], first, mask=both)
    tl.store(seconds + program * K * p * p + square, second, mask=row_of & col_of)
