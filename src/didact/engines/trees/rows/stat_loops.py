"""What rows add to a node, as nouns for the growers: one target, classes, several targets.

`Scalar` serves one target and two classes, and its sums stay in registers; `Labels` and `Values` have vectors of sums.
What they share is `Summed`: a scan asks them for the sums of rows and for scores of sums alone. `Medians`, in
`median_loops`, has no sums, and offers what growers themselves ask for: `totals1`, `value1`, `cut_line1`,
`categories1`, `random1`, `bins1`, `halves1`, `near_totals1`, `gather1`, `near1` and `channels1`.

Layout of what a row brings, and of a node's sums::

    Scalar   rows[i]   [ w y | w ]                           sums  [ Σ w y | W ]   two classes: y is 1 for the second
    Labels   codes[i]  [ channel of output 0 | … ]           sums  [ weights of the classes of output 0 | of 1 | … ]
    Values   rows[i]   [ w y_0 | w y_1 | … | w ]             sums  [ Σ w y_0 | Σ w y_1 | … | W ]
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch
from didact.core.typing import Array
from didact.engines.trees.splits.category_loops import Groups, RandomSplit, cut_categories, halves, random_cut
from didact.engines.trees.splits.coded_loops import (
    Buffers,
    Near,
    cut_bins,
    fill_pairs,
    has_two,
    number_channels,
    sweep_scalar,
    sweep_vector,
)
from didact.engines.trees.splits.random_cut_loops import near_halves, near_totals
from didact.engines.trees.splits.sorted_loops import BestCut, Needs, NodeTotals, line_totals, scan_scalar, scan_vector

score1 = dispatch("score1")
score2 = dispatch("score2")
base2 = dispatch("base2")


class Summed:
    """A statistic that is a sum over rows."""

    __slots__ = ()

    def totals1(self, line: Array, sums: Array) -> NodeTotals:
        """Score, base and weight of a node with these rows; fills in its sums."""
        return line_totals(self, line, sums)

    def value1(self, sums: Array) -> float:
        """The value of a node for monotone constraints, which only one target or two classes can have."""
        return 0.0

    def cut_line1(self, line: Array, top: int, sums: Array, tie: float, bounds: Needs) -> BestCut:
        """The best cut of a line."""
        return scan_vector(self, line, top, sums, tie, bounds)

    def categories1(self, line: Array, top: int, sums: Array, tie: float, bounds: Needs, bits: Array,
                    groups: Groups, random_split: bool, state: np.uint64) -> BestCut:  # fmt: skip
        """The best set of categories, or a random one."""
        return cut_categories(self, line, top, sums, tie, bounds, bits, groups, random_split, state)

    def random1(self, line: Array, values: Array, sums: Array, bounds: Needs, state: np.uint64) -> RandomSplit:
        """A cut at random."""
        return random_cut(self, line, values, sums, bounds, state)

    def bins1(self, column: Array, rows: Array, near: Near, buffers: Buffers, top: int, sums: Array, tie: float,
              bounds: Needs, common: int) -> BestCut:  # fmt: skip
        """The best cut of a column of codes."""
        return cut_bins(self, column, rows, near, buffers, top, tie, bounds, common)

    def sweep1(self, buffers: Buffers, top: int, n: int, sums: Array, tie: float, bounds: Needs, missing_left: bool,
               best: float) -> BestCut:  # fmt: skip
        """The best cut of a histogram."""
        return sweep_vector(self, buffers, top, n, sums, tie, bounds, missing_left, best)

    def halves1(self, codes: Array, rows: Array, near: Near, cut: int, top: int, missing_left: bool, sums: Array,
                bounds: Needs, sides: Array) -> float:  # fmt: skip
        """The score of the division at one code."""
        return halves(self, codes, rows, cut, top, missing_left, sums, bounds, sides)

    def near_totals1(self, rows: Array, near: Near, sums: Array) -> NodeTotals:
        """Score, base and weight of a node of which `near` may hold what its rows bring."""
        return line_totals(self, rows, sums)

    def near1(self, rows: Array, near: Near, buffers: Buffers) -> None:
        """Put what the rows of a node bring side by side: it is read once for each feature."""

    def channels1(self, sums: Array, buffers: Buffers) -> None:
        """Number the channels that a node has."""
        number_channels(sums, buffers, True)


class ScalarFields(NamedTuple):
    """The fields of `Scalar` and of `Values`."""

    rows: Array
    criterion: Any


class Scalar(Summed, ScalarFields):
    """One target or two classes: rows[i] = (weighted target, weight); for classes the target is 1 for the second."""

    __slots__ = ()

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

    def value1(self, sums: Array) -> float:
        """The mean target, for monotone constraints."""
        return sums[0] / sums[1]

    def cut_line1(self, line: Array, top: int, sums: Array, tie: float, bounds: Needs) -> BestCut:
        """The best cut of a line."""
        return scan_scalar(self, line, top, sums, tie, bounds)

    def order1(self, groups: Array, g: int, channel: int) -> float:
        """The mean target of a group of rows."""
        return groups[g, 0] / groups[g, 1] if groups[g, 1] > 0.0 else 0.0

    def orders1(self, channels: int) -> int:
        """How many orders of the groups are worth a try."""
        return 1

    def gather1(self, rows: Array, out: Any) -> None:
        """Copy rows to another noun of this kind."""
        for i in range(rows.shape[0]):
            out.rows[i, 0], out.rows[i, 1] = self.rows[rows[i], 0], self.rows[rows[i], 1]

    def near1(self, rows: Array, near: Near, buffers: Buffers) -> None:
        """Put what the rows of a node bring side by side: it is read once for each feature."""
        for i in range(rows.shape[0]):
            near.targets[i], near.weights[i] = self.rows[rows[i], 0], self.rows[rows[i], 1]

    def fill1(self, column: Array, rows: Array, near: Near, buffers: Buffers, common: int) -> None:
        """Add rows to a histogram of their codes, all but those with the common one."""
        fill_pairs(column, rows, near, buffers, common)

    def sweep1(self, buffers: Buffers, top: int, n: int, sums: Array, tie: float, bounds: Needs, missing_left: bool,
               best: float) -> BestCut:  # fmt: skip
        """The best cut of a histogram."""
        return sweep_scalar(self, buffers, top, n, sums, tie, bounds, missing_left, best)

    def halves1(self, codes: Array, rows: Array, near: Near, cut: int, top: int, missing_left: bool, sums: Array,
                bounds: Needs, sides: Array) -> float:  # fmt: skip
        """The score of the division at one code."""
        return near_halves(self, codes, near, rows.shape[0], cut, top, missing_left, sums, bounds, sides)

    def near_totals1(self, rows: Array, near: Near, sums: Array) -> NodeTotals:
        """Score, base and weight of a node from what its rows bring; fills in its sums."""
        return near_totals(self, near, rows.shape[0], sums)


class LabelFields(NamedTuple):
    """The fields of `Labels`."""

    codes: Array
    weights: Array
    criterion: Any


class Labels(Summed, LabelFields):
    """Classes of one or several outputs: channel codes[i, o] gets the weight of row i."""

    __slots__ = ()

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

    def order1(self, groups: Array, g: int, channel: int) -> float:
        """The share of one class in a group of rows."""
        total = 0.0
        for k in range(groups.shape[1]):
            total += groups[g, k]
        return groups[g, channel] / total if total > 0.0 else 0.0

    def orders1(self, channels: int) -> int:
        """One order for each class."""
        return channels

    def gather1(self, rows: Array, out: Any) -> None:
        """Copy rows to another noun of this kind."""
        for i in range(rows.shape[0]):
            out.weights[i] = self.weights[rows[i]]
            for o in range(self.codes.shape[1]):
                out.codes[i, o] = self.codes[rows[i], o]

    def channels1(self, sums: Array, buffers: Buffers) -> None:
        """Number the classes that a node has. Two of them are as one target: what is in the second, and the weight."""
        several, found = self.codes.shape[1] > 1, buffers.sums
        number_channels(sums, buffers, several)
        if has_two(buffers) and not several:
            found[0], found[1] = found[1], found[0] + found[1]

    def near1(self, rows: Array, near: Near, buffers: Buffers) -> None:
        """Put side by side what the rows of a node bring: the places of their classes, and their weights."""
        places, weigh = buffers.places, has_two(buffers) and self.codes.shape[1] == 1
        for i in range(rows.shape[0]):
            w, place = self.weights[rows[i]], places[self.codes[rows[i], 0]]
            near.targets[i], near.weights[i] = w * place if weigh else float(place), w

    def fill1(self, column: Array, rows: Array, near: Near, buffers: Buffers, common: int) -> None:
        """Add rows to a histogram of their codes, all but those with the common one."""
        hist, counts, places, weights = buffers.hist, buffers.counts, near.targets, near.weights
        if self.codes.shape[1] == 1 and has_two(buffers):
            fill_pairs(column, rows, near, buffers, common)
            return
        for i in range(rows.shape[0]):
            row = rows[i]
            code = column[row]
            if code == common:
                continue
            hist[code, np.uint64(places[i])] += weights[i]
            for o in range(1, self.codes.shape[1]):
                hist[code, self.codes[row, o]] += weights[i]
            counts[code] += 1

    def sweep1(self, buffers: Buffers, top: int, n: int, sums: Array, tie: float, bounds: Needs, missing_left: bool,
               best: float) -> BestCut:  # fmt: skip
        """The best cut of a histogram."""
        if self.codes.shape[1] == 1 and has_two(buffers):
            return sweep_scalar(self, buffers, top, n, sums, tie, bounds, missing_left, best)
        return sweep_vector(self, buffers, top, n, sums, tie, bounds, missing_left, best)


class Values(Summed, ScalarFields):
    """Several targets: rows[i] = (weighted targets …, weight)."""

    __slots__ = ()

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

    def order1(self, groups: Array, g: int, channel: int) -> float:
        """The mean of one target in a group of rows."""
        w = groups[g, groups.shape[1] - 1]
        return groups[g, channel] / w if w > 0.0 else 0.0

    def orders1(self, channels: int) -> int:
        """One order for each target."""
        return channels - 1

    def gather1(self, rows: Array, out: Any) -> None:
        """Copy rows to another noun of this kind."""
        for i in range(rows.shape[0]):
            for k in range(self.rows.shape[1]):
                out.rows[i, k] = self.rows[rows[i], k]

    def fill1(self, column: Array, rows: Array, near: Near, buffers: Buffers, common: int) -> None:
        """Add rows to a histogram of their codes, all but those with the common one."""
        hist, counts = buffers.hist, buffers.counts
        for i in range(rows.shape[0]):
            row = rows[i]
            code = column[row]
            if code == common:
                continue
            for k in range(self.rows.shape[1]):
                hist[code, k] += self.rows[row, k]
            counts[code] += 1
