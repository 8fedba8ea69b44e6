"""Rows for the edit distance: a column of strings, or of other sequences, from any kind of collection, checked."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from didact.core.errors import InputError
from didact.core.frames import column_names, table
from didact.core.rows import Batches, BatchRows, Block, ClusterRows, MemoryRows, Rows, is_dask
from didact.core.typing import Array


def word_rows(model: Any, X: Any, y: Any, w: Any, target: str, reset: bool) -> Rows:
    """Rows of one column of words, with labels or values and weights."""
    check: Any = WordCheck(target)
    if reset:
        first = X
        if isinstance(X, Batches):
            first = next(iter(X), None)
            first = first[0] if isinstance(first, tuple) else first
        model.__dict__.pop("feature_names_in_", None)
        names = column_names(first)
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


class WordCheck(NamedTuple):
    """Converts the user's input to a table of one column of words, and y and the weights to arrays."""

    target: str

    def __call__(self, X: Any, y: Any = None, w: Any = None) -> Block:
        """The block of checked words, targets and weights."""
        X = column_of_words(X)
        if self.target == "none":
            return Block(X)
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
        check_consistent_length(X, y)
        if w is not None:
            w = column_or_1d(np.asarray(w, np.float64))
            check_consistent_length(X, w)
            if not (np.isfinite(w).all() and (w >= 0).all() and w.sum() > 0):
                raise InputError("Sample weights are finite numbers of at least 0, and not all 0.")
        return Block(X, y, w)


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
    if isinstance(X, str) or not hasattr(X, "__len__"):
        raise InputError("X must be a column of words, such as a list of strings.")
    out = np.empty((len(X), 1), dtype=object)
    # A list of lists of one string each is a table of one column; other lists are sequences to be compared.
    table_of_one = all(isinstance(word, list) and len(word) == 1 for word in X)
    for i, word in enumerate(X):
        out[i, 0] = word[0] if table_of_one else word
    if not len(out):
        raise InputError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return out
