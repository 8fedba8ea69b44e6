r"""The criterion of gradient boosting: the decrease of the loss's second-order model by a node's Newton step.

With G and H the sums of gradients and curvatures, a node that adds v to the predictions changes the loss by
:math:`Gv + \tfrac12(H+\lambda)v^2`, least at :math:`v = -G/(H+\lambda)`. The score is twice that decrease,
:math:`G^2/(H+\lambda)`.

Friedman (2001), Greedy function approximation, doi:10.1214/aos/1013203451; Chen, Guestrin (2016), XGBoost,
doi:10.1145/2939672.2939785.
"""

from typing import NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.parts.noun import Noun

SMALLEST_SUM = 1e-300


class Gradient(Noun, NamedTuple("Gradient", [("l2", float)])):
    """Second-order decrease of a loss with an L2 penalty on the step, from the sums (G, H)."""

    __slots__ = ()

    def score1(self, sums: Array, start: int, n: int) -> float:
        """G²/(H + λ)."""
        H = sums[start + 1] + self.l2
        return sums[start] * sums[start] / H if H > SMALLEST_SUM else 0.0

    def score2(self, s: float, w: float) -> float:
        """G²/(H + λ) of two numbers."""
        return s * s / (w + self.l2) if w + self.l2 > SMALLEST_SUM else 0.0

    def value1(self, sums: Array, start: int, n: int) -> float:
        """−G/(H + λ)."""
        H = sums[start + 1] + self.l2
        return -sums[start] / H if H > SMALLEST_SUM else 0.0

    def score_at1(self, sums: Array, start: int, n: int, value: float) -> float:
        """−2Gv − (H + λ)v²."""
        return -2.0 * sums[start] * value - (sums[start + 1] + self.l2) * value * value

    def values(self, sums: Array) -> Array:
        """−G/(H + λ) of nodes with these sums, (nodes, 1, 1)."""
        H = sums[:, 1] + self.l2
        return np.divide(-sums[:, 0], H, out=np.zeros(len(sums)), where=H > SMALLEST_SUM)[:, None, None]

    def impurities(self, sums: Array) -> Array:
        """−score/H: the impurity per unit of weight, up to a constant."""
        H = sums[:, 1] + self.l2
        score = np.divide(sums[:, 0] ** 2, H, out=np.zeros(len(sums)), where=H > SMALLEST_SUM)
        return -np.divide(score, sums[:, 1], out=np.zeros(len(sums)), where=sums[:, 1] > SMALLEST_SUM)
