"""Finite values that are too large or too small to compute with: which columns hold them, and the error that says so.

Squares of values above about 1e154 overflow, those of values below 1e-154 underflow to zero. No pass looks for such
values before a fit; only if a statistic or a coefficient is not finite, or a library fails, are they searched for here.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, is_tensor, namespace, to_numpy
from didact.core.errors import InputError
from didact.core.typing import Array

VANISHED = 1e-290  # sums of squares below have lost digits


class Largest(NamedTuple):
    """The largest absolute value of each column."""

    sizes: Array

    def merge(self, other: "Largest") -> "Largest":
        """The largest values of both sets of rows."""
        return Largest(np.maximum(self.sizes, other.sizes))


def largest_entries(block: Any) -> Largest:
    """The largest absolute value of each column of a block; missing values do not count."""
    return Largest(_sizes(block.X))


def _sizes(X: Any) -> Array:
    sizes = np.zeros(X.shape[1])
    if is_sparse(X):
        np.fmax.at(sizes, X.indices, np.abs(X.data))  # SciPy's abs and max would sort the user's own arrays
    elif X.shape[0]:
        xp = namespace(X)
        sizes = np.asarray(to_numpy(xp.max(xp.abs(X), axis=0)), np.float64)
        lost = np.isnan(sizes)
        if lost.any():
            sizes[lost] = np.fmax.reduce(np.abs(to_numpy(X)[:, lost]), axis=0, initial=0.0)
    return sizes


def largest_target(block: Any) -> Largest:
    """The largest absolute value of the targets of a block, if they are numbers and not labels."""
    y = block.y
    if y is None or "float" not in str(y.dtype):
        return Largest(np.zeros(1))
    return Largest(_sizes(y if y.ndim == 2 else y[:, None]))


def all_finite(statistic: Any) -> bool:
    """Whether no number in a statistic (a tuple of numbers, arrays and statistics) is NaN or infinite."""
    if isinstance(statistic, tuple):
        return all(all_finite(part) for part in statistic)
    if isinstance(statistic, float):
        return math.isfinite(statistic)
    if isinstance(statistic, np.ndarray):  # every pass asks: without a word about namespaces
        return statistic.dtype.kind != "f" or bool(np.isfinite(statistic).all())
    if "float" not in str(getattr(statistic, "dtype", "")):
        return True
    xp = namespace(statistic)
    return bool(xp.all(xp.isfinite(statistic)))


def too_large(what: str, most: float) -> InputError:
    """The error to raise where values up to `most` overflow."""
    return InputError(
        f"{what} has values up to {most:.2g}, whose squares or sums overflow: divide it by a power of ten."
    )


def too_small(what: str, most: float) -> InputError:
    """The error to raise where the squares of values up to `most` vanish."""
    return InputError(f"{what} has no values above {most:.2g}, whose squares vanish: multiply it by a power of ten.")


def to_unit(X: Array) -> tuple[Array, int]:
    """An array divided by a power of two, and its exponent, so that squares neither overflow nor vanish."""
    scale = int(np.frexp(np.abs(X).max(initial=0.0))[1])
    return np.ldexp(X, -scale), scale


def refuse_overflow(rows: Any, statistic: Any) -> None:
    """Refuse rows whose statistic is not finite, and name the columns, or the target, with the largest values."""
    if all_finite(statistic):
        return
    sizes = rows.reduce(largest_entries).sizes if rows.n_features else np.zeros(0)
    target = float(np.max(rows.reduce(largest_target).sizes, initial=0.0))
    most = float(sizes.max(initial=0.0))
    if most >= target:
        raise too_large(f"Input X in {listed(np.flatnonzero(sizes >= min(most, most**0.75)), rows.names)}", most)
    raise too_large("Input y", target)


def refuse_extreme(X: Any, names: Sequence[str] | None) -> None:
    """Refuse rows with columns whose squares overflow or underflow, and name the columns."""
    if is_tensor(X) or X.dtype.kind != "f":
        return
    limit = 1e-4 * float(np.sqrt(np.finfo(X.dtype).max))
    sizes = _sizes(X)
    large, small = np.flatnonzero(sizes > limit), np.flatnonzero((sizes > 0) & (sizes < 1 / limit))
    if len(large):
        raise too_large(f"Input X in {listed(large, names)}", float(sizes[large].max()))
    if len(small):
        raise too_small(f"Input X in {listed(small, names)}", float(sizes[small].max()))


def refuse_vanished(rows: Any, squares: Any) -> None:
    """Refuse rows whose sums of squares, or variances, are nearly all lost because all values are tiny."""
    if float(np.max(squares, initial=0.0)) >= VANISHED or not rows.n_features:
        return
    most = float(rows.reduce(largest_entries).sizes.max())
    if 0.0 < most < np.sqrt(VANISHED):
        raise too_small("Input X", most)


def refuse_small(X: Any, names: Sequence[str] | None = None) -> None:
    """Refuse an array of rows whose squared distances would vanish, by column."""
    if not is_tensor(X) and X.dtype.kind == "f" and 0.0 < _sizes(X).max(initial=0.0) < np.sqrt(VANISHED):
        refuse_extreme(X, names)


def refuse_large(X: Any, names: Sequence[str] | None = None) -> None:
    """Refuse an array of rows whose squared distances would overflow, by column."""
    if not (isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.size):
        return
    largest = float(np.abs(X).max())
    with np.errstate(over="ignore"):
        if np.isfinite(largest) and not np.isfinite(np.float64(largest) ** 2 * 4.0 * X.shape[1]):
            refuse_extreme(X, names)


def listed(where: Any, names: Sequence[str] | None) -> str:
    """A list of columns for a message: their names, or their positions if they have none."""
    where = np.unique(where)
    labels = [f"{names[j]!r}" if names is not None else str(j) for j in where[:5]]
    return ("column " if len(where) == 1 else "columns ") + ", ".join(labels) + (", …" if len(where) > 5 else "")
