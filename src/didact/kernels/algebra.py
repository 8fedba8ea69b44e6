"""Kernels made of kernels: sums, products, multiples, powers, f(x)·k(x, z)·f(z), and one that is not searched."""

from typing import Any, NamedTuple, Self

import numpy as np

from didact.core.errors import ParameterError
from didact.core.typing import AnyArray, Array
from didact.kernels.base import Kernel, Traced, count
from didact.kernels.products import White
from didact.parts.noun import require


class Sum(Kernel, NamedTuple("Sum", [("left", Kernel), ("right", Kernel)])):
    """k₁(x, z) + k₂(x, z): the features of both, side by side.

    >>> from didact.kernels import Constant, Linear
    >>> (Linear() + 2.0)([[1.0], [3.0]])
    array([[ 3.,  5.],
           [ 5., 11.]])
    """

    __slots__ = ()

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The sum of both Gram matrices; noise adds nothing to two sets of rows."""
        if Z is not None and isinstance(self.right, White):
            return self.left.gram(X, Z)
        return self.left.gram(X, Z) + self.right.gram(X, Z)

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """The sum of both diagonals."""
        return self.left.diagonal(X, same) + self.right.diagonal(X, same)

    @property
    def theta(self) -> Array:
        """The parameters of the first kernel, then those of the second."""
        return np.concatenate([self.left.theta, self.right.theta])

    def with_theta(self, theta: Array) -> Self:
        """Both kernels with other parameters."""
        k = len(self.left.theta)
        return self._replace(left=self.left.with_theta(theta[:k]), right=self.right.with_theta(theta[k:]))

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """Those of both."""
        return self.left.partials(X, Z) + self.right.partials(X, Z)

    def traced(self, X: AnyArray, Z: AnyArray | None = None) -> Traced:
        """Both, traced."""
        (K, pull), (L, other) = self.left.traced(X, Z), self.right.traced(X, Z)
        return K + L, lambda A: pull(A) + other(A)

    def pull(self, X: AnyArray, A: AnyArray, Z: AnyArray | None = None) -> list[float]:
        """Those of both, without the sum of the matrices."""
        return self.left.pull(X, A, Z) + self.right.pull(X, A, Z)

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """Those of both."""
        return self.left.pull_diagonal(X, a, same) + self.right.pull_diagonal(X, a, same)


class Product(Kernel, NamedTuple("Product", [("left", Kernel), ("right", Kernel)])):
    """k₁(x, z)·k₂(x, z): all products of a feature of one with a feature of the other.

    >>> from didact.kernels import Linear
    >>> (Linear() * Linear())([[1.0], [3.0]])
    array([[ 1.,  9.],
           [ 9., 81.]])
    """

    __slots__ = ()
    theta = Sum.theta
    with_theta = Sum.with_theta

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The product of both, entry by entry."""
        return self.left.gram(X, Z) * self.right.gram(X, Z)

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """The product of both diagonals."""
        return self.left.diagonal(X, same) * self.right.diagonal(X, same)

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """By the product rule."""
        K, L = self.left.gram(X, Z), self.right.gram(X, Z)
        return [P * L for P in self.left.partials(X, Z)] + [K * P for P in self.right.partials(X, Z)]

    def traced(self, X: AnyArray, Z: AnyArray | None = None) -> Traced:
        """By the product rule."""
        (K, pull), (L, other) = self.left.traced(X, Z), self.right.traced(X, Z)
        return K * L, lambda A: pull(A * L) + other(A * K)

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """By the product rule."""
        k, m = self.left.diagonal(X, same), self.right.diagonal(X, same)
        return self.left.pull_diagonal(X, a * m, same) + self.right.pull_diagonal(X, a * k, same)


class Scaled(Kernel, NamedTuple("Scaled", [("factor", float), ("kernel", Kernel)])):
    """a·k(x, z): the amplitude a is the first parameter.

    >>> from didact.kernels import RBF
    >>> (4.0 * RBF())([[0.0]])
    array([[4.]])
    """

    __slots__ = ()

    def __new__(cls, factor: float, kernel: Kernel) -> Self:
        """A kernel times a positive number."""
        require(0 < factor < np.inf, f"A kernel can be multiplied by a positive number, not by {factor!r}.")
        return super().__new__(cls, factor, kernel)

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """a times the matrix."""
        return self.factor * self.kernel.gram(X, Z)

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """a times the diagonal."""
        return self.factor * self.kernel.diagonal(X, same)

    @property
    def theta(self) -> Array:
        """log a, then the kernel's own."""
        return np.concatenate([[np.log(self.factor)], self.kernel.theta])

    def with_theta(self, theta: Array) -> Self:
        """Another amplitude and other parameters."""
        return self._replace(factor=float(np.exp(theta[0])), kernel=self.kernel.with_theta(theta[1:]))

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """The matrix itself, then a times those of the kernel."""
        return [self.gram(X, Z), *(self.factor * P for P in self.kernel.partials(X, Z))]

    def traced(self, X: AnyArray, Z: AnyArray | None = None) -> Traced:
        """ΣA∘K, then those of the kernel, times a."""
        K, pull = self.kernel.traced(X, Z)
        return self.factor * K, lambda A: self._pulled(A, K, pull)

    def pull(self, X: AnyArray, A: AnyArray, Z: AnyArray | None = None) -> list[float]:
        """ΣA∘K, then those of the kernel, times a; without a times the matrix."""
        return self._pulled(A, *self.kernel.traced(X, Z))

    def _pulled(self, A: AnyArray, K: AnyArray, pull: Any) -> list[float]:
        total = np.vdot(A, K) if isinstance(K, np.ndarray) else (A * K).sum()
        return [self.factor * v for v in (float(total), *pull(A))]

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """Those of the kernel after its own value, times a."""
        total = float((a * self.kernel.diagonal(X, same)).sum())
        return [self.factor * v for v in (total, *self.kernel.pull_diagonal(X, a, same))]


class Power(Kernel, NamedTuple("Power", [("kernel", Kernel), ("exponent", int)])):
    """k(x, z)^m for m = 1, 2, …

    >>> from didact.kernels import Linear
    >>> ((Linear() + 1) ** 2)([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    __slots__ = ()

    def __new__(cls, kernel: Kernel, exponent: int) -> Self:
        """A kernel to a whole power: others need not be kernels."""
        require(exponent >= 1 and exponent == int(exponent), f"Powers of a kernel are 1, 2, …, not {exponent!r}.")
        return super().__new__(cls, kernel, int(exponent))

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The power of every entry."""
        return self.kernel.gram(X, Z) ** self.exponent

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """The power of the diagonal."""
        return self.kernel.diagonal(X, same) ** self.exponent

    @property
    def theta(self) -> Array:
        """The kernel's own."""
        return self.kernel.theta

    def with_theta(self, theta: Array) -> Self:
        """That power of the kernel with other parameters."""
        return self._replace(kernel=self.kernel.with_theta(theta))

    def _outer(self, K: AnyArray) -> AnyArray:
        return self.exponent * K ** (self.exponent - 1)

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """By the chain rule."""
        outer = self._outer(self.kernel.gram(X, Z))
        return [outer * P for P in self.kernel.partials(X, Z)]

    def traced(self, X: AnyArray, Z: AnyArray | None = None) -> Traced:
        """By the chain rule."""
        K, pull = self.kernel.traced(X, Z)
        return K**self.exponent, lambda A: pull(A * self._outer(K))

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """By the chain rule."""
        return self.kernel.pull_diagonal(X, a * self._outer(self.kernel.diagonal(X, same)), same)


class Warped(Kernel, NamedTuple("Warped", [("kernel", Kernel), ("function", Any)])):
    """f(x)·k(x, z)·f(z) for a function f of the rows; features are multiplied by f(x).

    >>> import numpy as np
    >>> from didact.kernels import Linear
    >>> unit = Linear().warp(lambda X: 1 / np.linalg.norm(X, axis=1))
    >>> unit([[2.0, 0.0], [3.0, 3.0]]).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    __slots__ = ()
    theta = Power.theta
    with_theta = Power.with_theta

    def _factors(self, X: AnyArray) -> AnyArray:
        f = self.function(X)
        if f.shape != (count(X),):
            raise ParameterError(f"warp takes a function that returns one number a row; it returned shape {f.shape}.")
        return f

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The matrix with rows and columns multiplied."""
        f = self._factors(X)
        return f[:, None] * self.kernel.gram(X, Z) * (f if Z is None else self._factors(Z))

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """f(x)² k(x, x)."""
        return self._factors(X) ** 2 * self.kernel.diagonal(X, same)

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """Those of the kernel, multiplied likewise."""
        f = self._factors(X)
        g = f if Z is None else self._factors(Z)
        return [f[:, None] * P * g for P in self.kernel.partials(X, Z)]

    def traced(self, X: AnyArray, Z: AnyArray | None = None) -> Traced:
        """That of the kernel, with rows and columns multiplied."""
        K, pull = self.kernel.traced(X, Z)
        f = self._factors(X)
        g = f if Z is None else self._factors(Z)
        return f[:, None] * K * g, lambda A: pull(f[:, None] * A * g)

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """Those of the kernel, multiplied."""
        return self.kernel.pull_diagonal(X, a * self._factors(X) ** 2, same)


class Fixed(Kernel, NamedTuple("Fixed", [("kernel", Kernel)])):
    """A kernel whose parameters are not searched.

    >>> from didact.kernels import RBF, Fixed
    >>> Fixed(RBF(2.0)).theta
    array([], dtype=float64)
    """

    __slots__ = ()

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """That of the kernel."""
        return self.kernel.gram(X, Z)

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """That of the kernel."""
        return self.kernel.diagonal(X, same)
