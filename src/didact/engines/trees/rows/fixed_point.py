r"""What rows bring to a tree: fixed-point numbers, whose sums are exact, whatever the order, the blocks or the threads.

A column is multiplied by a power of two and rounded, so that its sum over all rows just fits 64 bits. The last word of
a row also counts it: :math:`2^s + [w\,2^e]`, where s leaves room for the number of rows above the sum of the weights.
Sums of them then are sums of columns and counts at once; a node is its parent less its sibling, without error. The
resolution is :math:`2^{-61}\sum|x|` for a column that stands alone, :math:`2^{s-62}\ldots` beside the count: about
:math:`10^{-13}` and :math:`10^{-7}` of a mean row among a million rows, better with fewer.
"""

from typing import NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.trees.rows.fixed_point_loops import Reading
from didact.engines.trees.splits.histogram_loops import LABELS, UNIT


class Channels(NamedTuple):
    """The rows of a sample in fixed point: values (targets and a weight), or labels (a weight for each class)."""

    fixed: Array  # (n, columns) int64
    labels: Array | None  # (n, outputs) int32: which channel a number is added to; None for values
    n_channels: int  # sums of a histogram's bin
    kind: int
    shift: int  # the bit at which the count begins
    inverse: Array  # (n_channels,) float64: what one unit of a number stands for; for `sums` also one for each node

    @property
    def n_targets(self) -> int:
        """Sums that a criterion reads: targets (the weight follows them), or classes."""
        return self.n_channels if self.kind == LABELS else max(self.n_channels - 1, 1)

    @property
    def outputs(self) -> int:
        """How many labels a row has; 1 for values."""
        return 1 if self.labels is None else self.labels.shape[1]

    @property
    def how(self) -> Reading:
        """How the numbers are read."""
        return Reading(self.kind, self.shift, self.outputs)

    def sums(self, fixed: Array) -> tuple[Array, Array]:
        """The float sums (nodes, targets + weight, or classes) and the counts of nodes with these sums."""
        low, mask = fixed[:, -1], (1 << self.shift) - 1
        if self.kind == LABELS:
            counts = (fixed >> self.shift).sum(axis=1) // self.outputs
            return (fixed & mask) * self.inverse, counts
        if self.kind == UNIT:
            spare = 64 - self.shift
            target = (low << spare) >> spare
            counts = (low - target) >> self.shift
            return np.column_stack([target * self.inverse[..., 0], counts]), counts
        return np.column_stack([fixed[:, :-1], low & mask]) * self.inverse, low >> self.shift


def count_shift(n: int) -> int:
    """The bit above which n rows can be counted."""
    return 62 - int(n).bit_length()


def value_layout(fixed: Array, kind: int, shift: int, inverse: Array) -> Channels:
    """Channels of values with these numbers."""
    return Channels(fixed=fixed, labels=None, n_channels=fixed.shape[1], kind=kind, shift=shift,
                    inverse=inverse)  # fmt: skip
