r"""The elastic embedding: springs pull neighbours together, a Gaussian repulsion keeps all points apart.

.. math:: \min_Y \sum_{ij} w^+_{ij}\|y_i-y_j\|^2 + \lambda\sum_{i\ne j}w^-\,e^{-\|y_i-y_j\|^2},\qquad
    w^+_{ij} = n\,p_{ij},\quad w^- = \frac1{n-1}

1. Affinities p as those of t-SNE; with these units λ means the same for any number of rows.
2. A start: principal components.
3. Steps in the spectral direction, which knows the curvature of the springs.

Carreira-Perpiñán (2010), The elastic embedding algorithm for dimensionality reduction, ICML.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.estimator import report_convergence
from didact.core.parameters import above, at_least, attr, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.typing import Array
from didact.engines.embedding.elastic import elastic_embedding, new_elastic
from didact.engines.embedding.starts import SMALL_START
from didact.engines.neighbors.all_pairs import metric_param, metric_params_param
from didact.manifold.base import _Embedding, finite_rows, in_type
from didact.manifold.neighbor_embedding import (
    all_affinities,
    check_rows,
    index_of,
    init_param,
    neighbor_affinities,
    new_places,
    start_of,
)


def placed(Y: Array, rows: Array, P: Array, repulsion: float) -> Array:
    """Places of new points with affinities P to Y[rows]."""
    return new_elastic(Y, rows, P, repulsion / (len(Y) - 1))


class ElasticEmbedding(_Embedding):
    r"""The elastic embedding: neighbours are tied by springs, and all points repel each other at short range.

    .. math:: \min_Y \sum_{ij} w^+_{ij}\|y_i-y_j\|^2 + \lambda\sum_{i\ne j}w^-\,e^{-\|y_i-y_j\|^2}

    Where Laplacian eigenmaps (λ = 0, with a constraint) pile points up, the repulsion spreads them evenly: clusters
    stay apart and none collapses. Smoother than t-SNE, with a repulsion that ends at a distance of some units, so that
    larger λ spread the points more. New rows are placed among the fitted ones by the same energy.

    Notes
    -----
    :math:`w^+_{ij} = n p_{ij}` with the affinities p of t-SNE and :math:`w^- = 1/(n-1)`: then λ means the same for any
    number of rows. Cost: a search of neighbours; for each step the Gaussian sums of all points, n² at most and some n
    for many points in one or two columns, and one solution with the springs' Laplacian, which is factorised once for up
    to 2000 rows, and otherwise solved by conjugate gradients. There are no weights. Shape of computation: pairs.

    References
    ----------
    Carreira-Perpiñán (2010), The elastic embedding algorithm for dimensionality reduction, ICML, 167-174.
    Vladymyrov, Carreira-Perpiñán (2012), Partial-Hessian strategies for fast learning of nonlinear embeddings, ICML,
    doi:10.48550/arXiv.1206.4646.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.manifold import ElasticEmbedding
    >>> t = np.linspace(0.0, 3.0, 40)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> z = ElasticEmbedding(n_components=1, perplexity=5.0).fit_transform(X)[:, 0]
    >>> bool((np.diff(z) > 0).all() or (np.diff(z) < 0).all())
    True
    """

    n_components: int = param(2, whole(1), "Number of coordinates.")
    repulsion: float = param(30.0, above(0), "The weight λ of the repulsion: larger ones spread the points more.")
    perplexity: float = param(30.0, above(0), "Roughly the number of neighbours of a row; less than n_samples.")
    tol: float = param(1e-5, at_least(0), "The fit ends when a step lowers the energy by less than this share.")
    max_iter: int = param(500, whole(1), "Most steps.")
    random_state: Any = param(None, random_state, "Seed of random places and of Lanczos' start.")
    method: str = param(
        "nearest", one_of("nearest", "exact"), "Springs between the 3·perplexity nearest rows, or between all."
    )
    metric: Any = metric_param()
    metric_params: Any = metric_params_param()
    init: Any = init_param()

    _attrs = [
        attr("embedding_", "(n_samples, n_components)", "Places of the fitted rows."),
        attr("energy_", "float", "The energy of the places."),
        attr("n_iter_", "int", "Steps made."),
    ]
    _hidden = [
        attr("_index.rows", "(n_samples, …)", "The rows in the index of neighbours."),
    ]

    _test_params = [
        {"perplexity": 5.0, "random_state": 0},
        {"perplexity": 5.0, "random_state": 0, "method": "exact", "n_components": 1},
    ]

    _test_skips = {
        "defaults": "A perplexity of 30 needs more rows than most checks have.",
        "constant_columns": "Steps end where they gain little, which is elsewhere at the tolerance of the reference.",
    }

    def fit(self, X: Any, y: Any = None) -> "ElasticEmbedding":
        """Find places for the rows X; y is not used."""
        rows = finite_rows(self, X)
        check_rows(self, rows)
        W, Y = self._springs(rows), start_of(self, rows) / (SMALL_START if isinstance(self.init, str) else 1.0)
        force = self.repulsion / (rows.shape[0] - 1)
        with FitProgress(self, self.max_iter, X=X, attributes=lambda x: self._fitted(x, rows)) as progress:
            result = elastic_embedding(W, Y, force, self.tol, self.max_iter, progress.report)
        report_convergence(self, result)
        self.__dict__.update(self._fitted(result.x, rows))
        self.energy_ = float(result.value)
        return self

    def _springs(self, X: Any) -> Any:
        """The springs of the rows, a sparse matrix; sets the index."""
        self._index: Any = index_of(self, X)
        if self.method == "exact":
            return sp.csr_array(all_affinities(self._index, X, self.perplexity)) * X.shape[0]
        return neighbor_affinities(self._index, self.perplexity) * X.shape[0]

    def _fitted(self, x: Array, X: Any) -> dict[str, Any]:
        return {"embedding_": in_type(np.array(x).reshape(X.shape[0], self.n_components), X)}

    def transform(self, X: Any) -> Any:
        """Places of rows X among those of the fitted rows, which stay where they are."""
        Y, place = self._after_fit().embedding_, partial(placed, repulsion=self.repulsion)
        return self._map_rows(X, new_places, self._index, Y, self.perplexity, place)
