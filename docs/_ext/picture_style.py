"""The look of the gallery's pictures."""

from typing import Any

STYLE = {
    "figure.dpi": 100,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#a9b4c0",
    "axes.titlesize": 11,
    "xtick.color": "#6b7785",
    "ytick.color": "#6b7785",
    "xtick.labelcolor": "#1d2733",
    "ytick.labelcolor": "#1d2733",
}


def use(conf: dict[str, Any], script: Any) -> None:
    """Set the style before an example runs."""
    import matplotlib

    matplotlib.rcParams.update(STYLE)
