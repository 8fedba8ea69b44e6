"""Descent on contours: the paths of optimisers over a function of two variables."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.core.parameters import whole
from didact.core.validation.entrance import entrance
from didact.plot.canvas import BLUE, GREY, INK, ORANGE, blank, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, "#3a8f5c", "#8a4fa3", "#b5485d", "#5f6b78")


@entrance(levels=whole(1), points=whole(2))
def descent(
    fun: Callable[[np.ndarray], float],
    paths: Mapping[str, Any],
    bounds: Any = None,
    names: tuple[str, str] = ("x₁", "x₂"),
    levels: int = 18,
    points: int = 120,
) -> "Figure":
    """Paths over contours of a function of two variables; a ring marks each start, a dot each end.

    Levels lie closer where the function is near its minimum, so that a narrow valley shows. `bounds` is
    ((left, right), (bottom, top)), by default all of the paths with a margin. Cost: points² evaluations.

    >>> import numpy as np
    >>> from didact.plot import descent
    >>> figure = descent(lambda x: x[0] ** 2 + 9 * x[1] ** 2, {"gradient": np.array([[1.0, 1.0], [0.5, -0.1]])})
    """
    tracks = {name: np.asarray(path, np.float64) for name, path in paths.items()}
    (left, right), (bottom, top) = _frame(np.concatenate(list(tracks.values()))) if bounds is None else bounds
    across, up = np.linspace(left, right, points), np.linspace(bottom, top, points)
    with np.errstate(all="ignore"):
        heights = np.array([[float(fun(np.array([a, b]))) for a in across] for b in up])
    figure, axes = blank(6.0, 5.2, grid="")
    axes.contour(across, up, heights, levels=_levels(heights, levels), colors=GREY, linewidths=0.8)
    for (name, path), colour in zip(tracks.items(), COLOURS * (1 + len(tracks) // len(COLOURS)), strict=False):
        axes.plot(path[:, 0], path[:, 1], color=colour, linewidth=1.4, marker=".", markersize=4, label=name)
        axes.plot(*path[0], marker="o", markersize=7, markerfacecolor="white", color=colour)
        axes.plot(*path[-1], marker="o", markersize=7, color=colour)
    if len(tracks) > 1:
        axes.legend(frameon=False, labelcolor=INK)
    axes.set(xlim=(left, right), ylim=(bottom, top))
    label(axes, *names)
    return figure


def _frame(points: np.ndarray) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits that hold all points, with a margin of a sixth of the larger side's width."""
    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0), points.max(axis=0)
    width = high - low
    margin = np.maximum(0.17 * width, 0.08 * (width.max() or 1.0))
    return (low[0] - margin[0], high[0] + margin[0]), (low[1] - margin[1], high[1] + margin[1])


def _levels(heights: np.ndarray, count: int) -> np.ndarray:
    """Heights that crowd near the lowest: evenly spaced in the cube root above it."""
    finite = heights[np.isfinite(heights)]
    low, high = finite.min(), finite.max()
    return np.unique(low + (high - low) * np.linspace(0.0, 1.0, count + 1)[1:] ** 3)
