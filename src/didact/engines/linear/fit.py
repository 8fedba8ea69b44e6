r"""Fitting a linear objective: which solver, from where, and with what preconditioner.

* few parameters: Newton, whose curvature matrix costs n p² a pass but needs a handful of passes;
* many parameters: L-BFGS, preconditioned with the curvature within each output (dense) or its diagonal (sparse);
* many rows in memory: a fit to every sixteenth row gives the start and its curvature the preconditioner. That costs a
  sixteenth of a pass per step and lands within sampling error of the solution, from where L-BFGS needs a handful of
  passes of n p, without ever forming the curvature of all rows;
* an L1 part: proximal Newton, on working sets when there are many features.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.errors import InputError
from didact.core.typing import Array
from didact.engines.linear.column_units import FAILED, column_units, far_means, in_units, less_means
from didact.engines.linear.objective import LinearObjective
from didact.engines.linear.proximal_newton import proximal_newton, working_sets
from didact.engines.linear.tuning import (
    DENSE_CURVATURE,
    FIRST_FEATURES,
    MANY_ROWS,
    NEWTON_SIZE,
    NEWTON_SIZE_MULTI,
    THINNING,
)
from didact.engines.loop.iterate import Report
from didact.engines.loop.line_search import inner
from didact.engines.loop.result import Result
from didact.engines.smooth.lbfgs import lbfgs
from didact.engines.smooth.newton import newton

STEEP_GRADIENT = 1e70  # a gradient that no solver descends, unless columns are in other units


def fit_linear(
    objective: LinearObjective,
    l1: Any = 0.0,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
    start: Array | None = None,
    warm: bool = False,
    report: Report | None = None,
) -> Result:
    """Minimise the objective plus l1·Σ|coefficients|; solver is "auto", "newton" or "lbfgs".

    A warm start is taken to be near the solution: no sample is fitted first. A fit that fails is made again: in other
    units where columns are so large that sums of squares overflow, from their means where they are far from 0.
    """
    x0 = np.zeros(objective.size) if start is None else start
    free = objective.fit_intercept and not (objective.constant_l1 or objective.constant_l2)
    if max_iter == 0:
        return Result(x0, np.nan, 0, "iteration limit", np.inf)
    how = How(solver=solver, tol=tol, max_iter=max_iter, warm=warm, report=report)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is reported in words
        try:
            result = _fit(objective, l1, x0, how)
            units = column_units(objective.rows) if result.status in FAILED else None
        except Steep:  # no need to see it fail
            units = column_units(objective.rows)
            if units is None:
                result = _fit(objective, l1, x0, how, np.inf)
    if units is not None:
        result = _fit_in_units(objective, l1, units, x0, how)
    elif result.status in FAILED and (means := far_means(objective.rows, objective.weight, free)) is not None:
        result = _fit_from_means(objective, l1, means, x0, how)
    if result.status == "not finite" and not result.n_iter:
        raise InputError(
            "The loss overflows at the start of the fit: y, offset or sample_weight hold numbers too large for float64,"
            " weights below 1e-300, or a warm start is far away. Divide y, or multiply the weights, by a power of ten."
        )
    return result


class How(NamedTuple):
    """How to fit, as `fit_linear` was asked to."""

    solver: str
    tol: float
    max_iter: int
    warm: bool
    report: Report | None


def _fit_in_units(objective: LinearObjective, l1: Any, units: Array, x0: Array, how: How) -> Result:
    """The fit to columns divided by their units; coefficients come back in those of X."""
    each, report = objective.per_parameter(units, 1.0), how.report
    told = None if report is None else lambda i, value, x: report(i, value, x / each)
    scaled = objective._replace(rows=objective.rows.prepared(in_units, units), alpha=objective.alpha / units / units)
    result = _fit(scaled, l1 / units, x0 * each, how._replace(report=told), np.inf)
    result.x = result.x / each
    return result


def _fit_from_means(objective: LinearObjective, l1: Any, means: Array, x0: Array, how: How) -> Result:
    """The fit to columns less their means; constants come back as those of X."""

    def moved(x: Array, sign: float) -> Array:
        table = objective.table(x)
        table[:, -1] += sign * (table[:, :-1] @ means)
        return objective.vector(table)

    report = how.report
    told = None if report is None else lambda i, value, x: report(i, value, moved(x, -1.0))
    centred = objective._replace(rows=objective.rows.prepared(less_means, means))
    result = _fit(centred, l1, moved(x0, 1.0), how._replace(report=told), np.inf)
    result.x = moved(result.x, -1.0)
    return result


def _fit(objective: LinearObjective, l1: Any, x0: Array, how: How, steep: float = STEEP_GRADIENT) -> Result:
    solver, tol, max_iter, warm, report = how
    if np.any(np.asarray(l1) > 0):
        return _fit_l1(objective, objective.per_parameter(l1, objective.constant_l1), tol, max_iter, x0, report, steep)
    sample = _sample(objective) if solver != "newton" else None
    if sample is not None and not warm:
        x0 = fit_linear(sample, 0.0, "auto", max(tol, 1e-4), 20, x0).x
    if solver == "auto":
        limit = NEWTON_SIZE_MULTI if objective.several else NEWTON_SIZE
        solver = "newton" if sample is None and objective.size <= limit else "lbfgs"
    if solver == "newton":
        f = looked_at(objective.value_gradient_hessian, steep)
        return newton(f, x0, tol, max_iter, report, objective.noise)
    curvature = preconditioner(sample or objective, x0)
    return lbfgs(looked_at(objective.value_gradient, steep), x0, tol, max_iter, report, curvature, objective.noise)


class Steep(Exception):
    """The gradient at the start is so large that columns of extreme size must be looked for."""


def looked_at(f: Callable[[Array], Any], steep: float) -> Callable[[Array], Any]:
    """The objective, whose first gradient must not be larger than that; infinity is no limit."""
    limit = [steep] if np.isfinite(steep) else []

    def checked(x: Array) -> Any:
        found = f(x)
        if limit and not np.abs(found[1]).max(initial=0.0) <= limit.pop():
            raise Steep
        return found

    return checked


def _sample(objective: LinearObjective) -> LinearObjective | None:
    """The objective on every sixteenth row, if there are enough of them."""
    rows = objective.rows
    if (
        rows.n_rows is None
        or rows.is_sparse
        or rows.n_rows < max(MANY_ROWS, 20 * THINNING * objective.size // objective.outputs)
    ):
        return None
    thin = rows.require_memory("A sample is taken from rows in memory.").thinned(THINNING)
    weights = thin.columns.weight
    weight = float(thin.n_rows) if weights is None else float(weights.sum())
    return objective._replace(rows=thin, weight=weight) if weight > 0 else None


def preconditioner(objective: LinearObjective, x: Array) -> Callable[[Array], Array]:
    """An approximate inverse of the curvature at x, as a function of a gradient."""
    rows = objective.rows
    if rows.is_sparse or rows.n_features > DENSE_CURVATURE:
        return _uncorrelated(objective)
    H = objective.block_curvature(x)
    if not np.isfinite(H).all():
        return np.copy
    factors = []
    for block in H:
        diagonal = np.diag(block).copy()
        block[np.diag_indices(len(block))] = diagonal + 1e-8 * diagonal.max() + 1e-12
        factors.append(linalg.cho_factor(block, lower=True, check_finite=False)[0])

    def apply(g: Array) -> Array:  # twice an iteration, for each class: LAPACK without what SciPy does around it
        parts = zip(factors, g.reshape(objective.outputs, -1), strict=True)
        return np.concatenate([linalg.lapack.dpotrs(factor, part, lower=1)[0] for factor, part in parts])

    return apply


def _uncorrelated(objective: LinearObjective) -> Callable[[Array], Array]:
    """The inverse curvature at 0, were the features uncorrelated: of c(V + mmᵀ) + α, bordered by cm and c.

    c is the loss's curvature, m and V are the features' means and (diagonal) variances. Means couple the features among
    each other and with the intercept: d = (g − m g₀)/(cV + α), d₀ = g₀/c − mᵀd takes that out. Without an intercept
    the term of rank one remains, by the formula of Sherman and Morrison.
    """
    classes = max(objective.outputs + objective.reference, 2)
    curvature = (classes - 1) / classes**2 if objective.several or objective.loss.classes else 1.0
    mean, square = objective.column_moments()
    variance = np.maximum(square - mean * mean, 1e-6 * square)  # a constant feature has none but for rounding
    inverse = 1.0 / np.maximum(curvature * variance + objective.alpha, 1e-12)
    pull = inverse * mean / (1.0 / curvature + inner(mean, inverse * mean))

    def apply(g: Array) -> Array:
        table = g.reshape(objective.outputs, -1)
        if not objective.fit_intercept:
            d = inverse * table
            return np.asarray(d - np.outer(_along(mean, d), pull)).ravel()
        last = table[:, -1:]
        d = inverse * (table[:, :-1] - last * mean)
        return np.concatenate([d, last / curvature - _along(mean, d)[:, None]], axis=1).ravel()

    return apply


def _along(m: Array, table: Array) -> Array:
    """The product of every row with m, on this thread."""
    return np.asarray([inner(m, row) for row in table])


def _fit_l1(
    objective: LinearObjective, l1: Array, tol: float, max_iter: int, x0: Array, report: Report | None, steep: float
) -> Result:
    p = objective.rows.n_features
    if p <= FIRST_FEATURES:
        f = looked_at(objective.value_gradient_hessian, steep)
        return proximal_newton(f, l1, x0, tol, max_iter, report, objective.noise)
    features = objective.per_parameter(np.arange(p), -1.0).astype(np.intp)

    def restricted(coordinates: Array, start: Array) -> Result:
        columns = np.unique(features[coordinates])
        part = objective.on_columns(columns[columns >= 0])
        f = part.value_gradient_hessian
        return proximal_newton(f, l1[coordinates], start, 0.3 * tol, max_iter, report, part.noise)

    gradient = looked_at(objective.value_gradient, steep)
    return working_sets(lambda x: gradient(x)[1], restricted, features, l1, x0, tol)
