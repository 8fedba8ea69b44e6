"""Validation of sparse matrices: malformed ones are refused, and the caller's own object is never modified.

SciPy and compiled loops follow the indices of a sparse matrix even outside its memory, and SciPy does not check all of
them when a matrix is made, nor any that are assigned later. So `check_sparse` checks them once, in O(entries): where
`core/validation` lets rows in, and wherever else a user may bring a matrix. Models get `own_rows`: CSR
rows with sorted indices and no duplicates, so that SciPy has no reason to sort or sum the caller's arrays in place.
"""

from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from didact.core.errors import Malformed

T = TypeVar("T")
CURE = "Build it anew, for example with scipy.sparse.csr_array((values, (rows, columns)), shape=…)."


def check_sparse(X: T, name: str = "X") -> T:
    """Anything as it is, unless it is a sparse matrix whose arrays are inconsistent: that is refused."""
    said = _fault(X) if sp.issparse(X) else ""
    if said:
        raise Malformed(f"{name} is a malformed sparse matrix ({X.format}, shape {tuple(X.shape)}): {said}. {CURE}")  # type: ignore[attr-defined]
    return X


def own_rows(X: Any) -> Any:
    """CSR rows with sorted and distinct indices, in a new object that shares the arrays if they are so already."""
    if not sp.issparse(X) or X.format != "csr":
        return X
    own = (sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix)(X.shape, dtype=X.dtype)
    used = int(X.indptr[-1])
    whole = np.result_type(X.indices.dtype, X.indptr.dtype).newbyteorder("=")
    own.indices, own.indptr = X.indices[:used].astype(whole, copy=False), X.indptr.astype(whole, copy=False)
    own.data = X.data[:used]
    if not own.has_canonical_format:
        own = own.copy()
        own.sum_duplicates()
    return own


def row_slice(X: Any, start: int, stop: int) -> Any:
    """Rows start … stop − 1 without a copy (SciPy's own slicing of sparse rows copies, as long as a product takes)."""
    if not sp.issparse(X):
        return X[start:stop]
    stop = min(stop, X.shape[0])
    if start == 0 and stop == X.shape[0]:
        return X
    a, b = X.indptr[start], X.indptr[stop]
    block = sp.csr_array((stop - start, X.shape[1]), dtype=X.dtype)
    block.data, block.indices = np.asarray(_Part(X.data[a:b])), np.asarray(_Part(X.indices[a:b]))
    block.indptr = X.indptr[start : stop + 1] - a
    return block


class _Part:
    """A slice of an array that hides its base: SciPy copies slices of a larger array in every transpose."""

    size = 0

    def __init__(self, part: Any):
        self.part, self.__array_interface__ = part, part.__array_interface__


def _fault(X: Any) -> str:
    """What is wrong with a sparse matrix; an empty string if nothing is."""
    if X.ndim != 2:
        return f"it has {X.ndim} dimension(s) where rows and columns are needed"
    if X.format in ("csr", "csc", "bsr"):
        return _compressed(X)
    if X.format == "coo":
        return _triples(X)
    if X.format == "lil":
        return _lists(X)
    if X.format == "dia":
        return _diagonals(X)
    return ""  # SciPy checks a dictionary of keys when it converts it


def _compressed(X: Any) -> str:
    lines, places = X.shape if X.format != "csc" else X.shape[::-1]
    if X.format == "bsr":
        if X.data.ndim != 3 or 0 in X.data.shape[1:]:
            return "its data is not an array of blocks with three dimensions"
        if lines % X.data.shape[1] or places % X.data.shape[2]:
            return f"blocks of {X.data.shape[1]} × {X.data.shape[2]} do not fill it"
        lines, places = lines // X.data.shape[1], places // X.data.shape[2]
    elif X.data.ndim != 1:
        return "its data has more than one dimension"
    for part in ("indices", "indptr"):
        array = getattr(X, part)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            return f"{part} is not a one-dimensional array of whole numbers"
    if len(X.indptr) != lines + 1:
        return f"indptr has {len(X.indptr)} entries where {lines + 1} are needed"
    if len(X.data) != len(X.indices):
        return f"it has {len(X.data)} values and {len(X.indices)} indices"
    if X.indptr[0] != 0 or X.indptr[-1] > len(X.indices):
        return f"indptr runs from {X.indptr[0]} to {X.indptr[-1]}, but there are {len(X.indices)} entries"
    if (X.indptr[1:] < X.indptr[:-1]).any():
        return f"indptr decreases after place {int(np.argmax(X.indptr[1:] < X.indptr[:-1]))}"
    return _outside(X.indices[: X.indptr[-1]], places)


def _triples(X: Any) -> str:
    if X.data.ndim != 1 or len(X.coords) != 2 or any(len(c) != len(X.data) for c in X.coords):
        return f"it has {len(X.data)} values, but {' and '.join(str(len(c)) for c in X.coords)} indices"
    if any(c.ndim != 1 or c.dtype.kind not in "iu" for c in X.coords):
        return "its coordinates are not one-dimensional arrays of whole numbers"
    return _outside(X.coords[0], X.shape[0]) or _outside(X.coords[1], X.shape[1])


def _lists(X: Any) -> str:
    if len(X.rows) != X.shape[0] or len(X.data) != X.shape[0]:
        return f"it has {len(X.rows)} lists of columns and {len(X.data)} lists of values"
    for i, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if not isinstance(columns, list) or not isinstance(values, list) or len(columns) != len(values):
            return f"row {i} does not have as many values as column indices"
        if columns and not 0 <= min(columns) <= max(columns) < X.shape[1]:
            return _outside(np.asarray(columns), X.shape[1])
    return ""


def _diagonals(X: Any) -> str:
    if X.data.ndim != 2 or X.offsets.ndim != 1 or len(X.data) != len(X.offsets):
        return f"it has {len(X.data)} diagonals and {X.offsets.size} offsets"
    if X.offsets.dtype.kind not in "iu" or len(np.unique(X.offsets)) != len(X.offsets):
        return "its offsets are not distinct whole numbers"
    return ""


def _outside(indices: Any, size: int) -> str:
    """A message about indices outside 0 … size − 1; an empty string if there are none."""
    if not len(indices) or (indices.min() >= 0 and indices.max() < size):
        return ""
    bad = indices.min() if indices.min() < 0 else indices.max()
    return f"the index {bad} is not between 0 and {size - 1}"
