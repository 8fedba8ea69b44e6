r"""Bandwidths of densities and smoothers: rules of thumb, units of the columns, adaptive widths.

A bandwidth h scales a frame F: distances are :math:`\|F^{-1}(q-x)\|/h`, with F = I (the columns as they are), the
columns' standard deviations, or a Cholesky factor of the covariance (whitening).

Scott's rule is :math:`h = n^{-1/(D+4)}`, Silverman's :math:`h = (n(D+2)/4)^{-1/(D+4)}`, in units of the frame.
Abramson's adaptive widths are :math:`\lambda_i = (\hat p(x_i)/g)^{-\alpha}` with g the geometric mean of the pilot
density and α = ½.

Silverman (1986), doi:10.1007/978-1-4899-3324-9; Abramson (1982), doi:10.1214/aos/1176345986.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from didact.core.errors import InputError, ParameterError
from didact.core.typing import Array
from didact.engines.smoothing.kernel_sums import Points, kernel_sums, log_sums

CANDIDATES = 20
NARROW, WIDE = 0.1, 2.5  # default candidates, in units of Scott's rule
FLAT = 1e-12  # standard deviation, relative to the values, up to which a column counts as constant


def rule(name: str, total: float, dimensions: int) -> float:
    """Scott's or Silverman's rule of thumb for rows of this total weight."""
    n = total if name == "scott" else total * (dimensions + 2.0) / 4.0
    return float(n ** (-1.0 / (dimensions + 4.0)))


def given(bandwidth: Any, dimensions: int) -> float | Array:
    """The user's bandwidth, checked: a number or one for each column, positive and finite."""
    if isinstance(bandwidth, Real):
        return float(bandwidth)
    try:
        widths = np.asarray(bandwidth, np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError("bandwidth is a number above 0, one for each column, or the name of a rule.") from error
    if widths.shape != (dimensions,):
        raise ParameterError(f"bandwidth has {widths.size} entries, and X has {dimensions} columns: give one for each.")
    if not (np.isfinite(widths).all() and (widths > 0).all()):
        raise ParameterError(f"Bandwidths must be positive and finite, got {widths.tolist()}.")
    return widths


def candidates(grid: Any, start: float) -> Array:
    """Candidate bandwidths: as given, or around a start by a rule of thumb."""
    if grid is None:
        return np.geomspace(NARROW, WIDE, CANDIDATES) * start
    values = np.asarray(grid, np.float64)
    if values.ndim != 1 or not len(values) or not (np.isfinite(values).all() and (values > 0).all()):
        raise ParameterError("grid is a list of bandwidths, all of them positive and finite.")
    return values


def covariance(X: Array, w: Array) -> Array:
    """The covariance of rows, two at least, that are repeated w times."""
    centred = X - w @ X / w.sum()
    return (w[:, None] * centred).T @ centred / (w.sum() - 1.0)


def variances(X: Array, w: Array) -> Array:
    """The variances of the columns of rows that are repeated w times: the diagonal of their covariance."""
    total = w.sum()
    if total <= 1.0:
        raise InputError("The spread of the columns needs at least two rows, and n_samples = 1.")
    return w @ np.square(X - w @ X / total) / (total - 1.0)


def deviations(X: Array, w: Array, names: Any = None) -> Array:
    """Standard deviations of the columns; an error names a constant one."""
    spread = np.sqrt(variances(X, w))
    flat = np.flatnonzero(spread <= FLAT * np.abs(X).max(axis=0))
    if len(flat):
        column = flat[0] if names is None else repr(str(names[flat[0]]))
        raise InputError(
            f"Column {column} is constant, so its standard deviation gives no bandwidth: leave it out, or give a "
            "bandwidth for each column."
        )
    return spread


def frame(shape: str, X: Array, w: Array, names: Any = None) -> Array:
    """The unit of bandwidths: a width for each column, or a Cholesky factor."""
    if shape in ("spherical", "local"):
        return np.ones(X.shape[1])
    spread = deviations(X, w, names)
    if shape == "diagonal":
        return spread
    C = covariance(X, w)
    unit = C / np.outer(spread, spread)
    if np.linalg.eigvalsh(unit)[0] < FLAT * len(C):
        raise InputError("The covariance of the columns is singular, as some are sums of others: use shape='diagonal'.")
    return np.linalg.cholesky(C)


def in_units(X: Array, F: Array) -> Array:
    """F⁻¹x of each row."""
    if F.ndim == 1:
        return X / F
    return np.ascontiguousarray(solve_triangular(F, X.T, lower=True).T)


def log_volume(F: Array) -> float:
    """log det F."""
    return float(np.log(F if F.ndim == 1 else np.diagonal(F)).sum())


def spreads(X: Array, w: Array) -> Array:
    """Standard deviations of the columns; 1 for constant ones."""
    spread = np.sqrt(variances(X, w))
    return np.where(spread > FLAT * np.abs(X).max(axis=0), spread, 1.0)


def typical_width(X: Array, w: Array) -> float:
    """The geometric mean of the standard deviations of the columns that vary."""
    spread = np.sqrt(variances(X, w))
    varying = spread[spread > FLAT * np.abs(X).max(axis=0)]
    if not len(varying):
        raise InputError("All rows are equal, so there is no bandwidth to choose: give one.")
    return float(np.exp(np.log(varying).mean()))


def abramson(window: Any, points: Points, w: Array, scales: Array, alpha: float) -> Array:
    """Adaptive widths of the points for each squared scale 1/h², from the density with that fixed bandwidth."""
    places = np.empty((len(w), len(points.cloud.points)))
    places[points.order] = points.places()
    logs = log_sums(window, kernel_sums(window, points, places, scales), scales)
    return np.exp(-alpha * (logs - np.average(logs, axis=1, weights=w)[:, None]))
