"""What rows add to histograms, with columns of few values joined: one addition serves all of them.

Columns whose codes together take at most 256 different combinations of values are counted as one column of joint codes.
All one-hot columns of a category are such columns, and so are a code and a coarser one that follows from it. As sums
are exact, the histograms of the columns are the histogram of the joint codes, each slot added to one slot of every
column: nothing changes but the number of additions for each row.
"""

from typing import NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.trees.rows.bundles_loops import join

MOST = 256  # different joint codes
NARROW = 128  # codes of a column up to which it is tried to join it
SOME = 10_000  # rows by which columns that go together are found
LATEST = 32  # groups of features that one more may join
TRIES = 3  # of them that are tried on all rows
LEAST = 0.1  # share of the columns that must be saved


class Joint(NamedTuple):
    """How the rows are counted: their codes, and what the slots of joint codes stand for."""

    codes: Array  # uint8 or uint16 (n, columns), row after row
    first: Array  # uint64 (columns): first slot of each column; joint ones are behind the slots of all features
    starts: Array  # int64 (joint codes + 1)
    targets: Array  # uint32: slots to which joint code k is added: targets[starts[k]:starts[k + 1]]

    @property
    def n_codes(self) -> int:
        """Number of joint codes, of all joint columns."""
        return len(self.starts) - 1


class Group:
    """Features that are counted together: the joint code of each row, and how many such codes there are."""

    def __init__(self, feature: int, codes: Array, step: int) -> None:
        self.features, self.codes, self.step = [feature], codes, step
        self.count = int(codes.max(initial=0)) + 1
        self.some = len(np.unique(codes[::step]))

    def more(self, codes: Array, numbers: Array) -> int:
        """How many more joint codes some rows would have with one more feature; MOST if they were too many."""
        count = join(self.codes, codes, self.step, MOST, numbers, np.empty(0, np.uint8))
        return count - self.some if count <= MOST else MOST

    def take(self, feature: int, codes: Array, numbers: Array) -> bool:
        """Join one more feature, unless all rows together have too many joint codes."""
        out = np.empty(len(codes), np.uint8)
        count = join(self.codes, codes, 1, MOST, numbers, out)
        if count > MOST:
            return False
        self.features.append(feature)
        self.codes, self.count, self.some = out, count, len(np.unique(out[:: self.step]))
        return True

    def __len__(self) -> int:
        return len(self.features)


def plain(codes: Array, first: Array) -> Joint:
    """Every column for itself."""
    return Joint(np.ascontiguousarray(codes), first.astype(np.uint64), np.zeros(1, np.int64), np.empty(0, np.uint32))


def join_columns(codes: Array, columns: Array, first: Array, slots: int) -> Joint:
    """How to count rows with these codes (n, p) and (p, n); feature f has the slots first[f] … of `slots` in all."""
    counts = np.append(first[1:], slots) - first
    groups = grouped(columns, counts)
    joined = sum(map(len, groups)) - len(groups)
    if joined < LEAST * len(first):
        return plain(codes, first)
    alone = np.setdiff1d(np.arange(len(first)), np.concatenate([group.features for group in groups]))
    width = len(alone) + len(groups)
    packed = np.zeros((len(codes), -(-width // 16) * 16), codes.dtype)  # a row lies in few lines of the cache
    packed[:, : len(alone)] = codes[:, alone]
    sizes, places, targets = [np.empty(0, np.int64)], [], []
    for k, group in enumerate(groups, len(alone)):
        packed[:, k] = group.codes
        row = np.empty(group.count, np.int64)
        row[group.codes] = np.arange(len(codes))  # of each joint code any row that has it
        places.append(slots + sum(size.size for size in sizes))
        sizes.append(np.full(group.count, len(group)))
        targets.append((columns[group.features][:, row] + first[group.features][:, None]).T.ravel())
    starts = np.append(0, np.cumsum(np.concatenate(sizes)))
    begin = np.append(first[alone], places).astype(np.uint64)
    return Joint(packed, begin, starts, np.concatenate(targets).astype(np.uint32))


def grouped(columns: Array, counts: Array) -> list[Group]:
    """Groups of two features or more, each with the group to which it brings the fewest joint codes."""
    numbers, step = np.full(1 << 16, -1, np.int32), max(columns.shape[1] // SOME, 1)
    groups: list[Group] = []
    for f in np.argsort(-counts, kind="stable").tolist():
        if counts[f] > NARROW:
            continue
        codes = columns[f].astype(np.uint8, copy=False)
        latest = groups[-LATEST:]
        more = np.array([group.more(codes, numbers) for group in latest])
        best = [k for k in np.argsort(more, kind="stable")[:TRIES].tolist() if more[k] < MOST]
        if not any(latest[k].take(f, codes, numbers) for k in best):
            groups.append(Group(f, codes, step))
    return [group for group in groups if len(group) > 1]
