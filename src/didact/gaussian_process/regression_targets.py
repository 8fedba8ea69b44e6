"""What regression conditions on: targets in units, the columns of the mean, noise, and inducing points."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.engines.centroids.starts import plus_plus
from didact.engines.gram.inducing import bound, full_rows
from didact.engines.gram.process import evidence
from didact.gaussian_process.posterior import Mean, columns_of, function_values
from didact.gaussian_process.sample_start import sample_of
from didact.kernels.base import Kernel
from didact.parts.statistics.moments import Moments

CANDIDATES = 20  # rows for each inducing point from which they are chosen
CONSTANT = 1e-12  # a column whose deviation is a smaller share of its values does not vary
RANK = 1e-10  # directions of X with a smaller share of the variance of the first are no columns of a linear mean


class Targets(NamedTuple):
    """How the targets of a block become [Y H]: in units, beside the basis of the mean; and the noise."""

    mean: Mean
    noise: Any

    def __call__(self, block: Block) -> tuple[AnyArray, AnyArray, Any]:
        """Rows, [Y H] and given noise variances of a block."""
        X = full_rows(block.X)
        like_y = block.y if is_tensor(X) else np.asarray(block.y, np.float64)
        Y = full_rows(like_y[:, None] if like_y.ndim == 1 else like_y)
        Y = (Y - like(self.mean.shift, Y)) / like(self.mean.scale, Y)
        noise = self.noise if block.offset is None else like(to_numpy(block.offset), Y)
        H = columns_of(X, self.mean.basis)
        return X, namespace(Y).concat([Y, H], axis=1) if H.shape[1] else Y, noise


def residuals(block: Block, function: Any) -> Block:
    """The block with targets less a mean function."""
    values = function_values(function, block.X)
    values = values[:, 0] if block.y.ndim == 1 and values.shape[1] == 1 else values
    if tuple(values.shape) != tuple(block.y.shape):
        raise ParameterError(
            f"The mean function returned shape {tuple(values.shape)} for targets of shape {tuple(block.y.shape)}."
        )
    return block._replace(y=block.y - values)


def basis_of(mean: Any, S: Moments) -> Array:
    """The columns of a constant or linear mean, as combinations of [1, x] that are uncorrelated in the rows."""
    p = len(S.mean_x)
    if mean == "constant":
        return np.ones((1, 1))
    if mean != "linear":
        return np.zeros((1 + p, 0))
    values, Q = np.linalg.eigh(S.xx)
    keep = values > max(RANK * values.max(initial=0.0), 0.0)
    Q = Q[:, keep] / np.sqrt(values[keep] / S.weight)
    return np.hstack([np.eye(1 + p, 1), np.vstack([-S.mean_x @ Q, Q])])


def chosen_points(rows: Rows, inducing: Any, seed: Any) -> Array:
    """The inducing points that were given, or so many of the rows, spread as k-means++ spreads centres."""
    if np.ndim(inducing) == 2:
        Z = np.asarray(to_numpy(inducing), np.float64)
        if Z.shape[1] != rows.n_features or not len(Z):
            raise ParameterError(f"inducing has shape {Z.shape}, and X has {rows.n_features} columns.")
        return Z
    if np.ndim(inducing) != 0:
        raise ParameterError("inducing is a number of points, or an array of points with the columns of X.")
    rng, keys, kept = np.random.default_rng(seed), np.zeros(0), None
    for block in rows.stream():
        X = to_numpy(full_rows(block.X))
        drawn = rng.uniform(size=len(X))
        keys, kept = np.concatenate([keys, drawn]), X if kept is None else np.vstack([kept, X])
        few = CANDIDATES * int(inducing)
        if len(keys) > few:
            least = np.sort(np.argpartition(keys, few)[:few])
            keys, kept = keys[least], kept[least]
    if kept is None or not len(kept):
        raise InputError("The collection is empty: it holds no rows.")
    spread = kept.std(axis=0)
    spread = np.where(spread > CONSTANT * abs(kept).max(axis=0), spread, 1.0)
    distinct = np.unique(kept, axis=0)
    if len(distinct) <= int(inducing):
        return distinct
    return np.asarray(plus_plus(distinct / spread, None, int(inducing), rng) * spread)


def evidence_of(rows: Rows, read: Targets, Z: Array | None) -> Any:
    """The function (kernel, whether with gradient) → evidence, or its bound with inducing points Z."""
    basis = read.mean.basis.shape[1]
    X, targets, noise = read(rows.whole()) if Z is None else (Z, None, None)
    refuse_square(X.shape[0], "use inducing points, as in inducing=500" if Z is None else "use fewer of them", 1)

    def value(kernel: Any, gradient: bool) -> Any:
        with blas_for(X.shape[0]):
            if Z is not None:
                return bound(rows, read.__call__, kernel, Z, basis, gradient)
            return evidence(kernel, X, targets, basis, noise, gradient)

    return value


def sampled_evidence(rows: Rows, read: Targets, kernel: Kernel) -> Any:
    """As `evidence_of`, for a sample of the rows; None if there are too few of them, or they are no vectors."""
    sample = sample_of(rows, len(kernel.theta)) if kernel.in_blocks() else None
    return None if sample is None else evidence_of(sample, read, None)
