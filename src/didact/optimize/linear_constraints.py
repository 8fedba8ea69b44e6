"""Validation of linear constraints: arrays of the right shapes, or an error in one clear sentence."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from didact.core.errors import InputError
from didact.core.sparse import check_sparse
from didact.core.typing import Array


class LinearConstraints(NamedTuple):
    """A x = b, G x ≤ h, lower ≤ x ≤ upper; missing constraints are arrays without rows, missing bounds infinite."""

    A: Any
    b: Array
    G: Any
    h: Array
    lower: Array
    upper: Array


def linear_constraints(
    n: int, A_eq: Any, b_eq: Any, G: Any, h: Any, lower: Any, upper: Any, keep_sparse: bool = False
) -> LinearConstraints:
    """Constraints on n variables; matrices may be sparse, and stay sparse with `keep_sparse`."""
    A_eq, b_eq = _rows(A_eq, b_eq, n, "A_eq", "b_eq", keep_sparse)
    G, h = _rows(G, h, n, "G", "h", keep_sparse)
    if not np.isfinite(b_eq).all():
        raise InputError(f"b_eq[{_first(~np.isfinite(b_eq))}] is infinite: no point satisfies that equality.")
    lower, upper = bounds(n, lower, upper)
    return LinearConstraints(A=A_eq, b=b_eq, G=G, h=h, lower=lower, upper=upper)


def bounds(n: int, lower: Any, upper: Any) -> tuple[Array, Array]:
    """Bounds of n variables; None is no bound, a number applies to all variables."""
    lower = np.full(n, -np.inf) if lower is None else vector(lower, "lower", n, infinite=True)
    upper = np.full(n, np.inf) if upper is None else vector(upper, "upper", n, infinite=True)
    return lower, upper


def vector(values: Any, name: str, size: int | None = None, infinite: bool = False) -> Array:
    """A float vector of the given size, without NaN; with `infinite` ∞ is allowed, and a number stands for all."""
    out = _floats(values, name)
    if infinite and out.ndim == 0 and size is not None:
        out = np.full(size, float(out))
    if out.ndim != 1 or (size is not None and len(out) != size):
        wanted = "one dimension" if size is None else f"shape ({size},)"
        raise InputError(f"{name} must have {wanted}; it has shape {out.shape}.")
    bad = np.isnan(out) if infinite else ~np.isfinite(out)
    if bad.any():
        raise InputError(f"{name}[{_first(bad)}] is {out[_first(bad)]}: all of its entries must be numbers.")
    return out


def matrix(values: Any, name: str, columns: int, keep_sparse: bool = False) -> Any:
    """A finite float matrix with the given number of columns."""
    if sparse.issparse(values):
        out = sparse.csr_array(check_sparse(values, name), dtype=np.float64)
        entries = out.data
        out = out if keep_sparse else out.toarray()
    else:
        out = entries = np.ascontiguousarray(_floats(values, name))
    if out.ndim != 2 or out.shape[1] != columns:
        raise InputError(f"{name} must have one column for each of the {columns} variables; it has shape {out.shape}.")
    if not np.isfinite(entries).all():
        raise InputError(f"{name} contains NaN or infinity.")
    return out


def _rows(M: Any, rhs: Any, n: int, name: str, rhs_name: str, keep_sparse: bool) -> tuple[Any, Array]:
    """A matrix and its right-hand side, or neither."""
    if (M is None) != (rhs is None):
        raise InputError(f"{name} and {rhs_name} belong together; only one of them is given.")
    if M is None:
        return np.zeros((0, n)), np.zeros(0)
    M = matrix(M, name, n, keep_sparse)
    return M, vector(rhs, rhs_name, M.shape[0], infinite=True)


def _floats(values: Any, name: str) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers: {error}.") from error


def _first(bad: Array) -> int:
    return int(np.flatnonzero(bad)[0])
