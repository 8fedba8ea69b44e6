"""Kernels that others wrote, in the form of ours: scikit-learn's kernel objects, functions of two sets of rows."""

from math import pi
from typing import Any, NamedTuple, Self

import numpy as np

from didact.core.backend import as_dense, is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError
from didact.core.sparse import check_sparse
from didact.core.typing import AnyArray, Array
from didact.kernels.base import Kernel, Stationary, Traced
from didact.kernels.distances import differences


class Foreign(Kernel, NamedTuple("Foreign", [("kernel", Any)])):
    """A kernel object of scikit-learn, or of its interface: its own values, parameters and derivatives."""

    __slots__ = ()

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The object's own values."""
        return like(np.asarray(self.kernel(_plain(X), None if Z is None else _plain(Z))), X)

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """The object's own values."""
        rows = _plain(X)
        if same:
            return like(np.asarray(self.kernel.diag(rows)), X)
        return like(np.array([self.kernel(rows[k : k + 1], rows[k : k + 1])[0, 0] for k in range(len(rows))]), X)

    def takes_vectors(self) -> bool:
        """What the object says."""
        return bool(self.kernel.requires_vector_input)

    def in_blocks(self) -> bool:
        """No: scikit-learn gives derivatives of square matrices only."""
        return False

    @property
    def theta(self) -> Array:
        """The object's own."""
        return np.asarray(self.kernel.theta, np.float64)

    def with_theta(self, theta: Array) -> Self:
        """A copy of the object with other parameters."""
        return self._replace(kernel=self.kernel.clone_with_theta(theta))

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """The object's own."""
        return [like(P, X) for P in np.moveaxis(self.kernel(_plain(X), eval_gradient=True)[1], 2, 0)]

    def traced(self, X: AnyArray, Z: AnyArray | None = None) -> Traced:
        """The object's own, computed together."""
        K, D = self.kernel(_plain(X), eval_gradient=True)
        return like(K, X), lambda A: np.einsum("ij,ijk->k", to_numpy(A), D).tolist()

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """Those of the diagonal of square matrices, whose derivatives the object has."""
        D = self.kernel(_plain(X), eval_gradient=True)[1]
        return (to_numpy(a) @ np.diagonal(D, axis1=0, axis2=1).T).tolist()


class PeriodicDistance(Stationary, NamedTuple("PeriodicDistance", [("width", float), ("period", float)])):
    """exp(−2 sin²(πd/period)/w²) of the distance d, as scikit-learn has it: a kernel for one column; see `Periodic`."""

    __slots__ = ()

    def searched(self) -> tuple[str, ...]:
        """Width and period."""
        return ("width", "period")

    def _turns(self, X: AnyArray, Z: AnyArray | None) -> AnyArray:
        X, Z = (as_dense(A) for A in (X, X if Z is None else Z))
        return differences(X, Z, 2.0) * (pi / self.period)

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """From distances."""
        turns = self._turns(X, Z)
        xp = namespace(turns)
        return xp.exp(-2.0 / self.width**2 * xp.sin(turns) ** 2)

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """In log w and in log period."""
        turns = self._turns(X, Z)
        xp = namespace(turns)
        outer = 4.0 / self.width**2 * self.gram(X, Z)
        return [outer * xp.sin(turns) ** 2, outer * turns * xp.sin(turns) * xp.cos(turns)]


def checked_values(found: Any, rows: int, others: int) -> AnyArray:
    """What a function of the user's returned: a real number for each of rows × others pairs, else an error."""
    found = (
        found if is_tensor(found) else np.asarray(as_dense(check_sparse(found, "The result of the kernel function")))
    )
    if tuple(found.shape) != (rows, others):
        raise InputError(
            f"The kernel function returned shape {tuple(found.shape)} for {rows} and {others} rows: it has to return "
            f"({rows}, {others})."
        )
    if is_tensor(found):
        return found
    if found.dtype.kind not in "fiub":
        raise InputError(f"The kernel function returned values of type {found.dtype}: a kernel has real values.")
    return found.astype(np.float64, copy=False)


class Function(Kernel, NamedTuple("Function", [("function", Any)])):
    """A function k(X, Z) of two sets of rows that returns all values; it has no parameters to search."""

    __slots__ = ()

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The values of the function, checked."""
        Z = X if Z is None else Z
        found = checked_values(self.function(X, Z), len(X), len(Z))
        if not np.isfinite(float(found.sum())):
            raise InputError("The kernel function returned NaN or infinity: check it, and the scale of X.")
        return found if is_tensor(found) else like(found, X)

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """One row at a time."""
        return like(np.array([float(self.gram(X[k : k + 1])[0, 0]) for k in range(len(X))]), X)


def _plain(X: AnyArray) -> AnyArray:
    return to_numpy(X) if is_tensor(X) else as_dense(X)
