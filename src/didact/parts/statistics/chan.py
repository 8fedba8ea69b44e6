r"""Chan's rule: merges the weights, means and scatters of several sets of rows.

.. math:: w = w_a + w_b,\qquad \mu = \mu_a + \frac{w_b}{w}\,d,\qquad S = S_a + S_b + \frac{w_aw_b}{w}\,dd^T,\qquad
    d = \mu_b - \mu_a

Raw second moments would cancel for rows far from zero. Every statistic that merges means calls these functions;
compiled loops have twins of their own (`components_loops`, `running_loops.merge`), which the tests compare with them.

Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance, doi:10.1080/00031305.1983.10483115.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.typing import Array


class Joined(NamedTuple):
    """The weight and mean of two merged sets of rows, and the parts of the term that their scatter gains."""

    weight: Any
    mean: Array
    way: Array  # d, from the first mean to the second
    factor: Any  # w_a w_b/w, the factor of d dᵀ in the scatter


def join(weight_a: Any, mean_a: Array, weight_b: Any, mean_b: Array) -> Joined:
    """Weight and mean of two merged sets, and the term that their scatter gains; weights broadcast with the means.

    An empty set has weight 0 and any mean.

    >>> import numpy as np
    >>> join(1.0, np.array([0.0]), 3.0, np.array([4.0]))
    Joined(weight=4.0, mean=array([3.]), way=array([4.]), factor=0.75)
    """
    weight = weight_a + weight_b
    part = weight_b / np.where(weight > 0, weight, 1.0) if isinstance(weight, np.ndarray) else weight_b / (weight or 1)
    way = mean_b - mean_a
    return Joined(weight, mean_a + part * way, way, weight_a * part)


def join_runs(weight: Array, mean: Array, scatter: Array, start: Array) -> tuple[Array, Array, Array]:
    """Weights, means and scatters of each run of sets, from those of the sets (n, p); `start` is where runs begin.

    >>> import numpy as np
    >>> [part.tolist() for part in join_runs(np.array([[1.0], [3.0]]), np.array([[0.0], [4.0]]), np.zeros((2, 1)), [0])]
    [[[4.0]], [[3.0]], [[12.0]]]
    """
    total = np.add.reduceat(weight, start)
    safe, run = np.where(total > 0, total, 1.0), np.zeros(len(mean), np.intp)
    run[np.asarray(start)[1:]] = 1
    run = np.cumsum(run)
    middle = np.add.reduceat(weight * mean, start) / safe
    middle = middle + np.add.reduceat(weight * (mean - middle[run]), start) / safe  # corrects rounding
    d = mean - middle[run]
    return total, middle, np.add.reduceat(scatter + weight * d * d, start)
