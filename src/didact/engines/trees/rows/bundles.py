"""What rows add to histograms, with columns of few values joined: one addition serves all of them.

Columns whose codes together take at most 256 different combinations of values are counted as one column of bundled
codes. All one-hot columns of a category are such columns, and so are a code and a coarser one that follows from it. As
sums are exact, the histograms of the columns are the histogram of the bundled codes, each slot added to one slot of
every column: nothing changes but the number of additions for each row.
"""

from typing import NamedTuple

import numpy as np

from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.rows.bundles_loops import number_pairs
from didact.engines.trees.tuning import FEW_CODES, LATEST, LEAST_SAVED, PACKED_ROWS, TRIED_ROWS, TRIES

MOST_CODES = 256  # different bundled codes


class Bundles(NamedTuple):
    """How the rows are counted: their codes, and what the slots of bundled codes stand for."""

    codes: Array  # uint8 or uint16 (n, columns), row after row
    first: Array  # uint64 (columns): first slot of each column; bundled ones are behind the slots of all features
    parts: (
        Array  # int64 (features, 3): first slot of its bundle, number of bundled codes (0: it is alone), first target
    )
    targets: Array  # uint32: of each feature in a bundle the slots to which the bundled codes are added
    n_codes: int  # bundled codes of all bundles


class Bundle:
    """Features that are counted together: the bundled code of each row, and how many such codes there are."""

    def __init__(self, feature: int, codes: Array, step: int) -> None:
        self.features, self.codes, self.step = [feature], codes, step
        self.count = int(codes.max(initial=0)) + 1
        self.some = distinct_codes(codes[::step])

    def more(self, codes: Array, numbers: Array) -> int:
        """How many more bundled codes some rows would have with one more feature; MOST_CODES if they were too many."""
        count = number_pairs(self.codes, codes, self.step, MOST_CODES, numbers, np.empty(0, np.uint8))
        return count - self.some if count <= MOST_CODES else MOST_CODES

    def absorb(self, feature: int, codes: Array, numbers: Array) -> bool:
        """Join one more feature, unless all rows together have too many bundled codes."""
        out = np.empty(len(codes), np.uint8)
        count = number_pairs(self.codes, codes, 1, MOST_CODES, numbers, out)
        if count > MOST_CODES:
            return False
        self.features.append(feature)
        self.codes, self.count, self.some = out, count, distinct_codes(out[:: self.step])
        return True

    def __len__(self) -> int:
        return len(self.features)


def distinct_codes(codes: Array) -> int:
    """How many different codes there are."""
    return int(np.count_nonzero(np.bincount(codes)))


def unbundled(codes: Array, first: Array) -> Bundles:
    """Every column counted by itself, without bundles."""
    none = np.zeros((len(first), 3), np.int64), np.empty(0, np.uint32)
    return Bundles(np.ascontiguousarray(codes), first.astype(np.uint64), *none, 0)


def join_columns(codes: Array, columns: Array, first: Array, slots: int) -> Bundles:
    """How to count rows with these codes (n, p) and (p, n); feature f has the slots first[f] … of `slots` in all."""
    counts = np.append(first[1:], slots) - first
    groups = find_bundles(columns, counts)
    joined = sum(map(len, groups)) - len(groups)
    if joined < LEAST_SAVED * len(first):
        return unbundled(codes, first)
    alone = np.setdiff1d(np.arange(len(first)), np.concatenate([group.features for group in groups]))
    width = len(alone) + len(groups)
    packed = np.zeros((len(codes), -(-width // 16) * 16), codes.dtype)  # a row lies in few lines of the cache

    def pack(start: int) -> None:
        rows = slice(start, start + PACKED_ROWS)
        packed[rows, : len(alone)] = np.take(codes[rows], alone, axis=1)
        for k, group in enumerate(groups, len(alone)):
            packed[rows, k] = group.codes[rows]

    parallel_map(pack, range(0, len(codes), PACKED_ROWS))
    parts, targets, n_codes, places = np.zeros((len(first), 3), np.int64), [], 0, []
    for group in groups:
        row = np.empty(group.count, np.int64)
        row[group.codes] = np.arange(len(codes))  # of each bundled code any row that has it
        places.append(slots + n_codes)
        n_codes += group.count
        for f in group.features:
            parts[f] = places[-1], group.count, sum(map(len, targets))
            targets.append((columns[f, row] + first[f]).astype(np.uint32))
    begin = np.append(first[alone], places).astype(np.uint64)
    return Bundles(packed, begin, parts, np.concatenate(targets), n_codes)


def find_bundles(columns: Array, counts: Array) -> list[Bundle]:
    """Groups of two features or more, each with the group to which it brings the fewest bundled codes."""
    numbers, step = np.full(1 << 16, -1, np.int32), max(columns.shape[1] // TRIED_ROWS, 1)
    groups: list[Bundle] = []
    for f in np.argsort(-counts, kind="stable").tolist():
        if counts[f] > FEW_CODES:
            continue
        codes = columns[f].astype(np.uint8, copy=False)
        latest = groups[-LATEST:]
        more = np.array([group.more(codes, numbers) for group in latest])
        best = [k for k in np.argsort(more, kind="stable")[:TRIES].tolist() if more[k] < MOST_CODES]
        if not any(latest[k].absorb(f, codes, numbers) for k in best):
            groups.append(Bundle(f, codes, step))
    return [group for group in groups if len(group) > 1]
