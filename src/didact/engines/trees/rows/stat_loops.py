"""What rows add to a node, as nouns for the growers: one target, or classes.

`Scalar` serves one target and two classes, and its sums stay in registers; `Labels` has vectors of sums, and so has
`Values` in `value_loops`.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch
from didact.core.typing import Array
from didact.engines.trees.splits.category_loops import (
    RandomSplit,
    halves,
    random_cut,
    scan_categories,
)
from didact.engines.trees.splits.coded_loops import (
    fill_pairs,
    has_two,
    scan_bins,
    sweep_scalar,
    sweep_vector,
    take_some,
)
from didact.engines.trees.splits.sorted_loops import (
    NO_SPLIT,
    Bounds,
    Split,
    Stock,
    cut_scalar,
    missing_at,
    scan_vector,
    take_stock,
)

score1 = dispatch("score1")
score2 = dispatch("score2")
base2 = dispatch("base2")


class Scalar(NamedTuple):
    """One target or two classes: rows[i] = (weighted target, weight); for classes the target is 1 for the second."""

    rows: Array
    criterion: Any

    def add1(self, sums: Array, i: int) -> None:
        """Add row i to the sums."""
        sums[0] += self.rows[i, 0]
        sums[1] += self.rows[i, 1]

    def base1(self, i: int) -> float:
        """w·b(y) of row i."""
        return base2(self.criterion, self.rows[i, 0], self.rows[i, 1])

    def total1(self, sums: Array) -> float:
        """The score of a node with these sums."""
        return score2(self.criterion, sums[0], sums[1])

    def weight1(self, sums: Array) -> float:
        """The weight of a node with these sums."""
        return sums[1]

    def scan1(self, line: Array, top: int, sums: Array, tie: float, bounds: Bounds) -> Split:
        """The best cut of a line."""
        m = missing_at(line, top)
        best = cut_scalar(self, line, m, 0.0, 0.0, False, sums, tie, bounds, NO_SPLIT)
        if m == line.shape[0]:
            return best
        s, w = 0.0, 0.0
        for i in range(m, line.shape[0]):
            row = line[i] & 0xFFFFFFFF
            s += self.rows[row, 0]
            w += self.rows[row, 1]
        other = cut_scalar(self, line, m, s, w, True, sums, tie, bounds, best[0])
        return other if other[0] > NO_SPLIT else best

    def order1(self, groups: Array, g: int, channel: int) -> float:
        """The mean target of a group of rows."""
        return groups[g, 0] / groups[g, 1] if groups[g, 1] > 0.0 else 0.0

    def orders1(self, channels: int) -> int:
        """How many orders of the groups are worth a try."""
        return 1

    def value1(self, sums: Array) -> float:
        """The mean target, for monotone constraints."""
        return sums[0] / sums[1]

    def stock1(self, line: Array, sums: Array) -> Stock:
        """Score, base and weight of a node with these rows; fills in its sums."""
        return take_stock(self, line, sums)

    def categories1(self, line: Array, top: int, sums: Array, tie: float, bounds: Bounds, bits: Array, lot: bool,
                    state: np.uint64) -> Split:  # fmt: skip
        """The best set of categories."""
        return scan_categories(self, line, top, sums, tie, bounds, bits, lot, state)

    def random1(self, line: Array, values: Array, sums: Array, bounds: Bounds, state: np.uint64) -> RandomSplit:
        """A cut at random."""
        return random_cut(self, line, values, sums, bounds, state)

    def gather1(self, rows: Array, out: Any) -> None:
        """Copy rows to another noun of this kind."""
        for i in range(rows.shape[0]):
            out.rows[i, 0], out.rows[i, 1] = self.rows[rows[i], 0], self.rows[rows[i], 1]

    def near1(self, rows: Array, sums: Array, bench: Any) -> None:
        """Put what the rows of a node bring side by side: it is read once for each feature."""
        for i in range(rows.shape[0]):
            bench.near[0, i], bench.near[1, i] = self.rows[rows[i], 0], self.rows[rows[i], 1]
        take_some(sums, bench, True)

    def fill1(self, column: Array, rows: Array, bench: Any, common: int) -> None:
        """Add rows to a histogram of their codes, all but those with the common one."""
        fill_pairs(column, rows, bench, common)

    def sweep1(self, bench: Any, top: int, n: int, sums: Array, tie: float, bounds: Bounds, missing_left: bool,
               best: float) -> Split:  # fmt: skip
        """The best cut of a histogram."""
        return sweep_scalar(self, bench, top, n, sums, tie, bounds, missing_left, best)

    def bins1(self, column: Array, rows: Array, bench: Any, top: int, sums: Array, tie: float, bounds: Bounds,
              common: int) -> Split:  # fmt: skip
        """The best cut of a column of codes."""
        return scan_bins(self, column, rows, bench, top, tie, bounds, common)


class Labels(NamedTuple):
    """Classes of one or several outputs: channel codes[i, o] gets the weight of row i."""

    codes: Array
    weights: Array
    criterion: Any

    def add1(self, sums: Array, i: int) -> None:
        """Add row i to the sums."""
        for o in range(self.codes.shape[1]):
            sums[self.codes[i, o]] += self.weights[i]

    def base1(self, i: int) -> float:
        """w·b(y) of row i."""
        return base2(self.criterion, 0.0, self.weights[i])

    def total1(self, sums: Array) -> float:
        """The score of a node with these sums."""
        return score1(self.criterion, sums, 0, sums.shape[0])

    def weight1(self, sums: Array) -> float:
        """The weight of a node with these sums."""
        total = 0.0
        for k in range(sums.shape[0]):
            total += sums[k]
        return total / self.codes.shape[1]

    def scan1(self, line: Array, top: int, sums: Array, tie: float, bounds: Bounds) -> Split:
        """The best cut of a line."""
        return scan_vector(self, line, top, sums, tie, bounds)

    def order1(self, groups: Array, g: int, channel: int) -> float:
        """The share of one class in a group of rows."""
        total = 0.0
        for k in range(groups.shape[1]):
            total += groups[g, k]
        return groups[g, channel] / total if total > 0.0 else 0.0

    def orders1(self, channels: int) -> int:
        """One order for each class."""
        return channels

    def value1(self, sums: Array) -> float:
        """No mean: there are no monotone constraints on more than two classes."""
        return 0.0

    def stock1(self, line: Array, sums: Array) -> Stock:
        """Score, base and weight of a node with these rows; fills in its sums."""
        return take_stock(self, line, sums)

    def categories1(self, line: Array, top: int, sums: Array, tie: float, bounds: Bounds, bits: Array, lot: bool,
                    state: np.uint64) -> Split:  # fmt: skip
        """The best set of categories."""
        return scan_categories(self, line, top, sums, tie, bounds, bits, lot, state)

    def random1(self, line: Array, values: Array, sums: Array, bounds: Bounds, state: np.uint64) -> RandomSplit:
        """A cut at random."""
        return random_cut(self, line, values, sums, bounds, state)

    def gather1(self, rows: Array, out: Any) -> None:
        """Copy rows to another noun of this kind."""
        for i in range(rows.shape[0]):
            out.weights[i] = self.weights[rows[i]]
            for o in range(self.codes.shape[1]):
                out.codes[i, o] = self.codes[rows[i], o]

    def near1(self, rows: Array, sums: Array, bench: Any) -> None:
        """Put side by side what the rows of a node bring, with numbers for the classes that are there alone."""
        near, places, several = bench.near, bench.places, self.codes.shape[1] > 1
        take_some(sums, bench, several)
        if has_two(bench) and not several:  # as one target: what is in the second class, and the weight
            bench.sums[0], bench.sums[1] = bench.sums[1], bench.sums[0] + bench.sums[1]
            for i in range(rows.shape[0]):
                w = self.weights[rows[i]]
                near[0, i], near[1, i] = w * places[self.codes[rows[i], 0]], w
            return
        for i in range(rows.shape[0]):
            near[0, i], near[1, i] = self.weights[rows[i]], places[self.codes[rows[i], 0]]

    def halves1(self, codes: Array, rows: Array, cut: int, top: int, missing_left: bool, sums: Array, bounds: Bounds,
                buffers: Array) -> float:  # fmt: skip
        """The score of the division at one code."""
        return halves(self, codes, rows, cut, top, missing_left, sums, bounds, buffers)

    def fill1(self, column: Array, rows: Array, bench: Any, common: int) -> None:
        """Add rows to a histogram of their codes, all but those with the common one."""
        hist, counts, near = bench.hist, bench.counts, bench.near
        if self.codes.shape[1] == 1 and has_two(bench):
            fill_pairs(column, rows, bench, common)
            return
        for i in range(rows.shape[0]):
            row = rows[i]
            code = column[row]
            if code == common:
                continue
            hist[code, np.uint64(near[1, i])] += near[0, i]
            for o in range(1, self.codes.shape[1]):
                hist[code, self.codes[row, o]] += near[0, i]
            counts[code] += 1

    def sweep1(self, bench: Any, top: int, n: int, sums: Array, tie: float, bounds: Bounds, missing_left: bool,
               best: float) -> Split:  # fmt: skip
        """The best cut of a histogram."""
        if self.codes.shape[1] == 1 and has_two(bench):
            return sweep_scalar(self, bench, top, n, sums, tie, bounds, missing_left, best)
        return sweep_vector(self, bench, top, n, sums, tie, bounds, missing_left, best)

    def bins1(self, column: Array, rows: Array, bench: Any, top: int, sums: Array, tie: float, bounds: Bounds,
              common: int) -> Split:  # fmt: skip
        """The best cut of a column of codes."""
        return scan_bins(self, column, rows, bench, top, tie, bounds, common)
