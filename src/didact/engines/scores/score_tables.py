r"""Scores of classes as tables for `score_loops`; None where products of whole blocks by BLAS are quicker."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from didact.core.typing import Array
from didact.engines.linear.pass_loops import whole_vectors
from didact.engines.scores.score_loops import CATEGORIES, DIAGONAL, ONE_LINE, SOME_LINES, WHITENED, Tables
from didact.engines.scores.tuning import FEW_NUMBERS, TABLE_NUMBERS
from didact.parts.families.log_densities import gaussian_log_density
from didact.parts.statistics.moment_loops import aligned_zeros

F = TypeVar("F", bound=Callable[..., Any])


def scored_by(tables: Callable[..., Tables | None]) -> Callable[[F], F]:
    """Mark a function scores(X, *args) whose numbers tables(*args) hold, so that compiled passes can take its place."""

    def mark(fn: F) -> F:
        fn.tables = tables  # type: ignore[attr-defined]
        return fn

    return mark


def tables_of(X: Any, fn: Any, args: tuple[Any, ...]) -> Tables | None:
    """The tables that stand for a function (or for a `partial` of it) of dense rows in memory, if it has any."""
    make = getattr(getattr(fn, "func", fn), "tables", None)
    if make is None or not in_memory(X):
        return None
    found: Tables | None = make(*args, **getattr(fn, "keywords", {}))
    return found


def in_memory(X: Any) -> bool:
    """Whether rows are such as compiled passes read, and enough of them: for a few nothing has to be compiled."""
    return isinstance(X, np.ndarray) and X.dtype in (np.float64, np.float32) and X.size > FEW_NUMBERS


def exactly(X: Any) -> Any:
    """Rows as array code takes them: a few in float64, in which compiled passes compute, too."""
    few = isinstance(X, np.ndarray) and X.dtype == np.float32 and X.size <= FEW_NUMBERS
    return X.astype(np.float64) if few else X


def padded_table(table: Array) -> Array:
    """A table whose rows are filled up with zeros to whole vectors, in float64."""
    wide = aligned_zeros(len(table), whole_vectors(table.shape[1]))
    wide[:, : table.shape[1]] = table
    return wide


def line_tables(coef: Array, intercept: Any, threshold: float = np.nan, classes: int = 0) -> Tables | None:
    """The score x·bₖ + bₖ₀ of each class, for coefficients (K, p); of one of two classes, where the first has 0."""
    K, p = coef.shape
    if K == 1 and threshold != threshold:
        return Tables(ONE_LINE, classes or 1, padded_table(np.append(coef, intercept)[None].astype(np.float64)))
    if K * p > TABLE_NUMBERS:
        return None
    table = np.vstack([coef.T, np.broadcast_to(intercept, K)])
    return Tables(SOME_LINES, K, padded_table(table), threshold=threshold)


def diagonal_tables(log_prior: Array, mean: Array, variance: Array) -> Tables:
    """log P(k) and the logarithm of the density of independent normal columns."""
    variance = variance.astype(np.float64)
    constants = log_prior + gaussian_log_density(0.0, np.log(variance).sum(axis=1), mean.shape[1])
    means = np.ascontiguousarray(mean, np.float64)
    return Tables(DIAGONAL, len(mean), np.ascontiguousarray(1.0 / variance), means, constants=as_numbers(constants))


def whitened_tables(log_prior: Array, means: Array, whiten: Array, log_dets: Array) -> Tables | None:
    """log P(k) and the logarithm of a normal density; `whiten` holds one W per class, or a single one."""
    (groups, p, rank), K = np.shape(whiten), len(means)
    if p * rank > TABLE_NUMBERS:
        return None
    own = groups == K
    origins = np.asarray(means, np.float64) if own else means.mean(axis=0, dtype=np.float64)[None]
    centres = np.zeros((K, rank)) if own else (means - origins) @ whiten[0]
    W = padded_table(np.reshape(whiten, (groups * p, rank)))
    constants = log_prior + gaussian_log_density(0.0, log_dets, p)
    return Tables(
        kind=WHITENED,
        classes=K,
        table=W,
        centres=padded_table(centres),
        origins=np.ascontiguousarray(origins),
        constants=as_numbers(constants),
    )


def category_tables(log_prior: Array, tables: list[Array]) -> Tables:
    """log P(k) and for each column a table (K, values) of which the row's value chooses an entry."""
    places = np.cumsum([0, *(table.shape[1] for table in tables)]).astype(np.int64)
    table = np.concatenate([table.T for table in tables]) if tables else np.zeros((0, len(log_prior)))
    return Tables(CATEGORIES, len(log_prior), padded_table(table), constants=as_numbers(log_prior), places=places)


def as_numbers(values: Any) -> Array:
    """A float64 array."""
    return np.ascontiguousarray(values, np.float64)
