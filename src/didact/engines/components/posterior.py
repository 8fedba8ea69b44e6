r"""From joint log probabilities log P(k, x) of the classes to posteriors and labels.

A function of rows that is marked with `scored_by` is not called: one compiled pass computes its scores and what follows
from them. Rows at which that pass gives up (gaps, overflow), sparse rows and tensors are left to the function itself,
in blocks.
"""

import warnings
from typing import Any

import numpy as np
from scipy import special

from didact.core.backend import is_sparse, is_tensor, namespace, to_numpy
from didact.core.errors import InputError, users_level
from didact.core.sparse import row_slice
from didact.core.threads import blas_for, parallel_map
from didact.core.typing import Array
from didact.engines.components.tuning import MANY_POSTERIOR_ROWS, POSTERIOR_ROWS
from didact.engines.scores.score_loops import (
    AS_CODES,
    AS_LOG_POSTERIOR,
    AS_LOG_SUM,
    AS_POSTERIOR,
    AS_SCORES,
    score_rows,
)
from didact.engines.scores.score_tables import tables_of
from didact.parts.statistics.counts import labels_of

NEARER = 31  # steps of 1e-10 by which a row of the largest numbers becomes one of the smallest


def class_priors(given: Any, weight: Array, scale: bool = False) -> Array:
    """Probabilities of the classes: as given, equal ("equal"), or in proportion to the classes' weights (None).

    Given ones that do not sum to 1 are refused, or with `scale` divided by their sum with a warning.
    """
    K = len(weight)
    if given is None:
        return weight / weight.sum()
    if isinstance(given, str):
        return np.full(K, 1.0 / K)
    prior = np.asarray(given, np.float64)
    if prior.shape != (K,):
        raise InputError(f"Number of priors must match number of classes: {K}, not {prior.size}.")
    if (prior < 0).any():
        raise InputError(f"{'priors' if scale else 'Priors'} must be non-negative.")
    if not np.isclose(prior.sum(), 1.0):
        if not (scale and 0.0 < prior.sum() < np.inf):
            raise InputError("The sum of the priors should be 1.")
        warnings.warn("The priors do not sum to 1. Renormalizing.", UserWarning, stacklevel=users_level())
        return prior / prior.sum()
    return prior


def answered(X: Any, answer: int, fn: Any, *args: Any) -> Any:
    """An answer of `score_loops` for each row from the scores fn(X, *args), in a compiled pass where there is one."""
    tables = tables_of(X, fn, args)
    if tables is None:
        return ARRAY_FORMS[answer](X, fn, *args)
    found, lost = score_rows(X, tables, answer)
    if len(lost):
        found[lost] = ARRAY_FORMS[answer](X[lost], fn, *args)
    return found


def class_scores(X: Any, fn: Any, *args: Any) -> Any:
    """The scores fn(X, *args) themselves."""
    return answered(X, AS_SCORES, fn, *args)


def in_blocks(X: Any, fn: Any, *args: Any) -> Any:
    """fn(block, *args) for blocks of rows that fit the cache, on the library's threads; a tensor is one block."""
    if is_tensor(X):
        return fn(X, *args)
    n = X.shape[0]
    step = MANY_POSTERIOR_ROWS if n >= 32 * MANY_POSTERIOR_ROWS else POSTERIOR_ROWS
    step = step if not is_sparse(X) else max(step, -(-n // 16))
    starts = range(0, X.shape[0], step)
    with blas_for(X.shape[1]):
        found = parallel_map(lambda s: fn(row_slice(X, s, s + step), *args), starts)
    return np.concatenate(found).astype(X.dtype, copy=False)


def log_posterior(X: Any, fn: Any, *args: Any) -> Any:
    """log P(class | x)."""
    return answered(X, AS_LOG_POSTERIOR, fn, *args)


def _log_posterior(X: Any, fn: Any, *args: Any) -> Any:
    joint = relative(X, fn, *args)
    xp = namespace(joint)
    return joint - xp.log(xp.sum(xp.exp(joint), axis=1))[:, None]


def posterior(X: Any, fn: Any, *args: Any) -> Any:
    """P(class | x)."""
    return answered(X, AS_POSTERIOR, fn, *args)


def _posterior(X: Any, fn: Any, *args: Any) -> Any:
    joint = relative(X, fn, *args)
    xp = namespace(joint)
    shares = xp.exp(joint)
    return shares / xp.sum(shares, axis=1)[:, None]


def log_density(X: Any, fn: Any, *args: Any) -> Any:
    """log p(x), summed over the classes."""
    return answered(X, AS_LOG_SUM, fn, *args)


def most_probable(X: Any, classes: Array, fn: Any, *args: Any) -> Array:
    """The label with the largest joint probability."""
    return labels_of(answered(X, AS_CODES, fn, *args), classes)


def _codes(X: Any, fn: Any, *args: Any) -> Array:
    joint = relative(X, fn, *args)
    return np.asarray(to_numpy(namespace(joint).argmax(joint, axis=1)))


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


def _log_sum(X: Any, fn: Any, *args: Any) -> Any:
    joint = in_blocks(X, fn, *args)
    if not is_tensor(joint):
        return special.logsumexp(joint, axis=1)
    xp = namespace(joint)
    top = xp.max(joint, axis=1)
    return top + xp.log(xp.sum(xp.exp(joint - top[:, None]), axis=1))


ARRAY_FORMS = {
    AS_SCORES: in_blocks,
    AS_CODES: _codes,
    AS_POSTERIOR: _posterior,
    AS_LOG_POSTERIOR: _log_posterior,
    AS_LOG_SUM: _log_sum,
}
