"""Pictures of predictions on rows that the model has not seen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from didact.core.validation.entrance import entrance
from didact.plot.canvas import BLUE, GREY, INK, QUIET, blank, class_ticks, label, ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_POINTS = 2000


@entrance()
def predicted_actual(actual: np.ndarray, predicted: np.ndarray, name: str) -> "Figure":
    """Each row as a point; on the line, prediction and truth are equal. At most 2,000 evenly spaced rows are drawn.

    >>> import numpy as np
    >>> from didact.plot import predicted_actual
    >>> figure = predicted_actual(np.arange(5.0), np.arange(5.0), "price")
    """
    shown = np.unique(np.linspace(0, len(actual) - 1, min(len(actual), _MOST_POINTS)).astype(int))
    figure, axes = blank(5.2, 4.6)
    low = min(actual.min(), predicted.min())
    high = max(actual.max(), predicted.max())
    axes.plot([low, high], [low, high], color=GREY, linewidth=1.2)
    axes.scatter(predicted[shown], actual[shown], s=18, color=BLUE, alpha=0.55, linewidths=0)
    label(axes, f"predicted {name}", f"actual {name}")
    return figure


@entrance()
def roc(false_positive: np.ndarray, true_positive: np.ndarray, area: float, positive: str) -> "Figure":
    """The receiver operating characteristic: right alarms against false alarms, for every threshold.

    >>> import numpy as np
    >>> from didact.plot import roc
    >>> figure = roc(np.array([0, 0, 1]), np.array([0, 1, 1]), 1.0, "yes")
    """
    figure, axes = blank(4.6, 4.3)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1.2, linestyle="--")
    axes.step(false_positive, true_positive, where="post", color=BLUE, linewidth=2)
    axes.fill_between(false_positive, true_positive, step="post", color=BLUE, alpha=0.1)
    axes.text(0.97, 0.06, f"area {area:.3f}", ha="right", color=INK, fontsize=11)
    axes.text(0.62, 0.57, "guessing", color=QUIET, fontsize=9)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    label(axes, "share of the others wrongly found", f"share of “{positive}” found")
    return figure


@entrance()
def confusion(counts: np.ndarray, names: Sequence[str]) -> "Figure":
    """The confusion matrix: actual classes down, predicted classes across; shades are shares of a row.

    >>> import numpy as np
    >>> from didact.plot import confusion
    >>> figure = confusion(np.array([[5, 1], [0, 4]]), ["no", "yes"])
    """
    many = len(names)
    figure, axes = blank(
        2.4 + 1.1 * min(many, 4) + 0.45 * max(many - 4, 0), 1.6 + 0.75 * min(many, 4) + 0.4 * max(many - 4, 0), grid=""
    )
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(share, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
    if many <= 15:
        for (row, column), count in np.ndenumerate(counts):
            colour = "white" if share[row, column] > 0.6 else INK
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=colour)
    class_ticks(axes, names)
    ticks(axes, "y", range(many), names)
    axes.spines[:].set_visible(False)
    label(axes, "predicted", "actual")
    return figure
