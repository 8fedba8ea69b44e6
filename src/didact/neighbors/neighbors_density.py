r"""k-nearest-neighbour density: from the volume of the ball around x that holds k rows.

.. math:: \hat p(x) = \frac{k}{n\,V_D\,d_k(x)^D},\qquad V_D = \frac{\pi^{D/2}}{\Gamma(D/2+1)}

with d_k the distance of the k-th nearest row; in one dimension k/(2 n d_k).

Loftsgaarden, Quesenberry (1965), doi:10.1214/aoms/1177700079.
"""

import math
from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, like
from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.parameters import attr, param, whole
from didact.core.typing import Array
from didact.engines.neighbors.index import build_index
from didact.neighbors.gathered import queries
from didact.neighbors.kernel_density import total_of
from didact.neighbors.neighborhoods import nearest_by_weight
from didact.parts.distances import Euclidean
from didact.parts.statistics.weights import in_cases
from didact.parts.windows import log_ball

EQUAL_ROWS = (  # or rows that become equal as numbers
    *("shape/equal rows", "shape/zeros", "weights/huge", "weights/from tiny to huge"),
    *("type/uint64", "type/large whole numbers", "type/bool", "type/times"),
)


def log_density(X: Any, rows: Array, w: Array, k: int) -> Any:
    """log k − log n − log V_D − D log d_k; +∞ where k rows lie at x itself."""
    Q, D = queries(X), rows.shape[1]
    index = build_index(rows.astype(np.float64), Euclidean())
    found = nearest_by_weight(index, w, Q, k)
    far = [np.where(taken > 0, distance, 0.0).max(axis=1) for distance, _, taken in found]
    with np.errstate(divide="ignore"):
        logs = math.log(k) - math.log(w.sum()) - log_ball(D) - D * np.log(np.concatenate(far))
    return like(logs.astype(float_type(X)), X)


class KNeighborsDensity(DensityMixin, Estimator):
    r"""Density by the distance of the k-th nearest row.

    .. math:: \hat p(x) = \frac{k}{n\,V_D\,d_k(x)^D}

    Notes
    -----
    Cost: O(k log n) per query in few dimensions. The estimate adapts to how dense the rows are, but it is not a
    density: its tails are so heavy that its integral is infinite, so that it cannot be sampled from. It is +∞ where k
    rows coincide, and for k = 1 at every row. With sample weights d_k is the radius of the ball that holds rows of
    total weight k: weights count in units of the smallest one if all are whole multiples of it, else so that their mean
    is 1. Shape of computation: pairs.

    References
    ----------
    Loftsgaarden, Quesenberry (1965), doi:10.1214/aoms/1177700079.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.neighbors import KNeighborsDensity
    >>> model = KNeighborsDensity(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> np.exp(model.score_samples([[0.5]])).round(6)
    array([0.666667])
    """

    _sparse = False
    _test_params = [{"n_neighbors": 5}]
    _test_skips = {
        **{f"fuzz/{case}": "The estimate is infinite where k rows lie at x itself." for case in EQUAL_ROWS},
        "constant_columns/constant": "a column more is a dimension more, also if all rows agree in it",
        "constant_columns/zeros": "a column more is a dimension more, also if all rows agree in it",
    }

    n_neighbors: int = param(5, whole(1), "Number k of rows that the ball has to hold.")

    _attrs = [
        attr("X_fit_", "(n_samples, n_features)", "The rows of positive weight."),
        attr("sample_weight_", "(n_samples,)", "Their weights."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KNeighborsDensity":
        """Keep the rows X; sample_weight counts rows, y is ignored."""
        rows = self._rows(X, None, sample_weight, target="none")
        self.X_fit_, _, self.sample_weight_ = rows.gather()
        self.sample_weight_ = in_cases(self.sample_weight_)[0]
        total = self.sample_weight_.sum()
        if self.n_neighbors > total * (1 + 1e-12):
            raise InputError(f"n_neighbors is {self.n_neighbors}, and there are only n_samples = {total:g} rows.")
        return self

    def score_samples(self, X: Any) -> Any:
        """The logarithm of the estimate at each row of X."""
        return self._after_fit()._map_rows(X, log_density, self.X_fit_, self.sample_weight_, self.n_neighbors)

    def score(self, X: Any, y: Any = None) -> float:
        """The sum of the log densities of the rows X."""
        check_is_fitted(self)
        return total_of(self.score_samples(X))
