r"""The multi-task lasso and elastic net: several targets that choose their features together.

.. math:: \min_{B, b_0} \frac{1}{2W}\sum_i w_i\|y_i - B^Tx_i - b_0\|_2^2
          + \alpha\Big(\rho\sum_j\|B_j\|_2 + \frac{1-\rho}{2}\|B\|_F^2\Big),\quad W = \sum_i w_i

Row j of B holds the coefficients of feature j for all targets. Its length is penalised, not its square, so that whole
rows are zero: a feature is used for all targets or for none. It is a group lasso whose groups are the rows, solved like
the lasso, on working sets to a duality gap (`engines.lasso`); minimising over one row shortens it by a constant.

Obozinski, Taskar, Jordan (2010), Joint covariate selection and joint subspace selection for multiple classification
problems, doi:10.1007/s11222-008-9111-x; Yuan, Lin (2006), doi:10.1111/j.1467-9868.2005.00532.x.
"""

from typing import Any

from scipy import sparse
from sklearn.base import MultiOutputMixin

from didact.core.estimator import tagged
from didact.core.parameters import array_like, at_least, attr, between, is_bool, param, whole
from didact.linear_model.lasso import TOGETHER, Problem, refuse_one_target, solve_targets
from didact.linear_model.lasso_cv import _L1Path
from didact.linear_model.lasso_path import enet_path
from didact.linear_model.linear_regression import _LinearRegressor

EPS = "Duality gap at which the fit ends: `tol` times the mean square of y."


@tagged(target_tags__single_output=False)
class _Tasks(MultiOutputMixin, _LinearRegressor):
    """Abstract: what all models of several targets with common features share."""

    _attrs = [
        attr("coef_", "(n_targets, n_features)", "Coefficients; many columns are exactly zero."),
        attr("intercept_", "(n_targets,)", "Constant terms."),
        attr("dual_gap_", "float", "Duality gap: the objective is at most this far from its minimum."),
        attr("sparse_coef_", "sparse matrix", "The coefficients, one row for each target."),
    ]

    @staticmethod
    def path(X: Any, y: Any, **how: Any) -> Any:
        """Solutions for a falling sequence of penalties: `enet_path` with features in common to all targets."""
        return enet_path(X, y, together=True, **how)

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a sparse matrix, one row for each target."""
        return sparse.csr_matrix(self.coef_)


class _FixedPenalty(_Tasks):
    """Abstract: the models with one penalty; a subclass says how it is split."""

    alpha: float = param(1.0, at_least(0), "Strength of the penalty.")
    fit_intercept: bool = param(True, is_bool, "Whether to add constant terms, which are not penalised.")
    max_iter: int = param(1000, whole(1), "Most rounds of working sets.")
    tol: float = param(1e-6, at_least(0), "Duality gap, relative to the mean square of y, at which the fit ends.")
    warm_start: bool = param(False, is_bool, "Whether to start from the coefficients of the last fit.")

    _attrs = [attr("n_iter_", "int", "Rounds of working sets."), attr("eps_", "float", EPS)]

    def _ratio(self) -> float:
        """The share of the penalty on lengths."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows X with targets y (n, n_targets); sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        refuse_one_target(self, rows)
        problem = Problem(rows, self.fit_intercept, False)
        solve_targets(self, problem, TOGETHER, self._ratio(), X, y)
        self.eps_ = float(self.tol * problem.solver(*TOGETHER).square_y)
        return self


class MultiTaskLasso(_FixedPenalty):
    r"""Least squares of several targets with a penalty that uses a feature for all of them or for none.

    .. math:: \min_{B, b_0} \frac{1}{2W}\sum_i w_i\|y_i - B^Tx_i - b_0\|_2^2 + \alpha\sum_j\|B_j\|_2

    Notes
    -----
    Cost: n p T a round for T targets, and a handful of rounds; within a round T k² a sweep over the k features of the
    working set. With one target (y of shape (n, 1)) it is `Lasso`. `Lasso` itself fits targets one by one, each with
    features of its own. Differs from scikit-learn: `tol` is 1e-6 (there 1e-4), and sparse data, weights, batches and
    Dask collections are taken. Shape of computation: as for `Lasso`.

    References
    ----------
    Obozinski, Taskar, Jordan (2010), doi:10.1007/s11222-008-9111-x; Yuan, Lin (2006),
    doi:10.1111/j.1467-9868.2005.00532.x.

    Examples
    --------
    >>> from didact.linear_model import MultiTaskLasso
    >>> X, Y = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]], [[3.0, 4.0], [-3.0, -4.0]] * 2
    >>> MultiTaskLasso(alpha=1.0).fit(X, Y).coef_.round(6)
    array([[2.4, 0. ],
           [3.2, 0. ]])
    """

    def _ratio(self) -> float:
        return 1.0


class MultiTaskElasticNet(_FixedPenalty):
    r"""Least squares of several targets with a penalty on the lengths and squares of the features' rows.

    .. math:: \min_{B, b_0} \frac{1}{2W}\sum_i w_i\|y_i - B^Tx_i - b_0\|_2^2
              + \alpha\Big(\rho\sum_j\|B_j\|_2 + \frac{1-\rho}{2}\|B\|_F^2\Big)

    Notes
    -----
    Cost as for `MultiTaskLasso`, which it equals with ``l1_ratio=1``; with ``l1_ratio=0`` it is ridge with α·W.

    References
    ----------
    Obozinski, Taskar, Jordan (2010), doi:10.1007/s11222-008-9111-x; Zou, Hastie (2005),
    doi:10.1111/j.1467-9868.2005.00503.x.

    Examples
    --------
    >>> from didact.linear_model import MultiTaskElasticNet
    >>> X, Y = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]], [[3.0, 4.0], [-3.0, -4.0]] * 2
    >>> MultiTaskElasticNet(alpha=2.0).fit(X, Y).coef_.round(6)
    array([[1.2, 0. ],
           [1.6, 0. ]])
    """

    l1_ratio: float = param(
        0.5, between(0, 1), "Share ρ of the penalty on lengths: 0 is ridge, 1 the multi-task lasso."
    )

    def _ratio(self) -> float:
        return self.l1_ratio


class MultiTaskLassoCV(_Tasks, _L1Path):
    r"""The multi-task lasso with α chosen by cross-validation.

    .. math:: \min_{B, b_0} \frac{1}{2W}\sum_i w_i\|y_i - B^Tx_i - b_0\|_2^2 + \alpha\sum_j\|B_j\|_2

    Notes
    -----
    Cost: a path for each fold, about n p T for each penalty. Weights enter fits and errors. `tol` is that of the folds;
    the fit to all rows has 1e-6, or `tol` if that is less.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), doi:10.18637/jss.v033.i01.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import MultiTaskLassoCV
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> MultiTaskLassoCV(alphas=20).fit(X, X[:, :1] * [2.0, -1.0]).coef_.round(1) + 0.0
    array([[ 2.,  0.,  0.,  0.],
           [-1.,  0.,  0.,  0.]])
    """

    _single, _together = MultiTaskLasso, True


class MultiTaskElasticNetCV(_Tasks, _L1Path):
    r"""The multi-task elastic net with α and the share of the penalty on lengths chosen by cross-validation.

    .. math:: \min_{B, b_0} \frac{1}{2W}\sum_i w_i\|y_i - B^Tx_i - b_0\|_2^2
              + \alpha\Big(\rho\sum_j\|B_j\|_2 + \frac{1-\rho}{2}\|B\|_F^2\Big)

    Notes
    -----
    Cost: a path for each fold and share, about n p T for each penalty. `tol` is that of the folds; the fit to all rows
    has 1e-6, or `tol` if that is less.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), doi:10.18637/jss.v033.i01.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import MultiTaskElasticNetCV
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> MultiTaskElasticNetCV(alphas=20, l1_ratio=[0.5, 1.0]).fit(X, X[:, :1] * [2.0, -1.0]).l1_ratio_
    1.0
    """

    _single, _together = MultiTaskElasticNet, True

    l1_ratio: Any = param(0.5, [between(0, 1), array_like], "Share ρ of the penalty on lengths, or several to try.")
