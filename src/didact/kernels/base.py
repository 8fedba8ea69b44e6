r"""Kernels: similarities k(x, z) that are inner products of features, and the algebra that makes new ones of old.

.. math:: k_1 + k_2,\quad k_1 k_2,\quad a\,k\ (a>0),\quad k^m\ (m = 1, 2, \ldots),\quad f(x)\,k(x,z)\,f(z)

are kernels if k₁, k₂ and k are: their features are joined, multiplied, or scaled. A kernel is an immutable value; its
Gram matrix is computed on the array namespace of the rows (NumPy, torch on any device), by matrix products where there
are some. Positive parameters θ are searched on a logarithmic scale; `pull` gives the gradient of Σ A_ij k(x_i, x_j) in
log θ, without a matrix for each parameter.

Schölkopf, Smola (2002), Learning with Kernels; Shawe-Taylor, Cristianini (2004), doi:10.1017/CBO9780511809682.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from didact.core.backend import is_sparse, is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.typing import AnyArray, Array
from didact.parts.noun import Noun, require

ROUNDING = 1e-10  # an eigenvalue that is negative by this share of the largest one is zero


class Kernel(Noun):
    """Base of all kernels. A kernel writes `gram` and, if it has parameters to be searched, `partials`."""

    __slots__ = ()

    def __call__(self, X: Any, Z: Any = None) -> Any:
        """The Gram matrix k(x_i, z_j) of the rows of X and Z, or of X with itself."""
        if self.takes_vectors():
            X, Z = as_rows(X), None if Z is None else as_rows(Z)
        return self.gram(X, Z)

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The Gram matrix of checked rows; Z = None means the very rows of X, which matters to `White`."""
        raise NotImplementedError

    def diagonal(self, X: AnyArray) -> AnyArray:
        """k(x_i, x_i) of every row."""
        raise NotImplementedError

    def takes_vectors(self) -> bool:
        """Whether rows are vectors; else they are other things, such as strings."""
        return all(part.takes_vectors() for part in self if isinstance(part, Kernel))  # type: ignore[attr-defined]

    def searched(self) -> tuple[str, ...]:
        """The names of the fields, all positive, whose logarithms are the parameters."""
        return ()

    @property
    def theta(self) -> Array:
        """The logarithms of the parameters, in the order of `searched`, one for each entry."""
        fields = [np.atleast_1d(np.asarray(getattr(self, name), np.float64)) for name in self.searched()]
        return np.log(np.concatenate(fields)) if fields else np.empty(0)

    def with_theta(self, theta: Array) -> Self:
        """This kernel with other parameters."""
        new: dict[str, Any] = {}
        k = 0
        for name in self.searched():
            old = getattr(self, name)
            if isinstance(old, tuple):
                new[name] = tuple(np.exp(theta[k : k + len(old)]).tolist())
                k += len(old)
            else:
                new[name], k = float(np.exp(theta[k])), k + 1
        return self._replace(**new)  # type: ignore[attr-defined]

    def partials(self, X: AnyArray) -> list[AnyArray]:
        """∂K/∂log θ, a matrix for each parameter."""
        return []

    def pull(self, X: AnyArray, A: AnyArray) -> list[float]:
        """∂/∂log θ of Σ A_ij k(x_i, x_j), for a symmetric A."""
        return [float((A * P).sum()) for P in self.partials(X)]

    __add__: Any = lambda self, other: Sum(self, as_kernel(other))  # Any: those of a tuple mean something else
    __radd__: Any = lambda self, other: Sum(as_kernel(other), self)
    __mul__: Any = lambda self, other: times(self, other)
    __rmul__: Any = lambda self, other: times(self, other)

    def __pow__(self, exponent: int) -> "Kernel":
        return Power(self, exponent)

    def warp(self, function: Callable[[Any], Any]) -> "Kernel":
        """f(x)·k(x, z)·f(z), for a function of the rows that returns a number for each."""
        return Warped(self, function)


def as_kernel(value: Any) -> Kernel:
    """A kernel as it is, and a number as a constant kernel."""
    if isinstance(value, Kernel):
        return value
    from didact.kernels.products import Constant

    return Constant(float(value))


def times(kernel: Kernel, other: Any) -> Kernel:
    """The product with another kernel, or with a number."""
    return Product(kernel, other) if isinstance(other, Kernel) else Scaled(float(other), kernel)


def as_rows(X: Any) -> AnyArray:
    """Rows of numbers, (n, p), as an array of float64 or float32, a tensor or a sparse matrix."""
    if not (is_tensor(X) or is_sparse(X)):
        X = np.asarray(X)
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if X.ndim != 2:
        raise InputError(f"A kernel takes rows, an array with two dimensions; got {X.ndim}: use X.reshape(-1, 1).")
    return X.tocsr() if is_sparse(X) else X


class Sum(Kernel, NamedTuple("Sum", [("left", Kernel), ("right", Kernel)])):
    """k₁(x, z) + k₂(x, z): the features of both, side by side.

    >>> from didact.kernels import Constant, Linear
    >>> (Linear() + 2.0)([[1.0], [3.0]])
    array([[ 3.,  5.],
           [ 5., 11.]])
    """

    __slots__ = ()

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The sum of both Gram matrices."""
        return self.left.gram(X, Z) + self.right.gram(X, Z)

    def diagonal(self, X: AnyArray) -> AnyArray:
        """The sum of both diagonals."""
        return self.left.diagonal(X) + self.right.diagonal(X)

    @property
    def theta(self) -> Array:
        """The parameters of the first kernel, then those of the second."""
        return np.concatenate([self.left.theta, self.right.theta])

    def with_theta(self, theta: Array) -> Self:
        """Both kernels with other parameters."""
        k = len(self.left.theta)
        return self._replace(left=self.left.with_theta(theta[:k]), right=self.right.with_theta(theta[k:]))

    def partials(self, X: AnyArray) -> list[AnyArray]:
        """Those of both."""
        return self.left.partials(X) + self.right.partials(X)

    def pull(self, X: AnyArray, A: AnyArray) -> list[float]:
        """Those of both."""
        return self.left.pull(X, A) + self.right.pull(X, A)


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

    def diagonal(self, X: AnyArray) -> AnyArray:
        """The product of both diagonals."""
        return self.left.diagonal(X) * self.right.diagonal(X)

    def partials(self, X: AnyArray) -> list[AnyArray]:
        """By the product rule."""
        K, L = self.left.gram(X), self.right.gram(X)
        return [P * L for P in self.left.partials(X)] + [K * P for P in self.right.partials(X)]

    def pull(self, X: AnyArray, A: AnyArray) -> list[float]:
        """By the product rule."""
        return self.left.pull(X, A * self.right.gram(X)) + self.right.pull(X, A * self.left.gram(X))


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

    def diagonal(self, X: AnyArray) -> AnyArray:
        """a times the diagonal."""
        return self.factor * self.kernel.diagonal(X)

    @property
    def theta(self) -> Array:
        """log a, then the kernel's own."""
        return np.concatenate([[np.log(self.factor)], self.kernel.theta])

    def with_theta(self, theta: Array) -> Self:
        """Another amplitude and other parameters."""
        return self._replace(factor=float(np.exp(theta[0])), kernel=self.kernel.with_theta(theta[1:]))

    def partials(self, X: AnyArray) -> list[AnyArray]:
        """The matrix itself, then a times those of the kernel."""
        return [self.gram(X), *(self.factor * P for P in self.kernel.partials(X))]

    def pull(self, X: AnyArray, A: AnyArray) -> list[float]:
        """ΣA∘K, then those of the kernel."""
        return [float((A * self.gram(X)).sum()), *self.kernel.pull(X, self.factor * A)]


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

    def diagonal(self, X: AnyArray) -> AnyArray:
        """The power of the diagonal."""
        return self.kernel.diagonal(X) ** self.exponent

    @property
    def theta(self) -> Array:
        """The kernel's own."""
        return self.kernel.theta

    def with_theta(self, theta: Array) -> Self:
        """The same power of the kernel with other parameters."""
        return self._replace(kernel=self.kernel.with_theta(theta))

    def _outer(self, X: AnyArray) -> AnyArray:
        return self.exponent * self.kernel.gram(X) ** (self.exponent - 1)

    def partials(self, X: AnyArray) -> list[AnyArray]:
        """By the chain rule."""
        outer = self._outer(X)
        return [outer * P for P in self.kernel.partials(X)]

    def pull(self, X: AnyArray, A: AnyArray) -> list[float]:
        """By the chain rule."""
        return self.kernel.pull(X, A * self._outer(X))


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
        if f.shape != (X.shape[0],):
            raise ParameterError(f"warp takes a function that returns one number a row; it returned shape {f.shape}.")
        return f

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The matrix with rows and columns multiplied."""
        f = self._factors(X)
        return f[:, None] * self.kernel.gram(X, Z) * (f if Z is None else self._factors(Z))

    def diagonal(self, X: AnyArray) -> AnyArray:
        """f(x)² k(x, x)."""
        return self._factors(X) ** 2 * self.kernel.diagonal(X)

    def partials(self, X: AnyArray) -> list[AnyArray]:
        """Those of the kernel, multiplied likewise."""
        f = self._factors(X)
        return [f[:, None] * P * f for P in self.kernel.partials(X)]

    def pull(self, X: AnyArray, A: AnyArray) -> list[float]:
        """Those of the kernel for a matrix that is multiplied likewise."""
        f = self._factors(X)
        return self.kernel.pull(X, f[:, None] * A * f)


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

    def diagonal(self, X: AnyArray) -> AnyArray:
        """That of the kernel."""
        return self.kernel.diagonal(X)


def inner_products(X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
    """x_i · z_j as a dense matrix."""
    product = X @ (X if Z is None else Z).T
    return product.toarray() if is_sparse(product) else product


def squares(X: AnyArray) -> AnyArray:
    """‖x_i‖² of every row."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return (X * X).sum(axis=1)


def is_positive_semidefinite(K: Any, X: Any = None, tol: float = ROUNDING) -> bool:
    r"""Whether a Gram matrix, or that of a kernel on some rows, is symmetric without negative eigenvalues.

    By Mercer's theorem a symmetric function is a kernel if this holds for all finite sets of rows. Cost n³.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples), or kernel
        A matrix, or a kernel or function k(X, Z) to be evaluated on X.
    X : array-like of shape (n_samples, n_features), optional
        Rows, for a kernel.
    tol : float, default=1e-10
        An eigenvalue may be negative by this share of the largest magnitude.

    Returns
    -------
    bool
        Whether all eigenvalues are zero or positive, up to rounding.

    References
    ----------
    Mercer (1909), doi:10.1098/rsta.1909.0016.

    Examples
    --------
    >>> from didact.kernels import RBF, Sigmoid, is_positive_semidefinite
    >>> X = [[0.0], [1.0], [2.0]]
    >>> is_positive_semidefinite(RBF(), X), is_positive_semidefinite(Sigmoid(1.0, -1.0), X)
    (True, False)
    """
    if callable(K):
        K = K(X) if isinstance(K, Kernel) else K(X, X)
    K = np.asarray(to_numpy(K), np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InputError(f"A Gram matrix is square; this one has shape {K.shape}.")
    if not np.isfinite(K).all():
        raise InputError("The Gram matrix contains NaN or infinity.")
    size = np.abs(K).max(initial=0.0)
    if np.abs(K - K.T).max(initial=0.0) > tol * size:
        return False
    values = np.linalg.eigvalsh((K + K.T) / 2)
    return bool(len(values) == 0 or values[0] >= -tol * max(values[-1], -values[0]))


def constant_like(value: float, X: AnyArray, *shape: int) -> AnyArray:
    """An array full of one value, of the kind and float type of X."""
    dtype = np.float32 if "float32" in str(X.dtype) else np.float64
    return like(np.full(shape, value, dtype), X)


def maximum(x: AnyArray, least: float) -> AnyArray:
    """x, and at least that, entry by entry."""
    return namespace(x).clip(x, least, None)
