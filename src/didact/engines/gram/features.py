r"""Explicit features whose inner products are a kernel, nearly: landmarks (Nyström) and random cosines (Fourier).

.. math:: z(x) = K_{LL}^{-1/2}\,k(L, x),\qquad z_j(x) = \sqrt{2/m}\,\cos(\omega_j^Tx + b_j)

Nyström's z(x)ᵀz(x′) is the kernel of the projections onto the span of m landmarks L, drawn from the rows: exact for
rows in that span. Random cosines are unbiased, with an error of about 1/√m, if ω follows the law of the kernel: a
Gaussian for RBF, Cauchy for Laplacian, Student's t with 2ν degrees of freedom for Matérn, a Gaussian of random width
for the rational quadratic. Features of a block of rows take m evaluations a row (and m² for Nyström), so that linear
models on them need neither the Gram matrix nor all features at once.

Williams, Seeger (2000), Using the Nyström method to speed up kernel machines; Rahimi, Recht (2007), Random features for
large-scale kernel machines; Arthur, Vassilvitskii (2007), k-means++.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import clone

from didact.core.backend import as_dense, float_type, is_sparse, is_tensor, like, local, rows_at, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.overflow import refuse_large
from didact.core.parameters import has, none, one_of, param, whole
from didact.core.random import streams
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.rows.gather import stacked
from didact.core.rows.memory import memory_limit, refuse_square, require_finite
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.engines.gram.pairwise import GivenColumns
from didact.engines.gram.rows import gram_of, kernel_block, own_noise, tiled
from didact.engines.gram.systems import BELOW_ZERO, say_indefinite
from didact.engines.gram.tuning import GRAM_TILE
from didact.kernels import RBF, Cosines, Laplacian, Matern, RationalQuadratic
from didact.kernels.algebra import Scaled
from didact.kernels.base import Kernel

SPAN = 1e-12  # of the largest eigenvalue of the landmarks' matrix: smaller ones are rounding
HELD = 1 << 28  # bytes of features that learning row by row keeps; beyond, it computes those of each step
HELD_SHARE = 0.125  # of the memory: features that are kept for all rows; beyond, each pass computes them anew
NO_FEATURES = (
    "White noise in a kernel belongs to each row by itself and has no features: leave White out of the kernel; the "
    "penalty of a model (alpha, C) does what it does."
)
FEWER_FEATURES = "choose fewer features (n_components)"
POOL = 20  # rows for each landmark among which far ones are looked for
LANDMARKS = ("uniform", "kmeans++")


APPROXIMATIONS = ("nystroem", "random_features")


def approximation_param() -> Any:
    """The parameter `approximation`."""
    doc = (
        "Explicit features in the place of the kernel, for many rows: 'nystroem' (landmarks among the rows), "
        "'random_features' (random cosines; RBF, Laplacian, Matérn and rational quadratic kernels), or a transformer."
    )
    return param(None, [one_of(*APPROXIMATIONS), has("fit", "transform"), none], doc)


def n_components_param() -> Any:
    """The parameter `n_components`."""
    return param(300, whole(1), "Number of features of an approximation.")


class FeatureMap(NamedTuple):
    """Features k(x, v_j)·M of rows, and the numbers of the rows that the vectors v_j are, if they are rows."""

    kernel: Any
    vectors: Any
    mixing: Any = None
    numbers: Any = None
    least: float = 0.0  # eigenvalue of the kernel among the vectors, as a share of the largest

    @property
    def size(self) -> int:
        """The number of features."""
        return int(self.vectors.shape[0])

    def __call__(self, X: AnyArray) -> AnyArray:
        """The features of a block of rows, in float64 on the host."""
        V = like(self.vectors, X)
        if is_sparse(V) and not is_sparse(X):
            V = V.toarray()
        elif is_sparse(X) and not is_sparse(V) and not isinstance(self.kernel, (Cosines, Transformed)):
            X = X.toarray()
        Z = kernel_block(self.kernel, X, V)
        Z = Z if self.mixing is None else Z @ like(self.mixing, X)
        return Z if is_tensor(Z) else np.asarray(Z, np.float64)

    def coefficients(self, weights: Array) -> Array:
        """Coefficients of the values k(x, v_j) from weights (m, …) of the features."""
        return weights if self.mixing is None else self.mixing @ weights


class Transformed(NamedTuple):
    """The features of another transformer, in the place of a kernel's values; its vectors have no meaning."""

    transformer: Any

    def __call__(self, X: AnyArray, vectors: AnyArray) -> AnyArray:
        """The transformed rows."""
        Z = self.transformer.transform(X)
        return as_dense(Z)


def nystroem(kernel: Any, landmarks: AnyArray, numbers: Array | None = None) -> FeatureMap:
    """Features from landmarks, with the symmetric root of the (pseudo-)inverse of their matrix."""
    if isinstance(kernel, Kernel):
        refuse_large(landmarks)
    refuse_square(landmarks.shape[0], FEWER_FEATURES)
    if own_noise(kernel, landmarks) is not None:
        raise ParameterError(NO_FEATURES)
    K = to_numpy(gram_of(kernel, landmarks, landmarks)).astype(np.float64)
    if not np.isfinite(K).all():
        raise InputError("The kernel gave NaN or infinity for landmarks: check the kernel and the scale of X.")
    with blas_for(len(K)):
        values, Q = linalg.eigh((K + K.T) / 2, check_finite=False)
        kept = values > SPAN * len(K) * abs(values).max(initial=0.0)
        roots = np.divide(1.0, np.sqrt(np.abs(values)), out=np.zeros_like(values), where=kept)
        mixing = (Q * roots) @ Q.T
    least = float(values[0] / max(abs(values).max(), np.finfo(float).tiny))
    return FeatureMap(kernel=kernel, vectors=landmarks, mixing=mixing, numbers=numbers, least=least)


def fourier(kernel: Any, p: int, m: int, rng: np.random.Generator) -> FeatureMap:
    """m random cosines for rows of p columns."""
    factor = 1.0
    while isinstance(kernel, Scaled):
        factor, kernel = factor * kernel.factor, kernel.kernel
    if isinstance(kernel, Laplacian):
        omega = rng.standard_cauchy((m, p))
    elif isinstance(kernel, (RBF, Matern, RationalQuadratic)):
        omega = rng.standard_normal((m, p))
        if isinstance(kernel, Matern) and np.isfinite(kernel.nu):
            omega *= np.sqrt(2.0 * kernel.nu / rng.chisquare(2.0 * kernel.nu, (m, 1)))
        elif isinstance(kernel, RationalQuadratic):
            omega *= np.sqrt(rng.gamma(kernel.alpha, 1.0 / kernel.alpha, (m, 1)))
    else:
        name = type(kernel).__name__ if isinstance(kernel, Kernel) else repr(kernel)
        raise ParameterError(
            f"The spectral law of the kernel {name} is not known: random features take RBF, Laplacian, Matern and "
            "RationalQuadratic kernels; use approximation='nystroem' for others."
        )
    width = np.asarray(kernel.width)
    if width.ndim and len(width) != p:
        raise InputError(f"The kernel has {len(width)} widths, and X has {p} columns.")
    phases = rng.uniform(0.0, 2.0 * np.pi, m)
    return FeatureMap(Cosines(float(np.sqrt(2.0 * factor / m))), np.column_stack([omega / width, phases]))


def sampled(rows: Rows, m: int, rng: np.random.Generator) -> tuple[Array, AnyArray]:
    """Numbers and values of m rows with weight, drawn without replacement: the same whatever the blocks."""
    keys, numbers, start = np.empty(0), np.empty(0, np.int64), 0
    parts: list[Any] = []
    for one in rows.stream():
        n = one.X.shape[0]
        if not rows.missing:
            require_finite(one.X, rows.names)
        counts = np.ones(n, bool) if one.weight is None else to_numpy(one.weight) > 0
        new = np.full(n, np.inf)
        new[counts] = rng.random(int(counts.sum()))  # rows without weight take no draws
        all_keys = np.concatenate([keys, new])
        chosen = np.argsort(all_keys, kind="stable")[: min(m, int(np.isfinite(all_keys).sum()))]
        old, fresh = np.sort(chosen[chosen < len(keys)]), np.sort(chosen[chosen >= len(keys)]) - len(keys)
        parts = [rows_at(stacked(tuple(parts)), old)] if parts else []
        parts.append(local(rows_at(one.X, fresh)))
        keys = np.concatenate([keys[old], new[fresh]])
        numbers = np.concatenate([numbers[old], start + fresh])
        start += n
    if not parts:
        raise InputError("The collection is empty: it holds no rows.")
    X = stacked(tuple(parts))
    return numbers, X.toarray() if is_sparse(X) and X.shape[1] <= 10_000 else X


def far_apart(kernel: Any, X: AnyArray, m: int, rng: np.random.Generator) -> Array:
    """Numbers of m rows, each drawn in proportion to its squared distance from those before (k-means++).

    Distances are those of the kernel's features.
    """
    n = X.shape[0]
    own = kernel.diagonal(X) if isinstance(kernel, Kernel) else np.diagonal(gram_of(kernel, X, X)).copy()
    own = to_numpy(own).astype(np.float64)
    chosen = [int(rng.integers(n))]
    distance = np.full(n, np.inf)
    while len(chosen) < min(m, n):
        last = chosen[-1]
        values = to_numpy(kernel_block(kernel, X, X[last : last + 1])).ravel()
        distance = np.minimum(distance, np.maximum(own + own[last] - 2.0 * values, 0.0))
        distance[chosen] = 0.0
        total = distance.sum()
        if not total > 0:
            break  # all others are copies
        chosen.append(int(np.searchsorted(np.cumsum(distance), rng.random() * total, side="right").clip(0, n - 1)))
    return np.unique(chosen)


def landmark_map(kernel: Any, rows: Rows, m: int, seed: Any, landmarks: str = "uniform") -> FeatureMap:
    """Nyström features with landmarks from the rows."""
    rng = streams(seed, 1)[0]
    numbers, X = sampled(rows, m if landmarks == "uniform" else POOL * m, rng)
    if isinstance(kernel, str):
        return nystroem(given_columns(rows, numbers, landmarks), X, numbers)
    if landmarks == "kmeans++":
        chosen = far_apart(kernel, X, m, rng)
        numbers, X = numbers[chosen], rows_at(X, chosen)
    return nystroem(kernel, X, numbers)


def given_columns(rows: Rows, numbers: Array, landmarks: str) -> GivenColumns:
    """The columns of landmarks in a precomputed kernel, which has to be square."""
    n = numbers.max() + 1 if rows.n_rows is None else rows.n_rows
    if n > rows.n_features or (rows.n_rows is not None and n != rows.n_features):
        raise InputError(f"A precomputed kernel is square; X has {n} rows and {rows.n_features} columns.")
    if landmarks != "uniform":
        raise ParameterError(f"landmarks={landmarks!r} needs rows to compare, not a precomputed kernel: use 'uniform'.")
    return GivenColumns(numbers)


def chosen_map(approximation: Any, kernel: Any, rows: Rows, m: int, seed: Any) -> FeatureMap:
    """The features that a model's parameter `approximation` names, or those of a transformer."""
    if isinstance(kernel, str):
        raise ParameterError("A precomputed kernel has no landmarks to compute with: use approximation=None.")
    if approximation == "nystroem":
        return landmark_map(kernel, rows, m, seed)
    if approximation == "random_features":
        return fourier(kernel, rows.n_features, m, streams(seed, 1)[0])
    X = rows.require_memory("A transformer as approximation is fitted to all rows: they have to be in memory.").X
    fitted = clone(approximation).fit(X)
    if hasattr(fitted, "feature_map"):
        found: FeatureMap = fitted.feature_map()
        return found
    return FeatureMap(Transformed(fitted), np.zeros((fitted.transform(X[:1]).shape[1], 1)))


def warn_landmarks(model: Any, features: FeatureMap) -> None:
    """Say that the kernel is none, if its values among the landmarks have a negative eigenvalue."""
    if features.least < -BELOW_ZERO:
        say_indefinite(model, "landmarks", "features leave out its negative part")


def features_of(X: AnyArray, features: FeatureMap) -> AnyArray:
    """The features of a block of rows, in its float type."""
    Z = features(X)
    return Z if is_tensor(Z) else Z.astype(float_type(X), copy=False)


class MappedRows(Rows):
    """Rows of features, made of the blocks of other rows in each pass, so that they are never there all at once."""

    def __init__(self, rows: Rows, features: FeatureMap, after: tuple[Any, ...] = ()):
        self.rows, self.features, self.after = rows, features, after
        self.n_features, self.dtype = features.size, np.dtype(np.float64)
        self.y_ndim, self.n_targets = rows.y_ndim, rows.n_targets
        self.missing, self.on_device = rows.missing, rows.on_device

    def reduce(self, fn: Callable[..., Any], *args: Any) -> Any:
        """One pass over the rows below."""
        return self.rows.reduce(on_features, self.features, self.after, fn, *args)

    def prepared(self, fn: Callable[..., Block], *args: Any) -> "MappedRows":
        """Blocks of features that are fn(block, *args)."""
        return MappedRows(self.rows, self.features, (*self.after, (fn, args)))

    def stream(self) -> Iterator[Block]:
        """The blocks of features one after the other."""
        for one in self.rows.stream():
            yield mapped_block(one, self.features, self.after)

    def map(self, fn: Callable[..., Any], *args: Any) -> Any:
        """fn of the features of every block."""
        return self.rows.map(_of_features, self.features, fn, *args)


def mapped_block(one: Block, features: FeatureMap, after: tuple[Any, ...]) -> Block:
    """A block of features, and what is to be done to it after that."""
    one = one._replace(X=features(one.X))
    for fn, args in after:
        one = fn(one, *args)
    return one


def on_features(one: Block, features: FeatureMap, after: tuple[Any, ...], fn: Callable[..., Any], *args: Any) -> Any:
    """fn of a block of features."""
    return fn(mapped_block(one, features, after), *args)


def _of_features(X: AnyArray, features: FeatureMap, fn: Callable[..., Any], *args: Any) -> Any:
    return fn(features(X), *args)


def feature_rows(rows: Rows, features: FeatureMap) -> Rows:
    """Rows of features: computed once if they fit into some memory, else anew in each pass."""
    n = rows.n_rows
    if n is None or rows.on_device or 8 * n * features.size > HELD_SHARE * memory_limit():
        return MappedRows(rows, features)
    X, *others = rows.whole()
    if not rows.missing:
        require_finite(X, rows.names)
    Z = np.empty((n, features.size))
    tiled(lambda a, b: Z.__setitem__(slice(a, b), features(X[a:b])), n, 2 * GRAM_TILE)
    return MemoryRows(Z, *others, missing=rows.missing)
