"""Losses as boosting uses them: where predictions start, gradients on blocks of rows, and leaves that are quantiles.

A loss is a noun of `didact.parts` or any object with `grad_hess(y, z)` on arrays (and `value(y, z)`, to report it).
The curvature of a loss with kinks, and of Huber's, is replaced by 1, an upper bound that keeps every step a descent;
leaves of the absolute and the quantile loss are renewed: they become the quantile of their rows' residuals.
"""

from typing import Any

import numpy as np

from didact.core.threads import parallel_map
from didact.engines.trees.boost_loops import logistic_gradients, softmax_gradients, squared_gradients
from didact.parts.losses import (
    Absolute,
    Exponential,
    Gamma,
    HalfSquared,
    Huber,
    Logistic,
    Poisson,
    Softmax,
    Tweedie,
)

Array = np.ndarray[Any, Any]

PIECE = 32_768  # rows of one task
LOOPS = {HalfSquared: squared_gradients, Logistic: logistic_gradients, Softmax: softmax_gradients}


class Objective:
    """A loss over given rows: y (class codes for classification), weights or None, and the number of raw outputs."""

    def __init__(self, loss: Any, y: Array, w: Array | None, outputs: int = 1) -> None:
        self.loss, self.outputs = loss, outputs
        classes = getattr(loss, "classes", None)
        # A margin loss has its classes at −1 and +1.
        self.y = y if classes is None or outputs > 1 else np.where(y > 0, float(classes[1]), float(classes[0]))
        self.w = w
        self.flat = isinstance(loss, (HalfSquared, Huber)) or not getattr(loss, "smooth", True)
        self.unit = self.flat and w is None
        self.quantile = 0.5 if isinstance(loss, Absolute) else getattr(loss, "q", None)

    def start(self) -> Array:
        """The best constant prediction of each output."""
        y, w = self.y, self.w
        if self.outputs > 1:
            share = np.bincount(y, w, self.outputs) / (len(y) if w is None else w.sum())
            logs = np.log(np.maximum(share, np.finfo(float).eps))
            return logs - logs.mean()
        if self.quantile is not None:
            return np.array([weighted_quantile(y, w, self.quantile)])
        mean = float(np.average(y, weights=w))
        if isinstance(self.loss, HalfSquared):
            return np.array([mean])
        if isinstance(self.loss, (Poisson, Gamma, Tweedie)):
            return np.array([np.log(max(mean, np.finfo(float).tiny))])
        if isinstance(self.loss, (Logistic, Exponential)):
            p = mean if isinstance(self.loss, Logistic) else 0.5 * (1.0 + mean)
            p = min(max(p, np.finfo(float).eps), 1.0 - np.finfo(float).eps)
            return np.array([np.log(p / (1.0 - p)) * (1.0 if isinstance(self.loss, Logistic) else 0.5)])
        return np.array([self._best_constant()])

    def _best_constant(self) -> float:
        """Newton steps for the constant of any other loss, from the median, which is a safe place for most."""
        z = 0.0 if getattr(self.loss, "classes", None) else weighted_quantile(self.y, self.w, 0.5)
        weights = np.ones(len(self.y)) if self.w is None else self.w
        for _ in range(50):
            g, h = self._noun(self.y, np.full(len(self.y), z))
            step = float(weights @ g) / max(float(weights @ h), np.finfo(float).tiny)
            z -= float(np.clip(step, -10.0, 10.0))
            if abs(step) <= 1e-10 * max(1.0, abs(z)):
                break
        return z

    def gradients(self, raw: Array, g: Array, h: Array) -> None:
        """Write the weighted gradient and curvature of every row at raw (outputs, n)."""
        loop, none = LOOPS.get(type(self.loss)), np.empty(0)

        def piece(start: int) -> None:
            part = slice(start, start + PIECE)
            y, w = self.y[part], None if self.w is None else self.w[part]
            if loop is not None:
                rows = raw[:, part] if self.outputs > 1 else raw[0, part]
                target = (g[:, part], h[:, part]) if self.outputs > 1 else (g[0, part], h[0, part])
                loop(y, none if w is None else w, rows, *target)
                return
            slope, curvature = self._noun(y, raw[0, part])
            g[0, part] = slope if w is None else slope * w
            h[0, part] = curvature if w is None else curvature * w

        parallel_map(piece, range(0, len(self.y), PIECE))

    def _noun(self, y: Array, z: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            g, h = self.loss.grad_hess(y, z)
        return g, np.ones_like(z) if self.flat else np.maximum(h, 1e-16)

    def value(self, raw: Array) -> float:
        """The weighted mean loss at raw (outputs, n)."""
        z = raw.T if self.outputs > 1 else raw[0]
        pieces = range(0, len(self.y), PIECE)
        parts = parallel_map(lambda a: self.loss.value(self.y[a : a + PIECE], z[a : a + PIECE]), pieces)
        return float(np.average(np.concatenate(parts), weights=self.w))


def weighted_quantile(y: Array, w: Array | None, q: float) -> float:
    """The smallest value with at least the share q of the weight at or below it; halfway to the next if exactly q."""
    order = np.argsort(y, kind="stable")
    y, w = y[order], np.ones(len(y)) if w is None else w[order]
    below, total = np.cumsum(w), float(w.sum())
    k = min(int(np.searchsorted(below, q * total * (1 - 1e-12))), len(y) - 1)
    exact = abs(below[k] - q * total) <= 1e-12 * total and k + 1 < len(y)
    return float(0.5 * (y[k] + y[k + 1]) if exact else y[k])
