"""Random Fourier features as the values of a function of a row and a vector."""

from typing import Any, NamedTuple

from didact.core.backend import as_dense, namespace
from didact.core.typing import AnyArray, Array
from didact.kernels.base import Kernel


class Cosines(Kernel, NamedTuple("Cosines", [("scale", float)])):
    """s·cos(ωᵀx + b) of a row x and a vector (ω, b): features of a kernel, not a kernel itself.

    The inner product of two rows of features is a kernel up to noise; `didact.kernel_approximation` draws (ω, b).

    >>> from didact.kernels import Cosines
    >>> Cosines(2.0)([[0.0], [1.0]], [[3.141592653589793, 0.0]]).round(3)
    array([[ 2.],
           [-2.]])
    """

    __slots__ = ()

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The features of rows X for vectors Z, whose last column holds b."""
        if Z is None:
            raise TypeError("Cosines are features of rows for given vectors: call them with both.")
        V: Any = as_dense(Z)
        angles = X @ V[:, :-1].T
        angles = as_dense(angles) + V[:, -1]
        return self.scale * namespace(angles).cos(angles)

    def diagonal(self, X: AnyArray, same: bool = True) -> Array:
        """There is none: a row is no vector of frequencies."""
        raise TypeError("Cosines are features, not a kernel: they have no diagonal.")
