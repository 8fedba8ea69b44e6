r"""Where EM and Lloyd begin on rows of any kind: centres from a sample of the rows that no order of rows can change.

Each row has a key, a hash of its values; the sample are the rows with the smallest keys, equal rows as one with the sum
of their weights. So blocks in any order, on any machine, and rows repeated instead of weighted give the same sample,
and up to `START_ROWS` different rows it is all of them. k-means++ and Lloyd's iterations run on the sample.
"""

from typing import Any

import numpy as np

from didact.core.backend import is_sparse, like, namespace, to_numpy
from didact.core.errors import InputError
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.rows.memory import in_pieces
from didact.core.typing import Array
from didact.engines.centroids.lloyd import kmeans
from didact.engines.centroids.starts import hashes, mixed_bits, plus_plus, sample_of
from didact.engines.components.tuning import START_ROWS
from didact.parts.statistics.components import Components, components

COMPONENT_NUMBERS = "y must hold the number of each row's component, from 0 to {}, or -1 where it is not known"
HASH_STRIDE = np.uint64(0x9E3779B97F4A7C15)
ROUGH_TOLERANCE, ROUGH_STEPS = 1e-3, 30  # k-means for a start, which EM improves on: tolerance, and iterations at most


def row_shares(X: Array, seed: int, K: int) -> Array:
    """Random responsibilities (n, K) that depend on a row's values alone."""
    with np.errstate(over="ignore"):
        keys = hashes(X) + mixed_bits(np.array([seed], np.uint64) + HASH_STRIDE)
        columns = [mixed_bits(mixed_bits(keys + np.uint64(k + 1) * HASH_STRIDE)) >> np.uint64(11) for k in range(K)]
    shares = np.stack(columns, axis=1) * 2.0**-53 + 2.0**-54
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def start_centres(rows: Rows, count: int, how: str, rng: np.random.Generator, fill: Array) -> Array:
    """Centres (count, p): of k-means ("kmeans"), of its start ("k-means++"), or rows ("random_from_data").

    Missing values are filled with `fill`; if there are fewer different rows than centres, some are repeated.
    """
    found = rows.reduce(sample_of, START_ROWS)
    X, w = np.where(np.isnan(found.rows), fill, found.rows).astype(np.float64), found.weights
    if len(X) < count:
        return X[np.arange(count) % len(X)]
    if how == "random_from_data":
        return X[rng.choice(len(X), count, replace=False, p=w / w.sum())]
    if how == "k-means++":
        return plus_plus(X, w, count, rng)
    return np.asarray(
        kmeans(MemoryRows(X, None, w), count, [int(rng.integers(1 << 62))], ROUGH_TOLERANCE, ROUGH_STEPS).x
    )


def nearest(X: Any, centres: Array) -> Any:
    """The number of the nearest centre of each row."""
    xp, middle = namespace(X), centres.mean(axis=0)
    C = centres - middle
    return xp.argmax((X - like(middle, X)) @ like(C.T, X) - like(0.5 * (C * C).sum(axis=1), X), axis=1)


@in_pieces
def nearest_sums(block: Block, family: Any, centres: Array, fill: Array) -> Components:
    """The statistic of one block: each row belongs to its nearest centre, or to its code (y), if it has one."""
    X = gaps_filled(block.X, fill)
    codes = np.asarray(to_numpy(nearest(X, centres)))
    codes = codes if block.y is None else np.where(block.y >= 0, block.y, codes).astype(np.int64)
    found: Components = family.statistic(X, codes, block.weight, None)
    return found.among(np.arange(len(centres)))


def random_shares_of(block: Block, family: Any, seed: int, count: int, fill: Array) -> Components:
    """The statistic of one block with random responsibilities; rows with a code (y) belong to its component."""
    X = gaps_filled(block.X, fill)
    R = row_shares(to_numpy(X), seed, count)
    if block.y is not None:
        R = np.where((block.y >= 0)[:, None], np.arange(count) == block.y[:, None], R)
    found: Components = family.statistic(X, R, block.weight, None)
    return found


def gaps_filled(X: Any, fill: Array) -> Any:
    """Dense rows with missing values filled by column."""
    X = X.toarray() if is_sparse(X) else X
    xp = namespace(X)
    missing = xp.isnan(X)
    return xp.where(missing, like(np.asarray(fill), X), X) if bool(xp.any(missing)) else X


def coded_means(block: Block, count: int) -> Components:
    """Weights and means of the rows whose component is known."""
    known = np.asarray(block.y) >= 0
    X = np.asarray(to_numpy(block.X), np.float64)[known]
    w = None if block.weight is None else to_numpy(block.weight)[known]
    R = (np.asarray(block.y)[known, None] == np.arange(count)).astype(np.float64)
    return components(X, R, "diagonal", w)


def placed_by_codes(centres: Array, known: Components) -> Array:
    """Centres in which those of components with known rows are the means of these, in place of the nearest ones."""
    out, there = np.array(centres), known.weight > 0
    free = list(range(len(centres)))
    for k in np.flatnonzero(there):
        free.remove(min(free, key=lambda j: float(((centres[j] - known.mean[k]) ** 2).sum())))
    out[there], out[~there] = known.mean[there], centres[free]
    return out


def check_codes(codes: Array, count: int) -> None:
    """Refuse component numbers that are not −1, 0, …, count − 1."""
    wrong = np.flatnonzero((codes != np.floor(codes)) | (codes < -1) | (codes >= count))
    if len(wrong):
        raise InputError(f"{COMPONENT_NUMBERS.format(count - 1)}; it holds {codes[wrong[0]]:g} in row {wrong[0]}.")
