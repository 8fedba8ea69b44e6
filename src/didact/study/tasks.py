"""What is asked: two classes, several classes, a number or a count; and the rows that can answer it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.core.errors import InputError, ParameterError, need
from didact.study.tables import require_column

if TYPE_CHECKING:
    import polars as pl

FEWEST_ROWS = 20
FEW_VALUES = 10
MANY_CLASSES = 50
TASKS = ("auto", "classification", "regression", "count")


@dataclass(frozen=True)
class Task:
    """The question: its kind ("binary", "multiclass", "regression" or "count"), the target and its classes.

    >>> Task("binary", "sex", ("female", "male")).words
    'classification into two classes'
    """

    kind: str
    target: str
    classes: tuple[Any, ...] = ()

    @property
    def is_classification(self) -> bool:
        """Whether the answer is a class."""
        return self.kind in ("binary", "multiclass")

    @property
    def words(self) -> str:
        """The kind of question, for a person."""
        return {
            "binary": "classification into two classes",
            "multiclass": f"classification into {len(self.classes)} classes",
            "regression": "regression (predicting a number)",
            "count": "count regression (predicting how many)",
        }[self.kind]


def set_task(
    table: "pl.DataFrame", target: str, asked: str, folds: int
) -> tuple[Task, "pl.DataFrame", np.ndarray, list[str]]:
    """Find the task; return it with the usable rows, their targets, and a note on each thing that was done.

    Rows without a target are left out, and so are classes too rare to be in every fold and in the held-out part.
    """
    if asked not in TASKS:
        raise ParameterError(f"task must be one of {', '.join(TASKS)}; got {asked!r}.")
    require_column(table, target)
    notes: list[str] = []
    labelled = table.filter(_present(table[target]))
    if dropped := len(table) - len(labelled):
        notes.append(f"{_count(dropped, 'row')} had no value of “{target}” and had to be left out.")
    if len(labelled) < FEWEST_ROWS:
        raise InputError(
            f"Only {_count(len(labelled), 'row')} with a value of {target!r}: a study needs at least {FEWEST_ROWS}."
        )
    kind = _kind(labelled[target], asked, notes)
    if kind in ("regression", "count"):
        return Task(kind, target), labelled, _numbers(labelled[target], kind), notes
    labelled = _frequent_classes(labelled, target, _fewest_of_a_class(folds), notes)
    y = _labels(labelled[target])
    classes = tuple(np.unique(y).tolist())
    return Task("binary" if len(classes) == 2 else "multiclass", target, classes), labelled, y, notes


def strata(y: np.ndarray, task: Task, folds: int) -> np.ndarray:
    """Groups that every part of a split should hold alike: the classes, or ranges of a numeric target."""
    if task.is_classification:
        return np.unique(y, return_inverse=True)[1]
    bins = int(np.clip(len(y) // (4 * folds), 1, 10))
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    return ranks * bins // len(y)


def _kind(column: "pl.Series", asked: str, notes: list[str]) -> str:
    """Classes for words, yes/no and few whole numbers; counts for whole numbers that fill the range from about zero."""
    different = column.n_unique()
    if different < 2:
        raise InputError(
            f"The target {column.name!r} is constant (always {column[0]!r}): there is nothing to learn from it."
        )
    if not (column.dtype.is_numeric() or _is_label(column)):
        raise InputError(
            f"The target {column.name!r} is of type {column.dtype}: choose a column of numbers or of classes."
        )
    if _is_label(column):
        if asked in ("regression", "count"):
            raise InputError(f"The target {column.name!r} holds words, not numbers: use --task classification.")
        return "classes"
    if asked != "auto":
        return "classes" if asked == "classification" else asked
    values = column.cast(float).to_numpy()
    whole = bool(np.all(values == np.round(values)))
    if different == 2:
        return "classes"
    if whole and different <= min(FEW_VALUES, len(values) // 10):
        notes.append(
            f"“{column.name}” has only {different} different whole numbers and was read as classes; "
            "if they are amounts, use --task regression or --task count."
        )
        return "classes"
    return "count" if whole and _looks_like_counts(values) else "regression"


def _looks_like_counts(values: np.ndarray) -> bool:
    """Whole numbers that begin near zero and fill the range up to the third quartile (a price or a mass does not)."""
    low, median, high = np.min(values), np.median(values), np.quantile(values, 0.75)
    if low < 0 or low > max(1.0, 0.1 * median):
        return False
    seen = np.unique(values[values <= high])
    return bool(len(seen) >= 0.5 * (high - low + 1))


def _fewest_of_a_class(folds: int) -> int:
    """Rows that leave one of the class in every fold of a cross-validation inside a cross-validation."""
    return int(np.ceil(folds**2 / (0.8 * (folds - 1)))) + 2


def _frequent_classes(table: "pl.DataFrame", target: str, fewest: int, notes: list[str]) -> "pl.DataFrame":
    counts = table[target].value_counts()
    rare = counts.filter(counts["count"] < fewest)[target]
    kept = table.filter(~table[target].is_in(rare.implode())) if len(rare) else table
    classes = kept[target].n_unique()
    if classes < 2:
        raise InputError(
            f"The target {target!r} has {_count(len(counts), 'different value')}, of which {classes} occur in at least "
            f"{fewest} rows: too few to learn to tell classes apart."
        )
    if classes > MANY_CLASSES:
        raise InputError(
            f"The target {target!r} has {classes} classes, more than {MANY_CLASSES}: group them, "
            "or use --task regression if they are numbers."
        )
    if len(rare):
        names = ", ".join(sorted(str(name) for name in rare)[:8]) + (", …" if len(rare) > 8 else "")
        notes.append(
            f"{_count(len(table) - len(kept), 'row')} of {_count(len(rare), 'rare class', 'es')} ({names}) were left "
            f"out: a class needs {fewest} rows to be learnt and checked."
        )
    return kept


def _numbers(column: "pl.Series", kind: str) -> np.ndarray:
    y = column.cast(float).to_numpy()
    if kind == "count" and y.min() < 0:
        raise InputError(f"The target {column.name!r} has negative values ({y.min():g}): they cannot be counts.")
    return np.ascontiguousarray(y)


def _labels(column: "pl.Series") -> np.ndarray:
    if _is_text(column):
        return np.array(column.cast(str).to_list(), dtype=np.str_)
    y = column.to_numpy()
    return y.astype(np.int64) if y.dtype.kind == "f" and np.all(y == np.round(y)) else y


def _present(column: "pl.Series") -> "pl.Series":
    return column.is_not_null() & column.is_finite() if column.dtype.is_float() else column.is_not_null()


def _is_label(column: "pl.Series") -> bool:
    return _is_text(column) or column.dtype == need("polars", "study").Boolean


def _is_text(column: "pl.Series") -> bool:
    pl = need("polars", "study")
    return column.dtype in (pl.String, pl.Categorical, pl.Enum)


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else plural}"
