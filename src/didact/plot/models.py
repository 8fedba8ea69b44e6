"""Pictures of models: scores of several as dots, effects as bars or, for several classes, as a heat map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.core.validation.entrance import entrance
from didact.plot.canvas import BLUE, GREY, INK, ORANGE, QUIET, blank, class_ticks, label, ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@entrance()
def dots(names: Sequence[str], scores: Sequence[Sequence[float]], best: str, measure: str) -> "Figure":
    """One row per model: a small dot for each fold and a bar at their mean; the best one in colour.

    >>> from didact.plot import dots
    >>> figure = dots(["dummy", "ridge"], [[2.0, 2.1], [1.0, 1.2]], "ridge", "error (smaller is better)")
    """
    figure, axes = blank(6.4, 1.0 + 0.42 * len(names), grid="x")
    for place, (name, folds) in enumerate(zip(names, scores, strict=True)):
        colour = BLUE if name == best else GREY
        axes.scatter(folds, np.full(len(folds), place), s=26, color=colour, alpha=0.55, linewidths=0)
        axes.plot([np.mean(folds)] * 2, [place - 0.28, place + 0.28], color=colour, linewidth=3)
    ticks(axes, "y", range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    label(axes, measure)
    return figure


@entrance()
def bars(names: Sequence[str], values: Sequence[float], unit: str, spread: Sequence[float] | None = None) -> "Figure":
    """Signed effects as bars, in the order given: blue pushes up, orange pushes down; a thin line shows their spread.

    >>> from didact.plot import bars
    >>> figure = bars(["age", "size"], [1.5, -0.5], "effect on the price")
    """
    figure, axes = blank(6.8, 0.9 + 0.3 * len(names), grid="x")
    places = np.arange(len(names))
    axes.barh(places, values, color=[BLUE if value >= 0 else ORANGE for value in values], height=0.66)
    if spread is not None:
        axes.errorbar(values, places, xerr=spread, fmt="none", ecolor=INK, elinewidth=1)
    axes.axvline(0, color=QUIET, linewidth=1)
    ticks(axes, "y", places.tolist(), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    label(axes, unit)
    return figure


@entrance()
def heat(rows: Sequence[str], columns: Sequence[str], values: np.ndarray, unit: str) -> "Figure":
    """Signed effects, one row per feature and one column per class: blue pushes towards the class, orange away.

    >>> import numpy as np
    >>> from didact.plot import heat
    >>> figure = heat(["age", "size"], ["a", "b"], np.array([[1.0, -1.0], [0.2, -0.2]]), "log-odds")
    """
    colours = _two_sided()
    figure, axes = blank(
        3.4 + 1.1 * min(len(columns), 6) + 0.4 * max(len(columns) - 6, 0), 1.2 + 0.3 * len(rows), grid=""
    )
    most = float(np.abs(values).max()) or 1.0
    image = axes.imshow(values, cmap=colours, vmin=-most, vmax=most, aspect="auto")
    if len(columns) <= 8:
        for (row, column), value in np.ndenumerate(values):
            colour = "white" if abs(value) > 0.65 * most else INK
            axes.text(column, row, f"{value:+.2f}", ha="center", va="center", color=colour, fontsize=8.5)
    class_ticks(axes, columns)
    ticks(axes, "y", range(len(rows)), rows)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    bar.set_label(unit)
    return figure


def _two_sided() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("didact", [ORANGE, "#ffffff", BLUE])
