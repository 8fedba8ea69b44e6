"""What `NMF` looks at before it fits, the factors that a user gives, and the weights of new rows."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import float_type, is_sparse, is_tensor, namespace, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.rows import Block
from didact.core.typing import Array
from didact.engines.factors.multiplicative import rows_by_updates
from didact.engines.factors.nonnegative import rows_given
from didact.parts.statistics.weights import WeightRange, weight_range


class Extent(NamedTuple):
    """Weights, sums and the least entry of rows, and where the first negative one is."""

    range: WeightRange
    rows: int
    total: float
    squares: float
    least: float
    negative: tuple[int, int] | None

    def merge(self, other: "Extent") -> "Extent":
        """That of both."""
        later = None if other.negative is None else (self.rows + other.negative[0], other.negative[1])
        return Extent(
            range=self.range.merge(other.range),
            rows=self.rows + other.rows,
            total=self.total + other.total,
            squares=self.squares + other.squares,
            least=min(self.least, other.least),
            negative=self.negative if self.negative is not None else later,
        )


def extent(block: Block) -> Extent:
    """The extent of a block."""
    X, w, (n, p) = block.X, block.weight, block.X.shape
    xp, data = namespace(X), X.data if is_sparse(X) else X
    least = float(data.min()) if data.shape[0] and p else 0.0
    full = not is_sparse(X) or X.nnz == n * p
    if is_sparse(X):
        sums, squares = X.sum(axis=1), X.power(2).sum(axis=1)
    else:
        sums, squares = xp.sum(X, axis=1), xp.sum(X * X, axis=1)
    return Extent(
        range=weight_range(w, n),
        rows=n,
        total=float(sums.sum() if w is None else (sums * w).sum()),
        squares=float(squares.sum() if w is None else (squares * w).sum()),
        least=least if full else min(least, 0.0),
        negative=_first_negative(X) if least < 0 else None,
    )


def _first_negative(X: Any) -> tuple[int, int]:
    if is_sparse(X):
        entries = X.tocoo()
        at = int(np.flatnonzero(entries.data < 0)[0])
        return int(entries.coords[0][at]), int(entries.coords[1][at])
    i, j = np.argwhere(to_numpy(X) < 0)[0]
    return int(i), int(j)


def refuse_negative_entry(where: tuple[int, int] | None, names: Any) -> None:
    """Refuse rows with a negative entry, and say where the first one is."""
    if where is not None:
        column = f"{names[where[1]]!r}" if names is not None else str(where[1])
        raise InputError(
            f"Negative values in data passed to NMF (input X): the first is in row {where[0]}, column {column}; a sum "
            "of non-negative parts has none: shift or clip the column."
        )


class Transformer(NamedTuple):
    """What weights of new rows are found by."""

    H: Array
    beta: float
    updates: bool
    l1: float
    l2: float
    tol: float
    max_iter: int
    names: Any


def weights_given(X: Any, how: Transformer) -> tuple[Any, int]:
    """W of rows X given H, in the float type of X, and the steps that were made."""
    refuse_negative_entry(extent(Block(X)).negative, how.names)
    if how.updates:
        W, steps = rows_by_updates(X, how.H, how.beta, how.l1, how.l2, how.tol, how.max_iter)
    else:
        W, steps = rows_given(X, how.H, how.l1, how.l2, how.tol, how.max_iter)
    return W if is_tensor(W) else W.astype(float_type(X), copy=False), steps


def new_weights(X: Any, how: Transformer) -> Any:
    """W of rows X given H."""
    return weights_given(X, how)[0]


def given_factor(A: Any, shape: tuple[Any, Any], name: str, dtype: Any) -> Array:
    """A factor of the user's as float64, once its shape, type and values are looked at; None in the shape: any."""
    whom = f"NMF (input {name})"
    if A is None:
        raise ParameterError(f"init='custom' needs W and H: pass them to fit; {name} is missing.")
    A = np.asarray(to_numpy(A))
    if A.ndim != 2:
        raise InputError(f"Array with {A.ndim} dimension(s) passed to {whom}: it has to have two.")
    for which, want, got in zip(("first", "second"), shape, A.shape, strict=True):
        if want is not None and want != got:
            raise InputError(f"Array with wrong {which} dimension passed to {whom}: expected {want}, but got {got}.")
    if A.dtype != float_type(np.empty(0, str(dtype).rpartition(".")[2])):
        raise TypeError(f"H and W should have the same dtype as X. Got {name}.dtype = {A.dtype}.")
    if not np.isfinite(A).all():
        raise InputError(f"{whom} contains NaN or infinity: give finite numbers.")
    if (A < 0).any():
        raise InputError(f"Negative values in data passed to {whom}: a factor has none.")
    if not A.any():
        raise InputError(f"Array passed to {whom} is full of zeros: no step could move it.")
    return np.array(A, np.float64, order="C")
