r"""Losses as boosting uses them: where predictions start, gradients on blocks of rows, and leaves that are renewed.

A loss is a noun of `didact.parts` or any object with `grad_hess(y, z)` on arrays (and `value(y, z)`, to report it);
what it gives is checked: one finite number a row, curvatures of at least 0.
The curvature of a loss with kinks, and of Huber's, is replaced by 1, an upper bound. Leaves of these losses are
renewed from the residuals r of their rows: for the absolute and the quantile loss they become the quantile of r, for
Huber's with the width δ one step from the median m (Friedman 2001, doi:10.1214/aos/1013203451, algorithm 4),

.. math:: v = m + \operatorname{mean}\big(\max(-\delta, \min(r - m, \delta))\big).

A width that is a `Following` quantile of \|r\| is found anew before each tree, so that the fit follows the units of y.
"""

from typing import Any, NamedTuple, cast

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.threads import parallel_map
from didact.engines.trees.boost_loops import logistic_gradients, sizes, softmax_gradients, squared_gradients
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
LOOPS = {HalfSquared: squared_gradients, Logistic: logistic_gradients}
STEEP = (Softmax, Logistic, Exponential, Poisson, Gamma, Tweedie)  # losses whose third derivative is at most the second


class Following(NamedTuple):
    """Huber's loss whose width is this quantile of the absolute residuals at the present predictions."""

    share: float


class Objective:
    """A loss over given rows: y (class codes for classification), weights or None, and the number of raw outputs.

    `loss` is what is reported. Trees are fitted to `working`, which is the same but for the width of Huber's loss where
    that follows the residuals: `loss` keeps the width of the start, so that its values can be compared.
    """

    def __init__(self, loss: Any, y: Array, w: Array | None, outputs: int = 1) -> None:
        self.given, self.share = loss, loss.share if isinstance(loss, Following) else None
        loss = loss if self.share is None else Huber()
        self.loss, self.working, self.outputs = loss, loss, outputs
        classes = getattr(loss, "classes", None)
        # A margin loss has its classes at −1 and +1.
        self.y = y if classes is None or outputs > 1 else np.where(y > 0, float(classes[1]), float(classes[0]))
        self.w = w
        self.flat = isinstance(loss, (HalfSquared, Huber)) or not getattr(loss, "smooth", True)
        self.unit = self.flat and w is None
        self.quantile = 0.5 if isinstance(loss, (Absolute, Huber)) else getattr(loss, "q", None)

    def __sizeof__(self) -> int:
        """Bytes, for a scheduler."""
        return object.__sizeof__(self) + self.y.nbytes + (0 if self.w is None else self.w.nbytes)

    def follow(self, width: float, first: bool = False) -> None:
        """Take a width for the next tree; the first one also for the loss that is reported."""
        self.working = Huber(width)
        self.loss = self.working if first else self.loss

    def width(self, raw: Any) -> float:
        """The width that follows the residuals at these predictions."""
        sizes = np.abs(self.y - raw)
        found = weighted_quantile(sizes, self.w, cast(float, self.share))
        return positive_width(found, float(sizes.min(where=sizes > 0, initial=np.inf)))

    def leaf(self, residual: Array, w: Array | None) -> float:
        """The renewed value of a leaf with these residuals and weights."""
        middle = weighted_quantile(residual, w, cast(float, self.quantile))
        if not isinstance(self.working, Huber):
            return middle
        return middle + float(np.average(self.held(residual - middle), weights=w))

    def held(self, residual: Array) -> Array:
        """Residuals held within the present width of Huber's loss."""
        return np.clip(residual, -self.working.delta, self.working.delta)

    def steps(self, values: Array, rate: float) -> Array:
        r"""Newton steps v times the learning rate, where the loss is steep at most log(1 + |v|) long.

        If :math:`|f'''| \le f''`, then :math:`f(z+s) - f(z) \le f's + f''(e^{|s|} - |s| - 1)` (Bach 2010,
        doi:10.1214/09-EJS521), which falls up to that length. Where probabilities have come close to 0,
        :math:`v = -f'/f''` can be thousands.
        """
        if not isinstance(self.loss, STEEP):
            return rate * values
        return np.copysign(np.minimum(rate * np.abs(values), np.log1p(np.abs(values))), values)

    def start(self, rows: Any = None) -> Array:
        """The best constant of each output, for these rows or others that have `totals`, `quantile_at` and `slopes`."""
        rows, loss = self if rows is None else rows, self.loss
        if self.quantile is not None:
            return np.array([rows.quantile_at(self.quantile)])
        total, weight = rows.totals()
        if self.outputs > 1:
            logs = np.log(np.maximum(total / weight, np.finfo(float).eps))
            return logs - logs.mean()
        mean = float(total / weight)
        if isinstance(loss, HalfSquared):
            return np.array([mean])
        if isinstance(loss, (Poisson, Gamma, Tweedie)):
            if mean <= 0:
                raise InputError(
                    f"The loss {type(loss).__name__} needs some y > 0, but all y that it is fitted to are 0."
                )
            return np.array([np.log(mean)])
        if isinstance(loss, (Logistic, Exponential)):
            p = mean if isinstance(loss, Logistic) else 0.5 * (1.0 + mean)
            p = min(max(p, np.finfo(float).eps), 1.0 - np.finfo(float).eps)
            return np.array([np.log(p / (1.0 - p)) * (1.0 if isinstance(loss, Logistic) else 0.5)])
        return np.array([self._best_constant(rows)])

    def _best_constant(self, rows: Any) -> float:
        """Newton steps for the constant of any other loss, from the median, which is a safe place for most."""
        z = 0.0 if getattr(self.loss, "classes", None) else rows.quantile_at(0.5)
        for _ in range(50):
            g, h = rows.slopes(z)
            step = g / max(h, np.finfo(float).tiny)
            z -= float(np.clip(step, -10.0, 10.0))
            if abs(step) <= 1e-10 * max(1.0, abs(z)):
                break
        return float(z)

    def totals(self) -> tuple[Any, float]:
        """The sum of the targets, or of each class's weights, and the sum of the weights."""
        y, w = self.y, self.w
        weight = float(len(y) if w is None else w.sum())
        if self.outputs > 1:
            return np.bincount(y, w, self.outputs), weight
        return (y if w is None else y * w).sum(), weight

    def quantile_at(self, q: float) -> float:
        """A quantile of the targets."""
        return weighted_quantile(self.y, self.w, q)

    def slopes(self, z: float) -> tuple[float, float]:
        """The sums of gradients and curvatures at a constant prediction."""
        weights = np.ones(len(self.y)) if self.w is None else self.w
        g, h = self._noun(self.y, np.full(len(self.y), z))
        return float(weights @ g), float(weights @ h)

    def gradients(self, raw: Array, g: Array, h: Array) -> Array:
        """Write the weighted gradient and curvature of every row at raw (outputs, n); Σ|g| and Σh (2, outputs)."""
        loop, none = LOOPS.get(type(self.loss)), np.empty(0)

        def piece(start: int) -> list[tuple[float, float]]:
            part = slice(start, start + PIECE)
            y, w = self.y[part], None if self.w is None else self.w[part]
            if self.outputs > 1:
                softmax_gradients(self.y, none if self.w is None else self.w, raw, g, h, start, start + len(y))
            elif loop is not None:
                loop(y, none if w is None else w, raw[0, part], g[0, part], h[0, part])
            else:
                slope, curvature = self._noun(y, raw[0, part])
                g[0, part] = slope if w is None else slope * w
                h[0, part] = curvature if w is None else curvature * w
            return [sizes(g[k, part], h[k, part]) for k in range(self.outputs)]

        found = parallel_map(piece, range(0, len(self.y), PIECE))
        return np.sum(np.reshape(found, (-1, self.outputs, 2)), axis=0).T

    def _noun(self, y: Array, z: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            g, h = self._pair(y, z)
        if not (np.isfinite(g).all() and np.isfinite(h).all()):
            raise ParameterError(f"{self._says('grad_hess')} must give finite numbers, but gave NaN or infinity.")
        if h.min(initial=0.0) < -1e-9 * np.abs(h).max(initial=0.0):
            raise ParameterError(
                f"{self._says('grad_hess')} must give curvatures of at least 0, but gave {h.min():.3g}: where the loss "
                "is not convex, take the expected curvature or an upper bound."
            )
        return g, np.maximum(h, 1e-16)

    def _pair(self, y: Array, z: Array) -> tuple[Array, Array]:
        """The gradients and the curvatures that the loss gives, as arrays."""
        found = self.working.grad_hess(y, z)
        if isinstance(found, tuple | list) and len(found) == 2:
            g, h = np.asarray(found[0]), np.ones_like(z) if self.flat else np.asarray(found[1])
            if g.shape == h.shape == z.shape:
                return g, h
        raise ParameterError(
            f"{self._says('grad_hess')} must give two arrays, gradients and curvatures, with one number a row each."
        )

    def _says(self, method: str) -> str:
        return f"{method}(y, z) of the loss {type(self.loss).__name__}"

    def value(self, raw: Array) -> float:
        """The weighted mean loss at raw (outputs, n)."""
        total, weight = self.losses(raw)
        return total / weight

    def losses(self, raw: Array) -> tuple[float, float]:
        """The weighted sum of the losses at raw (outputs, n), and the sum of the weights."""
        z = raw.T if self.outputs > 1 else raw[0]

        def piece(start: int) -> Array:
            y = self.y[start : start + PIECE]
            found = np.asarray(self.loss.value(y, z[start : start + PIECE]))
            if found.shape != y.shape:
                raise ParameterError(f"{self._says('value')} must give one number a row.")
            return found

        parts = parallel_map(piece, range(0, len(self.y), PIECE))
        each = np.concatenate([np.empty(0), *parts])
        return float((each if self.w is None else each * self.w).sum()), float(
            len(each) if self.w is None else self.w.sum()
        )

    def of(self, rows: Array) -> "Objective":
        """The same loss over some of the rows."""
        return Objective(self.given, self.y[rows], None if self.w is None else self.w[rows], self.outputs)


def positive_width(found: float, least: float) -> float:
    """A quantile of absolute residuals as a width; where it is 0, the least that is not, if there is one."""
    return found if found > 0 else least if np.isfinite(least) else 1.0


def weighted_quantile(y: Array, w: Array | None, q: float) -> float:
    """The smallest value with at least the share q of the weight at or below it; halfway to the next if exactly q."""
    if w is None:
        n, wanted = len(y), q * len(y)
        k = min(max(int(np.ceil(wanted * (1 - 1e-12))) - 1, 0), n - 1)
        exact = abs(k + 1 - wanted) <= 1e-12 * n and k + 1 < n
        found = np.partition(y, [k, k + 1] if exact else k)
        return float(0.5 * (found[k] + found[k + 1]) if exact else found[k])
    order = np.argsort(y, kind="stable")
    y, w = y[order], w[order]
    below, total = np.cumsum(w), float(w.sum())
    k = min(int(np.searchsorted(below, q * total * (1 - 1e-12))), len(y) - 1)
    exact = abs(below[k] - q * total) <= 1e-12 * total and k + 1 < len(y)
    return float(0.5 * (y[k] + y[k + 1]) if exact else y[k])
