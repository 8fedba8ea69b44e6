r"""From joint log probabilities log P(k, x) of the classes to posteriors and labels, in blocks of rows."""

from typing import Any

import numpy as np
from scipy import special

from didact.core.backend import is_sparse, is_tensor, namespace
from didact.core.errors import InputError
from didact.core.threads import blas_for, parallel_map
from didact.core.typing import Array
from didact.engines.components.tuning import POSTERIOR_ROWS

NEARER = 31  # steps of 1e-10 by which a row of the largest numbers becomes one of the smallest


def class_priors(given: Any, weight: Array) -> Array:
    """Probabilities of the classes: as given, equal ("equal"), or in proportion to the classes' weights (None)."""
    K = len(weight)
    if given is None:
        return weight / weight.sum()
    if isinstance(given, str):
        return np.full(K, 1.0 / K)
    prior = np.asarray(given, np.float64)
    if prior.shape != (K,):
        raise InputError(f"Number of priors must match number of classes: {K}, not {prior.size}.")
    if not np.isclose(prior.sum(), 1.0):
        raise InputError("The sum of the priors should be 1.")
    if (prior < 0).any():
        raise InputError("Priors must be non-negative.")
    return prior


def in_blocks(X: Any, fn: Any, *args: Any) -> Any:
    """fn(block, *args) for blocks of rows that fit the cache, on the library's threads; a tensor is one block."""
    if is_tensor(X):
        return fn(X, *args)
    step = POSTERIOR_ROWS if not is_sparse(X) else max(POSTERIOR_ROWS, -(-X.shape[0] // 16))
    starts = range(0, X.shape[0], step)
    with blas_for(X.shape[1]):
        found = parallel_map(lambda s: fn(X[s : s + step], *args), starts)
    return np.concatenate(found).astype(X.dtype, copy=False)


def log_posterior(X: Any, fn: Any, *args: Any) -> Any:
    """log P(class | x)."""
    joint = relative(X, fn, *args)
    xp = namespace(joint)
    return joint - xp.log(xp.sum(xp.exp(joint), axis=1))[:, None]


def posterior(X: Any, fn: Any, *args: Any) -> Any:
    """P(class | x)."""
    joint = relative(X, fn, *args)
    xp = namespace(joint)
    shares = xp.exp(joint)
    return shares / xp.sum(shares, axis=1)[:, None]


def log_density(X: Any, fn: Any, *args: Any) -> Any:
    """log p(x), summed over the classes."""
    return _log_sum(in_blocks(X, fn, *args))


def most_probable(X: Any, classes: Array, fn: Any, *args: Any) -> Array:
    """The label with the largest joint probability."""
    joint = relative(X, fn, *args)
    best = namespace(joint).argmax(joint, axis=1)
    return classes[best.cpu().numpy() if is_tensor(best) else best]


def relative(X: Any, fn: Any, *args: Any) -> Any:
    """Joint log probabilities minus the largest in each row.

    A row so far away that all of them overflow is scaled down by powers of ten until they are finite: ratios of
    densities grow with the distance, so that the same class still has the largest probability.
    """
    joint = in_blocks(X, fn, *args)
    best = namespace(joint).max(joint, axis=1)
    if is_tensor(joint):
        return joint - best[:, None]
    lost = np.flatnonzero(~np.isfinite(best))
    with np.errstate(invalid="ignore"):
        joint = joint - best[:, None]
    if len(lost):
        far = X[lost]
        far = np.asarray(far.toarray() if is_sparse(far) else far, np.float64)
    for _ in range(NEARER):
        if not len(lost):
            break
        far = 1e-10 * far
        near = in_blocks(far, fn, *args)
        best = near.max(axis=1)
        found = np.isfinite(best)
        joint[lost[found]] = near[found] - best[found, None]
        lost, far = lost[~found], far[~found]
    return joint


def _log_sum(joint: Any) -> Any:
    if not is_tensor(joint):
        return special.logsumexp(joint, axis=1)
    xp = namespace(joint)
    top = xp.max(joint, axis=1)
    return top + xp.log(xp.sum(xp.exp(joint - top[:, None]), axis=1))
