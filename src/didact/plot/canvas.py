"""Blank figures in the house style, and figures as bytes."""

import base64
import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from didact.core.errors import need
from didact.core.validation.entrance import entrance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, GRID = "#1d2733", "#6b7785", "#e4e8ed"
BLUE, ORANGE, GREY = "#2b6cb0", "#d9772b", "#a9b4c0"
_STYLE: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "svg.hashsalt": "didact",
}


def blank(width: float, height: float, grid: str = "both") -> tuple["Figure", "Axes"]:
    """A figure with one empty pair of axes, without the global state of pyplot."""
    matplotlib = need("matplotlib", "study")
    figure_class = need("matplotlib.figure", "study").Figure
    with matplotlib.rc_context(_STYLE):
        figure = figure_class(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)
    axes.tick_params(length=0)
    return figure, axes


def current(width: float, height: float) -> "Axes":
    """The current axes of pyplot, cleared; in a figure of this size, if there is none."""
    pyplot = need("matplotlib.pyplot", "study")
    if not pyplot.get_fignums():
        pyplot.figure(figsize=(width, height), layout="constrained")
    axes = pyplot.gca()
    axes.clear()
    return axes


def label(axes: "Axes", x: str = "", y: str = "") -> None:
    """Name the axes, in plain text: a dollar sign in a column's name is not mathematics."""
    axes.set_xlabel(x, parse_math=False)
    axes.set_ylabel(y, parse_math=False)


def ticks(axes: "Axes", side: str, places: Sequence[float], texts: Sequence[str], **style: Any) -> None:
    """Plain-text tick labels, shortened where they are long."""
    axis = axes.xaxis if side == "x" else axes.yaxis
    axis.set_ticks(list(places), [shorten(text) for text in texts], parse_math=False, **style)


def class_ticks(axes: "Axes", names: Sequence[str]) -> None:
    """Names of classes under columns: on several lines where there is room, slanted where there is not."""
    places = range(len(names))
    if len(names) <= 6:
        texts = [textwrap.fill(shorten(name, 44), 12) for name in names]
        axes.xaxis.set_ticks(list(places), texts, parse_math=False, fontsize=9)
    else:
        slanted = max(len(name) for name in names) > 3
        texts = [shorten(name, 20) for name in names]
        style: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
        axes.xaxis.set_ticks(list(places), texts, parse_math=False, **style)


def shorten(text: str, most: int = 38) -> str:
    """A text of at most so many characters, cut in the middle, where names differ least."""
    if len(text) <= most:
        return text
    tail = most // 2 - 1
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


@entrance()
def svg(figure: "Figure") -> bytes:
    """The figure as SVG, without a date in it.

    >>> from matplotlib.figure import Figure
    >>> svg(Figure())[:5]
    b'<?xml'
    """
    return _saved(figure, "svg", metadata={"Date": None})


@entrance()
def png(figure: "Figure") -> bytes:
    """The figure as PNG at twice the usual resolution.

    >>> from matplotlib.figure import Figure
    >>> png(Figure())[1:4]
    b'PNG'
    """
    return _saved(figure, "png", dpi=200, metadata={"Software": None})


@entrance()
def data_uri(figure: "Figure") -> str:
    """The figure as an address that an img element can show without any file.

    >>> from matplotlib.figure import Figure
    >>> data_uri(Figure())[:18]
    'data:image/svg+xml'
    """
    return "data:image/svg+xml;base64," + base64.b64encode(svg(figure)).decode()


def _saved(figure: "Figure", kind: str, **options: Any) -> bytes:
    matplotlib = need("matplotlib", "study")
    buffer = io.BytesIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(buffer, format=kind, transparent=False, **options)
    return buffer.getvalue()
