"""What rows with several targets add to a node, as a noun for the growers."""

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
from didact.engines.trees.splits.coded_loops import scan_bins, sweep_vector, take_some
from didact.engines.trees.splits.sorted_loops import (
    Bounds,
    Split,
    Stock,
    scan_vector,
    take_stock,
)

score1 = dispatch("score1")
base2 = dispatch("base2")


class Values(NamedTuple):
    """Several targets: rows[i] = (weighted targets …, weight)."""

    rows: Array
    criterion: Any

    def add1(self, sums: Array, i: int) -> None:
        """Add row i to the sums."""
        for k in range(sums.shape[0]):
            sums[k] += self.rows[i, k]

    def base1(self, i: int) -> float:
        """w·b(y) of row i, averaged over the targets."""
        last, found = self.rows.shape[1] - 1, 0.0
        for k in range(last):
            found += base2(self.criterion, self.rows[i, k], self.rows[i, last])
        return found / last

    def total1(self, sums: Array) -> float:
        """The score of a node with these sums."""
        return score1(self.criterion, sums, 0, sums.shape[0] - 1)

    def weight1(self, sums: Array) -> float:
        """The weight of a node with these sums."""
        return sums[sums.shape[0] - 1]

    def scan1(self, line: Array, top: int, sums: Array, tie: float, bounds: Bounds) -> Split:
        """The best cut of a line."""
        return scan_vector(self, line, top, sums, tie, bounds)

    def order1(self, groups: Array, g: int, channel: int) -> float:
        """The mean of one target in a group of rows."""
        w = groups[g, groups.shape[1] - 1]
        return groups[g, channel] / w if w > 0.0 else 0.0

    def orders1(self, channels: int) -> int:
        """One order for each target."""
        return channels - 1

    def value1(self, sums: Array) -> float:
        """No single mean: there are no monotone constraints on several targets."""
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
            for k in range(self.rows.shape[1]):
                out.rows[i, k] = self.rows[rows[i], k]

    def near1(self, rows: Array, sums: Array, bench: Any) -> None:
        """Nothing to do for the rows, which are read where they are."""
        take_some(sums, bench, True)

    def halves1(self, codes: Array, rows: Array, cut: int, top: int, missing_left: bool, sums: Array, bounds: Bounds,
                buffers: Array) -> float:  # fmt: skip
        """The score of the division at one code."""
        return halves(self, codes, rows, cut, top, missing_left, sums, bounds, buffers)

    def fill1(self, column: Array, rows: Array, bench: Any, common: int) -> None:
        """Add rows to a histogram of their codes, all but those with the common one."""
        hist, counts = bench.hist, bench.counts
        for i in range(rows.shape[0]):
            row = rows[i]
            code = column[row]
            if code == common:
                continue
            for k in range(self.rows.shape[1]):
                hist[code, k] += self.rows[row, k]
            counts[code] += 1

    def sweep1(self, bench: Any, top: int, n: int, sums: Array, tie: float, bounds: Bounds, missing_left: bool,
               best: float) -> Split:  # fmt: skip
        """The best cut of a histogram."""
        return sweep_vector(self, bench, top, n, sums, tie, bounds, missing_left, best)

    def bins1(self, column: Array, rows: Array, bench: Any, top: int, sums: Array, tie: float, bounds: Bounds,
              common: int) -> Split:  # fmt: skip
        """The best cut of a column of codes."""
        return scan_bins(self, column, rows, bench, top, tie, bounds, common)
