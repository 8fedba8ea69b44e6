r"""Intervals of predictions: the linear predictor's, carried through the link.

A new row u has linear predictor η = u·β with variance uᵀVu. The ends η ± q√(uᵀVu) go through the inverse link, so that
the interval of a mean stays inside its domain; its standard error is |dμ/dη|√(uᵀVu). For a new observation of least
squares the noise's variance φ is added. Probabilities of several classes get intervals on the scale of their log-odds.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.linear_model.inference.influence import Point
from didact.parts.links import Log


class Prediction(NamedTuple):
    """Means of new rows with their standard errors and the limits of an interval."""

    mean: Array
    standard_error: Array
    lower: Array
    upper: Array


def predict_interval(eta: Array, U: Array, point: Point, spread: Array, q: float, noise: float) -> Prediction:
    """Means and intervals for linear predictors eta of rows U, V = spread·spreadᵀ; noise for an observation's."""
    if noise and not point.least_squares:
        raise ParameterError("Prediction intervals of observations are for least squares: use kind='mean'.")
    if point.several:
        return _classes(point.loss.probabilities(eta), U, spread @ spread.T, q)
    error = np.sqrt(((U @ spread) ** 2).sum(axis=1) + noise)
    ends = np.sort(point.loss.mean(np.stack([eta - q * error, eta + q * error])), axis=0)
    return Prediction(point.loss.mean(eta), error * np.abs(point.loss.link.derivative(eta)), ends[0], ends[1])


def _classes(P: Array, U: Array, covariance: Array, q: float) -> Prediction:
    """Probabilities (n, K): dPₖ/dηₘ = Pₖ([k = m] − Pₘ), with K−1 linear predictors ηₘ."""
    K = P.shape[1]
    slopes = P[:, :, None] * (np.eye(K)[None] - P[:, None, :])[:, :, :-1]
    V = covariance.reshape(K - 1, U.shape[1], K - 1, U.shape[1])
    between = np.einsum("na,kamb,nb->nkm", U, V, U, optimize=True)
    error = np.sqrt(np.maximum(np.einsum("njk,nkm,njm->nj", slopes, between, slopes, optimize=True), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = q * error / (P * (1.0 - P))
    return Prediction(P, error, expit(logit(P) - margin), expit(logit(P) + margin))


def combined(offset: Any, exposure: Any, loss: Any) -> Any:
    """offset + log(exposure) of new rows, or None."""
    offset = None if offset is None else np.asarray(offset, np.float64)
    if exposure is None:
        return offset
    if not isinstance(getattr(loss, "link", None), Log):
        raise ParameterError("exposure multiplies the mean, which takes the log link: use offset instead.")
    logs = np.log(np.asarray(exposure, np.float64))
    return logs if offset is None else offset + logs
