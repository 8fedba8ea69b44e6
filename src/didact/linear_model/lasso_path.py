r"""Paths: the solutions of a lasso or an elastic net for a falling sequence of penalties.

At :math:`\alpha_{max} = \max_j|\sum_i w_i x_{ij} y_i|/(W\rho)` all coefficients are zero; below it features enter one
after the other. Each solution starts the next, and working sets and their Gram matrices are kept, so a path of a
hundred penalties costs little more than a few fits.

Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models, doi:10.18637/jss.v033.i01.
"""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from didact.core.compat import deprecated
from didact.core.errors import ParameterError
from didact.core.meta import check_parameters
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.loop.result import Result
from didact.linear_model.lasso import TOGETHER, ElasticNet, Problem, Target
from didact.linear_model.regularization_path import numbers


class Path(NamedTuple):
    """Solutions for a falling sequence of penalties."""

    alphas: Array  # (m,)
    coefs: Array  # (p, m), or (k, p, m) for k targets
    dual_gaps: Array  # (m,), or (k, m)

    @property
    def order(self) -> list[int]:
        """Features in the order in which they enter (of one target; those that never do are left out)."""
        entered = self.coefs.reshape(-1, self.coefs.shape[-2], len(self.alphas))[0] != 0
        first = np.where(entered.any(axis=1), entered.argmax(axis=1), len(self.alphas))
        return [int(j) for j in np.argsort(first, kind="stable") if first[j] < len(self.alphas)]

    def plot(self, names: Any = None, ax: Any = None) -> Any:
        """A picture of the coefficients against the penalty, one line a feature."""
        from didact.plot.path import plot_path

        return plot_path(self.alphas, self.coefs.reshape(-1, self.coefs.shape[-2], len(self.alphas))[0], names, ax)


def penalty_grid(strongest: float, l1_ratio: float, eps: float, alphas: Any) -> Array:
    """Falling penalties: given ones sorted, or a number of them from the strongest down to eps times that."""
    if not isinstance(alphas, Integral):
        return np.sort(numbers(alphas, "alphas", 0))[::-1]
    if l1_ratio == 0:
        raise ParameterError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing your "
            "estimator with the appropriate `alphas=` argument: without an L1 part no penalty makes all coefficients 0."
        )
    least = np.finfo(float).resolution
    if strongest / l1_ratio <= least:  # nothing to explain
        return np.full(int(alphas), least)
    return strongest / l1_ratio * np.logspace(0, np.log10(eps), int(alphas))


class Walk(NamedTuple):
    """What a walk along falling penalties finds: coefficients (p, m), or (p, T, m), duality gaps and rounds (m,)."""

    coefs: Array
    gaps: Array
    rounds: Array
    short: Result | None = None  # the last solution that did not meet the tolerance


def walk(
    problem: Problem, target: Target, alphas: Array, l1_ratio: float, tol: float, max_iter: int, start: Any = None
) -> Walk:
    """The solutions along falling penalties for a target, or for all of them, each from the one before."""
    b = problem.zeros(target)
    if start is not None:
        b = np.array(np.broadcast_to(np.asarray(start, np.float64).T, b.shape))
    found = Walk(np.empty((*b.shape, len(alphas))), np.empty(len(alphas)), np.empty(len(alphas), np.int64))
    for k, alpha in enumerate(alphas):
        result = problem.solve(target, alpha * l1_ratio, alpha * (1 - l1_ratio), b, tol, max_iter)
        b = found.coefs[..., k] = result.x
        found.gaps[k], found.rounds[k] = result.optimality, result.n_iter
        if not result.converged:
            found = found._replace(short=result)
    return found


@entrance()
def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    n_alphas: Any = "deprecated",
    sample_weight: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    together: bool = False,
) -> Any:
    r"""Elastic-net coefficients for a falling sequence of penalties, without intercept (centre the data first).

    .. math:: b(\alpha) = \arg\min_b \frac{1}{2W}\sum_i w_i(y_i - x_i^Tb)^2
              + \alpha\Big(\rho\|b\|_1 + \frac{1-\rho}{2}\|b\|_2^2\Big)

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    l1_ratio : float, default=0.5
        Share ρ of the L1 penalty, above 0 unless `alphas` are given.
    eps : float, default=1e-3
        Ratio of the weakest to the strongest penalty.
    alphas : int or array-like, default=100
        How many penalties, or which.
    precompute, Xy, copy_X, verbose, check_input
        No effect: accepted for scikit-learn's sake.
    coef_init : array-like of shape (n_features,) or (n_targets, n_features), optional
        Where to start.
    return_n_iter : bool, default=False
        Whether to return (alphas, coefs, dual_gaps, n_iters) instead, with the rounds for each penalty.
    positive : bool, default=False
        Whether to keep coefficients at or above zero.
    n_alphas : int
        Deprecated, as in scikit-learn, with its warning: `alphas` takes the number.
    sample_weight : array-like of shape (n_samples,), optional
        Row counts.
    tol : float, default=1e-6
        Duality gap relative to the mean square of y.
    max_iter : int, default=1000
        Most rounds of working sets for each penalty.
    together : bool, default=False
        Whether several targets have their features in common, as in `MultiTaskElasticNet`; else each has its own.

    Returns
    -------
    Path
        A tuple (alphas, coefs, dual_gaps) with `order` and `plot()`.

    Notes
    -----
    Cost: about one pass of n p for each penalty.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), doi:10.18637/jss.v033.i01.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import enet_path
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> enet_path(X, [3.0, -3.0, 1.0, -1.0], alphas=5).order
    [0, 1]
    """
    model = ElasticNet(l1_ratio=l1_ratio, positive=positive, tol=tol, max_iter=max_iter)
    check_parameters(model)
    rows = model._rows(X, y, sample_weight, target="outputs")
    problem = Problem(rows, False, positive)
    targets: Any = TOGETHER if together and rows.y_ndim == 2 else range(len(problem.mean_y))
    if not isinstance(n_alphas, str):
        deprecated(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11. 'alphas' now accepts an integer value."
        )
        alphas = n_alphas
    if alphas is None:
        deprecated("'alphas=None' is deprecated and will be removed in 1.11. Give the number of penalties, alphas=100.")
        alphas = 100
    grid = penalty_grid(problem.strongest(targets), l1_ratio, eps, alphas)
    starts = np.atleast_2d(coef_init) if coef_init is not None and targets != TOGETHER else [coef_init]
    walks = [walk(problem, k, grid, l1_ratio, tol, max_iter, starts[i % len(starts)]) for i, k in enumerate(targets)]
    if rows.y_ndim == 1:
        path = Path(grid, *walks[0][:2])
    elif targets == TOGETHER:
        path = Path(grid, np.moveaxis(walks[0].coefs, 1, 0), walks[0].gaps)
    else:
        path = Path(grid, np.stack([w.coefs for w in walks]), np.stack([w.gaps for w in walks]))
    return (*path, np.max([w.rounds for w in walks], axis=0).tolist()) if return_n_iter else path


@entrance()
def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    alphas: Any = 100,
    **how: Any,
) -> Any:
    r"""Lasso coefficients for a falling sequence of penalties: `enet_path` with ``l1_ratio=1``.

    .. math:: b(\alpha) = \arg\min_b \frac{1}{2W}\sum_i w_i(y_i - x_i^Tb)^2 + \alpha\|b\|_1

    Parameters
    ----------
    X, y, eps, alphas, and all others but l1_ratio
        As for `enet_path`.

    Returns
    -------
    Path
        A tuple (alphas, coefs, dual_gaps) with `order` and `plot()`.

    Notes
    -----
    Cost: about one pass of n p for each penalty.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), doi:10.18637/jss.v033.i01.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import lasso_path
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> alphas, coefs, gaps = lasso_path(X, [3.0, -3.0, 1.0, -1.0], alphas=[1.0, 0.25])
    >>> coefs.round(6)
    array([[1. , 2.5],
           [0. , 0.5]])
    """
    return enet_path(X, y, l1_ratio=1.0, eps=eps, alphas=alphas, **how)
