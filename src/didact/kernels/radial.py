r"""Kernels of distances: Gaussian (RBF), Laplacian, Matérn, rational quadratic, periodic.

With one width w, or one for each column (automatic relevance determination),

.. math:: s(x, z) = \sum_j (x_j - z_j)^2/w_j^2,\qquad k(x, z) = f(s).

All s come from one matrix product of centred rows (`distances`). ∂k/∂log w_j = −2f′(s)·(x_j − z_j)²/w_j², and the
gradient of Σ A∘K for all p widths takes one product more: with M = −2A∘f′(s), it is 2Σ_i m_i x_ij² − 2x_jᵀMx_j.
"""

from math import gamma as gamma_function
from math import pi, sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import kv

from didact.core.backend import as_dense, is_sparse, is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError
from didact.core.typing import AnyArray
from didact.kernels.base import Stationary, Traced, constant_like, maximum
from didact.kernels.distances import (
    Centred,
    centred,
    differences,
    distances_of,
    half_distances,
    squared_distances,
    squares_between,
)
from didact.parts.noun import mask, require

Width = float | tuple[float, ...]

MOST_NU = 60.0  # the Bessel functions of higher orders overflow where Matérn's kernel is not yet 1


def read_width(width: Any) -> Width:
    """A positive number, or one for each column."""
    values = np.asarray(width, np.float64)
    require(
        values.ndim <= 1 and values.size > 0 and bool(np.isfinite(values).all()) and bool((values > 0).all()),
        f"The width of a kernel is a positive number, or one for each column; got {width!r}.",
    )
    return float(values) if values.ndim == 0 else tuple(values.tolist())


def in_widths(X: AnyArray, width: Width) -> AnyArray:
    """Rows in units of the width."""
    if isinstance(width, tuple) and len(width) != X.shape[1]:
        raise InputError(f"The kernel has {len(width)} widths, and X has {X.shape[1]} columns.")
    if not isinstance(width, tuple):
        return X / width
    if is_sparse(X):
        return X.multiply(1.0 / np.asarray(width)).tocsr()
    return X / like(np.asarray(width), X)


class Radial(Stationary):
    """Base of kernels f(s): they write f and its derivative, for arrays s ≥ 0."""

    __slots__ = ()
    width: Width

    def value(self, s: AnyArray) -> AnyArray:
        """f(s)."""
        raise NotImplementedError

    def slope(self, s: AnyArray) -> AnyArray:
        """f′(s); if it is infinite at 0, 0 there, as it is multiplied by s."""
        raise NotImplementedError

    def searched(self) -> tuple[str, ...]:
        """The width or widths."""
        return ("width",)

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """From squared distances in widths."""
        return self.value(squared_distances(*self._in_widths(X, Z)))

    def _in_widths(self, X: AnyArray, Z: AnyArray | None) -> tuple[AnyArray, AnyArray | None]:
        return in_widths(X, self.width), None if Z is None else in_widths(Z, self.width)

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """−2f′(s)·s, or a term of it for each width."""
        rows = self._centred(X, Z)
        s = distances_of(rows)
        M = -2.0 * self.slope(s)
        if not isinstance(self.width, tuple):
            return [M * s]
        U, V = rows.given
        return [M * (U[:, j, None] - V[None, :, j]) ** 2 for j in range(U.shape[1])]

    def traced(self, X: AnyArray, Z: AnyArray | None = None) -> Traced:
        """All widths from one product with M."""
        rows = self._centred(X, Z)
        s = distances_of(rows)
        K = self.value(s)

        def pull(A: AnyArray) -> list[float]:
            return self._pulled(A, K, s, rows)

        return K, pull

    def _centred(self, X: AnyArray, Z: AnyArray | None) -> Centred:
        """Dense rows in widths, about a centre."""
        return centred(*self._in_widths(*(as_dense(M) for M in (X, Z))))

    def _pulled(self, A: AnyArray, K: AnyArray, s: AnyArray, rows: Centred) -> list[float]:
        M = A * (-2.0 * self.slope(s))
        if not isinstance(self.width, tuple):
            return [float((M * s).sum())]
        return [float(v) for v in squares_between(M, rows)]


class RBF(Radial, NamedTuple("RBF", [("width", Any)])):
    """k(x, z) = exp(−s/2), the Gaussian or squared exponential kernel; in scikit-learn's SVM, gamma = 1/(2w²).

    >>> from didact.kernels import RBF
    >>> RBF(2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    """

    __slots__ = ()

    def __new__(cls, width: Any = 1.0) -> Self:
        """One width, or one for each column."""
        return super().__new__(cls, read_width(width))

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """Of dense arrays exp(u·v − ‖u‖²/2 − ‖v‖²/2) from one product of longer rows, in one matrix."""
        if not (isinstance(X, np.ndarray) and (Z is None or isinstance(Z, np.ndarray))):
            return super().gram(X, Z)
        H = half_distances(self._centred(X, Z))
        return np.exp(H, out=H)

    def traced(self, X: AnyArray, Z: AnyArray | None = None) -> Traced:
        """All that a gradient needs is K, as −2f′ = f, and for a single width s."""
        rows = self._centred(X, Z)
        H = -0.5 * distances_of(rows) if is_tensor(rows.X) else half_distances(rows)
        K = namespace(H).exp(H)

        def pull(A: AnyArray) -> list[float]:
            if not isinstance(self.width, tuple):
                return [-2.0 * float((A * K * H).sum())]
            return [float(v) for v in squares_between(A * K, rows)]

        return K, pull

    def value(self, s: AnyArray) -> AnyArray:
        """exp(−s/2)."""
        return namespace(s).exp(-0.5 * s)

    def slope(self, s: AnyArray) -> AnyArray:
        """−f/2."""
        return -0.5 * self.value(s)


class Matern(Radial, NamedTuple("Matern", [("width", Any), ("nu", float)])):
    r"""Matérn's kernel: with r = √s and t = √(2ν) r, f = 2^{1−ν}/Γ(ν) t^ν K_ν(t); functions with ⌈ν⌉ − 1 derivatives.

    ν = 1/2 is e^{−r}, 3/2 is (1 + √3 r)e^{−√3 r}, 5/2 is (1 + √5 r + 5r²/3)e^{−√5 r}, and ν → ∞ is the RBF kernel.
    Stein (1999), doi:10.1007/978-1-4612-1494-6.

    >>> from didact.kernels import Matern
    >>> Matern(1.0, 0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    __slots__ = ()

    def __new__(cls, width: Any = 1.0, nu: float = 1.5) -> Self:
        """One width, or one for each column; ν > 0."""
        require(nu > 0, f"nu of Matérn's kernel is positive, not {nu!r}.")
        require(nu <= MOST_NU or nu == np.inf, f"nu of Matérn's kernel is at most {MOST_NU}, not {nu!r}: take RBF.")
        return super().__new__(cls, read_width(width), float(nu))

    def value(self, s: AnyArray) -> AnyArray:
        """f(s)."""
        if self.nu == np.inf:
            return RBF().value(s)
        xp = namespace(s)
        t = xp.sqrt(2.0 * self.nu * s)
        factors = {0.5: 1.0, 1.5: 1.0 + t, 2.5: 1.0 + t + t * t / 3.0}
        if self.nu in factors:
            return factors[self.nu] * xp.exp(-t)
        return _bessel(s, t, self.nu, self.nu, 1.0)

    def slope(self, s: AnyArray) -> AnyArray:
        """f′(s)."""
        if self.nu == np.inf:
            return RBF().slope(s)
        xp = namespace(s)
        t = xp.sqrt(2.0 * self.nu * s)
        if self.nu == 0.5:
            return mask(xp, t > 0, t) * xp.exp(-t) / (-2.0 * maximum(t, float(xp.finfo(t.dtype).tiny)))
        factors = {1.5: -1.5, 2.5: -5 / 6 * (1.0 + t)}
        if self.nu in factors:
            return factors[self.nu] * xp.exp(-t)
        return _bessel(s, t, self.nu, self.nu - 1.0, 0.0) * -self.nu


def _bessel(s: AnyArray, t: AnyArray, nu: float, order: float, at_zero: float) -> AnyArray:
    """2^{1−ν}/Γ(ν) t^order K_order(t), by SciPy; at t = 0 the given value, which is its limit or is not used."""
    t = to_numpy(t).astype(np.float64)
    found = np.full(t.shape, at_zero)
    far = t > 0
    found[far] = 2.0 ** (1.0 - nu) / gamma_function(nu) * t[far] ** order * kv(order, t[far])
    return like(np.nan_to_num(found, posinf=at_zero).astype(to_numpy(s[:0]).dtype), s)


class RationalQuadratic(Radial, NamedTuple("RationalQuadratic", [("width", Any), ("alpha", float)])):
    """k(x, z) = (1 + s/(2α))^{−α}: a mixture of Gaussian kernels of many widths.

    >>> from didact.kernels import RationalQuadratic
    >>> RationalQuadratic(1.0, 0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.7071]])
    """

    __slots__ = ()

    def __new__(cls, width: Any = 1.0, alpha: float = 1.0) -> Self:
        """One width, or one for each column; α > 0."""
        require(0 < alpha < np.inf, f"alpha of the rational quadratic kernel is positive, not {alpha!r}.")
        return super().__new__(cls, read_width(width), float(alpha))

    def searched(self) -> tuple[str, ...]:
        """Widths and α."""
        return ("width", "alpha")

    def value(self, s: AnyArray) -> AnyArray:
        """f(s)."""
        return (1.0 + s / (2.0 * self.alpha)) ** -self.alpha

    def slope(self, s: AnyArray) -> AnyArray:
        """f′(s)."""
        return -0.5 * (1.0 + s / (2.0 * self.alpha)) ** (-self.alpha - 1.0)

    def _in_alpha(self, s: AnyArray) -> AnyArray:
        """∂K/∂log α."""
        b = 1.0 + s / (2.0 * self.alpha)
        return b**-self.alpha * (s / (2.0 * b) - self.alpha * namespace(b).log(b))

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """Those of the widths, then that of α."""
        return [*super().partials(X, Z), self._in_alpha(squared_distances(*self._in_widths(X, Z)))]

    def _pulled(self, A: AnyArray, K: AnyArray, s: AnyArray, rows: Centred) -> list[float]:
        """Those of the widths, then that of α."""
        return [*super()._pulled(A, K, s, rows), float((A * self._in_alpha(s)).sum())]


class Laplacian(Stationary, NamedTuple("Laplacian", [("width", Any)])):
    """k(x, z) = exp(−Σ_j abs(x_j − z_j)/w_j).

    >>> from didact.kernels import Laplacian
    >>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    __slots__ = ()

    def __new__(cls, width: Any = 1.0) -> Self:
        """One width, or one for each column."""
        return super().__new__(cls, read_width(width))

    def searched(self) -> tuple[str, ...]:
        """The width or widths."""
        return ("width",)

    def _apart(self, X: AnyArray, Z: AnyArray | None) -> AnyArray:
        U, V = (in_widths(as_dense(A), self.width) for A in (X, X if Z is None else Z))
        return differences(U, V, 1.0)

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """From sums of differences."""
        D = self._apart(X, Z)
        return namespace(D).exp(-D)

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """K times the differences in widths."""
        D = self._apart(X, Z)
        K = namespace(D).exp(-D)
        if not isinstance(self.width, tuple):
            return [K * D]
        U, V = (in_widths(as_dense(A), self.width) for A in (X, X if Z is None else Z))
        return [K * abs(U[:, j, None] - V[None, :, j]) for j in range(U.shape[1])]


class Periodic(Stationary, NamedTuple("Periodic", [("width", float), ("period", float)])):
    """k(x, z) = exp(−2 Σ_j sin²(π(x_j − z_j)/period)/w²): functions that repeat themselves. MacKay (1998).

    >>> from didact.kernels import Periodic
    >>> Periodic(1.0, 2.0)([[0.0]], [[1.0], [2.0]]).round(4)
    array([[0.1353, 1.    ]])
    """

    __slots__ = ()

    def __new__(cls, width: float = 1.0, period: float = 1.0) -> Self:
        """Width and period are positive."""
        require(0 < width < np.inf and 0 < period < np.inf, "width and period of a periodic kernel are positive.")
        return super().__new__(cls, float(width), float(period))

    def searched(self) -> tuple[str, ...]:
        """Width and period."""
        return ("width", "period")

    def _apart(self, X: AnyArray, Z: AnyArray | None) -> AnyArray:
        """4 Σ sin²(a − b)/w², with a = πx/period: the squared distance of the points (cos 2a, sin 2a)/w."""
        return squared_distances(self._on_circles(X), None if Z is None else self._on_circles(Z))

    def _on_circles(self, X: AnyArray) -> AnyArray:
        xp = namespace(X)
        turns = (2.0 * pi / self.period) * xp.fmod(as_dense(X), self.period)  # without whole ones, which rounds nothing
        return xp.concat([xp.cos(turns), xp.sin(turns)], axis=1) / self.width

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """From distances on circles."""
        S = self._apart(X, Z)
        return namespace(S).exp(-0.5 * S)

    def partials(self, X: AnyArray, Z: AnyArray | None = None) -> list[AnyArray]:
        """∂K/∂log w = 4K/w² Σ_j sin² a; ∂K/∂log period = 2K/w² Σ_j 2a sin a cos a with a = π(x_j − z_j)/period."""
        xp, S = namespace(X), self._apart(X, Z)
        K = xp.exp(-0.5 * S)
        X, Z = (as_dense(A) for A in (X, X if Z is None else Z))
        turn = 0.0 * S
        for j in range(X.shape[1]):
            a = (pi / self.period) * (X[:, j, None] - Z[None, :, j])
            turn = turn + a * xp.sin(2.0 * a)
        return [K * S, K * turn * (2.0 / self.width**2)]


def width_of_gamma(gamma: float) -> float:
    """The width of the RBF kernel exp(−γ‖x − z‖²)."""
    return 1.0 / sqrt(2.0 * gamma)


def spread_of_rows(X: AnyArray, w: AnyArray | None = None) -> float:
    """The variance of all entries of X, from which scikit-learn's gamma='scale' comes; rows may have weights."""
    xp = namespace(X)
    w = constant_like(1.0, X, X.shape[0]) if w is None else w
    total = float(w.sum()) * X.shape[1]
    mean = float((w @ X).sum()) / total
    if is_sparse(X):
        return float((w @ X.multiply(X)).sum()) / total - mean * mean
    return float(xp.sum(w @ xp.square(X - mean))) / total
