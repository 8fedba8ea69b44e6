"""Where points are before the descent: small principal components, or small random places."""

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from didact.core.backend import is_sparse
from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.engines.spectral.eigen import eigenpairs

SMALL_START = 1e-4  # standard deviation of the first coordinate
EQUAL_ROWS = 1e-14  # of numbers up to 1: rows that differ by less are equal


def random_start(n: int, d: int, rng: np.random.Generator) -> Array:
    """Gaussian places."""
    return SMALL_START * rng.standard_normal((n, d))


def principal_start(X: Any, d: int, rng: np.random.Generator) -> Array:
    """The first d principal components; random places if all rows are equal."""
    n, p = X.shape
    if d > min(n, p):
        raise ParameterError(
            f'init="pca" has at most {min(n, p)} components for {n} rows and {p} columns, and n_components={d}: use '
            'init="random".'
        )
    top = float(abs(X).max()) or 1.0
    X = X.astype(np.float64) / 2.0 ** float(np.frexp(top)[1] - 1)  # squares neither overflow nor vanish
    mean = np.asarray(X.mean(axis=0), np.float64).ravel()
    if not is_sparse(X):
        X, mean = X - mean, np.zeros(p)

    def right(V: Array) -> Array:
        return X @ V - mean @ V

    def left(U: Array) -> Array:
        return X.T @ U - np.multiply.outer(mean, U.sum(axis=0))

    size = min(n, p)
    both = (lambda V: left(right(V))) if p <= n else (lambda V: right(left(V)))
    A = LinearOperator((size, size), matvec=both, matmat=both, dtype=np.float64)
    values, V = eigenpairs(A, d, seed=int(rng.integers(2**31)))
    Y = right(V) if p <= n else V * np.sqrt(np.maximum(values, 0.0))
    spread = float(Y[:, 0].std())
    return Y * (SMALL_START / spread) if spread > EQUAL_ROWS else random_start(n, d, rng)
