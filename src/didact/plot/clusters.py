"""Pictures of clusterings: a criterion over the number of clusters, and rows in a plane, coloured by cluster."""

from typing import TYPE_CHECKING, Any

import numpy as np

from didact.plot.canvas import BLUE, QUIET, blank, label
from didact.plot.tree import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def choice(counts: Any, values: Any, name: str, best: int, errors: Any = None) -> "Figure":
    """A criterion over the numbers of clusters, with its standard errors if it has any, and the choice.

    >>> figure = choice([1, 2, 3], [9.0, 2.0, 1.5], "sum of squares", best=2)
    """
    figure, axes = blank(6.0, 3.6)
    axes.axvline(best, color=QUIET, linewidth=1.0, linestyle="--", label=f"{best} clusters")
    axes.errorbar(np.asarray(counts), np.asarray(values), yerr=errors, color=BLUE, marker="o", markersize=4, capsize=3)
    axes.locator_params(axis="x", integer=True)
    axes.legend(frameon=False)
    label(axes, "number of clusters", name)
    return figure


def plane(points: Any, labels: Any, shares: Any = None) -> "Figure":
    """Points (n, 2), coloured by cluster; the shares of the variance stand at the axes.

    >>> figure = plane([[0.0, 0.0], [1.0, 0.0], [5.0, 1.0]], [0, 0, 1])
    """
    points, labels = np.asarray(points), np.asarray(labels)
    figure, axes = blank(6.0, 4.6)
    for k, name in enumerate(np.unique(labels)):
        own = points[labels == name]
        text = f"cluster {name} ({len(own)})" if len(np.unique(labels)) <= 12 else None
        axes.scatter(own[:, 0], own[:, 1], s=14, color=COLOURS[k % len(COLOURS)], alpha=0.75, linewidths=0, label=text)
    if len(np.unique(labels)) <= 12:
        axes.legend(frameon=False, fontsize=8)
    texts = ["", ""] if shares is None else [f" ({share:.0%} of the variance)" for share in shares]
    label(axes, f"first principal component{texts[0]}", f"second{texts[1]}")
    return figure
