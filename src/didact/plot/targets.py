"""Pictures of a target: a histogram of numbers, bars of classes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from didact.core.validation.entrance import entrance
from didact.plot.canvas import BLUE, QUIET, blank, label, ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@entrance()
def histogram(values: np.ndarray, name: str) -> "Figure":
    """How often each range of a number occurs, with the mean marked.

    >>> import numpy as np
    >>> from didact.plot import histogram
    >>> figure = histogram(np.arange(10.0), "age")
    """
    figure, axes = blank(6.4, 3.2, grid="y")
    whole = bool(np.all(values == np.round(values)))
    edges = np.histogram_bin_edges(values, bins=min(40, 5 + len(values) // 10))
    if whole and np.ptp(values) < 40:
        edges = np.arange(values.min() - 0.5, values.max() + 1.5)
    axes.hist(values, bins=edges.tolist(), color=BLUE, edgecolor="white", linewidth=0.6)
    mean = float(np.mean(values))
    axes.axvline(mean, color=QUIET, linewidth=1, linestyle="--")
    axes.text(
        mean,
        1.0,
        f" mean {mean:,.0f}" if abs(mean) >= 1000 else f" mean {mean:.3g}",
        transform=axes.get_xaxis_transform(),
        va="top",
        color=QUIET,
        fontsize=9,
    )
    axes.margins(y=0.12)
    label(axes, name, "rows")
    return figure


@entrance()
def class_shares(names: Sequence[str], counts: Sequence[int]) -> "Figure":
    """How many rows each class has.

    >>> from didact.plot import class_shares
    >>> figure = class_shares(["no", "yes"], [70, 30])
    """
    figure, axes = blank(6.4, 0.9 + 0.34 * len(names), grid="x")
    axes.barh(range(len(names)), counts, color=BLUE, height=0.66)
    for place, count in enumerate(counts):
        axes.text(
            count, place, f"  {count:,} ({100 * count / sum(counts):.0f} %)", va="center", color=QUIET, fontsize=9
        )
    ticks(axes, "y", range(len(names)), names)
    axes.invert_yaxis()
    axes.margins(x=0.18)
    label(axes, "rows")
    return figure
