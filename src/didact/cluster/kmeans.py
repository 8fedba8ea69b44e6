r"""k-means: the centres that minimise :math:`\sum_i w_i\min_k\|x_i-c_k\|^2`, by Lloyd's iterations from some starts.

1. A start: k-means++, rows at random, a random partition, or given centres.
2. Each row goes to its nearest centre, each centre to the mean of its rows, until the centres rest. Bounds on the
   distances spare most comparisons; the result is the same. A centre without rows moves to the row farthest from its
   own.
3. The best of `n_init` runs counts.

Lloyd (1982), doi:10.1109/TIT.1982.1056489; Arthur, Vassilvitskii (2007), SODA.
"""

from typing import Any

import numpy as np

from didact.cluster.base import (
    _Centers,
    counting,
    drawn,
    finite_spread,
    init_param,
    number_of_runs,
    refuse_few_rows,
    warn_of_equal_rows,
)
from didact.core.backend import float_type
from didact.core.estimator import report_convergence
from didact.core.parameters import at_least, attr, is_bool, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.centroids.lloyd import assigned_of, lloyd, mean_variance
from didact.engines.loop.result import Result


class KMeans(_Centers):
    r"""k-means clustering: each row belongs to the nearest of K centres, each centre is the mean of its rows.

    .. math:: \min_{c_1,\dots,c_K} \sum_i w_i \min_k \|x_i - c_k\|^2

    Neither step of an iteration increases this cost, so it ends at a local minimum; more starts (`n_init`) find better
    ones. A weight counts as so many repeated rows, exactly: neither the order of the rows nor repeating them changes
    the draws of a start.

    Notes
    -----
    Cost: at most n p K multiply-adds an iteration; bounds spare most of them after the first few. Rows may be in
    memory, sparse, batches, a Dask collection, or a tensor on its device; from those that are not in memory a sample of
    65,536 rows lends the start.
    The columns need similar scales. `algorithm` is accepted: both of scikit-learn's give the same centres. Shape of
    computation: iterate.

    References
    ----------
    Lloyd (1982), doi:10.1109/TIT.1982.1056489; Hamerly (2010), doi:10.1137/1.9781611972801.12.

    Examples
    --------
    >>> from didact.cluster import KMeans
    >>> X = [[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [10.0, 2.0], [10.0, 4.0], [10.0, 0.0]]
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    >>> model.inertia_
    16.0
    """

    n_clusters: int = param(8, whole(1), "Number of clusters.")
    n_init: Any = param("auto", [one_of("auto"), whole(1)], "Runs; 'auto': 1, but 10 for random starts and functions.")
    max_iter: int = param(300, whole(1), "Most iterations of a run.")
    tol: float = param(
        1e-4, at_least(0), "Sum of the squared steps of the centres, relative to the mean variance, that ends a run."
    )
    random_state: Any = param(None, random_state, "Seed of the starts.")
    copy_x: bool = param(True, is_bool, "No effect: inputs are never changed, so there is nothing to copy.")
    algorithm: str = param(
        "lloyd", one_of("lloyd", "elkan"), "No effect: the bounds go by the size, and both give the same centres."
    )
    n_local_trials: Any = param(
        None, [whole(1), none], "Draws of which k-means++ takes the best: 1 is its plain form, None 2 + ln K."
    )
    init: Any = init_param()

    _attrs = [
        attr("cluster_centers_", "(n_clusters, n_features)", "Centres."),
        attr("labels_", "(n_samples,)", "The number of each row's centre."),
        attr("inertia_", "float", "The cost Σ w min‖x − c‖²."),
        attr("n_iter_", "int", "Iterations of the best run."),
    ]

    _test_params = [
        {"n_clusters": 3, "random_state": 0},
        {"n_clusters": 3, "random_state": 0, "init": "random", "n_init": 1},
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KMeans":
        """Find the centres of rows X; sample_weight counts rows, y is not used."""
        rows = self._rows(X, None, sample_weight, target="none")
        dtype = float_type(rows)
        with FitProgress(self, X=X, attributes=lambda x: {"cluster_centers_": x.astype(dtype)}) as progress:
            result = best_run(rows, self, progress)
        report_convergence(self, result)
        self.cluster_centers_ = result.x.astype(dtype)
        found = rows.reduce(assigned_of, self.cluster_centers_.astype(np.float64))
        self.labels_, self.inertia_ = found.labels, found.cost
        warn_of_equal_rows(self.labels_, self.n_clusters)
        return self


def best_run(rows: Rows, model: Any, progress: FitProgress) -> Result:
    """The run of least cost, of as many as the model asks for."""
    runs = number_of_runs(model.init, model.n_init, 10)
    refuse_few_rows(rows, model.n_clusters)
    spread, found = finite_spread(rows), []  # type: tuple[Any, list[Result]]
    for seed in seed_sequence(model.random_state).spawn(runs):
        start = drawn(rows, model.init, model.n_clusters, np.random.default_rng(seed), model.n_local_trials)
        options = model.tol, model.max_iter, counting(progress, found), mean_variance(spread), spread
        found.append(lloyd(rows, start, *options))
        if progress.stopped:
            break
    return min(found, key=lambda result: result.value)


@entrance()
def k_means(
    X: Any, n_clusters: int, *, sample_weight: Any = None, init: Any = "k-means++", n_init: Any = "auto",
    max_iter: int = 300, verbose: bool = False, tol: float = 1e-4, random_state: Any = None, copy_x: bool = True,
    algorithm: str = "lloyd", return_n_iter: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Centres, labels and cost of k-means, as `KMeans` finds them; with `return_n_iter` the iterations, too.

    Examples
    --------
    >>> from didact.cluster import k_means
    >>> centers, labels, cost = k_means([[0.0], [1.0], [9.0], [10.0]], 2, random_state=0)
    >>> sorted(centers.ravel().tolist()), cost
    ([0.5, 9.5], 1.0)
    """
    model = KMeans(
        n_clusters=n_clusters, init=init, n_init=n_init, max_iter=max_iter, verbose=verbose, tol=tol,
        random_state=random_state, copy_x=copy_x, algorithm=algorithm,
    ).fit(X, sample_weight=sample_weight)  # fmt: skip
    found: tuple[Array, Array, float] = (model.cluster_centers_, model.labels_, model.inertia_)
    return (*found, model.n_iter_) if return_n_iter else found
