r"""Vector quantisation: rows are coded by the number of the nearest of K reference vectors, the codebook.

.. math:: \mathrm{code}(x) = \arg\min_k\|x-c_k\|,\qquad
    \text{distortion} = \frac{1}{\sum_i w_i}\sum_i w_i\|x_i-c_{\mathrm{code}(x_i)}\|^2

A code takes :math:`\lceil\log_2 K\rceil` bits, or on average the entropy of the codes if they are written with a
code of varying length; the codebook has to be stored, too.

Lloyd (1982), doi:10.1109/TIT.1982.1056489; Linde, Buzo, Gray (1980), doi:10.1109/TCOM.1980.1094577.
"""

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from didact.cluster.base import init_param, nearest, warn_of_equal_rows
from didact.cluster.kmeans import best_run
from didact.core.backend import float_type, like, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Estimator, report_convergence
from didact.core.parameters import at_least, attr, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.engines.centroids.lloyd import clusters_of


def smallest_code(count: int) -> Any:
    """The smallest unsigned type that holds the numbers below count."""
    return np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32


def codes(X: Any, codebook: Array) -> Array:
    """The code of each row."""
    return nearest(X, codebook).astype(smallest_code(len(codebook)))


def quantized(X: Any, codebook: Array) -> Any:
    """Each row's reference vector."""
    return like(codebook[nearest(X, codebook)], X)


class VectorQuantizer(OneToOneFeatureMixin, TransformerMixin, Estimator):
    r"""A codebook of K reference vectors, learnt by k-means, that codes a row by the nearest of them.

    .. math:: \mathrm{encode}(x) = \arg\min_k \|x - c_k\|,\qquad \mathrm{decode}(k) = c_k

    Lossy compression: p numbers become ⌈log₂K⌉ bits. The codebook adapts to where the rows are dense, other than a
    uniform grid, which needs exponentially many cells in p.

    Notes
    -----
    Cost: that of `KMeans`, n p K an iteration; n p K multiply-adds to encode. Shape of computation: iterate.

    References
    ----------
    Linde, Buzo, Gray (1980), doi:10.1109/TCOM.1980.1094577.

    Examples
    --------
    >>> from didact.cluster import VectorQuantizer
    >>> pixels = [[250.0, 0.0, 0.0], [255.0, 5.0, 0.0], [0.0, 0.0, 250.0], [0.0, 4.0, 250.0]]
    >>> quantizer = VectorQuantizer(n_clusters=2, random_state=0).fit(pixels)
    >>> quantizer.bits_, quantizer.distortion(pixels)
    (1, 8.25)
    >>> quantizer.decode(quantizer.encode(pixels))[0]
    array([252.5,   2.5,   0. ])
    """

    _tensors = True

    n_clusters: int = param(8, whole(1), "Size of the codebook.")
    n_init: Any = param(1, [one_of("auto"), whole(1)], "Runs of k-means; the best counts.")
    max_iter: int = param(300, whole(1), "Most iterations of k-means.")
    tol: float = param(1e-4, at_least(0), "As in `KMeans`.")
    random_state: Any = param(None, random_state, "Seed of the starts.")
    n_local_trials: Any = param(None, [whole(1), none], "Draws of which k-means++ takes the best.")
    init: Any = init_param()

    _attrs = [
        attr("codebook_", "(n_clusters, n_features)", "Reference vectors."),
        attr("code_shares_", "(n_clusters,)", "The share of the rows' weight that has each code."),
        attr("bits_", "int", "Bits of a code of fixed length, ⌈log₂ n_clusters⌉."),
        attr("entropy_", "float", "Bits of a code of varying length, on average at least."),
        attr("distortion_", "float", "Mean squared distance of the rows from their reference vectors."),
        attr("n_iter_", "int", "Iterations of k-means in the best run."),
    ]

    _test_params = [{"n_clusters": 4, "random_state": 0}]
    _test_skips = {"constant_columns": "A row comes back with all of its columns, the constant ones as well."}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "VectorQuantizer":
        """Learn the codebook from rows X; sample_weight counts rows, y is not used."""
        rows = self._rows(X, None, sample_weight, target="none")
        with FitProgress(self, X=X, attributes=lambda x: {"codebook_": x.astype(float_type(rows))}) as progress:
            result = best_run(rows, self, progress)
        report_convergence(self, result)
        self.codebook_ = result.x.astype(float_type(rows))
        self._describe(rows)
        return self

    def _describe(self, rows: Rows) -> None:
        found = rows.reduce(clusters_of, self.codebook_.astype(np.float64))
        total = float(found.weights.sum())
        self.code_shares_, self.distortion_ = found.weights / total, found.cost / total
        warn_of_equal_rows(np.flatnonzero(found.weights > 0), self.n_clusters)
        used = self.code_shares_[self.code_shares_ > 0]
        self.bits_, self.entropy_ = int(np.ceil(np.log2(self.n_clusters))), float(abs(-(used * np.log2(used)).sum()))

    def encode(self, X: Any) -> Any:
        """The code of each row, in the smallest unsigned type that holds it."""
        return self._after_fit()._map_rows(X, codes, self.codebook_)

    def decode(self, codes: Any) -> Array:
        """The reference vectors of some codes, of any shape."""
        self._after_fit()
        numbers = to_numpy(codes)
        whole = numbers.dtype.kind in "iu"
        if not whole or (numbers.size and (numbers.min() < 0 or numbers.max() >= self.n_clusters)):
            raise InputError(f"Codes are whole numbers from 0 to {self.n_clusters - 1}: give what `encode` returned.")
        return np.asarray(self.codebook_[numbers])

    def transform(self, X: Any) -> Any:
        """Each row as its reference vector: what is left of it after encoding and decoding."""
        return self._after_fit()._map_rows(X, quantized, self.codebook_)

    def distortion(self, X: Any, sample_weight: Any = None) -> float:
        """Mean squared distance of rows from their reference vectors."""
        rows = self._after_fit()._rows(X, None, sample_weight, target="none", reset=False)
        found = rows.reduce(clusters_of, self.codebook_.astype(np.float64))
        return float(found.cost / found.weights.sum())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the distortion."""
        return -self.distortion(X, sample_weight)
