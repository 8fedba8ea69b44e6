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
    places: Array  # int64 (features): the features column by column
    starts: Array  # int64 (columns + 1): the first place of each column's features
    parts: (
        Array  # int64 (features, 3): first slot of its bundle, number of bundled codes (0: it is alone), first target
    )
    targets: Array  # uint32: of each feature in a bundle the slots to which the bundled codes are added
    n_codes: int  # bundled codes of all bundles


class Bundle:
    """Features that are counted together: the bundled code of each row, and of every `step`-th one."""

    def __init__(self, feature: int, codes: Array, step: int) -> None:
        self.features, self.step = [feature], step
        self.take(codes)

    def take(self, codes: Array) -> None:
        """Take these codes of all rows."""
        self.codes, self.sample = codes, np.ascontiguousarray(codes[:: self.step])
        self.some = int(np.count_nonzero(np.bincount(self.sample)))  # different codes in the sample

    def more(self, sample: Array, room: tuple[Array, Array]) -> int:
        """How many more bundled codes some rows would have with one more feature; MOST_CODES if they were too many."""
        count = number_pairs(self.sample, sample, MOST_CODES, *room, np.empty(0, np.uint8))
        return count - self.some if count <= MOST_CODES else MOST_CODES

    def absorb(self, feature: int, codes: Array, room: tuple[Array, Array]) -> bool:
        """Join one more feature, unless all rows together have too many bundled codes."""
        out = np.empty(len(codes), np.uint8)
        if number_pairs(self.codes, codes, MOST_CODES, *room, out) > MOST_CODES:
            return False
        self.features.append(feature)
        self.take(out)
        return True

    def targets(self, columns: Array, first: Array) -> list[Array]:
        """For each feature the slots of its codes in the order of the bundled codes."""
        row = np.empty(int(self.codes.max()) + 1, np.int64)
        row[self.codes] = np.arange(len(self.codes))  # of each bundled code any row that has it
        return [(columns[f, row] + first[f]).astype(np.uint32) for f in self.features]

    def __len__(self) -> int:
        return len(self.features)


def unbundled(codes: Array, first: Array) -> Bundles:
    """Every column counted by itself, without bundles."""
    return Bundles(
        codes=np.ascontiguousarray(codes), first=first.astype(np.uint64), places=np.arange(len(first)),
        starts=np.arange(len(first) + 1), parts=np.zeros((len(first), 3), np.int64), targets=np.empty(0, np.uint32),
        n_codes=0,
    )  # fmt: skip


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
    parts, n_codes, begin, slots_of = np.zeros((len(first), 3), np.int64), 0, 0, []
    targets = parallel_map(lambda group: group.targets(columns, first), groups)
    for group, some in zip(groups, targets, strict=True):
        slots_of.append(slots + n_codes)
        n_codes += len(some[0])
        for f in group.features:
            parts[f] = slots_of[-1], len(some[0]), begin
            begin += len(some[0])
    columns_of = [[f] for f in alone] + [group.features for group in groups]
    return Bundles(
        codes=packed, first=np.append(first[alone], slots_of).astype(np.uint64), places=np.concatenate(columns_of),
        starts=np.cumsum([0, *map(len, columns_of)]), parts=parts, n_codes=n_codes,
        targets=np.concatenate([each for some in targets for each in some]),
    )  # fmt: skip


def find_bundles(columns: Array, counts: Array) -> list[Bundle]:
    """Groups of two features or more, each with the group to which it brings the fewest bundled codes."""
    room = np.full(1 << 16, -1, np.int32), np.empty(MOST_CODES, np.uint64)
    step = max(columns.shape[1] // TRIED_ROWS, 1)
    groups: list[Bundle] = []
    for f in np.argsort(-counts, kind="stable").tolist():
        if counts[f] > FEW_CODES:
            continue
        codes = columns[f].astype(np.uint8, copy=False)
        latest, sample = groups[-LATEST:], np.ascontiguousarray(codes[::step])
        more = np.array([group.more(sample, room) for group in latest])
        best = [k for k in np.argsort(more, kind="stable")[:TRIES].tolist() if more[k] < MOST_CODES]
        if not any(latest[k].absorb(f, codes, room) for k in best):
            groups.append(Bundle(f, codes, step))
    return [group for group in groups if len(group) > 1]
