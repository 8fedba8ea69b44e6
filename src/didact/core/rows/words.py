"""Rows that are words: a column of strings, or of other sequences, from any kind of collection, checked."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from didact.core.backend import is_sparse, is_tensor
from didact.core.errors import InputError
from didact.core.frames import column_names, table
from didact.core.rows.base import Block, Rows
from didact.core.rows.batches import Batches, BatchRows
from didact.core.rows.cluster import ClusterRows, is_dask
from didact.core.rows.memory import MemoryRows
from didact.core.typing import Array


def word_rows(model: Any, X: Any, y: Any, w: Any, target: str, reset: bool, strings: bool = False) -> Rows:
    """Rows of one column of words (`strings`: of nothing else), with labels or values and weights."""
    check: Any = WordCheck(target, strings)
    if reset:
        model.__dict__.pop("feature_names_in_", None)
        names = column_names(_first_block(X))
        model.n_features_in_ = 1
        if names is not None:
            model.feature_names_in_ = np.asarray(names, dtype=object)
    if isinstance(X, Batches):
        rows: Rows = BatchRows(X, check)
    elif is_dask(X):
        rows = ClusterRows((X, y, w), check, 1, np.dtype("U1"))
    else:
        rows = MemoryRows(*check(X, y, w))
    rows.names, rows.missing = getattr(model, "feature_names_in_", None), True
    return rows


def first_word(X: Any) -> str | None:
    """The first entry of X if that is a column of strings: a list, an array, a series, or a table of one column.

    >>> first_word(["to", "be"]), first_word([["to"], ["be"]]), first_word([[1.0]]), first_word([("to", "be")])
    ('to', 'to', None, None)
    """
    X = _first_block(X)
    if isinstance(X, (list, tuple)):
        word = X[0] if len(X) else None
    else:
        kind = getattr(getattr(X, "dtype", None), "kind", "O")
        if is_dask(X) or is_tensor(X) or kind not in "OTU" or len(getattr(X, "shape", ())) not in (1, 2) or not len(X):
            return None
        word = column_of_words(table(X)[:1])[0, 0] if len(X.shape) == 1 or X.shape[1] == 1 else None
    word = word[0] if isinstance(word, (list, tuple)) and len(word) == 1 else word
    return word if isinstance(word, str) else None


def _first_block(X: Any) -> Any:
    """X, or the rows of the first of batches."""
    first = next(iter(X), None) if isinstance(X, Batches) else X
    return first[0] if isinstance(X, Batches) and isinstance(first, tuple) else first


class WordCheck(NamedTuple):
    """Converts the user's input to a table of one column of words, and y and the weights to arrays."""

    target: str
    strings: bool = False

    def __call__(self, X: Any, y: Any = None, w: Any = None) -> Block:
        """The block of checked words, targets and weights."""
        X = column_of_words(X)
        other = next((i for i, word in enumerate(X[:, 0]) if self.strings and not isinstance(word, str)), None)
        if other is not None:
            found = X[other, 0]
            raise InputError(
                f"X is a column of strings, but row {other} holds {found!r} of type {type(found).__name__}."
            )
        y = None if self.target == "none" else self._checked(y)
        check_consistent_length(X, y)
        if w is not None:
            w = column_or_1d(np.asarray(w, np.float64))
            check_consistent_length(X, w)
            if not (np.isfinite(w).all() and (w >= 0).all() and w.sum() > 0):
                raise InputError("Sample weights are finite numbers of at least 0, and not all 0.")
        return Block(X, y, w)

    def _checked(self, y: Any) -> Array:
        """The targets."""
        if y is None:
            raise InputError("The model needs y, but y is None.")
        y = np.asarray(y)
        if self.target == "outputs":
            y = y.astype(np.float64)
            if not np.isfinite(y).all():
                raise InputError("Input y contains NaN or infinity: drop the rows without a target.")
        else:
            y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
            check_classification_targets(y)
        return np.asarray(y)


def column_of_words(X: Any) -> Array:
    """One column (n, 1) of objects, from a list, a one-dimensional array, a series, or a table of one column."""
    if column_names(X) is not None:
        import narwhals as nw

        frame = nw.from_native(table(X), eager_only=True)
        if len(frame.columns) != 1:
            raise InputError(f"The edit distance compares words of one column, and X has {len(frame.columns)}.")
        X = frame[frame.columns[0]].to_list()
    elif isinstance(X, np.ndarray) or hasattr(X, "to_numpy"):
        X = np.asarray(X)
        if X.ndim == 2 and X.shape[1] != 1:
            raise InputError(f"The edit distance compares words of one column, and X has {X.shape[1]}.")
        X = X.ravel().tolist()
    if isinstance(X, str) or is_sparse(X) or not hasattr(X, "__len__"):
        raise InputError("X must be a column of words, such as a list of strings.")
    out = np.empty((len(X), 1), dtype=object)
    # A list of lists of one string each is a table of one column; other lists are sequences to be compared.
    table_of_one = all(isinstance(word, list) and len(word) == 1 for word in X)
    for i, word in enumerate(X):
        out[i, 0] = word[0] if table_of_one else word
    if not len(out):
        raise InputError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return out
