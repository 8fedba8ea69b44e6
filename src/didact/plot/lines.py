"""A few curves over one axis, with a mark at a chosen place."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.plot.canvas import blank, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def lines(x: Any, curves: Mapping[str, Any], x_name: str, y_name: str, mark: float | None = None) -> "Figure":
    """Curves by name, and a vertical line where a choice was made."""
    figure, axes = blank(6.0, 3.6)
    for name, y in curves.items():
        axes.plot(np.asarray(x), np.asarray(y), marker="o", markersize=4, label=name)
    if mark is not None:
        axes.axvline(mark, color="0.5", linewidth=1.0, linestyle="--")
    axes.legend(frameon=False)
    label(axes, x_name, y_name)
    return figure
