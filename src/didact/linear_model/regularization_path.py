"""What the cross-validated linear models share: folds of rows in memory, scores on them, and the walk along a path.

Along a path the penalty goes from strong to weak and each fit starts from the one before, so that it needs few steps.
"""

import inspect
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.metrics import get_scorer_names, make_scorer
from sklearn.model_selection import check_cv

from didact.core.backend import is_tensor, to_numpy
from didact.core.compat import MACHINERY
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator, warn_convergence
from didact.core.meta import OfFolds
from didact.core.parameters import is_callable, none, one_of, param
from didact.core.progress import FitProgress
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.typing import Array
from didact.engines.loop.result import Result
from didact.parts.statistics.moments import Sums

Split = tuple[Array, Array]

# Why some registry checks cannot hold for a model whose penalty is chosen on folds.
CHOICE = "The penalty is chosen on folds of the rows: other rows, or another order of them, make other folds."
IN_MEMORY = "Folds are taken from rows in memory; batches and Dask collections are refused with a sentence."
CALLBACKS = "Callbacks hear of each fit of a fold and a penalty, not of the iterations of a solver."
ON_FOLDS = {
    "weights_equal_repetition/repeated": CHOICE,
    "row_order": CHOICE,
    "collections": IN_MEMORY,
    "callbacks": CALLBACKS,
}


def scoring_param(default: str | None, doc: str, *more: str) -> Any:
    """What to choose a penalty by: the name of a scorer, a scorer, None for the model's own measure, or more words."""
    return param(default, [one_of(*get_scorer_names(), *more), is_callable, none], doc)


OWN_AFFAIRS = {*MACHINERY, "penalty"}  # parameters that the model with one penalty does not get


class _PathCV(OfFolds, Estimator):
    """Abstract: a linear model whose penalty is chosen on held-out rows, then fitted to all of them."""

    _single: ClassVar[type]  # the model with one penalty
    _test_skips = ON_FOLDS

    def _plain(self, **penalty: float) -> Any:
        """The model with one penalty, not fitted; it has all parameters that the two have in common."""
        known = self._single._parameter_constraints.keys() - OWN_AFFAIRS  # type: ignore[attr-defined]
        shared = {name: value for name, value in self.get_params(deep=False).items() if name in known}
        return self._single(**{**shared, **{name: float(value) for name, value in penalty.items()}})

    def _foldable(self, rows: Rows, name: str | None = None, plain: str | None = None) -> MemoryRows:
        """The rows, if folds can be taken from them."""
        return in_memory(rows, name or type(self).__name__, plain or self._single.__name__)

    def _walk(self, prepare: Any, folds: Sequence[Split], orders: Sequence[Any], X: Any, y: Any) -> "Fits":
        """All fits on the folds, each ratio's strengths in order; one warning for those that stopped short."""
        with FitProgress(self, len(folds) * sum(map(len, orders)), X=X, y=y) as progress:
            fits = walk(prepare, folds, orders, progress.report)
        short = [f.result for f in fits.values() if not f.result.converged and f.result.status != "stopped"]
        if short:
            warn_convergence(self, f"{len(short)} of {len(fits)} fits on the path stopped short. {short[0].message}")
        return fits


def in_memory(rows: Rows, name: str, plain: str) -> MemoryRows:
    """The rows, if folds can be taken from them."""
    rows = rows.require_memory(
        f"{name} takes folds of rows in memory, not Batches or Dask collections: choose the penalty on a sample of "
        f"the rows that fits in memory, then fit {plain} with it to all of them."
    )
    if rows.is_sparse and not rows.X.has_canonical_format:  # summing and taking rows would sort the user's own
        X = rows.X.copy()
        X.sum_duplicates()
        rows = MemoryRows(X, *rows.columns[1:], **rows.how())
    rows.reduce(_sum)  # refuses NaN by the names of columns, which the models of folds do not know
    return rows


def _sum(block: Block) -> Sums:
    return Sums((float(block.X.sum()),))


def split(cv: Any, rows: MemoryRows, y: Any, classifier: bool = False, asked: Any = None) -> list[Split]:
    """The (training, validation) row numbers of every fold; five folds by default. A splitter gets what it `asked`."""
    X = np.zeros((rows.n_rows, 1)) if is_tensor(rows.X) else rows.X
    y = to_numpy(y)
    return [
        (np.asarray(a), np.asarray(b)) for a, b in check_cv(cv, y, classifier=classifier).split(X, y, **(asked or {}))
    ]


def total_weight(rows: MemoryRows) -> float:
    """The weight of all rows together."""
    w = rows.columns.weight
    weight = float(rows.n_rows if w is None else w.sum())
    if weight <= 0:
        raise InputError("The training rows of a fold, or all rows, have no weight: all their sample weights are zero.")
    return weight


def score(scorer: Callable[..., float], model: Any, X: Any, y: Any, w: Any = None, **asked: Any) -> float:
    """A scorer's value on held-out rows, on the CPU; the scorer gets what it `asked` for."""
    weights = {} if w is None else {"sample_weight": to_numpy(w)}
    return float(scorer(model, to_numpy(X) if is_tensor(X) else X, to_numpy(y), **{**asked, **weights}))


def knowing_labels(scorer: Any, classes: Array) -> Any:
    """A scorer that is told all labels, where its measure asks for them: a fold may lack one."""
    function = getattr(scorer, "_score_func", None)
    accepted = inspect.signature(function).parameters if function is not None else {}
    if "labels" not in accepted:
        return scorer
    known = {"labels": classes}
    if len(classes) == 2 and "pos_label" in accepted:
        known["pos_label"] = classes[-1]
    return make_scorer(
        function,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        **{**known, **scorer._kwargs},
    )


def averaged(scores: Array, axis: int) -> Array:
    """Means over the folds that were fitted; −∞ where none was."""
    known = ~np.isnan(scores)
    total = np.where(known, scores, 0.0).sum(axis=axis)
    return np.where(known.any(axis=axis), total / np.maximum(known.sum(axis=axis), 1), -np.inf)


class Fit(NamedTuple):
    """One fit on a path: the solver's result, what the model keeps of it, and the score on the validation rows."""

    result: Result
    kept: Any
    score: float


Fits = dict[tuple[int, int, int], Fit]  # by fold, ratio and strength
FitOne = Callable[[int, int, Any], Fit]  # of ratio, strength and starting point


def walk(prepare: Callable[[Array, Array], FitOne], folds: Sequence[Split], orders: Sequence[Any], report: Any) -> Fits:
    """All fits, fold by fold, each ratio's strengths in the given order, until a callback says stop."""
    fits: Fits = {}
    for f, (train, test) in enumerate(folds):
        fit = prepare(train, test)
        for r, order in enumerate(orders):
            start = None
            for s in order:
                done = fits[f, r, int(s)] = fit(r, int(s), start)
                start = done.result.x
                if report(len(fits), -done.score, start):
                    return fits
    return fits


def tabulate(fits: Fits, shape: tuple[int, int, int], part: Callable[[Fit], Any]) -> Array:
    """One number or array of every fit, NaN for fits that were not made."""
    values = {index: np.asarray(part(fit)) for index, fit in fits.items()}
    table = np.full((*shape, *next(iter(values.values())).shape), np.nan)
    for index, value in values.items():
        table[index] = value
    return table


def numbers(values: Any, name: str, low: float, high: float = np.inf, above: bool = False) -> Array:
    """A parameter as an array of at least one number within bounds; the first that is none is named."""
    if np.ndim(values) > 1 or np.size(values) == 0:
        raise ParameterError(f"{name} must be a number or a list of numbers, not {values!r}.")
    for k, value in enumerate(np.atleast_1d(np.asarray(values, object))):
        here = f"{name}[{k}]" if np.ndim(values) else name
        if not isinstance(value, Real):
            raise TypeError(f"{here} must be an instance of float, not {type(value).__name__}.")
        number = float(value)
        if not (number > low if above else number >= low):
            raise ParameterError(f"{here} == {value}, must be {'>' if above else '>='} {float(low)}.")
        if not number <= high:
            raise ParameterError(f"{here} == {value}, must be <= {float(high)}.")
    return np.atleast_1d(np.asarray(values, np.float64))
