"""Validation: whatever the user brings becomes float arrays with one entry per row, or raises one clear error.

Data in memory go through scikit-learn's `validate_data`; blocks of a source of batches or of a Dask collection are
checked one by one against what the first block, or the collection, declares.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    check_array,
    check_X_y,
    column_or_1d,
    validate_data,
)

from didact.core.backend import is_sparse, is_tensor, local, namespace
from didact.core.categories import Categories, refuse_words
from didact.core.errors import InputError, ParameterError, WrongType
from didact.core.frames import column_names, plain, table
from didact.core.overflow import too_large
from didact.core.rows.base import Block
from didact.core.rows.batches import EMPTY_SOURCE, Batches
from didact.core.rows.cluster import is_dask
from didact.core.rows.memory import refuse_infinite
from didact.core.sparse import check_sparse, own_rows
from didact.core.threads import parallel_parts
from didact.core.typing import AnyArray, Array

FLOATS = [np.float64, np.float32]
SQUARES, SUMS = 1e150, 1e300  # largest targets whose sums of squares, or sums, stay finite for 1e8 rows
NAME_IT = "Name it in categorical_features, or give it a category type."
ENCODE_IT = (
    "Encode it first, for example with didact.preprocessing.OneHotEncoder or OrdinalEncoder in a ColumnTransformer."
)


def check_memory(
    estimator: Any, X: Any, y: Any, w: Any, *more: Any, target: str, reset: bool, categories: Categories | None = None
) -> Block:
    """The validated block (X, y, w, *more) of data in memory; sets or checks n_features_in_ and feature_names_in_."""
    _check_table(X)
    _check_target(y)
    if is_tensor(X) and estimator._tensors:
        return _check_tensors(estimator, X, y, w, *more, target=target, reset=reset)
    X, y, w, *more = (local(c) for c in (X, y, w, *more))  # type: ignore[assignment]
    # NaN is not looked for here: it shows in the sums of the first pass, which spares one over the data.
    how: dict[str, Any] = {
        "accept_sparse": "csr" if estimator._sparse else False,
        "dtype": FLOATS,
        "order": "C" if estimator._missing else None,
        "ensure_all_finite": False,
        "accept_large_sparse": True,
    }

    def checked(**target_how: Any) -> Any:
        if not (reset or target_how) and categories is None and _is_ready(estimator, X, how["order"]):
            return X
        if categories is None:
            refuse_text(X, "categorical_features" in estimator._parameter_constraints)
            return validate_data(estimator, X, *((y,) if target_how else ()), reset=reset, **how, **target_how)
        validate_data(estimator, X, reset=reset, skip_check_array=True)  # names only: X may hold text until it is coded
        coded = categories.encode(X, estimator._new_codes)
        if not target_how:
            return check_array(coded, estimator=estimator, input_name="X", **how)
        return check_X_y(coded, y, estimator=estimator, **how, **target_how)

    if target == "none":
        X = checked()
    elif target in ("labels", "label columns"):
        X, y = checked(multi_output=True)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if y.ndim > 1 or y.dtype.kind not in "iub":  # one column of integers is always valid: skip a scan
            check_classification_targets(y)
        y = column_or_1d(y) if target == "labels" else y
    else:
        X, y = checked(multi_output=target == "outputs", y_numeric=True)
        y = _numeric_target(y, estimator._largest_target)
    X = own_rows(X)
    if estimator._missing and not estimator._infinite and (target == "none" or not estimator._finds_infinity):
        refuse_infinite(X, getattr(estimator, "feature_names_in_", None))
    w = None if w is None else _weights(w, X)
    return Block(X, y, w, *(None if m is None else _per_row(m, X) for m in more))


def _is_ready(estimator: Any, X: Any, order: str | None) -> bool:
    """Whether scikit-learn's checks would return X as it is: for one row they take longer than most predictions."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and len(X) > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", 0) > 0
        and getattr(estimator, "feature_names_in_", None) is None
        and (order is None or X.flags.c_contiguous)
    )


def _check_tensors(estimator: Any, X: Any, y: Any, w: Any, *more: Any, target: str, reset: bool) -> Block:
    """The validated block of a torch tensor X, which stays on its device; other columns are moved there."""
    if X.ndim != 2:
        raise InputError(f"X must have two dimensions (rows, columns); this tensor has shape {tuple(X.shape)}.")
    xp = namespace(X)
    if not X.dtype.is_floating_point:
        X = xp.astype(X, xp.float64)
    _check_n_features(estimator, X, reset=reset)

    def column(values: Any, name: str) -> Any:
        if values is None:
            return None
        values = xp.asarray(values, dtype=X.dtype, device=X.device)
        if values.shape[0] != X.shape[0]:
            raise InputError(f"X has {X.shape[0]} rows and {name} has {values.shape[0]}.")
        if not bool(xp.all(xp.isfinite(values))):
            raise InputError(f"{name} contains NaN or infinity.")
        return values

    if target == "labels" and y is not None:
        if y.shape[0] != X.shape[0]:
            raise InputError(f"X has {X.shape[0]} rows and y has {y.shape[0]}.")
    elif target != "none":
        if y is None:
            raise InputError(f"{type(estimator).__name__} needs y, but y is None.")
        y = column(y, "y")
    return Block(X, y, column(w, "sample_weight"), *(column(m, "offset") for m in more))


class BlockCheck(NamedTuple):
    """The validation of one block of a larger collection, against what the whole declares; can be sent to workers."""

    n_features: int
    names: tuple[str, ...] | None
    target: str
    width: int
    sparse: bool
    missing: bool = False
    categories: Categories | None = None
    by_category: bool = False  # whether the model has the parameter categorical_features
    infinite: bool = False
    largest: float = SQUARES  # the largest allowed target
    new: bool = False  # whether a category that fit has not seen has a code

    @classmethod
    def of(cls, estimator: Any, target: str, width: int) -> "BlockCheck":
        """The check that an estimator's blocks have to pass."""
        names = getattr(estimator, "feature_names_in_", None)
        names = None if names is None else tuple(names)
        kinds = bool(estimator._sparse), bool(estimator._missing), getattr(estimator, "categories_", None)
        by_category = "categorical_features" in estimator._parameter_constraints
        limits = bool(estimator._infinite), float(estimator._largest_target), bool(estimator._new_codes)
        return cls(estimator.n_features_in_, names, target, width, *kinds, by_category, *limits)

    def __call__(self, X: Any, y: Any = None, w: Any = None, *more: Any) -> Block:
        """The validated block."""
        if len(more) > self.width - 3:
            raise InputError(f"A batch is X, (X, y) or (X, y, sample_weight); got a tuple of {3 + len(more)}.")
        X, y, w, *more = (local(c) for c in (X, y, w, *more))  # type: ignore[assignment]
        names = column_names(X)
        if self.names is not None and names is not None and tuple(names) != self.names:
            raise InputError(f"A block has the columns {list(names)[:10]}, the fit has {list(self.names)[:10]}.")
        _check_table(X, "A block")
        # Text is coded before it becomes an array; a model without categories refuses it by the name of its column.
        if self.categories is None:
            refuse_text(X, self.by_category)
        X = check_array(
            plain(X) if self.categories is None else self.categories.encode(X, self.new),
            accept_sparse="csr" if self.sparse else False, dtype=FLOATS, order="C" if self.missing else None,
            ensure_all_finite=False, accept_large_sparse=True, ensure_min_samples=0,
        )  # fmt: skip
        X = own_rows(X)
        if self.missing and not self.infinite:
            refuse_infinite(X, self.names)
        if X.shape[1] != self.n_features:
            raise InputError(f"X has {X.shape[1]} features, but {self.n_features} features are expected in each block.")
        if self.target == "none":
            return Block(X, None, None if w is None else _weights(np.asarray(w), X, whole=False))
        if y is None:
            raise InputError("y is missing: batches must be (X, y) or (X, y, sample_weight).")
        _check_target(y)
        y = np.asarray(y)
        if self.target not in ("labels", "label columns"):
            y = _numeric_target(check_array(y, ensure_2d=False, dtype=None), self.largest)
        elif self.target == "labels":
            y = column_or_1d(y)
        if not y.ndim or y.shape[0] != X.shape[0]:
            raise InputError(f"A block has {X.shape[0]} rows of X and {y.shape[0] if y.ndim else 'one number'} of y.")
        w = None if w is None else _weights(np.asarray(w), X, whole=False)
        return Block(X, y, w, *(None if m is None else _per_row(m, X) for m in more))


def describe_collection(estimator: Any, X: Any, reset: bool) -> Any:
    """Set or check names and number of columns from a first block or a lazy collection; return its float type."""
    if X is None:
        raise InputError(EMPTY_SOURCE)
    names = column_names(X)
    if names is None and X.ndim != 2:
        raise InputError(f"X must have two dimensions (rows, columns), not {X.ndim}.")
    _check_n_features(estimator, np.empty((0, len(names) if names is not None else X.shape[1])), reset=reset)
    if reset:
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
    return _float_type(X)


def _float_type(X: Any) -> Any:
    """The type that blocks of a collection have after validation: float32 stays, all else becomes float64."""
    types = [X.dtype] if column_names(X) is None and hasattr(X, "dtype") else list(getattr(X, "dtypes", []))
    single = bool(types) and all(str(t) == "float32" for t in types)
    return np.dtype(np.float32 if single else np.float64)


def require_table(X: Any, method: str) -> None:
    """Refuse collections where a method answers for rows in memory alone."""
    if isinstance(X, Batches) or is_dask(X):
        raise InputError(f"{method} answers for rows in memory: call it for each batch.")


def given_rows(X: Any, name: str = "X", finite: bool = False) -> AnyArray:
    """Rows of numbers, (n, p), that a function or a noun is given: an array or a tensor of floats, or CSR rows.

    Whether they are `finite` is looked at where it is asked for.
    """
    if is_tensor(X):
        rows = X if X.dtype.is_floating_point else namespace(X).astype(X, namespace(X).float64)
    elif is_sparse(X):
        rows = own_rows(check_sparse(X, name).tocsr())
    else:
        rows = _array(X, name)
    if rows.ndim != 2:
        raise InputError(f"{name} must have two dimensions, rows and columns, not {rows.ndim}: use X.reshape(-1, 1).")
    if not is_tensor(rows) and rows.dtype not in FLOATS:
        rows = rows.astype(np.float64)
    if finite and not bool(namespace(rows).isfinite(rows.data if is_sparse(rows) else rows).all()):
        raise InputError(f"{name} contains NaN or infinity, which cannot be turned back.")
    return rows


def _array(X: Any, name: str) -> Array:
    """An array of numbers that are real."""
    try:
        found = np.asarray(X)
        found = found if found.dtype.kind in "fiubc" else found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a table of numbers: {error}.") from error
    if found.dtype.kind == "c":
        raise InputError(f"{name} holds complex numbers: give real ones.")
    return found


def _check_table(X: Any, name: str = "X") -> None:
    """Refuse what scikit-learn gives no clear error for: malformed sparse matrices, records, frames without columns."""
    check_sparse(X, name)
    if getattr(getattr(X, "dtype", None), "names", None):
        raise InputError(f"{name} is an array of records: pass its numbers as a two-dimensional array or a data frame.")
    if column_names(X) == []:
        raise InputError(f"{name} is a data frame with 0 feature(s): at least one column is needed.")


def _check_target(y: Any) -> None:
    """Refuse what scikit-learn gives no clear error for: a sparse target, and a column whose entries are arrays."""
    if sp.issparse(y):
        raise WrongType("y is a sparse matrix, and a sparse multilabel-indicator for y is not supported: y.toarray().")
    if str(getattr(y, "dtype", "")) != "object" or y.ndim != 1:
        return
    row = next((i for i, entry in enumerate(y) if isinstance(entry, (list, tuple, np.ndarray))), None)
    if row is not None:
        raise InputError(
            f"y is one column whose entries are arrays or lists (in row {row}): several targets need a two-dimensional "
            "y of shape (n_samples, n_targets), for example np.stack(y)."
        )


def all_classes(model: Any, classes: Any) -> Array:
    """All labels that calls of partial_fit may bring: the first call names them, others may repeat them."""
    known = vars(model).get("classes_")
    if classes is None and known is None:
        raise ParameterError("classes must be passed on the first call to partial_fit: all labels that will ever come.")
    found = known if classes is None else np.unique(np.asarray(classes))
    if known is not None and not np.array_equal(found, known):
        raise ParameterError(f"`classes={found}` is not the same as on last call to partial_fit, was: {known}.")
    return found


def refuse_text(X: Any, by_category: bool = False) -> None:
    """Refuse data frames with columns of text, categories or times, by name; `by_category`: categories may be named."""
    if by_category and isinstance(X, (np.ndarray, list, tuple)):
        refuse_words(X)
    if isinstance(X, (np.ndarray, list, tuple)) or sp.issparse(X) or _only_numbers(X) or column_names(X) is None:
        return
    import narwhals as nw

    frame = nw.from_native(table(X), pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    # Times get advice of their own; the words "could not convert string to float" are those that scikit-learn expects.
    schema = frame.schema.items()
    times = [name for name, kind in schema if kind.is_temporal()]
    if times:
        raise InputError(
            f"Column {times[0]!r} holds {frame.schema[times[0]]} values, which this model cannot use: turn them into "
            "numbers first, for example days since a date, or the month and the weekday."
        )
    text = [name for name, kind in schema if kind in (nw.String, nw.Categorical, nw.Enum)]
    if text:
        raise InputError(
            f"Column {text[0]!r} holds {frame.schema[text[0]]} values, which this model cannot use "
            f"({len(text)} such column(s)): could not convert string to float. "
            + (NAME_IT if by_category else ENCODE_IT)
        )


def _only_numbers(X: Any) -> bool:
    """Whether X says in NumPy's words that all columns are numbers, as pandas does: a cheaper look than a schema."""
    if getattr(X, "ndim", 0) != 2:
        return False
    kinds = {getattr(kind, "kind", None) for kind in getattr(X, "dtypes", ())}
    return bool(kinds) and kinds <= set("biuf")


def _numeric_target(y: Any, most: float) -> Any:
    """y as float64, finite, and no larger than the model can compute with."""
    y = np.asarray(y, dtype=np.float64)
    largest = np.max(parallel_parts(lambda part: np.abs(part).max(initial=0.0), y))
    if not np.isfinite(largest):
        raise InputError("Input y contains NaN or infinity: drop the rows without a target.")
    if largest > most:
        raise too_large("Input y", largest)
    return y


def _weights(w: Any, X: Any, whole: bool = True) -> Any:
    """Validated weights of the rows X; if X is the whole data, at least one weight must be positive."""
    return _check_sample_weight(
        w, X, dtype=np.float64, ensure_non_negative=True, allow_all_zero_weights=not whole
    )  # fmt: skip


def _per_row(values: Any, X: Any) -> Any:
    """A validated numeric column with one entry per row of X, such as an offset."""
    values = check_array(values, ensure_2d=False, dtype=np.float64)
    if values.shape[0] != X.shape[0]:
        raise InputError(f"X has {X.shape[0]} rows and the offset or exposure has {values.shape[0]}.")
    return values
