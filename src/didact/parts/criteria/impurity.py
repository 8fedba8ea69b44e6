r"""Split criteria of trees: a score that is additive over children, from sums that are additive over rows.

A node's statistic is a short vector of sums. For labels these are the weights :math:`c_k` of the K classes (one group
after the other if there are several outputs); for numbers they are the weighted sums :math:`s_j` of the targets,
followed by the weight W. A criterion turns them into a *score*, and the gain of a split is
``score(left) + score(right) − score(parent)``. Impurities i follow from :math:`W\,i = B - \mathrm{score}`, where
:math:`B = \sum_r w_r b(y_r)` is the same for all splits of a node:

====================  ==============================  ===============================  ==============
criterion             impurity i                      score                            b(y)
====================  ==============================  ===============================  ==============
Gini                  1 − Σ p_k²                      Σ c_k²/W                         1
Entropy (bits)        −Σ p_k log₂ p_k                 Σ c_k log₂(c_k/W)                0
Misclassification     1 − max p_k                     max c_k                          1
SquaredError          Σ w (y − ȳ)²/W                  s²/W                             y²
Poisson               Σ w y log(y/ȳ)/W                s log(s/W)                       y log y
====================  ==============================  ===============================  ==============

Several outputs are averaged. `AbsoluteError`, Σ w |y − median|/W, is not a function of sums and has a scan of its own.
Breiman, Friedman, Olshen, Stone (1984), Classification and regression trees, doi:10.1201/9781315139470.
"""

import math

import numpy as np
from scipy.special import xlogy

from didact.core.errors import InputError
from didact.core.typing import Array
from didact.parts.criteria.base import Criterion, OfLabels, OfNumbers, Outputs, fractions
from didact.parts.statistics.weighted_quantile import weighted_quantile


class Gini(OfLabels, Outputs):
    """The probability that two draws from the node differ in class: 1 − Σ p_k²."""

    __slots__ = ()
    code = 0

    def score1(self, sums: Array, start: int, n: int) -> float:
        """Σ c_k²/W."""
        total, squares = 0.0, 0.0
        for k in range(start, start + n):
            total += sums[k]
            squares += sums[k] * sums[k]
        return squares / total if total > 0.0 else 0.0  # every output has the weight W: one division gives the mean

    def score_at1(self, sums: Array, start: int, n: int, value: float) -> float:
        """2 Σ c_k v_k − W Σ v_k² for two classes with v_1 = value."""
        c0, c1 = sums[start], sums[start + 1]
        other = 1.0 - value
        return 2.0 * (c0 * other + c1 * value) - (c0 + c1) * (other * other + value * value)

    def score2(self, s: float, w: float) -> float:
        """(c_0² + c_1²)/W."""
        return (s * s + (w - s) * (w - s)) / w if w > 0.0 else 0.0

    def base2(self, s: float, w: float) -> float:
        """The weight."""
        return w

    def _impurity(self, y: Array, w: Array) -> float:
        return float(1.0 - np.sum(fractions(y, w) ** 2))


class Entropy(OfLabels, Outputs):
    """The information in the class, in bits: −Σ p_k log₂ p_k."""

    __slots__ = ()
    code = 1

    def score1(self, sums: Array, start: int, n: int) -> float:
        """Σ c_k log₂ c_k − W log₂ W."""
        total, found = 0.0, 0.0
        for k in range(start, start + n):
            if sums[k] > 0.0:
                total += sums[k]
                found += sums[k] * math.log2(sums[k])
        if total <= 0.0:
            return 0.0
        return (found - total * math.log2(total / self.outputs)) / self.outputs

    def score_at1(self, sums: Array, start: int, n: int, value: float) -> float:
        """Σ c_k log₂ v_k."""
        found = 0.0
        for k in range(2):
            share = value if k == 1 else 1.0 - value
            if sums[start + k] > 0.0:
                found += sums[start + k] * math.log2(share) if share > 0.0 else -math.inf
        return found

    def score2(self, s: float, w: float) -> float:
        """c_0 log₂ c_0 + c_1 log₂ c_1 − W log₂ W."""
        found = s * math.log2(s / w) if s > 0.0 and w > 0.0 else 0.0
        rest = w - s
        return found + rest * math.log2(rest / w) if rest > 0.0 and w > 0.0 else found

    def base2(self, s: float, w: float) -> float:
        """0."""
        return 0.0

    def _impurity(self, y: Array, w: Array) -> float:
        p = fractions(y, w)
        return float(-np.sum(p[p > 0] * np.log2(p[p > 0])))


class Misclassification(OfLabels, Outputs):
    """The error rate of predicting the most frequent class: 1 − max p_k."""

    __slots__ = ()
    code = 2

    def score1(self, sums: Array, start: int, n: int) -> float:
        """max c_k, averaged over the outputs."""
        found, each = 0.0, n // self.outputs
        for o in range(self.outputs):
            best = 0.0
            for k in range(start + o * each, start + (o + 1) * each):
                best = max(best, sums[k])
            found += best
        return found / self.outputs

    def score_at1(self, sums: Array, start: int, n: int, value: float) -> float:
        """The weight of the class that the share `value` of the second class predicts."""
        return sums[start + 1] if value > 0.5 else sums[start]

    def score2(self, s: float, w: float) -> float:
        """max(c_0, c_1)."""
        return max(s, w - s)

    def base2(self, s: float, w: float) -> float:
        """The weight."""
        return w

    def _impurity(self, y: Array, w: Array) -> float:
        return float(1.0 - fractions(y, w).max())


class SquaredError(OfNumbers, Outputs):
    """The weighted variance around the mean."""

    __slots__ = ()
    code = 3
    centred = True

    def score1(self, sums: Array, start: int, n: int) -> float:
        """Σ_j s_j²/W, averaged over the outputs."""
        w, squares = sums[start + n], 0.0
        for k in range(start, start + n):
            squares += sums[k] * sums[k]
        return squares / (w * self.outputs) if w > 0.0 else 0.0

    def score_at1(self, sums: Array, start: int, n: int, value: float) -> float:
        """2 s v − W v²."""
        return 2.0 * sums[start] * value - sums[start + n] * value * value

    def score2(self, s: float, w: float) -> float:
        """s²/W."""
        return s * s / w if w > 0.0 else 0.0

    def base2(self, s: float, w: float) -> float:
        """w y²."""
        return s * s / w if w > 0.0 else 0.0

    def bases(self, y: Array) -> Array:
        """y²."""
        return y * y

    def _impurity(self, y: Array, w: Array) -> float:
        return float(w @ (y - w @ y / w.sum()) ** 2 / w.sum())


class PoissonDeviance(OfNumbers, Outputs):
    """Half the mean Poisson deviance around the mean, for counts and rates y ≥ 0 with a positive mean in every node."""

    __slots__ = ()
    code = 4
    positive = True

    def score1(self, sums: Array, start: int, n: int) -> float:
        """Σ_j s_j log(s_j/W), averaged over the outputs; −∞ where a mean is 0."""
        w, found = sums[start + n], 0.0
        for k in range(start, start + n):
            if sums[k] <= 0.0 or w <= 0.0:
                return -math.inf
            found += sums[k] * math.log(sums[k] / w)
        return found / self.outputs

    def score_at1(self, sums: Array, start: int, n: int, value: float) -> float:
        """s log v − W v + s."""
        s = sums[start]
        return s * math.log(value) - sums[start + n] * value + s if value > 0.0 else -math.inf

    def score2(self, s: float, w: float) -> float:
        """s·log(s/W)."""
        return s * math.log(s / w) if s > 0.0 and w > 0.0 else -math.inf

    def base2(self, s: float, w: float) -> float:
        """w y log y."""
        return s * math.log(s / w) if s > 0.0 and w > 0.0 else 0.0

    def bases(self, y: Array) -> Array:
        """y log y."""
        return np.asarray(xlogy(y, y))

    def refuse(self, negative: bool, totals: Array) -> None:
        """Refuse negative targets and means of 0, which have no logarithm."""
        if negative or (totals <= 0).any():
            why = (
                "Some value(s) of y are negative which is not allowed"
                if negative
                else ("Sum of y is not positive which is necessary, for each of its columns,")
            )
            raise InputError(f"{why} for Poisson regression: criterion='poisson' needs y ≥ 0 with a positive mean.")

    def _impurity(self, y: Array, w: Array) -> float:
        mean, seen = w @ y / w.sum(), (y > 0) & (w > 0)
        return float(np.sum(w[seen] * y[seen] * np.log(y[seen] / mean)) / w.sum())


class AbsoluteError(OfNumbers, Outputs):
    """The mean absolute deviation from the median; not a function of sums, so `score1` and `score2` do not exist."""

    __slots__ = ()
    additive = False

    def _impurity(self, y: Array, w: Array) -> float:
        return float(w @ np.abs(y - weighted_quantile(y, w, 0.5)) / w.sum())


CLASSIFICATION: dict[str, type[Criterion]] = {
    "gini": Gini,
    "entropy": Entropy,
    "log_loss": Entropy,
    "misclassification": Misclassification,
}
REGRESSION: dict[str, type[Criterion]] = {
    "squared_error": SquaredError,
    "friedman_mse": SquaredError,
    "absolute_error": AbsoluteError,
    "poisson": PoissonDeviance,
}
