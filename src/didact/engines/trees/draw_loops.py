"""The tables that growers from codes work on."""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Coded(NamedTuple):
    """Codes column by column, and the thresholds between them; a missing value has the code n_bins[f]."""

    codes: Array  # (p, n) uint8 or uint16
    thresholds: Array  # (p, most bins)
    n_bins: Array
    categorical: Array
    monotone: Array


class Room(NamedTuple):
    """Buffers of one tree."""

    rows: Array  # int32, the node's rows are a range
    spare: Array
    line: Array  # int64, packed codes and rows of a node
    hist: Array  # (bins + 1, channels)
    counts: Array  # (bins + 1,) int64
    order: Array  # features
    bits: Array  # (2, words)
    near: Array  # (2, n): what the node's rows bring, side by side
