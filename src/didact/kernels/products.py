"""Kernels of inner products and of single columns: constant, linear, polynomial, sigmoid, Wiener's; and white noise."""

from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Any, NamedTuple, Self

import numpy as np

from didact.core.backend import is_sparse, is_tensor, namespace, to_numpy
from didact.core.errors import InputError
from didact.core.typing import AnyArray, Array
from didact.kernels.base import Kernel, Traced, as_rows, constant_like, count, inner_products, squares
from didact.parts.noun import Plain, require


class Constant(Kernel, NamedTuple("Constant", [("value", float)])):
    """k(x, z) = c: one constant feature √c.

    >>> from didact.kernels import Constant
    >>> Constant(2.0)([[0.0], [1.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    __slots__ = ()

    def __new__(cls, value: float = 1.0) -> Self:
        """A constant that is positive."""
        require(0 < value < np.inf, f"The constant kernel has a positive value, not {value!r}.")
        return super().__new__(cls, value)

    def searched(self) -> tuple[str, ...]:
        """The value."""
        return ("value",)

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The value everywhere."""
        return constant_like(self.value, X, count(X), count(X if Z is None else Z))

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """The value everywhere."""
        return constant_like(self.value, X, count(X))

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """∂/∂log c is the matrix itself."""
        return [self.gram(X, Z)]

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """c·Σa."""
        return [self.value * float(a.sum())]


class White(Kernel, NamedTuple("White", [("noise", float)])):
    """k(x, z) = σ² for one and the same row, and 0 for two rows, equal or not: noise of its own on every row.

    In a model that is σ² on the diagonal of the Gram matrix of its fitted rows; new rows are others.

    >>> from didact.kernels import White
    >>> White(0.5)([[1.0], [1.0]])
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    __slots__ = ()

    def __new__(cls, noise: float = 1.0) -> Self:
        """Noise of a positive variance."""
        require(0 < noise < np.inf, f"The variance of white noise is positive, not {noise!r}.")
        return super().__new__(cls, noise)

    def searched(self) -> tuple[str, ...]:
        """The variance."""
        return ("noise",)

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """σ²·I, or zeros for other rows."""
        if Z is not None:
            return constant_like(0.0, X, count(X), count(Z))
        return self.diagonal(X).diag() if is_tensor(X) else np.diag(self.diagonal(X))

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """σ², and 0 for two rows."""
        return constant_like(self.noise if same else 0.0, X, count(X))

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """∂/∂log σ² is the matrix itself."""
        return [self.gram(X, Z)]

    def traced(self, X: AnyArray, Z: AnyArray | None = None) -> Traced:
        """σ² times the trace, and 0 for other rows."""
        if Z is not None:
            return self.gram(X, Z), lambda A: [0.0]
        return self.gram(X), lambda A: [self.noise * float(namespace(A).linalg.diagonal(A).sum())]

    def pull(self, X: AnyArray, A: AnyArray, Z: AnyArray | None = None) -> list[float]:
        """σ² times the trace of A, and 0 for other rows, without a matrix."""
        return [0.0] if Z is not None else [self.noise * float(namespace(A).linalg.diagonal(A).sum())]

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """σ²·Σa."""
        return [self.noise * float(a.sum()) if same else 0.0]


class Linear(Kernel, Plain):
    """k(x, z) = xᵀz.

    >>> from didact.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    __slots__ = ()

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """XZᵀ."""
        return inner_products(X, Z)

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """‖x‖²."""
        return squares(X)


class Polynomial(Kernel, NamedTuple("Polynomial", [("degree", int), ("gamma", float), ("coef0", float)])):
    """k(x, z) = (γ xᵀz + c)^d: all monomials of the columns up to degree d.

    >>> from didact.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    __slots__ = ()

    def __new__(cls, degree: int = 3, gamma: float = 1.0, coef0: float = 1.0) -> Self:
        """A whole degree, γ ≥ 0 and any c; for c < 0 the function need not be positive semidefinite."""
        require(degree >= 0 and degree == int(degree), f"The degree of a kernel is 0, 1, …, not {degree!r}.")
        require(0 <= gamma < np.inf, f"gamma of a polynomial kernel is not negative; got {gamma!r}.")
        require(bool(np.isfinite(coef0)), f"coef0 of a polynomial kernel is a finite number, not {coef0!r}.")
        return super().__new__(cls, int(degree), gamma, coef0)

    def searched(self) -> tuple[str, ...]:
        """γ and c, if they are positive."""
        return (*(("gamma",) if self.gamma > 0 else ()), *(("coef0",) if self.coef0 > 0 else ()))

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """From inner products."""
        return (self.gamma * inner_products(X, Z) + self.coef0) ** self.degree

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """From squares."""
        return (self.gamma * squares(X) + self.coef0) ** self.degree

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """∂K/∂log γ and ∂K/∂log c."""
        return self._partials(inner_products(X, Z))

    def pull_diagonal(self, X: AnyArray, a: AnyArray, same: bool = True) -> list[float]:
        """Those of the diagonal."""
        return [float((a * d).sum()) for d in self._partials(squares(X))]

    def _partials(self, inner: AnyArray) -> list[AnyArray]:
        inner = self.gamma * inner
        outer = self.degree * (inner + self.coef0) ** max(self.degree - 1, 0)
        found = {"gamma": outer * inner, "coef0": outer * self.coef0}
        return [found[name] for name in self.searched()]

    def features(self, X: Any) -> Array:
        r"""The features φ with φ(x)ᵀφ(z) = k(x, z): √(multinomial · γ^m c^(d−m)) times each monomial of degree m ≤ d.

        There are (p + d choose d) of them: for small problems, teaching and tests.

        >>> from didact.kernels import Polynomial
        >>> Polynomial(degree=2).features([[2.0]]).round(3)
        array([[1.   , 2.828, 4.   ]])
        """
        X = np.asarray(to_numpy(as_rows(X)), np.float64)
        columns = []
        for m in range(self.degree + 1):
            for chosen in combinations_with_replacement(range(X.shape[1]), m):
                counts = np.bincount(np.asarray(chosen, int))
                ways = comb(self.degree, m) * factorial(m) // prod(factorial(int(c)) for c in counts)
                weight = ways * self.gamma**m * self.coef0 ** (self.degree - m)
                columns.append(np.sqrt(weight) * X[:, list(chosen)].prod(axis=1))
        return np.stack(columns, axis=1)


class Sigmoid(Kernel, NamedTuple("Sigmoid", [("gamma", float), ("coef0", float)])):
    """k(x, z) = tanh(γ xᵀz + c): a neuron; positive semidefinite for some γ, c and rows only.

    >>> from didact.kernels import Sigmoid
    >>> Sigmoid(0.5, 0.0)([[2.0]], [[1.0]]).round(3)
    array([[0.762]])
    """

    __slots__ = ()

    def __new__(cls, gamma: float = 1.0, coef0: float = 0.0) -> Self:
        """A slope and a shift."""
        require(bool(np.isfinite([gamma, coef0]).all()), "gamma and coef0 of a sigmoid kernel are finite numbers.")
        return super().__new__(cls, gamma, coef0)

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """From inner products."""
        inner = inner_products(X, Z)
        return namespace(inner).tanh(self.gamma * inner + self.coef0)

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """From squares."""
        inner = squares(X)
        return namespace(inner).tanh(self.gamma * inner + self.coef0)


class Wiener(Kernel, Plain):
    """k(x, z) = Π_j min(x_j, z_j) for numbers ≥ 0: the covariance of Brownian motion (a sheet, if p > 1).

    >>> from didact.kernels import Wiener
    >>> Wiener()([[1.0], [3.0]])
    array([[1., 1.],
           [1., 3.]])
    """

    __slots__ = ()

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """A product over the columns."""
        X = _not_negative(X)
        Z = X if Z is None else _not_negative(Z)
        K = constant_like(1.0, X, X.shape[0], Z.shape[0])
        for j in range(X.shape[1]):
            K = K * namespace(X).minimum(X[:, j, None], Z[None, :, j])
        return K

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """The product of the columns."""
        return namespace(X).prod(_not_negative(X), axis=1)


def _not_negative(X: AnyArray) -> AnyArray:
    if is_sparse(X):
        X = X.toarray()
    if bool((X < 0).any()):
        raise InputError("Wiener's kernel is defined for numbers of at least 0, and X has negative ones.")
    return X
