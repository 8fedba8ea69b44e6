"""A picture of a tree: a box for each node, coloured by class or by value, and the condition on every branch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from didact.plot.canvas import BLUE, GREY, INK, ORANGE, QUIET, current, shorten

if TYPE_CHECKING:
    from matplotlib.text import Text

COLOURS = (BLUE, ORANGE, "#3a8f5c", "#8a4fa3", "#b5485d", "#b59a1f", "#3a9aa5", "#5f6b78")
WIDTH, HEIGHT, BAR = 0.93, 0.5, 0.09  # of a box; its neighbours stand 1 apart, its children 1.3 below
TALL, ACROSS, DOWN = 8.5, 1.2, 0.8  # points of letters that find room, and the inches from box to box that they need


class Box(NamedTuple):
    """A node of a picture.

    `title` is the question at the node, or the answer at a leaf; `note` stands below it. `shares` are the fractions of
    the classes, or None; then `level`, from 0 to 1, gives the shade. `labels` name the branches to the `children`.
    """

    title: str
    note: str
    shares: Sequence[float] | None
    level: float
    children: Sequence[int]
    labels: Sequence[str]


def tree(boxes: Sequence[Box], class_names: Sequence[str] = (), ax: Any = None, fontsize: float | None = None,
         filled: bool = True, rounded: bool = True) -> "list[Text]":  # fmt: skip
    """The tree of boxes, root on top; node 0 is the root. Its texts, on the current axes of pyplot if none are given.

    >>> from didact.plot.tree import Box, tree
    >>> leaves = [Box("yes", "3 of 3", (0.0, 1.0), 0, (), ()), Box("no", "2 of 2", (1.0, 0.0), 0, (), ())]
    >>> texts = tree([Box("age", "5", (0.4, 0.6), 0, (1, 2), ("≤ 30", "> 30")), *leaves], ["no", "yes"])
    >>> [text.get_text() for text in texts[:3]]
    ['≤ 30', '> 30', 'age']
    """
    across, down = _places(boxes)
    if ax is None:
        ax = current(max(4.0, 1.3 + 1.42 * (across.max() + 1)), max(1.6, 0.6 + 1.25 * (down.max() + 1)))
    ax.set_axis_off()
    ax.set(xlim=(-0.62, across.max() + 0.62), ylim=(down.max() * 1.3 + 0.45, -0.45))
    fontsize = fontsize or _height_of_letters(ax)
    for i, box in enumerate(boxes):
        for child, text in zip(box.children, box.labels, strict=True):
            _branch(ax, (across[i], down[i]), (across[child], down[child]), text, fontsize)
    for i, box in enumerate(boxes):
        _draw(ax, box, across[i], down[i], fontsize, filled, rounded)
    if class_names:
        _legend(ax, class_names, fontsize)
    return list(ax.texts)


def _height_of_letters(ax: Any) -> float:
    """Points that fit into the boxes of these axes."""
    inches = np.array(ax.get_window_extent().size) / ax.figure.dpi
    apart = inches / np.abs([np.diff(ax.get_xlim())[0], np.diff(ax.get_ylim())[0] / 1.3])
    return max(1.0, TALL * min(1.0, *(apart / (ACROSS, DOWN))))


def _places(boxes: Sequence[Box]) -> tuple[np.ndarray, np.ndarray]:
    """Leaves side by side, every other node midway over its children; and the depths."""
    across, down, column = np.zeros(len(boxes)), np.zeros(len(boxes), int), 0
    order, waiting = [], [0]
    while waiting:
        i = waiting.pop()
        order.append(i)
        down[list(boxes[i].children)] = down[i] + 1
        waiting += reversed(boxes[i].children)
        if not boxes[i].children:
            across[i] = column
            column += 1
    for i in reversed(order):
        if boxes[i].children:
            across[i] = np.mean(across[[boxes[i].children[0], boxes[i].children[-1]]])
    return across, down


def _branch(ax: Any, start: Any, end: Any, text: str, fontsize: float) -> None:
    (x0, y0), (x1, y1) = (start[0], 1.3 * start[1] + HEIGHT / 2), (end[0], 1.3 * end[1] - HEIGHT / 2)
    ax.plot([x0, x1], [y0, y1], color=GREY, linewidth=1.1, zorder=1)
    ax.text(
        x0 + 0.66 * (x1 - x0), y0 + 0.66 * (y1 - y0), shorten(text, 22), ha="center", va="center", color=INK,
        fontsize=fontsize - 0.5, zorder=2, parse_math=False,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.2},
    )  # fmt: skip


def _draw(ax: Any, box: Box, x: float, depth: int, fontsize: float, filled: bool, rounded: bool) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    y, leaf = 1.3 * depth, not box.children
    shade = _shade(box) if filled and leaf else "white"
    corners = "round,pad=0,rounding_size=0.06" if rounded else "square,pad=0"
    ax.add_patch(
        FancyBboxPatch(
            (x - WIDTH / 2, y - HEIGHT / 2), WIDTH, HEIGHT, boxstyle=corners, facecolor=shade,
            edgecolor=GREY, linewidth=0.9, zorder=3,
        )
    )  # fmt: skip
    if box.shares is not None and filled:
        left, total = x - 0.45 * WIDTH, max(sum(box.shares), 1e-12)
        for k, share in enumerate(box.shares):
            width = 0.9 * WIDTH * share / total
            ax.add_patch(
                Rectangle((left, y + HEIGHT / 2 - BAR - 0.04), width, BAR, facecolor=_colour(k), linewidth=0, zorder=4)
            )
            left += width
    lift = 0.03 if box.shares is not None and filled else -0.02
    style = {"ha": "center", "va": "center", "zorder": 5, "parse_math": False}
    title, note = shorten(box.title, 26), shorten(box.note, 36)  # what is longer than the box is wide gets smaller
    ax.text(x, y - 0.11 - lift, title, color=INK, fontsize=fontsize * min(1.0, 20 / max(len(title), 1)),
            fontweight="bold" if leaf else "normal", **style)  # fmt: skip
    ax.text(x, y + 0.07 - lift, note, color=QUIET if not leaf else INK,
            fontsize=(fontsize - 1) * min(1.0, 28 / max(len(note), 1)), **style)  # fmt: skip


def _colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def _shade(box: Box) -> Any:
    """The colour of the answer, paler the less sure it is or the smaller its value."""
    from matplotlib.colors import to_rgb

    if box.shares is None:
        base, strength = np.array(to_rgb(BLUE)), 0.06 + 0.5 * box.level
    else:
        best, K = int(np.argmax(box.shares)), len(box.shares)
        sure = box.shares[best] / max(sum(box.shares), 1e-12)
        base, strength = np.array(to_rgb(_colour(best))), 0.06 + 0.34 * max(0.0, (K * sure - 1) / max(K - 1, 1))
    return tuple(1 - strength * (1 - base))


def _legend(ax: Any, class_names: Sequence[str], fontsize: float) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=_colour(k), label=shorten(str(name), 24)) for k, name in enumerate(class_names)]
    legend = ax.legend(handles=handles, frameon=False, fontsize=fontsize, loc="upper right", handlelength=1.0)
    for text in legend.get_texts():
        text.set_parse_math(False)
