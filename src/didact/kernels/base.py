r"""Kernels: similarities k(x, z) that are inner products of features, and the algebra that makes new ones of old.

.. math:: k_1 + k_2,\quad k_1 k_2,\quad a\,k\ (a>0),\quad k^m\ (m = 1, 2, \ldots),\quad f(x)\,k(x,z)\,f(z)

are kernels if k₁, k₂ and k are: their features are joined, multiplied, or scaled. A kernel is an immutable value; its
Gram matrix is computed on the array namespace of the rows (NumPy, torch on any device), by matrix products where there
are some. Positive parameters θ are searched on a logarithmic scale; `pull` gives the gradient of Σ A_ij k(x_i, z_j) in
log θ, without a matrix for each parameter.

Schölkopf, Smola (2002), Learning with Kernels; Shawe-Taylor, Cristianini (2004), doi:10.1017/CBO9780511809682.
"""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Self

import numpy as np

from didact.core.backend import as_dense, is_sparse, is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.sparse import check_sparse
from didact.core.typing import AnyArray, Array
from didact.core.validation import given_rows
from didact.core.validation.entrance import entrance
from didact.parts.noun import Noun

Traced = tuple[AnyArray, Callable[[AnyArray], list[float]]]
FEW = 64  # rows whose Gram matrix is computed for its diagonal alone
MOST_LEVELS = 150  # of kernels in kernels: each takes some frames of Python, which has 1,000
ROUNDING = 1e-10  # an eigenvalue that is negative by this share of the largest one is zero


class Kernel(Noun):
    """Base of all kernels. A kernel writes `gram` and, if it has parameters to be searched, `searched` and `partials`.

    A kernel of one's own is a class derived from it, a NamedTuple or one with its parameters as attributes. The other
    methods follow from these; to write `diagonal`, `traced` and `pull_diagonal` as well is quicker.

    >>> import numpy as np
    >>> from didact.kernels import Kernel
    >>> class Cauchy(Kernel):
    ...     def __init__(self, width=1.0):
    ...         self.width = width
    ...     def gram(self, X, Z=None):
    ...         apart = X[:, None] - (X if Z is None else Z)
    ...         return 1 / (1 + (apart**2).sum(axis=2) / self.width**2)
    >>> (2.0 * Cauchy(2.0) + 1.0)([[0.0], [2.0]])
    array([[3., 2.],
           [2., 3.]])
    """

    __slots__ = ()
    __array_ufunc__ = None  # a number of NumPy times a kernel is a kernel, not an array of its fields

    def __call__(self, X: Any, Z: Any = None) -> Any:
        """The Gram matrix k(x_i, z_j) of the rows of X and Z, or of X with itself."""
        if self.takes_vectors():
            X, Z = as_rows(X), None if Z is None else as_rows(Z)
        return self.gram(X, Z)

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The Gram matrix of checked rows; Z = None means the very rows of X, which matters to `White`."""
        raise NotImplementedError

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """k(x_i, x_i) of every row; with same=False as of two rows that are equal, between which `White` is 0."""
        parts = [own_values(self.gram(B, None if same else B)) for B in few_at_a_time(X)]
        return namespace(parts[0]).concat(parts)

    def takes_vectors(self) -> bool:
        """Whether rows are vectors; else they are other things, such as strings."""
        parts = self if isinstance(self, tuple) else getattr(self, "__dict__", {}).values()
        return all(part.takes_vectors() for part in parts if isinstance(part, Kernel))

    def in_blocks(self) -> bool:
        """Whether values and derivatives can be had of some rows at a time."""
        return self.takes_vectors()

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
        if isinstance(self, tuple):
            return self._replace(**new)
        other = copy(self)
        for name, value in new.items():
            object.__setattr__(other, name, value)  # also of a frozen dataclass
        return other

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """∂K/∂log θ, a matrix for each parameter."""
        if self.searched():
            raise ParameterError(
                f"{type(self).__name__} has parameters to be searched, {', '.join(self.searched())}: it has to write "
                "`partials`, a matrix ∂K/∂log θ for each."
            )
        return []

    def traced(self, X: AnyArray, Z: AnyArray | None = None) -> Traced:
        """The Gram matrix, and a function that gives ∂/∂log θ of Σ A_ij k(x_i, z_j) for any A: it is linear in A."""
        return self.gram(X, Z), lambda A: [float((A * P).sum()) for P in self.partials(X, Z)]

    def pull(self, X: AnyArray, A: AnyArray, Z: AnyArray | None = None) -> list[float]:
        """∂/∂log θ of Σ A_ij k(x_i, z_j)."""
        return self.traced(X, Z)[1](A)

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """∂/∂log θ of Σ a_i k(x_i, x_i), `same` as in `diagonal`."""
        total, begin = np.zeros(len(self.theta)), 0
        for B in few_at_a_time(X) if len(total) else ():
            own = [own_values(P) for P in self.partials(B, None if same else B)]
            total += [float((a[begin : begin + count(B)] * d).sum()) for d in own]
            begin += count(B)
        return total.tolist()

    __add__: Any = lambda self, other: plus(self, other)  # Any: those of a tuple mean something else
    __radd__: Any = lambda self, other: plus(other, self)
    __mul__: Any = lambda self, other: times(self, other)
    __rmul__: Any = lambda self, other: times(self, other)

    def __pow__(self, exponent: int) -> "Kernel":
        from didact.kernels.algebra import Power

        return Power(self, exponent)

    def warp(self, function: Callable[[Any], Any]) -> "Kernel":
        """f(x)·k(x, z)·f(z), for a function of the rows that returns a number for each."""
        from didact.kernels.algebra import Warped

        return Warped(self, function)


class Stationary(Kernel):
    """Base of kernels of differences of rows: k(x, x) is 1, whatever the parameters."""

    __slots__ = ()

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """1."""
        return constant_like(1.0, X, count(X))

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """0."""
        return [0.0] * len(self.theta)


def as_kernel(value: Any) -> Kernel:
    """A kernel as it is, and a number as a constant kernel."""
    if isinstance(value, Kernel):
        return value
    from didact.kernels.products import Constant

    return Constant(float(value))


def plus(left: Any, right: Any) -> Kernel:
    """The sum of two kernels, or of a kernel and a number; 0 adds nothing, so that `sum` of a list is a kernel."""
    from didact.kernels.algebra import Sum

    terms = [as_kernel(value) for value in (left, right) if isinstance(value, Kernel) or value != 0]
    return shallow(Sum(*terms)) if len(terms) == 2 else terms[0]


def times(kernel: Kernel, other: Any) -> Kernel:
    """The product with another kernel, or with a number."""
    from didact.kernels.algebra import Product, Scaled

    return shallow(Product(kernel, other) if isinstance(other, Kernel) else Scaled(float(other), kernel))


def shallow(kernel: Kernel) -> Kernel:
    """The kernel, unless its sums and products are nested so deep that Python could not follow them."""
    level: list[Any] = [kernel]
    for _ in range(MOST_LEVELS):
        nested = (part for whole in level if isinstance(whole, tuple) for part in whole)
        level = [part for part in nested if isinstance(part, Kernel)]
        if not level:
            return kernel
    raise ParameterError(
        f"Sums and products of kernels are nested {MOST_LEVELS} deep at most: add one half of the kernels and "
        "the other half, and then the two sums."
    )


def as_rows(X: Any) -> AnyArray:
    """Rows of numbers, (n, p), that a user gives to a kernel."""
    return given_rows(X)


def inner_products(X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
    """x_i · z_j as a dense matrix."""
    product = X @ (X if Z is None else Z).T
    return as_dense(product)


def squares(X: AnyArray) -> AnyArray:
    """‖x_i‖² of every row."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return (X * X).sum(axis=1)


@entrance()
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
    K = np.asarray(to_numpy(as_dense(check_sparse(K, "K"))), np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InputError(f"A Gram matrix is square; this one has shape {K.shape}.")
    if not np.isfinite(K).all():
        raise InputError("The Gram matrix contains NaN or infinity.")
    size = np.abs(K).max(initial=0.0)
    if np.abs(K - K.T).max(initial=0.0) > tol * size:
        return False
    values = np.linalg.eigvalsh((K + K.T) / 2)
    return bool(len(values) == 0 or values[0] >= -tol * max(values[-1], -values[0]))


def count(X: Any) -> int:
    """The number of rows, or of things in a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def few_at_a_time(X: Any) -> Iterator[Any]:
    """The rows in blocks of some, at least one block."""
    return (X[a : a + FEW] for a in range(0, max(count(X), 1), FEW))


def own_values(K: AnyArray) -> AnyArray:
    """The diagonal of a square matrix."""
    return namespace(K).linalg.diagonal(K)


def constant_like(value: float, X: Any, *shape: int) -> AnyArray:
    """An array full of one value, of the kind and float type of X; of other things in float64."""
    dtype = np.float32 if "float32" in str(getattr(X, "dtype", "")) else np.float64
    if is_tensor(X):  # made where the rows are: a large matrix need not travel
        return like(np.full((1,) * len(shape), value, dtype), X).expand(shape).clone()
    return np.full(shape, value, dtype)


def maximum(x: AnyArray, least: float) -> AnyArray:
    """x, and at least that, entry by entry."""
    return namespace(x).clip(x, least, None)
