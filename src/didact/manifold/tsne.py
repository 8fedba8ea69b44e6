r"""t-SNE: places in the plane whose neighbours are the neighbours of the rows.

.. math:: \min_Y \sum_{i\ne j} p_{ij}\log\frac{p_{ij}}{q_{ij}},\qquad p_{ij} = \frac{p_{j|i}+p_{i|j}}{2n},\quad
    q_{ij} = \frac{k(y_i-y_j)}{\sum_{a\ne b}k(y_a-y_b)},\quad k(u) = (1+\|u\|^2/\nu)^{-(\nu+1)/2}

1. Affinities: Gaussian, for each row as wide as its perplexity says; of the 3·perplexity nearest rows, or of all.
2. A start: small principal components.
3. Gradient descent, first with exaggerated attraction. The repulsion is summed over a tree or all pairs.

van der Maaten, Hinton (2008), Visualizing data using t-SNE, JMLR 9; van der Maaten (2014), Accelerating t-SNE using
tree-based algorithms, JMLR 15.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.backend import is_tensor, like, to_numpy
from didact.core.errors import ParameterError
from didact.core.estimator import remember
from didact.core.parameters import above, at_least, attr, between, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.typing import Array
from didact.engines.embedding.descent import ArrayMotion, Moving, Schedule, TreeMotion, embed
from didact.engines.embedding.new_points import place_new
from didact.engines.embedding.pairs import pair_gradient
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

LEAST_RATE = 50.0


def learning_rate(rate: Any, n: int, exaggeration: float) -> float:
    """The rate; "auto" is n/(4 · exaggeration) and at least 50 (Belkina et al., 2019)."""
    return max(n / exaggeration / 4.0, LEAST_RATE) if rate == "auto" else float(rate)


def freedom_of(d: int) -> int:
    """Degrees of freedom for d coordinates: more of them leave more room for what is far (van der Maaten, 2009)."""
    return max(d - 1, 1)


def placed(Y: Array, rows: Array, P: Array, angle: float) -> Array:
    """Places of new points with affinities P to Y[rows]."""
    return place_new(Y, rows, P, angle, freedom_of(Y.shape[1]))


class TSNE(_Embedding):
    r"""t-SNE: an embedding in the plane, for the eye, that keeps neighbours together.

    .. math:: \min_Y \sum_{i\ne j} p_{ij}\log\frac{p_{ij}}{q_{ij}},\qquad
        q_{ij} \propto (1+\|y_i-y_j\|^2/\nu)^{-(\nu+1)/2}, \quad \nu = \max(\text{n\_components}-1, 1)

    Rows that are near each other end up near each other; distances between clusters, and their sizes, mean little.
    The perplexity is roughly the number of neighbours that a row keeps. New rows are placed among the fitted ones by
    `transform`, which leaves these where they are; a row that equals a fitted one gets its place.

    Notes
    -----
    Cost: a search of neighbours, and for each step n log n ("barnes_hut", a tree) or n² ("exact"). Forces are summed in
    single precision from differences in double precision. `kl_divergence_` belongs to the final places; it is summed
    over all pairs up to 20,000 rows, and beyond that by the tree. A tensor is embedded on its device with "exact".
    The gradient for three and more coordinates is that of the objective, where scikit-learn's has another power of the
    distances. There are no weights. Shape of computation: pairs.

    References
    ----------
    van der Maaten, Hinton (2008), Visualizing data using t-SNE, JMLR 9, 2579-2605.
    Belkina et al. (2019), doi:10.1038/s41467-019-13055-y. Poličar et al. (2019), doi:10.1101/731877.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.manifold import TSNE
    >>> X = np.repeat([0.0, 100.0], 10)[:, None] + np.arange(20.0)[:, None] % 10
    >>> Y = TSNE(perplexity=4.0, init="random", random_state=0).fit_transform(X)
    >>> within, between = np.ptp(Y[:10], axis=0).max(), np.abs(Y[:10].mean(axis=0) - Y[10:].mean(axis=0)).max()
    >>> bool(between > within)
    True
    """

    n_components: int = param(2, whole(1), "Number of coordinates.")
    perplexity: float = param(30.0, above(0), "Roughly the number of neighbours of a row; less than n_samples.")
    early_exaggeration: float = param(12.0, at_least(1), "Factor of the attraction in the first 250 steps.")
    learning_rate: Any = param(
        "auto",
        [one_of("auto"), above(0)],
        "Length of steps; 'auto': n_samples/(4·early_exaggeration), at least 50.",
    )
    max_iter: int = param(1000, whole(250), "Most steps.")
    n_iter_without_progress: int = param(
        300, whole(-1), "Steps without a lower divergence after which the descent ends; looked at every 50 steps."
    )
    min_grad_norm: float = param(1e-7, at_least(0), "The length of the gradient below which the descent ends.")
    random_state: Any = param(None, random_state, "Seed of random places and of Lanczos' start.")
    method: str = param("barnes_hut", one_of("barnes_hut", "exact"), "How the repulsion is summed.")
    angle: float = param(
        0.5, between(0, 1), "The widest angle at which a node of the tree counts as one point; 0: no node does."
    )
    metric: Any = metric_param()
    metric_params: Any = metric_params_param()
    init: Any = init_param()

    _attrs = [
        attr("embedding_", "(n_samples, n_components)", "Places of the fitted rows."),
        attr("kl_divergence_", "float", "The divergence of the final places."),
        attr("learning_rate_", "float", "The rate that was used."),
        attr("n_iter_", "int", "Steps made; scikit-learn counts one less."),
    ]
    _hidden = [
        attr("_index.rows", "(n_samples, …)", "The rows in the index of neighbours."),
    ]

    _tensors = True
    _test_params = [
        {"perplexity": 5.0, "max_iter": 350, "random_state": 0},
        {"perplexity": 5.0, "max_iter": 350, "random_state": 0, "method": "exact"},
    ]

    _test_skips = {
        "defaults": "A perplexity of 30 needs more rows than most checks have.",
        "row_order": "The order of the rows changes roundings, which a descent that is not convex magnifies.",
        "tensors:method=exact": "Sums on a device round otherwise, which a descent that is not convex magnifies.",
        "callbacks/limit": "max_iter is at least 250, and its end is how a descent usually ends.",
    }

    def fit(self, X: Any, y: Any = None) -> "TSNE":
        """Find places for the rows X; y is not used."""
        rows = finite_rows(self, X)
        check_rows(self, rows)
        self.learning_rate_ = learning_rate(self.learning_rate, rows.shape[0], self.early_exaggeration)
        with FitProgress(self, None, X=X, attributes=lambda Y: self._fitted(Y, rows)) as progress:
            result = embed(self._points(rows), self._schedule(), progress.report if progress.listened else None)
        if result.status == "not finite":
            raise ParameterError("The places are no longer finite: take a smaller learning_rate.")
        self.__dict__.update(self._fitted(result.x, rows))
        self.kl_divergence_, self.n_iter_ = float(result.value), result.n_iter
        remember(self, result)
        return self

    def _schedule(self) -> Schedule:
        return Schedule(
            rate=self.learning_rate_,
            exaggeration=self.early_exaggeration,
            max_iter=self.max_iter,
            patience=self.n_iter_without_progress,
            min_grad_norm=self.min_grad_norm,
        )

    def _points(self, X: Any) -> Moving:
        """The affinities and the start of the rows, ready to move; sets the index."""
        self._index: Any = index_of(self, X)
        Y, freedom = start_of(self, X), freedom_of(self.n_components)
        if self.method == "barnes_hut":
            return TreeMotion(neighbor_affinities(self._index, self.perplexity), Y, self.angle, freedom)
        P = all_affinities(self._index, X, self.perplexity)
        if is_tensor(X):
            return ArrayMotion(pair_gradient(P, freedom), like(Y, X))
        return TreeMotion(sp.csr_array(P), Y, 0.0, freedom)

    def _fitted(self, Y: Any, X: Any) -> dict[str, Any]:
        return {"embedding_": in_type(np.array(to_numpy(Y)), X)}

    def transform(self, X: Any) -> Any:
        """Places of rows X among those of the fitted rows, which stay where they are."""
        Y, place = self._after_fit().embedding_, partial(placed, angle=self.angle)
        return self._map_rows(X, new_places, self._index, Y, self.perplexity, place)
