"""A picture of a regularisation path: coefficients against the penalty."""

from typing import Any

import numpy as np


def plot_path(alphas: Any, coefs: Any, names: Any = None, ax: Any = None) -> Any:
    """Lines of the coefficients (p, m) against falling penalties (m,); the first features to enter are named."""
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(7, 4.2), layout="constrained")[1] if ax is None else ax
    entered = coefs != 0
    first = np.where(entered.any(axis=1), entered.argmax(axis=1), len(alphas))
    order = [j for j in np.argsort(first, kind="stable") if first[j] < len(alphas)]
    for rank, j in enumerate(order):
        label = str(names[j]) if names is not None else f"x{j}"
        ax.plot(alphas, coefs[j], lw=1.6 if rank < 8 else 0.7, color=f"C{rank}" if rank < 8 else "0.75",
                label=label if rank < 8 else None, zorder=2 if rank < 8 else 1)  # fmt: skip
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.axhline(0, color="0.4", lw=0.8)
    ax.set_xlabel("penalty α (weaker to the right)")
    ax.set_ylabel("coefficient")
    if order:
        ax.legend(title="first to enter", fontsize=8, title_fontsize=8, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
