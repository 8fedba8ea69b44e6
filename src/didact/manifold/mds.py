r"""Multidimensional scaling: places whose distances are nearest to given ones, or in the same order.

1. A start: classical scaling, or places at random.
2. Majorisation of the stress (SMACOF), with isotonic regression between steps in the non-metric form; or L-BFGS for the
   S-stress (`engines/spectral/stress`).

Kruskal (1964), doi:10.1007/BF02289565; Borg, Groenen (2005), doi:10.1007/0-387-28981-X.
"""

import warnings
from typing import Any

import numpy as np

from didact.core.backend import like, to_numpy
from didact.core.compat import deprecated
from didact.core.errors import InputError, NotCovered, ParameterError, users_level
from didact.core.estimator import Estimator, report_convergence
from didact.core.parameters import at_least, attr, is_bool, is_callable, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.loop.result import Result
from didact.engines.neighbors.all_pairs import metric_params_param
from didact.engines.spectral.scaling import classical_scaling, require_squarable
from didact.engines.spectral.stress import least_squares_of_squares, majorise, total_spread
from didact.manifold.base import all_distances, finite_rows, in_type
from didact.parts.distances import NAMES

SQUARE = (
    "The provided input is a square matrix. Note that ``fit`` constructs a dissimilarity matrix from data and will "
    "treat rows as samples and columns as features. To use a pre-computed dissimilarity matrix, set "
    "``metric='precomputed'``."
)


@entrance()
def smacof(
    dissimilarities: Any, *, metric: bool = True, n_components: int = 2, init: Any = None, n_init: int = 1,
    n_jobs: int | None = None, max_iter: int = 300, verbose: int = 0, eps: float = 1e-6, random_state: Any = None,
    return_n_iter: bool = False, normalized_stress: Any = "auto",
) -> tuple[Any, ...]:  # fmt: skip
    """Places, their stress and, with `return_n_iter`, the iterations of scaling by majorisation, as `MDS` finds them.

    Without `init` the start is drawn at random.

    Examples
    --------
    >>> from didact.manifold import smacof
    >>> Z, stress = smacof([[0, 3, 5], [3, 0, 4], [5, 4, 0]], random_state=0, eps=1e-9)
    >>> round(stress, 4)
    0.0
    """
    model = MDS(
        n_components=n_components, metric_mds=metric, n_init=n_init, init="random", max_iter=max_iter, verbose=verbose,
        eps=eps, n_jobs=n_jobs, random_state=random_state, metric="precomputed", normalized_stress=normalized_stress,
    ).fit(dissimilarities, init=init)  # fmt: skip
    found = model.embedding_, model.stress_
    return (*found, model.n_iter_) if return_n_iter else found


class MDS(Estimator):
    r"""Multidimensional scaling: places on a map whose distances are nearest to given ones, or in the same order.

    .. math:: \min_Z \sum_{i<j} (\|z_i - z_j\| - \delta_{ij})^2 \quad\text{or}\quad
        \min_Z \sum_{i<j} (\|z_i - z_j\|^2 - \delta_{ij}^2)^2

    The first is the stress, lowered by every step of majorisation (SMACOF). Non-metric (``metric_mds=False``), the δ
    become values of the monotone function of them that suits the map best: only their order counts. The second, with
    ``loss="sstress"``, weighs errors of long distances more. Only classical scaling (`ClassicalMDS`) of Euclidean
    distances is the same as principal components. Places exist for the fitted rows alone: `ParametricEmbedding` learns
    a map for new ones.

    Notes
    -----
    Cost: n² distances an iteration on all threads, 8n² bytes; non-metric also n² log n once. A distance of 0 stays 0 in
    the non-metric form. The start is classical scaling, which becomes scikit-learn's default, too. Shape of
    computation: pairs.

    References
    ----------
    Kruskal (1964), doi:10.1007/BF02289565; Takane, Young, de Leeuw (1977), doi:10.1007/BF02293745; Borg, Groenen
    (2005), doi:10.1007/0-387-28981-X.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.manifold import MDS
    >>> D = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]])
    >>> model = MDS(metric="precomputed", random_state=0).fit(D)
    >>> round(model.stress_, 6)
    0.0
    """

    n_components: int = param(2, whole(1), "Number of coordinates.")
    metric_mds: bool = param(True, is_bool, "Whether distances themselves count; False: their order alone.")
    n_init: int = param(1, whole(1), "Runs from different random starts; the best counts.")
    init: str = param("classical_mds", one_of("random", "classical_mds"), "The start: at random, or classical scaling.")
    max_iter: int = param(300, whole(1), "Most iterations of a run.")
    eps: float = param(
        1e-6, at_least(0), "A step that lowers the stress by less than this share of the squared distances ends a run."
    )
    random_state: Any = param(None, random_state, "Seed of random starts.")
    dissimilarity: str = param(
        "deprecated", one_of("euclidean", "precomputed", "deprecated"), "Deprecated in scikit-learn: use `metric`."
    )
    metric: Any = param(
        "euclidean",
        [one_of(*NAMES), is_callable, is_bool],
        "The distance: a name, 'precomputed', or a function of two rows. A bool is deprecated in scikit-learn: use "
        "`metric_mds`.",
    )
    metric_params: Any = metric_params_param()
    normalized_stress: Any = param(
        "auto",
        [is_bool, one_of("auto")],
        "Whether `stress_` is the root of the stress over the sum of squared distances (Stress-1); 'auto': if "
        "non-metric.",
    )
    loss: str = param("stress", one_of("stress", "sstress"), "Minimised are errors of distances, or of squared ones.")

    _attrs = [
        attr("embedding_", "(n_samples, n_components)", "Places of the rows."),
        attr("stress_", "float", "The stress there."),
        attr("dissimilarity_matrix_", "(n_samples, n_samples)", "The distances of all pairs."),
        attr("n_iter_", "int", "Iterations of the best run."),
    ]

    _test_params = [
        {"random_state": 0},
        {"random_state": 0, "metric_mds": False, "eps": 1e-4},
        {"random_state": 0, "loss": "sstress"},
    ]

    def fit(self, X: Any, y: Any = None, init: Any = None) -> "MDS":
        """Find places for rows X, from those in `init` (n, n_components) if given; y is not used."""
        metric, ordered = self._meaning()
        rows = finite_rows(self, X)
        if rows.shape[0] == rows.shape[1] and metric != "precomputed":
            warnings.warn(SQUARE, UserWarning, stacklevel=users_level())
        _, D = all_distances(self, rows, metric)
        require_squarable(D, 4 if self.loss == "sstress" else 2)
        with FitProgress(self, self.max_iter, X=X, attributes=lambda Z: {"embedding_": in_type(Z, rows)}) as progress:
            found = [self._run(D, start, ordered, progress) for start in self._starts(D, init)]
        result = min(found, key=lambda one: one.value)
        self.embedding_, self.dissimilarity_matrix_ = in_type(result.x, rows), in_type(D, rows)
        self.stress_ = self._stress(result, ordered)
        report_convergence(self, result)
        return self

    def fit_transform(self, X: Any, y: Any = None, init: Any = None) -> Any:
        """Fit, and the places of the same rows."""
        return like(self.fit(X, init=init).embedding_, X)

    def _meaning(self) -> tuple[Any, bool]:
        """The metric, and whether only the order of distances counts; deprecated forms are understood."""
        metric, ordered = self.metric, not self.metric_mds
        if isinstance(metric, (bool, np.bool_)):
            deprecated(
                f"Use metric_mds={metric} instead of metric={metric}. The support for metric={{True/False}} will be "
                "dropped in 1.10."
            )
            metric, ordered = "euclidean", not metric
        if self.dissimilarity != "deprecated":
            if metric != "euclidean":
                raise ParameterError("You provided both `dissimilarity` and `metric`. Please use only `metric`.")
            deprecated("The `dissimilarity` parameter is deprecated and will be removed in 1.10. Use `metric` instead.")
            metric = self.dissimilarity
        if ordered and self.loss == "sstress":
            raise NotCovered("loss='sstress' is for metric scaling: leave metric_mds=True, or take loss='stress'.")
        return metric, ordered

    def _starts(self, D: Array, init: Any) -> list[Array]:
        if init is not None:
            start = np.array(to_numpy(init), np.float64)
            if start.ndim != 2 or len(start) != len(D):
                raise InputError(f"init matrix should be of shape ({len(D)}, {self.n_components}), not {start.shape}.")
            return [start]
        if self.init == "classical_mds":
            found = classical_scaling(D, self.n_components).coordinates
            return [np.pad(found, ((0, 0), (0, self.n_components - found.shape[1])))]
        return [rng.uniform(size=(len(D), self.n_components)) for rng in streams(self.random_state, self.n_init)]

    def _run(self, D: Array, start: Array, ordered: bool, progress: FitProgress) -> Result:
        if self.loss == "sstress":
            return least_squares_of_squares(D, start, self.eps, self.max_iter, progress.report)
        return majorise(D, start, not ordered, self.eps, self.max_iter, progress.report)

    def _stress(self, result: Result, ordered: bool) -> float:
        normal = ordered if isinstance(self.normalized_stress, str) else self.normalized_stress
        if not normal:
            return float(result.value)
        Z = result.x - result.x.mean(axis=0)
        if self.loss == "sstress":
            norms, n = (Z * Z).sum(axis=1), len(Z)
            scale = n * float(norms @ norms) + float(norms.sum()) ** 2 + 2.0 * float(np.sum((Z.T @ Z) ** 2))
        else:
            scale = total_spread(Z)
        return float(np.sqrt(result.value / (scale if scale > 0 else 1.0)))
