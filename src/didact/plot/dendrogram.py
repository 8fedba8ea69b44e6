"""A picture of a tree of clusters: every merge a bracket at its height, clusters below the cut in colours."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.plot.canvas import GREY, QUIET, blank, label, ticks
from didact.plot.tree import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMES = 80  # leaves whose names can be read


def dendrogram(
    linkage: Any, n_clusters: int = 1, names: Sequence[Any] | None = None, leaves: int = 40, ax: Any = None,
    clusters: Any = None,
) -> "Figure":  # fmt: skip
    """The last merges of a linkage matrix, as many as leave so many leaves; a leaf of several rows says how many.

    Colours go by the numbers of the `clusters` of the leaves, or from left to right.

    >>> import numpy as np
    >>> figure = dendrogram(np.array([[0, 1, 1.0, 2], [2, 3, 4.0, 3]]), n_clusters=2)
    """
    Z = np.asarray(linkage, np.float64)
    n = len(Z) + 1
    shown = _shown(Z, n, max(min(leaves, n), 2))
    across, order = _places(Z, n, shown)
    if ax is None:
        figure, ax = blank(max(5.0, min(1.5 + 0.2 * len(order), 14.0)), 4.0, grid="y")
    else:
        figure = ax.figure
    colours = _colours(Z, n, n_clusters, order, clusters)
    for i in shown:
        a, b = int(Z[i, 0]), int(Z[i, 1])
        low = [Z[c - n, 2] if c in across and c - n in shown else 0.0 for c in (a, b)]
        line = [across[a], across[a], across[b], across[b]], [low[0], Z[i, 2], Z[i, 2], low[1]]
        ax.plot(*line, color=colours.get(n + i, GREY), linewidth=1.3, solid_joinstyle="miter")
    if 1 < n_clusters <= n:
        high = 0.5 * (Z[n - n_clusters, 2] + (Z[n - n_clusters - 1, 2] if n_clusters < n else 0.0))
        ax.axhline(high, color=QUIET, linewidth=0.9, linestyle="--")
    ax.set(xlim=(-0.7, len(order) - 0.3), ylim=(0.0, 1.04 * max(Z[:, 2].max(), 1e-300)))
    ax.grid(axis="x", visible=False)
    if len(order) <= MOST_NAMES:
        texts = [_text(leaf, Z, n, names) for leaf in order]
        ticks(ax, "x", range(len(order)), texts, rotation=90 if max(map(len, texts)) > 2 else 0, fontsize=8)
    else:
        ax.set_xticks([])
    label(ax, "rows; (m): a cluster of m rows" if len(order) < n else "rows", "distance")
    return figure


def _shown(Z: np.ndarray, n: int, leaves: int) -> list[int]:
    """The merges nearest to the root, as many as leave so many leaves: each time the highest is opened."""
    found: list[int] = []
    open_nodes = {2 * n - 2: float(Z[-1, 2])}
    while open_nodes and len(found) < leaves - 1:
        node = max(open_nodes, key=lambda c: (open_nodes[c], c))
        del open_nodes[node]
        found.append(node - n)
        open_nodes |= {int(c): Z[int(c) - n, 2] for c in Z[node - n, :2] if c >= n}
    return found


def _places(Z: np.ndarray, n: int, shown: list[int]) -> tuple[dict[int, float], list[int]]:
    """Leaves side by side, every merge midway over its two clusters; and the leaves in their order."""
    inner, waiting = set(shown), [2 * n - 2]
    order: list[int] = []
    visited: list[int] = []
    while waiting:
        node = waiting.pop()
        if node - n in inner:
            visited.append(node)
            waiting += [int(Z[node - n, 1]), int(Z[node - n, 0])]
        else:
            order.append(node)
    across = {leaf: float(place) for place, leaf in enumerate(order)}
    for node in reversed(visited):
        across[node] = 0.5 * (across[int(Z[node - n, 0])] + across[int(Z[node - n, 1])])
    return across, order


def _colours(Z: np.ndarray, n: int, count: int, order: list[int], clusters: Any) -> dict[int, str]:
    """A colour for every merge below the cut."""
    head: dict[int, int] = {2 * n - 2: 2 * n - 2} if count == 1 else {}  # of each cluster the one right below the cut
    for i in range(n - 2, -1, -1):
        for c in (int(Z[i, 0]), int(Z[i, 1])):
            if n + i in head or c < 2 * n - count:
                head[c] = head.get(n + i, c)
    number = {top: k for k, top in enumerate(dict.fromkeys(head[leaf] for leaf in order if leaf in head))}
    if clusters is not None:
        number |= {top: int(clusters[leaf]) for leaf, top in head.items() if leaf < n}
    return {c: COLOURS[number[top] % len(COLOURS)] for c, top in head.items() if top in number}


def _text(leaf: int, Z: np.ndarray, n: int, names: Sequence[Any] | None) -> str:
    if leaf >= n:
        return f"({Z[leaf - n, 3]:.0f})"
    return str(leaf if names is None else names[leaf])
