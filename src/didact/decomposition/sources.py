r"""What models of independent sources share: white rows to begin with, and the way from rows to sources and back.

Rows are centred and projected on the directions of greatest variance, scaled to variance 1:
:math:`z = \sqrt n\,K(x-\mu)` with :math:`K = (nD)^{-1/2}U^T` from the eigenvalues D and vectors U of the covariance.
What is left to find is a square matrix. With more columns than sources (more microphones than speakers) the projection
leaves out the rest.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import as_dense, float_type, is_tensor, like
from didact.core.errors import InputError, ParameterError, users_level
from didact.core.estimator import Estimator, tagged
from didact.core.parameters import attr
from didact.core.random import streams
from didact.core.rows import Block, Rows
from didact.core.threads import blas_for, parallel_rows
from didact.core.typing import Array
from didact.core.validation import given_rows
from didact.decomposition.spread import spread_of
from didact.engines.spectral.eigen import fixed_signs

RANK = 1e-13  # variances below, relative to the largest, are rounding


class White(NamedTuple):
    """White rows (n, k), with what made them: the matrix K (k, p), the mean (p,), and the number of rows."""

    rows: Rows
    matrix: Array
    mean: Array
    cases: float


def whitened(rows: Rows, k: int | None, say: bool = False) -> White:
    """White rows of so many columns, or of as many as there are directions with variance; `say` warns of fewer."""
    S, p = spread_of(rows), rows.n_features
    most = p if rows.n_rows is None else min(p, rows.n_rows)
    say = say or k is not None
    if k is not None and k > most:
        _warn(f"n_components is too large: it will be set to {most}")
    k = most if k is None else min(k, most)
    with blas_for(p):
        values, vectors, _ = S.top(k, np.ones(p))
    rank = int((values > RANK * max(p, 1) * values[0]).sum())
    if rank < k and say:
        _warn(
            f"There are some small singular values: only {rank} directions of the rows have variance, and n_components "
            f"will be set to {rank}."
        )
    values, vectors = values[:rank], vectors[:, :rank]
    matrix = (fixed_signs(vectors) / np.sqrt(values)).T
    return White(rows.prepared(project, S.mean, matrix), matrix / np.sqrt(S.weight), S.mean, S.weight)


def project(block: Block, mean: Array, matrix: Array) -> Block:
    """A block of white rows."""
    return block._replace(X=apart(block.X, mean, matrix))


def apart(X: Any, mean: Any, matrix: Array) -> Any:
    """Sources of rows: (x − μ)Bᵀ; without a mean as the rows are."""
    if is_tensor(X):
        return (X if mean is None else X - like(mean, X)) @ like(matrix.T, X)
    X, turned = np.asarray(X), matrix.T.astype(np.float64)
    middle = 0.0 if mean is None else np.asarray(mean, np.float64)
    return parallel_rows(lambda rows: (rows - middle) @ turned, X, len(matrix), float_type(X))


def _warn(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=users_level())


def first_matrix(w_init: Any, k: int, random_state: Any) -> Array:
    """The square matrix at which iterations begin."""
    if w_init is None:
        return streams(random_state, 1)[0].standard_normal((k, k))
    W = np.array(w_init, np.float64)
    if W.shape != (k, k):
        raise ParameterError(f"w_init has invalid shape -- should be {(k, k)}, but is {W.shape}.")
    if not np.isfinite(W).all() or np.linalg.matrix_rank(W) < k:
        raise ParameterError("w_init has to be an invertible matrix of finite numbers.")
    return W


def with_signs(components: Array) -> Array:
    """Rows whose largest number is positive: the signs of sources are free, and iterations may turn them to and fro."""
    return np.asarray(fixed_signs(components.T).T)


def matrices(components: Array, white: White | None, dtype: Any) -> dict[str, Array]:
    """The attributes of a fit."""
    found = {"components_": components, "mixing_": np.linalg.pinv(components)}
    if white is not None:
        found |= {"mean_": white.mean, "whitening_": white.matrix}
    return {name: value.astype(dtype) for name, value in found.items()}


@tagged(transformer_tags__preserves_dtype=["float64", "float32"])
class _Sources(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Rows as mixtures of independent sources. Abstract."""

    _sparse = False
    _tensors = True
    _test_sources = True

    _attrs = [
        attr("components_", "(n_components, n_features)", "The matrix by which centred rows become sources."),
        attr("mixing_", "(n_features, n_components)", "Its pseudo-inverse, by which sources become rows."),
        attr("n_iter_", "int", "Iterations."),
    ]

    def transform(self, X: Any, copy: bool = True) -> Any:
        """The sources of each row, (n, n_components); rows are never changed, whatever `copy` says."""
        return self._after_fit()._map_rows(X, apart, getattr(self, "mean_", None), self.components_)

    def inverse_transform(self, X: Any, copy: bool = True) -> Any:
        """Rows from sources; `copy` has no effect."""
        mixing = self._after_fit().mixing_
        S = as_dense(given_rows(X, finite=True))
        if S.shape[1] != mixing.shape[1]:
            raise InputError(f"inverse_transform takes rows of {mixing.shape[1]} sources; got shape {tuple(S.shape)}.")
        found = apart(S, None, mixing)
        mean = getattr(self, "mean_", None)
        return found if mean is None else found + (like(mean, found) if is_tensor(found) else mean.astype(found.dtype))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
