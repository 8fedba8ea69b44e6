r"""Losses as boosting uses them: where predictions start, gradients on blocks of rows, and leaves that are renewed.

A loss is a noun of `didact.parts` or any object with `grad_hess(y, z)` on arrays (and `value(y, z)`, to report it);
what it gives is checked: one finite number a row, curvatures of at least 0. What else there is to know the loss says
itself (`didact.parts.noun.Loss`). Leaves of a loss with a `leaf_quantile` are renewed from the residuals r of their
rows: they become that quantile m of r and, if there is a `leaf_width` δ, one step from it (Friedman 2001,
doi:10.1214/aos/1013203451, algorithm 4),

.. math:: v = m + \operatorname{mean}\big(\max(-\delta, \min(r - m, \delta))\big).

A width that is a `Following` quantile of \|r\| is found anew before each tree, so that the fit follows the units of y.
"""

from typing import Any, NamedTuple, cast

import numpy as np

from didact.core.errors import ParameterError
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.boosting.booster_loops import (
    GIVEN,
    LOGISTIC,
    PASS_ROWS,
    SQUARED,
    shorten_steps,
    sizes_of,
    softmax_gradients,
    write_gradients,
)
from didact.engines.trees.rows.targets import refuse_tiny
from didact.parts.losses import HalfSquared, Huber, Logistic, as_loss
from didact.parts.noun import Loss, TargetSums
from didact.parts.statistics.weighted_quantile import weighted_quantile

ROWS_AT_ONCE = 4 * PASS_ROWS  # of one task
COMPILED: dict[Any, int] = {HalfSquared: SQUARED, Logistic: LOGISTIC}


class Following(Loss, NamedTuple("Following", [("share", float)])):
    """Huber's loss whose width is this quantile of the absolute residuals at the present predictions."""

    __slots__ = ()


class Objective:
    """A loss over given rows: y (class codes for classification), weights or None, and the number of raw outputs.

    `loss` is what is reported. Trees are fitted to `working`, which is the same but for the width of Huber's loss where
    that follows the residuals: `loss` keeps the width of the start, so that its values can be compared.
    """

    def __init__(self, given: Any, y: Array, w: Array | None, outputs: int = 1) -> None:
        self.given, self.share = given, given.share if isinstance(given, Following) else None
        loss = as_loss(given) if self.share is None else Huber()
        self.loss, self.working, self.outputs, self.w = loss, loss, outputs, w
        # A margin loss has its classes at −1 and +1.
        self.y = y if loss.classes is None or outputs > 1 else np.where(y > 0, *map(float, loss.classes[::-1]))
        self.flat, self.quantile = loss.curvature == "one", loss.leaf_quantile
        self.unit = self.flat and w is None
        if isinstance(loss, (HalfSquared, Huber)):
            refuse_tiny(float(np.abs(y).max(initial=0.0)))
        self.compiled = COMPILED.get(type(loss), GIVEN) if outputs == 1 else GIVEN
        if self.compiled != GIVEN:
            self.y = np.require(self.y, np.float64, ["C", "W"])  # one type, for which the loops are compiled
            self.w = None if w is None else np.require(w, np.float64, ["C", "W"])

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
        """The value of a leaf, recomputed from its residuals and weights."""
        middle = weighted_quantile(residual, w, cast(float, self.quantile))
        if not self.working.leaf_width:
            return float(middle)
        return float(middle + np.average(self.held(residual - middle), weights=w))

    def held(self, residual: Array) -> Array:
        """Residuals held within the present width of the loss."""
        return np.clip(residual, -self.working.leaf_width, self.working.leaf_width)

    def steps(self, values: Array, rate: float) -> Array:
        r"""Newton steps v times the learning rate; for a steep loss their length is limited to log(1 + |v|).

        If :math:`|f'''| \le f''`, then :math:`f(z+s) - f(z) \le f's + f''(e^{|s|} - |s| - 1)` (Bach 2010,
        doi:10.1214/09-EJS521), which falls up to that length. Where probabilities have come close to 0,
        :math:`v = -f'/f''` can be thousands.
        """
        if not self.loss.steep:
            return rate * values
        out = np.empty(values.shape)
        shorten_steps(np.ravel(values), float(rate), out.reshape(-1))
        return out

    def start(self, rows: TargetSums | None = None) -> Array:
        """The best constant of each output, for these rows or for others."""
        return np.atleast_1d(np.asarray(self.loss.best_constant(self if rows is None else rows), np.float64))

    def totals(self) -> tuple[Any, float]:
        """The sum of the targets, or of each class's weights, and the sum of the weights."""
        y, w = self.y, self.w
        weight = float(len(y) if w is None else w.sum())
        if self.outputs > 1:
            return np.bincount(y, w, self.outputs), weight
        return (y if w is None else y * w).sum(), weight

    def quantile_at(self, q: float) -> float:
        """A quantile of the targets."""
        return float(weighted_quantile(self.y, self.w, q))

    def slopes(self, z: float) -> tuple[float, float]:
        """The sums of gradients and curvatures at a constant prediction."""
        weights = np.ones(len(self.y)) if self.w is None else self.w
        g, h = self._noun(self.y, np.full(len(self.y), z))
        return float(weights @ g), float(weights @ h)

    def gradients(self, raw: Array, g: Array, h: Array) -> Array:
        """Write the weighted gradient and curvature of every row at raw (outputs, n); Σ|g| and Σh (2, outputs)."""
        w = np.empty(0) if self.w is None else self.w
        sizes = np.empty((-(-len(self.y) // ROWS_AT_ONCE), self.outputs, 2))

        def piece(start: int) -> None:
            part = slice(start, start + ROWS_AT_ONCE)
            if self.outputs > 1:
                stop = min(start + ROWS_AT_ONCE, len(self.y))
                softmax_gradients(self.y, w, raw, g, h, start, stop, sizes[start // ROWS_AT_ONCE])
                return
            if self.compiled != GIVEN:
                write_gradients(self.compiled, self.y[part], w[part], raw[0, part], g[0, part], h[0, part])
            else:
                slope, curvature = self._noun(self.y[part], raw[0, part])
                g[0, part] = slope if self.w is None else slope * w[part]
                h[0, part] = curvature if self.w is None else curvature * w[part]
            sizes[start // ROWS_AT_ONCE] = sizes_of(g[0, part], h[0, part])

        parallel_map(piece, range(0, len(self.y), ROWS_AT_ONCE))
        return sizes.sum(axis=0).T

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
        return f"{method}(y, z) of the loss {type(getattr(self.loss, 'given', self.loss)).__name__}"

    def value(self, raw: Array) -> float:
        """The weighted mean loss at raw (outputs, n)."""
        total, weight = self.losses(raw)
        return total / weight

    def losses(self, raw: Array) -> tuple[float, float]:
        """The weighted sum of the losses at raw (outputs, n), and the sum of the weights."""
        z = raw.T if self.outputs > 1 else raw[0]

        def piece(start: int) -> Array:
            y = self.y[start : start + ROWS_AT_ONCE]
            found = np.asarray(self.loss.value(y, z[start : start + ROWS_AT_ONCE]))
            if found.shape != y.shape:
                raise ParameterError(f"{self._says('value')} must give one number a row.")
            return found

        parts = parallel_map(piece, range(0, len(self.y), ROWS_AT_ONCE))
        each = np.concatenate([np.empty(0), *parts])
        return float((each if self.w is None else each * self.w).sum()), float(
            len(each) if self.w is None else self.w.sum()
        )

    def of(self, rows: Array) -> "Objective":
        """The objective over some of the rows."""
        return Objective(self.given, self.y[rows], None if self.w is None else self.w[rows], self.outputs)


def positive_width(found: float, least: float) -> float:
    """A quantile of absolute residuals as a width; where it is 0, the least that is not, if there is one."""
    return found if found > 0 else least if np.isfinite(least) else 1.0
