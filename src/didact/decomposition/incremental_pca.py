r"""Principal components of rows that come in batches: what is kept of the past is k axes and their singular values.

After each batch B with mean m, the axes are those of the singular value decomposition of

.. math:: \begin{pmatrix} S V^T\\ B - m\\ \sqrt{n\,n_B/(n+n_B)}\,(\mu - m)\end{pmatrix}

which holds the scatter of the past as far as k axes can, that of the batch, and that between their means. With all axes
kept it is exact; else what the axes leave out is forgotten batch by batch.

Ross, Lim, Lin, Yang (2008), Incremental learning for robust visual tracking, doi:10.1007/s11263-007-0075-7.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import as_dense, float_type, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import tagged
from didact.core.overflow import refuse_extreme, refuse_small
from didact.core.parameters import attr, is_bool, none, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.rows.gather import rebatched
from didact.core.rows.memory import refuse_non_finite
from didact.core.typing import Array
from didact.decomposition.principal import _Principal
from didact.engines.spectral.eigen import fixed_signs
from didact.engines.spectral.svd import thin_svd
from didact.parts.statistics.chan import join


class Past(NamedTuple):
    """What is kept of the rows: their number, means, variances, and axes (p, k) with singular values."""

    rows: int
    mean: Array
    variances: Array
    values: Array
    vectors: Array


def learn_axes(past: Past | None, X: Array) -> Past:
    """The past after one more batch, with all axes that were found."""
    mean = X.mean(axis=0)
    D = X - mean
    rest = D.mean(axis=0)  # the rounding error of the mean
    D, mean = D - rest, mean + rest
    scatter = (D * D).sum(axis=0)
    if past is None:
        s, V = thin_svd(D)
        return Past(rows=len(X), mean=mean, variances=scatter / len(X), values=s, vectors=V)
    weight, joined, apart, factor = join(past.rows, past.mean, len(X), mean)
    s, V = thin_svd(np.vstack([past.values[:, None] * past.vectors.T, D, np.sqrt(factor) * apart]))
    variances = (past.rows * past.variances + scatter + factor * apart * apart) / weight
    return Past(rows=int(weight), mean=joined, variances=variances, values=s, vectors=V)


@tagged(transformer_tags__preserves_dtype=["float64", "float32"])
class IncrementalPCA(_Principal):
    r"""Principal components learnt batch by batch, in memory for one batch and k axes.

    .. math:: \begin{pmatrix} S V^T\\ B - m\\ \sqrt{n\,n_B/(n+n_B)}\,(\mu - m)\end{pmatrix} = U'S'V'^T

    Notes
    -----
    For rows in files or on a cluster `PCA` is exact and needs one pass, with a p × p matrix; this is for many columns,
    and for rows that keep coming (`partial_fit`). The order of rows and the sizes of batches matter where axes are left
    out. Cost: p b min(p, b) for a batch of b rows. Shape of computation: stream.

    References
    ----------
    Ross, Lim, Lin, Yang (2008), doi:10.1007/s11263-007-0075-7.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.decomposition import IncrementalPCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = IncrementalPCA(n_components=1, batch_size=3).fit(X)
    >>> model.components_.round(2), model.n_samples_seen_
    (array([[0.84, 0.54]]), 6)
    """

    _tensors = False

    n_components: Any = param(None, [whole(1), none], "Number k of axes; None: min(rows of the first batch, columns).")
    copy: bool = param(True, is_bool, "No effect: inputs are never changed.")
    batch_size: Any = param(None, [whole(1), none], "Rows of a batch in `fit`; None: five times the columns.")

    _attrs = [
        attr("n_samples_seen_", "int", "Number of rows so far."),
        attr("var_", "(n_features,)", "Variances of the columns, divided by n."),
        attr("batch_size_", "int", "Rows of a batch in `fit`.", "data"),
    ]

    def fit(self, X: Any, y: Any = None) -> "IncrementalPCA":
        """Learn from the rows X in batches, from the beginning; y is ignored."""
        rows = self._rows(X, target="none")
        self.batch_size_ = self.batch_size or 5 * rows.n_features
        past: Past | None = None
        with FitProgress(self, X=X, y=y):
            for block in rebatched(rows, max(self.batch_size_, self.n_components or 1)):
                past = self._learn(past, rows, block.X, block.weight)
        self._store(past, float_type(rows))
        return self

    def partial_fit(self, X: Any, y: Any = None, check_input: bool = True) -> "IncrementalPCA":
        """Learn from one more batch of rows; y is ignored, and so is check_input: rows are always checked."""
        first = not hasattr(self, "components_")
        rows = self._rows(X, target="none", reset=first)
        past = None if first else self._past()
        for block in rows.stream():
            past = self._learn(past, rows, block.X, block.weight)
        self._store(past, float_type(rows))
        return self

    def _learn(self, past: Past | None, rows: Rows, X: Any, weight: Any) -> Past | None:
        """The past after one more batch, with as many axes as are kept."""
        if weight is not None:
            raise InputError("IncrementalPCA takes no weights: repeat rows, or use PCA, which counts them.")
        X = np.asarray(to_numpy(as_dense(X)), np.float64)
        if not len(X):
            return past
        with np.errstate(all="ignore"):
            total = float((X * X).sum())
        if not np.isfinite(total):
            refuse_non_finite(X, rows.names)
            refuse_extreme(X, rows.names)
        if total < np.finfo(float).tiny:
            refuse_small(X, rows.names)
        k = self._count(past, *X.shape)
        found = learn_axes(past, X)
        left = found.values[k:]
        self.noise_variance_ = float((left**2).mean() / max(found.rows - 1, 1)) if len(left) and k != len(X) else 0.0
        return found._replace(values=found.values[:k], vectors=found.vectors[:, :k])

    def _count(self, past: Past | None, n: int, p: int) -> int:
        """The number of axes to keep."""
        k = self.n_components
        if k is None:
            return min(n, p) if past is None else len(past.values)
        if k > p:
            raise ParameterError(
                f"n_components={k} invalid for n_features={p}, need more rows than columns for IncrementalPCA "
                "processing"
            )
        if past is None and k > n:
            raise ParameterError(
                f"n_components={k} must be less or equal to the batch number of samples {n} for the first partial_fit "
                "call."
            )
        if past is not None and k != len(past.values):
            raise ParameterError(
                f"Number of input features has changed from {len(past.values)} to {k} between calls to partial_fit! "
                "Try setting n_components to a fixed value."
            )
        return int(k)

    def _past(self) -> Past:
        wide = lambda value: np.asarray(value, np.float64)  # noqa: E731
        return Past(
            rows=self.n_samples_seen_,
            mean=wide(self.mean_),
            variances=wide(self.var_),
            values=wide(self.singular_values_),
            vectors=wide(self.components_).T,
        )

    def _store(self, past: Past | None, dtype: Any) -> None:
        if past is None:
            raise InputError("The collection is empty: it holds no rows.")
        variances, total = past.values**2 / max(past.rows - 1, 1), float(past.variances.sum()) * past.rows
        self.n_samples_seen_, self.n_components_ = past.rows, len(past.values)
        self.components_ = np.ascontiguousarray(fixed_signs(past.vectors).T).astype(dtype)
        self.explained_variance_, self.singular_values_ = variances.astype(dtype), past.values.astype(dtype)
        self.explained_variance_ratio_ = (past.values**2 / (total or 1.0)).astype(dtype)
        self.mean_, self.var_ = past.mean.astype(dtype), past.variances.astype(dtype)
