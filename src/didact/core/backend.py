"""Array namespaces: the library whose functions work on a block of rows, and results in the caller's kind of array.

Block functions are written on `xp = namespace(X)`. NumPy arrays and SciPy sparse matrices get NumPy; torch tensors get
the array-API view of torch that scikit-learn ships. Validation reads other libraries' arrays as NumPy arrays.
"""

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.errors import InputError
from didact.core.typing import Array


def is_tensor(x: Any) -> bool:
    """Whether x is a torch tensor (without importing torch)."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def namespace(*arrays: Any) -> Any:
    """The array namespace of the first torch tensor among the arrays, else NumPy."""
    if any(is_tensor(a) for a in arrays):
        from sklearn.externals.array_api_compat import torch

        return torch
    return np


def to_numpy(x: Any) -> Any:
    """A local NumPy array (or scalar) with the values of x."""
    return x.detach().cpu().numpy() if is_tensor(x) else np.asarray(x)


def local(x: Any) -> Any:
    """A tensor as a local NumPy array; anything else as it is."""
    return to_numpy(x) if is_tensor(x) else x


def to_host(*arrays: Any) -> tuple[Any, ...]:
    """Local float64 copies of several arrays or numbers; the tensors among them travel together, in one transfer."""
    tensors = [a for a in arrays if is_tensor(a)]
    if not tensors:
        return tuple(np.asarray(a, np.float64) for a in arrays)
    torch = sys.modules["torch"]
    flat = torch.cat([a.to(torch.float64).reshape(-1) for a in tensors]).cpu().numpy()
    parts = iter(np.split(flat, np.cumsum([a.numel() for a in tensors])[:-1]))
    return tuple(next(parts).reshape(tuple(a.shape)) if is_tensor(a) else np.asarray(a, np.float64) for a in arrays)


def like(value: Any, reference: Any) -> Any:
    """The NumPy array `value` as the kind of array that `reference` is, on its device and in its float type."""
    if not is_tensor(reference):
        return value
    torch = sys.modules["torch"]
    dtype = reference.dtype if reference.dtype.is_floating_point else torch.float64
    return torch.as_tensor(np.ascontiguousarray(value), dtype=dtype, device=reference.device)


def is_sparse(x: Any) -> bool:
    """Whether x is a SciPy sparse matrix or array."""
    return bool(sp.issparse(x))


def as_dense(X: Any) -> Any:
    """A sparse matrix as an array; anything else as it is."""
    return X.toarray() if is_sparse(X) else X


def small_product(A: Any, B: Any) -> Any:
    """A @ B for sums over many rows that are few numbers.

    NumPy's operator keeps the interpreter lock if the result has fewer than 500, however long it takes: threads that
    work on other rows would wait for it. `np.dot` lets them go on, but it copies what does not lie together.
    """
    whole = all(isinstance(M, np.ndarray) and M.flags.forc for M in (A, B))
    return np.dot(A, B) if whole else A @ B


def rows_at(X: Any, index: Array) -> Any:
    """The rows with these numbers of an array, a sparse matrix or a tensor."""
    return X[index.tolist()] if is_tensor(X) else X[index]


def row_weights(w: Any, n: int) -> Array:
    """The weights of n rows on the host, in double precision; 1 for each where none are given."""
    return np.ones(n) if w is None else np.asarray(to_numpy(w), np.float64)


def float_type(x: Any) -> Any:
    """The NumPy float type of x's values: float32 stays, all else is float64."""
    single = x.dtype == np.float32 if isinstance(x.dtype, np.dtype) else str(x.dtype).endswith("float32")
    return np.float32 if single else np.float64


def of_types(arrays: Any, types: Any) -> bool:
    """Whether arrays have the types and the C order that loops are compiled for: a file may hold any others."""
    pairs = zip(arrays, types, strict=True)
    return all(isinstance(a, np.ndarray) and a.dtype == kind and a.flags.c_contiguous for a, kind in pairs)


def read_only(a: Array) -> Array:
    """A read-only view in row order with native bytes: compiled loops then have one variant for each type."""
    a = np.ascontiguousarray(a, dtype=a.dtype.newbyteorder("="))
    a = np.array(a) if not a.flags.aligned else a.view()
    a.flags.writeable = False
    return a


def refuse_no_rows(X: Any, sentence: str) -> None:
    """Raise an error with a sentence about what X is for, if it is known to hold no rows."""
    shape = getattr(X, "shape", None)
    count = shape[0] if shape else len(X) if hasattr(X, "__len__") else None
    if isinstance(count, (int, np.integer)) and count == 0:
        raise InputError(sentence)
