"""Passes of gradient descent over rows of any kind: block after block in compiled loops, or one step on all of them.

Blocks come in the order of the rows, one in memory at a time; within a block the rows are shuffled as described in
`sgd_loops`. Outputs are independent of each other and distributed over the threads, whose number changes no result.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, is_tensor, like, namespace, read_only, small_product, to_host, to_numpy
from didact.core.rows import Block, Rows
from didact.core.rows.memory import block_by_block, compiled_pass, refuse_non_finite
from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.linear.objective import double
from didact.engines.linear.pass_loops import linear_sums
from didact.engines.stochastic.row_loops import Dense, Sparse
from didact.engines.stochastic.sgd import Advance, Training, Weights
from didact.engines.stochastic.sgd_loops import AVERAGED, BIAS, BIAS_SUM, RATE, TIME, UPDATES, finish, sgd_sweep
from didact.engines.stochastic.tuning import (
    FEW_OUTPUTS,
    FEW_ROWS,
    POOL_BYTES,
    RUN_BYTES,
    SEGMENT,
    WORTH_THREADS,
)
from didact.parts.penalties import L1, PNorm
from didact.parts.statistics.moments import Sums

FILLED, INTERCEPT_DAMPING = (
    0.1,
    0.01,
)  # sparse rows with fewer entries, as a share of the columns, slow the intercept down
NONE = np.zeros(0)
NO_ROWS = np.zeros(0, np.int64)
NO_WORDS = np.zeros(0, np.uint32)


class LoopRows(NamedTuple):
    """Rows in the form that compiled loops take."""

    X: Any
    design: Dense | Sparse
    y: Array
    weights: Array  # empty: all are 1
    kept: Array  # numbers of the rows in use, empty: all
    size: int  # the number of rows in use


def loop_rows(block: Block, unit: float = 1.0, left_out: Array | None = None) -> LoopRows:
    """A block as `LoopRows`; weights are divided by `unit`, rows of weight 0 or marked in `left_out` are not used."""
    X, y, w, *_ = block.each(lambda column: to_numpy(column) if is_tensor(column) else column)
    counts = None if w is None or (w > 0).all() else w > 0
    if left_out is not None:
        counts = ~left_out if counts is None else counts & ~left_out
    kept = NO_ROWS if counts is None else np.flatnonzero(counts)
    if is_sparse(X):
        indices = X.indices
        design: Any = Sparse(*map(read_only, (X.data, indices, X.indptr.astype(indices.dtype, copy=False))))
    else:
        design = Dense(read_only(X))
    weights = NONE if w is None else np.asarray(w, np.float64) / unit
    size = X.shape[0] if counts is None else len(kept)
    return LoopRows(
        X=X,
        design=design,
        y=read_only(np.asarray(y, np.float64)),
        weights=read_only(weights),
        kept=read_only(kept),
        size=size,
    )


def sweep_block(data: LoopRows, weights: Weights, training: Training, outputs: Array, generator: Any) -> Array:
    """One pass over a block for some outputs; returns the sums of their losses (K,), each before its step."""
    n, plan, losses = data.size, training.plan(_damping(data)), np.zeros(len(weights.S))
    if n == 0:
        return losses
    run, pool = _cut(data, plan.batch)
    count = -(-n // run)
    runs = _arranged(count, pool // run if run > 1 else 1, generator) if training.shuffle else np.arange(count)
    mixed = training.shuffle and run > 1
    words = generator.integers(0, 1 << 32, size=n, dtype=np.uint32) if mixed else NO_WORDS
    # Cut into calls of some tenths of a second, so that a fit can be interrupted.
    width = _width(data)
    threads = min(thread_count(), len(outputs)) if n * width * len(outputs) >= WORTH_THREADS else 1
    groups = [outputs] if threads == 1 else np.array_split(outputs, threads)
    step, begin = max(1, SEGMENT // (run * width * len(groups[0]))), 0
    for start in range(0, count, step):
        part = runs[start : start + step]
        length = n if step >= count else len(part) * run - (count * run - n if (part == count - 1).any() else 0)
        drawn = words[begin : begin + length]

        def learn(group: Array, part: Array = part, drawn: Array = drawn) -> None:
            sgd_sweep(data.design, data.y, data.weights, data.kept, n, part, run, drawn, min(pool, n), group,
                  weights.positives, training.loss, plan, weights.V, weights.D, weights.A, weights.S,
                  losses)  # fmt: skip

        if threads == 1:  # a small pass: handing it over would take as long
            learn(outputs)
        else:
            parallel_map(learn, groups)
        begin += length
    for k in outputs:
        finish(weights.V[k], weights.D[k], weights.A[k], weights.S[k], plan)
    return losses


def _arranged(count: int, per_pool: int, generator: Any) -> Array:
    """Runs in stratified random order, one from each part of the table in turn, so that pools of a sorted table mix.

    The parts take turns in van der Corput order, in which any few successive ones are spread over the whole table.
    """
    size = min(per_pool, count)
    if size == 1:  # the table has one column, with a gap at the end
        runs, order = generator.permutation(np.arange(count)), generator.permutation(count + 1)
        return runs[order[order < count]]
    turn = np.argsort(np.argsort([_mirrored(k) for k in range(size)]))
    edges = np.linspace(0, count, size + 1).astype(np.int64)
    table = np.full((-(-count // size) + 1, size), -1)
    for column, part in enumerate(turn):
        runs = generator.permutation(np.arange(edges[part], edges[part + 1]))
        table[: len(runs), column] = runs
    order = table[generator.permutation(len(table))].ravel()
    return order[order >= 0]


def _mirrored(k: int) -> float:
    """The van der Corput sequence, the binary digits of k mirrored at the point: ½, ¼, ¾, ⅛, … for 1, 2, 3, 4, …"""
    return int(f"{k:b}"[::-1], 2) / (1 << k.bit_length())


def _width(data: LoopRows) -> int:
    """The average number of entries of a row, at least 1."""
    entries = data.X.data.size if is_sparse(data.X) else data.X.size
    return max(1, entries // max(data.X.shape[0], 1))


def _damping(data: LoopRows) -> float:
    """By how much the intercept's steps are shorter than those of the weights, which few rows reach."""
    return INTERCEPT_DAMPING if is_sparse(data.X) and _width(data) < FILLED * data.X.shape[1] else 1.0


def _cut(data: LoopRows, batch: int) -> tuple[int, int]:
    """The number of rows in a run and in a pool; pools hold whole batches and are of about equal size."""
    row_bytes = data.X.dtype.itemsize * _width(data)
    run = max(1, RUN_BYTES // row_bytes) if data.size > FEW_ROWS else 1
    pools = max(1, round(data.size * row_bytes / POOL_BYTES))
    return run, -(-max(run, -(-data.size // pools)) // batch) * batch


def stochastic(blocks: Callable[[], Iterable[LoopRows]], training: Training, seed: Any, names: Any = None) -> Advance:
    """A function that makes one stochastic pass over blocks of rows and returns the mean loss of each output."""

    def advance(weights: Weights, outputs: Array, epoch: int) -> Array:
        total, size = np.zeros(len(weights.S)), 0
        for number, data in enumerate(blocks()):
            key = (*seed.spawn_key, epoch, number)
            generator = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))
            losses = sweep_block(data, weights, training, outputs, generator)
            if not np.isfinite(losses).all():
                refuse_non_finite(data.X, names)
            total += losses
            size += data.size
        return total / max(size, 1)

    return advance


def full(rows: Rows, training: Training, weight: float) -> Advance:
    """A function that makes one step on all rows, of total weight `weight`, and returns the mean losses before it."""
    l1, l2, pull, p = training.strengths()
    rest: Any = PNorm(pull, p) if pull > 0 else L1(l1)

    def advance(weights: Weights, outputs: Array, epoch: int) -> Array:
        V, S, k = weights.V, weights.S, outputs
        table = np.column_stack([V[k], S[k, BIAS]])
        value, slopes = rows.reduce(gradients, training.loss, table, weights.positives[k], *training.targets).parts
        rate = training.rate
        eta = (S[k, RATE] / (rate.offset + S[k, TIME]) ** rate.power)[:, None]
        V[k] = (1.0 - eta * l2) * V[k] - eta * slopes[:, :-1] / weight
        if l1 > 0 or pull > 0:  # L2 is part of the gradient step, the other penalties are a proximal step after it
            V[k] = rest.prox(V[k], eta)
        if training.fit_intercept:
            S[k, BIAS] -= eta[:, 0] * slopes[:, -1] / weight
        if weights.A.size:
            late = k[S[k, TIME] >= training.averaged_from]
            weights.A[late] -= V[late]
            S[late, BIAS_SUM] += S[late, BIAS]
            S[late, AVERAGED] += 1.0
        S[k, UPDATES] += np.any(slopes != 0, axis=1)
        S[k, TIME] += 1.0
        losses = np.zeros(len(S))
        losses[k] = value / weight
        return losses

    return advance


@compiled_pass
def gradients(block: Block, loss: Any, table: Array, positives: Array, low: float, high: float) -> Sums:
    """Sums of the losses (K,) of a block and of their gradients (K, p + 1)."""
    scalar = loss.scalar
    if scalar is None or is_tensor(block.X) or len(table) > FEW_OUTPUTS:
        return block_by_block(array_gradients, block, loss, table, positives, low, high)
    found = []
    for theta, positive in zip(table, positives, strict=True):
        y = block.y if positive < 0 else np.where(block.y == positive, high, low)
        found.append(linear_sums(block.X, np.asarray(y), block.weight, None, scalar, theta, False))
    values, slopes = zip(*found, strict=True)
    return Sums((np.array(values), np.stack(slopes)))


def array_gradients(block: Block, loss: Any, table: Array, positives: Array, low: float, high: float) -> Sums:
    """`gradients` as array code, for tensors, many outputs, and losses without a scalar form."""
    X, w = block.X, block.weight
    value, R = losses_and_slopes(X, block.y, loss, table, positives, low, high)
    xp = namespace(X)
    if w is not None:
        value, R = w[:, None] * value, w[:, None] * R
    value, slope, slope0 = to_host(xp.sum(value, axis=0), small_product(X.T, R), xp.sum(R, axis=0))
    return Sums((value, np.column_stack([slope.T, slope0])))


def losses_and_slopes(X: Any, y: Any, loss: Any, table: Array, positives: Array, low: float, high: float) -> Any:
    """Loss and slope of every row for every output, (n, K)."""
    xp, X = namespace(X), double(X)
    Z = X @ like(table[:, :-1].T, X) + like(table[:, -1], X)
    Y = like(np.asarray(y), X)[:, None] if not is_tensor(y) else y[:, None]
    Y = Y + xp.zeros_like(Z)
    if positives[0] >= 0:
        Y = low + (high - low) * xp.astype(like(positives * 1.0, X) == Y, Z.dtype)
    return loss.value_grad(Y, Z)


def row_blocks(rows: Rows, unit: float = 1.0, left_out: Array | None = None) -> Callable[[], Iterable[LoopRows]]:
    """A function that yields the blocks of any rows in order; rows in memory are one block, prepared once."""
    if rows.n_rows is not None:
        whole = loop_rows(rows.whole(), unit, left_out)
        return lambda: [whole]
    return lambda: (loop_rows(block, unit) for block in rows.stream())
