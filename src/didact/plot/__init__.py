"""Pictures of data and models: each function takes arrays and returns a Matplotlib figure.

Matplotlib loads on the first picture. `svg(figure)` and `png(figure)` turn a figure into bytes, the same every time.
"""

from didact.plot.canvas import data_uri, png, svg
from didact.plot.descent import descent
from didact.plot.models import bars, dots, heat
from didact.plot.predictions import confusion, predicted_actual, roc
from didact.plot.targets import class_shares, histogram

__all__ = [
    "bars",
    "class_shares",
    "confusion",
    "data_uri",
    "descent",
    "dots",
    "heat",
    "histogram",
    "png",
    "predicted_actual",
    "roc",
    "svg",
]
