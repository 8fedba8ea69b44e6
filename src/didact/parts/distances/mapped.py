"""Distances that are another distance between transformed rows, and weights of columns.

The Mahalanobis distance is the Euclidean distance of whitened rows, weights scale the columns, and 1 − cos(u, v) for u
and v of length 1 is ½‖u − v‖². The rows are transformed once, and the index is built on the transformed rows.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.parts.distances.columns import Chebyshev, Distance, Euclidean, Hamming, Manhattan, Minkowski
from didact.parts.distances.rows import Gower
from didact.parts.noun import Plain, require


class _Mapped(Distance):
    """A distance computed as another distance between transformed rows."""

    __slots__ = ()

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        return self.finish(self.inner.pairwise(self.rows(X), self.rows(Y)))


class SquaredEuclidean(_Mapped, Plain):
    """Σ(a − b)²; not a metric, but it orders neighbours as the Euclidean distance does.

    >>> SquaredEuclidean().pairwise(np.zeros((1, 2)), np.array([[3.0, 4.0]]))
    array([[25.]])
    """

    __slots__ = ()
    metric = False

    @property
    def inner(self) -> Any:
        """The Euclidean distance."""
        return Euclidean()

    def finish(self, d: Any) -> Any:
        """The square."""
        return d * d

    def start(self, d: float) -> float:
        """√d."""
        return math.sqrt(d)


class Scaled(_Mapped, NamedTuple("Scaled", [("of", Any), ("scale", Any)])):
    """A distance between rows whose columns are multiplied by a scale.

    >>> Scaled(Euclidean(), np.array([1.0, 0.0])).pairwise(np.zeros((1, 2)), np.array([[3.0, 4.0]]))
    array([[3.]])
    """

    __slots__ = ()

    @property
    def inner(self) -> Any:
        """The distance between scaled rows."""
        return self.of.inner

    def rows(self, X: Any) -> Any:
        """The scaled rows."""
        scale = self.scale.astype(X.dtype)
        return self.of.rows(X @ sp.diags_array(scale) if sp.issparse(X) else X * scale)

    def finish(self, d: Any) -> Any:
        """The `finish` of the distance that is scaled."""
        return self.of.finish(d)

    def start(self, d: float) -> float:
        """The `start` of the distance that is scaled."""
        return float(self.of.start(d))


class Mahalanobis(_Mapped, NamedTuple("Mahalanobis", [("root", Any), ("centre", Any)])):
    """√((a − b)ᵀ R Rᵀ (a − b)), where R Rᵀ is the inverse of a covariance; rows are centred before the product.

    >>> Mahalanobis(np.diag([1.0, 2.0]), np.zeros(2)).pairwise(np.zeros((1, 2)), np.array([[3.0, 2.0]]))
    array([[5.]])
    """

    __slots__ = ()

    @property
    def inner(self) -> Any:
        """The Euclidean distance, between whitened rows."""
        return Euclidean()

    def rows(self, X: Any) -> Any:
        """The whitened rows."""
        if sp.issparse(X):
            return np.asarray(X @ self.root)
        return (X - self.centre) @ self.root


class Cosine(_Mapped, Plain):
    """1 − cosine of the angle; a row of zeros has distance 0 to other rows of zeros and 1 to all else.

    >>> Cosine().pairwise(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]))
    array([[1., 0., 1.]])
    """

    __slots__ = ()
    metric = False

    @property
    def inner(self) -> Any:
        """The Euclidean distance, between rows of length 1."""
        return Euclidean()

    def rows(self, X: Any) -> Any:
        """Rows of length 1, with another column that is 1 in rows of zeros: these are orthogonal to all others."""
        if sp.issparse(X):
            largest = abs(X).max(axis=1).toarray().ravel()
        else:
            largest = np.abs(X).max(axis=1, initial=0.0)
        empty = largest == 0
        first = 1.0 / np.where(empty, 1.0, largest)  # scale first, as squares could overflow or underflow
        if sp.issparse(X):
            X = sp.diags_array(first.astype(X.dtype)) @ X
            length = np.where(empty, 1.0, np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()))
            X = sp.diags_array((1.0 / length).astype(X.dtype)) @ X
            return sp.hstack([X, sp.csr_array(empty[:, None].astype(X.dtype))], format="csr")
        X = X * first[:, None].astype(X.dtype)
        X /= np.where(empty, 1.0, np.sqrt(np.einsum("ij,ij->i", X, X)))[:, None]
        return np.column_stack([X, empty.astype(X.dtype)])

    def finish(self, d: Any) -> Any:
        """Half the square."""
        return 0.5 * d * d

    def start(self, d: float) -> float:
        """√(2d)."""
        return math.sqrt(2.0 * d)


class Correlation(_Mapped, Plain):
    """1 − correlation of two rows: the cosine distance of centred rows; a constant row counts as a row of zeros.

    >>> Correlation().pairwise(np.array([[1.0, 2.0, 3.0]]), np.array([[2.0, 4.0, 6.0], [3.0, 2.0, 1.0]])).round(12)
    array([[0., 2.]])
    """

    __slots__ = ()
    metric = False

    @property
    def inner(self) -> Any:
        """The Euclidean distance, between rows of mean 0 and length 1."""
        return Cosine().inner

    def rows(self, X: Any) -> Any:
        """Rows of mean 0 and length 1."""
        X = X.toarray() if sp.issparse(X) else X
        flat = X.max(axis=1, keepdims=True) == X.min(axis=1, keepdims=True)  # exactly: x − mean may be rounding
        return Cosine().rows(np.where(flat, 0.0, X - X.mean(axis=1, keepdims=True)).astype(X.dtype))

    def finish(self, d: Any) -> Any:
        """Half the square, as for the cosine distance."""
        return Cosine().finish(d)

    def start(self, d: float) -> float:
        """√(2d), as for the cosine distance."""
        return Cosine().start(d)


@entrance()
def weighted(distance: Distance, weights: Any) -> Distance:
    """A distance with a weight w_j ≥ 0 for each column, such as (Σ w_j|a_j − b_j|ᵖ)^(1/p).

    >>> weighted(Euclidean(), [4.0, 0.0]).pairwise(np.zeros((1, 2)), np.array([[3.0, 4.0]]))
    array([[6.]])
    """
    w = np.asarray(weights, np.float64)
    require(w.ndim == 1 and bool(np.isfinite(w).all()) and bool((w >= 0).all()) and w.sum() > 0,
            "Feature weights are finite numbers of at least 0, one for each column and not all 0.")  # fmt: skip
    if isinstance(distance, (Hamming, Gower)):
        return _reweighted(distance, w)
    power: dict[Any, float] = {Manhattan: 1.0, Chebyshev: 1.0}
    power |= dict.fromkeys((Euclidean, SquaredEuclidean, Cosine, Mahalanobis), 0.5)
    exponent = 1.0 / distance.p if isinstance(distance, Minkowski) else power.get(type(distance))
    if exponent is None:
        raise ParameterError(
            f"The distance {type(distance).__name__} takes no feature weights: leave them out or use another metric."
        )
    return Scaled(distance, w**exponent)


def _reweighted(distance: Any, w: Array) -> Distance:
    w = distance.weights * w
    return Hamming(w, float(w.sum())) if isinstance(distance, Hamming) else distance._replace(weights=w)


def whitening(inverse: Array) -> Array:
    """R with R Rᵀ = inverse, for a positive semidefinite matrix."""
    require(inverse.ndim == 2 and inverse.shape[0] == inverse.shape[1] and np.allclose(inverse, inverse.T),
            "The matrix of a Mahalanobis distance is square and symmetric.")  # fmt: skip
    values, vectors = np.linalg.eigh(0.5 * (inverse + inverse.T))
    require(
        values[0] >= -1e-10 * max(values[-1], 0.0), "The matrix of a Mahalanobis distance has a negative eigenvalue."
    )
    return vectors * np.sqrt(np.maximum(values, 0.0))
