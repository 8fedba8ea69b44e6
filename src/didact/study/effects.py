r"""What the model leans on: for every model the importances of columns, for formulas the effects of coefficients, too.

The importance of a column is how much worse the first measure becomes on held-out rows when the values of the column
are shuffled among them, and nothing else is changed (Breiman 2001, doi:10.1023/A:1010933404324). It sees what the model
makes of the column in any way, alone or together with others, and costs a few predictions a column.

An effect is a coefficient times the standard deviation of its prepared column: \beta_j \cdot sd(x_j) is how far the
linear predictor moves for one typical step of column j, so that sizes can be compared: in units of the target
(regression), of log-odds (classes) or of log-rate (counts). With several classes there is one such number per class.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from didact.core.errors import need
from didact.study.columns import Column
from didact.study.measures import Measure, point
from didact.study.pipelines import features
from didact.study.tasks import Task
from didact.study.validation import codes, predict

if TYPE_CHECKING:
    import polars as pl


_ROWS = 2000
_CELLS = 1_000_000  # values that are shuffled in all, and so the cost of importances
_TOGETHER = 20_000  # rows that are predicted at once


@dataclass(frozen=True)
class Effect:
    """The effect of one prepared column (its place, and the column it came from): one value per class, or just one."""

    name: str
    values: tuple[float, ...]
    column: str
    place: int

    @property
    def size(self) -> float:
        """Root mean square over classes."""
        return float(np.sqrt(np.mean(np.square(self.values))))


@dataclass(frozen=True)
class Importance:
    """How much worse the first measure becomes without the order of a column, and the spread over several shuffles."""

    name: str
    value: float
    spread: float


def importances(
    model: Pipeline,
    columns: list[Column],
    held_out: tuple["pl.DataFrame", np.ndarray],
    task: Task,
    measure: Measure,
    seed: int,
) -> list[Importance]:
    """The importance of every column that is used, the largest first."""
    used = [column.name for column in columns if not column.dropped]
    repeats = int(np.clip(100 // len(used), 3, 10))
    rows = max(100, _CELLS // (len(used) * repeats))
    random = np.random.default_rng(seed)
    some = np.sort(random.permutation(len(held_out[1]))[:rows])
    X, y = held_out[0][some], codes(held_out[1][some], task)
    orders = [random.permutation(len(y)) for _ in range(repeats)]
    sign = -1 if measure.higher else 1
    whole = point(measure, y, predict(model, X, task))
    jobs = [(name, order) for name in used for order in orders]
    per = max(1, _TOGETHER // len(y))
    worse: list[float] = []
    for start in range(0, len(jobs), per):
        tables = [X.with_columns(X[name][order].alias(name)) for name, order in jobs[start : start + per]]
        predictions = predict(model, need("polars", "study").concat(tables), task)
        worse += [sign * (point(measure, y, part) - whole) for part in np.split(predictions, len(tables))]
    each = np.reshape(worse, (len(used), repeats))
    found = [
        Importance(name, float(np.mean(values)), float(np.std(values, ddof=1)))
        for name, values in zip(used, each, strict=True)
    ]
    return sorted(found, key=lambda importance: -importance.value)


def effects(model: Pipeline, X: "pl.DataFrame") -> list[Effect]:
    """Effects of a fitted linear pipeline, the largest first; none for a model without coefficients."""
    if not hasattr(model["model"], "coef_"):
        return []
    coef = np.atleast_2d(np.asarray(model["model"].coef_, dtype=float))
    scaled = (coef * _deviations(model[:-1].transform(X))).T
    by_column: dict[str, list[tuple[str, int]]] = {}
    for place, (column, level) in enumerate(features(model)):
        by_column.setdefault(column, []).append((level, place))
    found = [effect for column, levels in by_column.items() for effect in _of_column(column, levels, scaled)]
    return sorted(found, key=lambda effect: -effect.size)


def entangled(model: Pipeline, X: "pl.DataFrame", shown: list[Effect]) -> list[str]:
    """The effects whose column can be told almost wholly (R² above 0.95) from the other columns together.

    Such effects may be large and cancel, and cannot be read one by one. At most 2,000 rows are looked at.
    """
    if not shown:
        return []
    prepared = model[:-1].transform(X[:_ROWS])
    dense = prepared.toarray() if sparse.issparse(prepared) else np.asarray(prepared)
    dense = dense - dense.mean(axis=0)
    owners = np.array([column for column, _ in features(model)])
    names = []
    for effect in shown:
        own, others = dense[:, effect.place], dense[:, owners != effect.column]
        if others.shape[1] == 0 or len(dense) < 2 * others.shape[1]:
            continue
        left = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]
        if left @ left < 0.05 * (own @ own):
            names.append(effect.name)
    return names


def _of_column(column: str, levels: list[tuple[str, int]], scaled: np.ndarray) -> list[Effect]:
    """One effect per level; two levels are one choice, told as one effect."""
    if len(levels) == 2:
        (first, a), (second, b) = levels
        return [Effect(f"{column}: {second}, not {first}", tuple((scaled[b] - scaled[a]).tolist()), column, b)]
    return [
        Effect(f"{column} = {level}" if level else column, tuple(scaled[place].tolist()), column, place)
        for level, place in levels
    ]


def _deviations(X: Any) -> np.ndarray:
    if not sparse.issparse(X):
        return np.std(np.asarray(X), axis=0)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0))
