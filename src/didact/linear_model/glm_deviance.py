r"""How well a generalized linear model fits its rows: the deviance that it explains, and the dispersion of the rest.

.. math:: D^2 = 1 - \frac{\sum_i w_i\,d(y_i, \mu_i)}{\sum_i w_i\,d(y_i, \mu^0_i)},\qquad
          \hat\phi = \frac{1}{n-k}\sum_i w_i\frac{(y_i-\mu_i)^2}{V(\mu_i)}

The null model :math:`\mu^0` has a constant and the rows' offsets, but no slopes. Pearson's estimate of the dispersion φ
counts n observations (the sum of weights; rows for a binomial or multinomial, whose weights are trials) less k
coefficients that are not zero. One pass of n p each.

McCullagh, Nelder (1989), Generalized Linear Models, doi:10.1007/978-1-4899-3242-6.
"""

from typing import Any

import numpy as np

from didact.core.backend import row_weights, to_numpy
from didact.core.errors import InputError
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.engines.linear.fit import fit_linear
from didact.engines.linear.objective import LinearObjective, linear_predictor
from didact.parts.families import Beta, Binomial, Multinomial
from didact.parts.losses.classification import Softmax
from didact.parts.statistics.moments import Sums


def family_of(loss: Any) -> Any:
    """The distribution behind a loss."""
    return Multinomial() if isinstance(loss, Softmax) else loss.family


def fitted_means(block: Block, loss: Any, table: Array) -> Array:
    """Means of a block as float64."""
    return np.asarray(to_numpy(loss.mean(linear_predictor(block.X, table, block.offset, loss))), np.float64)


def null_sums(block: Block) -> Sums:
    """Σw, Σwy and the size of the offsets: what the null model rests on."""
    y, offset = block.y, block.offset
    y = np.asarray(to_numpy(y), np.float64)
    each = row_weights(block.weight, len(y))
    size = 0.0 if offset is None else float(np.abs(to_numpy(offset)).sum())
    return Sums((float(each.sum()), each @ y, size))


def null_constant(rows: Rows, loss: Any, weight: float, total: Any, offsets: bool) -> Array:
    """The constant term(s) of the null model of rows, by maximum likelihood."""
    if isinstance(loss, Softmax):
        share = np.maximum(total / weight, np.finfo(float).tiny)
        start = np.log(share) - np.log(share[-1])
    else:
        start = loss.link.link(loss.family.inside(np.atleast_1d(total / weight)))
    if not offsets and not isinstance(family_of(loss), Beta):  # the mean of y is the best mean
        return start
    objective = LinearObjective(
        rows=rows.on_columns(np.arange(0)),
        loss=loss,
        weight=weight,
        alpha=0.0,
        fit_intercept=True,
        outputs=len(start),
    )
    return fit_linear(objective, 0.0, "newton", 1e-9, 100, start).x


def deviances(block: Block, loss: Any, table: Array, null: Array) -> Sums:
    """Deviances of the model and the null model on a block; without offsets `null` is the mean, else the constant."""
    y, offset = block.y, block.offset
    y, family = np.asarray(to_numpy(y), np.float64), family_of(loss)
    each = row_weights(block.weight, len(y))
    mu = fitted_means(block, loss, table)
    if offset is not None:
        shift = np.asarray(to_numpy(offset), np.float64)
        null = np.asarray(loss.mean(null + (shift if y.ndim == 1 or shift.ndim == 2 else shift[:, None])))
    return Sums(tuple(float(each @ family.deviance(y, np.broadcast_to(m, y.shape))) for m in (mu, null)))


def explained_deviance(rows: Rows, loss: Any, table: Array) -> float:
    """D² of a model on rows."""
    weight, total, offsets = rows.reduce(null_sums).parts
    if weight <= 0:
        raise InputError("All sample weights are zero.")
    null = total / weight
    if offsets > 0 or isinstance(family_of(loss), Beta):
        rows = rows.prepared(with_offset)
        null = null_constant(rows, loss, weight, total, True)
    left, whole = rows.reduce(deviances, loss, table, null).parts
    return 1.0 - left / whole if whole > 0 else float(left == 0)


def with_offset(block: Block) -> Block:
    """A block that has offsets, zeros if none were given."""
    return block if block.offset is not None else block._replace(offset=0.0 * block.y)


def pearson_sums(block: Block, loss: Any, table: Array) -> Sums:
    """The number of observations of a block, and Pearson's χ²."""
    y = block.y
    y, family = np.asarray(to_numpy(y), np.float64), family_of(loss)
    each, mu = row_weights(block.weight, len(y)), fitted_means(block, loss, table)
    count = each > 0 if isinstance(family, Binomial | Multinomial) else each
    chi = ((y - mu) ** 2 / mu).sum(axis=1) if y.ndim == 2 else (y - mu) ** 2 / family.variance(mu)
    return Sums((float(count.sum()), float(each @ np.where(each > 0, chi, 0.0))))


def pearson_dispersion(objective: LinearObjective, x: Array) -> float:
    """Pearson's estimate of the dispersion; NaN if there are no more observations than coefficients."""
    table = objective.table(x)
    n, chi = objective.rows.reduce(pearson_sums, objective.loss, table).parts
    used = np.any(table[:, :-1] != 0, axis=0).sum() + objective.fit_intercept
    free = (n - used) * max(objective.outputs - 1, 1)  # K shares that sum to 1 have K − 1 that can vary
    return chi / free if free > 0 else float("nan")
