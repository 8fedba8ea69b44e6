r"""What the model leans on: each coefficient times the standard deviation of its prepared column.

For a prepared column j, \beta_j \cdot sd(x_j) is how far the linear predictor moves for one typical step of the
column, so that sizes can be compared: in units of the target (regression), of log-odds (classes) or of log-rate
(counts). With several classes there is one such number per class.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from didact.study.candidates import features

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Effect:
    """The effect of one prepared column, one value per class or a single one."""

    name: str
    values: tuple[float, ...]

    @property
    def size(self) -> float:
        """Root mean square over classes."""
        return float(np.sqrt(np.mean(np.square(self.values))))


def effects(model: Pipeline, X: "pl.DataFrame") -> list[Effect]:
    """Effects of a fitted linear pipeline, the largest first; none for a model without coefficients."""
    if not hasattr(model["model"], "coef_"):
        return []
    coef = np.atleast_2d(np.asarray(model["model"].coef_, dtype=float))
    prepared = model[:-1].transform(X)
    scaled = (coef * _deviations(prepared)).T
    by_column: dict[str, list[tuple[str, np.ndarray]]] = {}
    for (column, level), row in zip(features(model), scaled, strict=True):
        by_column.setdefault(column, []).append((level, row))
    found = [effect for column, levels in by_column.items() for effect in _of_column(column, levels)]
    return sorted(found, key=lambda effect: -effect.size)


def _of_column(column: str, levels: list[tuple[str, np.ndarray]]) -> list[Effect]:
    """One effect per level; two levels are one choice, told as one effect."""
    if len(levels) == 2:
        (first, a), (second, b) = levels
        return [Effect(f"{column}: {second}, not {first}", tuple((b - a).tolist()))]
    return [Effect(f"{column} = {level}" if level else column, tuple(row.tolist())) for level, row in levels]


def _deviations(X: np.ndarray) -> np.ndarray:
    if not sparse.issparse(X):
        return np.std(np.asarray(X), axis=0)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0))
