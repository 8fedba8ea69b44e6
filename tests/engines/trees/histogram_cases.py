"""Trees of the histogram grower from rows in memory: their targets, weights and classes in fixed point."""

import numpy as np

from didact.engines.trees.growers.histogram import Grower
from didact.engines.trees.rows.fixed_point import Channels, count_shift, value_layout
from didact.engines.trees.rows.fixed_point_loops import power_below
from didact.engines.trees.splits.histogram_loops import LABELS, UNIT, VALUES


def grow(codes, bins, channels, criterion, limits, seed=0, *, rows=None, **how):
    """One tree; `how` has monotone, interactions or features, as in `Grower`."""
    return Grower(codes, bins, channels, criterion, limits, **how).grow(channels, seed, rows)


def value_channels(columns):
    """Channels of columns (n, targets + 1) that are summed as they are; the last, at least 0, is the weight."""
    n, width = columns.shape
    shift = count_shift(n)
    rooms = [2.0**60] * (width - 1) + [2.0 ** (shift - 1)]
    scale = np.array([power_below(room, float(np.abs(c).sum())) for room, c in zip(rooms, columns.T, strict=True)])
    fixed = np.rint(columns * scale).astype(np.int64)
    fixed[:, -1] += 1 << shift
    return value_layout(fixed, VALUES, shift, 1.0 / scale)


def unit_channels(target):
    """Channels of one target in which every row has the weight 1: a single word holds both."""
    shift = count_shift(len(target))
    scale = power_below(2.0 ** (shift - 2), float(np.abs(target).sum()))
    fixed = np.rint(target * scale).astype(np.int64) + (1 << shift)
    return value_layout(fixed[:, None], UNIT, shift, np.array([1.0 / scale]))


def label_channels(labels, n_classes, weights=None):
    """Channels of class codes (n,) or, for several outputs of n_classes each, (n, outputs)."""
    labels = np.asarray(labels).reshape(len(labels), -1)
    outputs = labels.shape[1]
    shift = count_shift(len(labels))
    weights = np.ones(len(labels)) if weights is None else weights
    scale = power_below(2.0 ** (shift - 1), float(weights.sum()))
    fixed = np.rint(weights * scale).astype(np.int64) + (1 << shift)
    channels = np.ascontiguousarray(labels + n_classes * np.arange(outputs), np.int32)
    inverse = np.full(outputs * n_classes, 1.0 / scale)
    return Channels(fixed=fixed[:, None], labels=channels, n_channels=outputs * n_classes, kind=LABELS, shift=shift,
                    inverse=inverse)  # fmt: skip
