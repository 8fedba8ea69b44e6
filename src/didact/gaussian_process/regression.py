r"""Gaussian process regression: a distribution over functions, conditioned on rows.

.. math:: y = m(x) + f(x) + \varepsilon,\qquad f\sim\mathrm{GP}(0, k),\quad \varepsilon\sim N(0, v)

1. The kernel's parameters maximise the evidence, by L-BFGS-B from one start or several (`searched`): one Cholesky
factorisation and one pass over the tiles of the Gram matrix for a value with its gradient (`engines.gram.process`).
With many rows, a sample of them gives start and curvature, and a quasi-Newton method ends the search (`sample_start`).
2. Means, variances and draws follow from the conditional Gaussian distribution (`posterior`).
3. With `inducing` points the evidence is replaced by Titsias' lower bound, whose sums over rows merge:
n m² instead of n³ (`engines.gram.inducing`).

Rasmussen, Williams (2006), Gaussian Processes for Machine Learning; Titsias (2009).
"""

from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import MultiOutputMixin, RegressorMixin, clone

from didact.core.backend import as_dense, local, to_numpy
from didact.core.errors import ParameterError, Singular
from didact.core.estimator import Estimator, remember
from didact.core.parameters import (
    array_like,
    at_least,
    attr,
    has,
    is_bool,
    is_callable,
    none,
    one_of,
    param,
    random_state,
    whole,
)
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence, streams
from didact.core.rows import MemoryRows, Rows
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.core.validation import require_table
from didact.engines.gram.inducing import full_rows
from didact.engines.gram.process import evidence
from didact.gaussian_process import kernels as theirs
from didact.gaussian_process.kernel_search import Found, Searched, complain, ended, maximise, refuse_matrix, searched
from didact.gaussian_process.posterior import (
    Mean,
    Posterior,
    columns_of,
    covariances_at,
    deviations_at,
    draws,
    intervals_at,
    means_at,
    of_bound,
    of_evidence,
    prior,
)
from didact.gaussian_process.regression_targets import (
    Targets,
    basis_of,
    chosen_points,
    evidence_of,
    residuals,
    sampled_evidence,
)
from didact.gaussian_process.structured_rows import (
    column_sums,
    of_targets,
    read_things,
    refuse_overflow,
    takes_rows,
    things,
)
from didact.kernels import RBF, White
from didact.kernels.base import Kernel
from didact.parts.statistics.moments import moments


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, Estimator):
    r"""Regression by a Gaussian process: means with standard deviations, and parameters of the kernel by evidence.

    .. math:: \mu_* = k_*^T(K + V)^{-1}y,\qquad \sigma_*^2 = k_{**} - k_*^T(K + V)^{-1}k_*

    Notes
    -----
    The kernel is one of `didact.kernels`, one of scikit-learn's objects, which is computed with ours of the same
    values, or a function of two sets of rows. Noise is `alpha`, one variance or one for each row, or `White` in the
    kernel. Before a fit, `predict` and `sample_y` speak of the prior. With `mean='constant'` or `'linear'` its
    coefficients have a flat prior: the likelihood is the restricted one, and standard deviations count their
    uncertainty. Several targets share the kernel. Cost: n³ multiply–adds for each value of the evidence with its
    gradient, and n² numbers; with m inducing points 3nm² and m² for each pass over blocks of rows, which may be in
    files or on a cluster. Shape of computation: pairs; with inducing points, reduce.

    References
    ----------
    Rasmussen, Williams (2006), Gaussian Processes for Machine Learning, doi:10.7551/mitpress/3206.001.0001;
    Titsias (2009), Variational learning of inducing variables in sparse Gaussian processes.

    Examples
    --------
    >>> from didact.gaussian_process import GaussianProcessRegressor
    >>> from didact.kernels import RBF
    >>> model = GaussianProcessRegressor(RBF(1.0), optimizer=None).fit([[0.0]], [1.0])
    >>> mean, std = model.predict([[1.0]], return_std=True)
    >>> mean.round(6), (std**2).round(6)
    (array([0.606531]), array([0.632121]))
    """

    _tensors = True
    _attrs = [
        attr("kernel_", "kernel", "The kernel with the parameters that were found, in the form in which it was given."),
        attr("log_marginal_likelihood_value_", "float", "The evidence there; with `inducing`, its lower bound."),
        attr("alpha_", "(n_samples,) or (n_samples, n_targets)", "Coefficients of rows, or of inducing points."),
        attr("L_", "(n_samples, n_samples)", "Cholesky factor of K + V, or of K at the inducing points."),
        attr("n_iter_", "int", "Iterations of the optimizer, over all starts."),
        attr("mean_coef_", "(h,) or (h, n_targets)", "Coefficients of the columns of the mean, in units of y."),
        attr("X_train_", "(n_samples, n_features)", "The fitted rows; only without `inducing`.", "_keeps_rows"),
        attr("y_train_", "(n_samples,) or (n_samples, n_targets)", "Their targets; as above.", "_keeps_rows"),
        attr("inducing_points_", "(m, n_features)", "The inducing points.", "inducing"),
        attr("mean_", "estimator or callable", "The fitted mean function.", lambda m: not isinstance(m.mean, str)),
    ]
    _test_params = [
        {"kernel": theirs.RBF(2.0) + theirs.WhiteKernel(0.1), "optimizer": None},
        {"kernel": RBF(2.0) + White(0.1), "mean": "linear", "normalize_y": True, "optimizer": None},
        {"kernel": RBF(2.0) + White(0.1), "optimizer": None, "inducing": 70, "random_state": 0},
    ]

    _test_skips = dict.fromkeys(
        ("defaults/check_regressor_multioutput", "defaults/check_fit_idempotent"),
        "The evidence of these data is largest at a bound of the default kernel, of which there is a warning.",
    )

    kernel: Any = param(
        None,
        [theirs.Kernel, is_callable, none],
        "A kernel of `didact.kernels` or of scikit-learn, or a function of two sets of rows; None: 1.0 * RBF(1.0).",
    )
    alpha: Any = param(1e-10, [at_least(0), array_like], "Variance of the noise, or one for each row.")
    optimizer: Any = param(
        "fmin_l_bfgs_b",
        [one_of("fmin_l_bfgs_b"), is_callable, none],
        "What maximises the evidence; a function optimizer(objective, theta, bounds); None: the kernel stays.",
    )
    n_restarts_optimizer: int = param(0, whole(0), "More starts, drawn between the kernel's bounds.")
    normalize_y: bool = param(False, is_bool, "Whether targets are centred and scaled to variance 1.")
    copy_X_train: bool = param(True, is_bool, "Whether a copy of the rows is stored, or a reference.")
    n_targets: Any = param(None, [whole(1), none], "Number of targets, for the prior.")
    random_state: Any = param(None, random_state, "Seed of restarts, and of the choice of inducing points.")
    mean: Any = param(
        "zero",
        [one_of("zero", "constant", "linear"), has("fit", "predict"), is_callable],
        "The mean: 'constant' and 'linear' have a flat prior; a regressor is fitted first; a function is taken.",
    )
    inducing: Any = param(None, [whole(1), array_like, none], "Number of inducing points, or the points (m, p).")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _keeps_rows(self) -> bool:
        return self.inducing is None

    def _validate_params(self) -> None:
        refuse_matrix(self.kernel)
        super()._validate_params()

    def fit(self, X: Any, y: Any = None) -> "GaussianProcessRegressor":
        """Find the kernel's parameters, and condition on the rows."""
        search = searched(default_kernel(self.kernel))
        rows = self._read(X, y, search.kernel)
        read = self._targets(rows)
        seeds = seed_sequence(self.random_state).spawn(2)
        Z = None if self.inducing is None else chosen_points(rows, self.inducing, seeds[0])
        value = evidence_of(rows, read, Z)
        with FitProgress(self, None, X=X, y=y) as progress:
            few = sampled_evidence(rows, read, search.kernel) if Z is None else None
            best = self._search(search, value, few, np.random.default_rng(seeds[1]), progress.report)
        search, self.n_iter_ = search.at(best.theta), best.n_iter
        remember(self, ended(progress, best))
        complain(self, search, best.complaint)
        self._keep(search, value(search.kernel, False), rows, read, Z)
        return self

    def _read(self, X: Any, y: Any, kernel: Kernel) -> Rows:
        """The rows, less the mean function, with the noise of each beside them."""
        vectors = takes_rows(kernel, X)
        if self.inducing is not None and not (vectors and kernel.in_blocks()):
            raise ParameterError("Inducing points need a kernel of vectors whose gradient is known for any block.")
        rows = self._rows(X, y, target="outputs") if vectors else things(self, X, y, target="outputs")
        refuse_overflow(rows)
        if self.n_targets is not None and rows.n_targets != self.n_targets:
            raise ParameterError(
                "The number of targets seen in `y` is different from the parameter `n_targets`. "
                f"Got {rows.n_targets} != {self.n_targets}."
            )
        if np.ndim(self.alpha):
            noise = np.asarray(self.alpha, np.float64).ravel()
            known = rows.require_memory("alpha has a variance for each row: this needs rows in memory.")
            if len(noise) not in (1, known.n_rows):
                raise ParameterError(
                    "alpha must be a scalar or an array with same number of entries as y. "
                    f"({len(noise)} != {known.n_rows})"
                )
            if not (np.isfinite(noise).all() and (noise >= 0).all()):
                raise ParameterError("alpha has variances: they are finite and not negative.")
            if len(noise) > 1:
                rows = MemoryRows(*known.columns._replace(offset=noise), **known.how())
        if not isinstance(self.mean, str):
            self.mean_ = clone(self.mean).fit(X, y) if hasattr(self.mean, "fit") else self.mean
            rows = rows.prepared(residuals, self.mean_)
        return rows

    def _targets(self, rows: Rows) -> Targets:
        """How targets are read: units, basis of the mean, noise."""
        linear = isinstance(self.mean, str) and self.mean == "linear" and rows.dtype != object
        if linear:
            refuse_square(rows.n_features, "use fewer columns, or mean='constant'")
        elif rows.dtype != object:
            rows.reduce(column_sums)  # refuses NaN
        S = rows.reduce(moments if linear else of_targets)
        T = rows.n_targets
        shift, scale = np.zeros(T), np.ones(T)
        if self.normalize_y:
            shift, deviation = S.mean_y, np.sqrt(S.yy / S.weight)
            scale = np.where(deviation > 10 * np.finfo(float).eps * abs(shift), deviation, 1.0)
        mean = Mean(
            basis=basis_of(self.mean, S),
            beta=np.zeros((0, T)),
            cross=np.zeros((0, 0)),
            factor=np.zeros((0, 0)),
            shift=shift,
            scale=scale,
        )
        return Targets(mean, float(np.ravel(self.alpha)[0]) if np.size(self.alpha) == 1 else 0.0)

    def _search(self, search: Searched, value: Any, few: Any, rng: Any, report: Any) -> Found:
        if self.optimizer is None or not len(search.where):
            return Found(theta=search.theta, value=0.0, complaint=None, n_iter=0)
        some = None if few is None else search.objective(few)
        return maximise(search.objective(value), search, self.optimizer, self.n_restarts_optimizer, rng, report, some)

    def _keep(self, search: Searched, found: Any, rows: Rows, read: Targets, Z: Array | None) -> None:
        """Fitted attributes."""
        if found.L is None:
            raise Singular(
                f"The kernel, {search.shown}, is not returning a positive definite matrix. Try gradually increasing "
                "the 'alpha' parameter of your GaussianProcessRegressor estimator."
            )
        self.kernel_, self.log_marginal_likelihood_value_ = search.shown, np.float64(found.value)
        if Z is None:
            block, one = rows.whole(), rows.y_ndim == 1
            p = of_evidence(search.kernel, block.X, found, read.mean)
            X, Y = block.X, to_numpy(read(block)[1])[:, : rows.n_targets]
            X = as_dense(local(X))
            self.X_train_ = np.array(X) if self.copy_X_train else X
            self.y_train_ = Y[:, 0] if one else Y
        else:
            p, one, self.inducing_points_ = of_bound(search.kernel, Z, found, read.mean), rows.y_ndim == 1, Z
        self.L_, self.alpha_, self._mean, self._inner = p.L, p.coef[:, 0] if one else p.coef, p.mean, p.inner
        coef = p.mean.basis @ p.mean.beta * p.mean.scale
        coef[:1] += p.mean.shift
        self.mean_coef_ = coef[:, 0] if one else coef

    def _posterior(self) -> Posterior:
        """The process given the rows; before a fit, the prior."""
        if self._is_fitted():
            points = self.X_train_ if self.inducing is None else self.inducing_points_
            coef = self.alpha_ if self.alpha_.ndim == 2 else self.alpha_[:, None]
            return Posterior(
                kernel=searched(self.kernel_).kernel,
                points=full_rows(points),
                coef=coef,
                L=self.L_,
                inner=self._inner,
                mean=self._mean,
            )
        T = self.n_targets or 1
        return prior(searched(default_kernel(self.kernel)).kernel, T)

    def _is_fitted(self) -> bool:
        return hasattr(self, "X_train_") or hasattr(self, "inducing_points_")

    def _function(self) -> Any:
        if self._is_fitted():
            return getattr(self, "mean_", None)
        return self.mean if callable(self.mean) else None

    def _map(self, X: Any, fn: Any, *more: Any) -> Any:
        """fn(X, posterior, mean function, *more) of new rows; a single target without its axis."""
        p = self._posterior()
        more = p, self._function(), *more
        if not takes_rows(p.kernel, X):
            return fn(read_things(X), *more)
        return self._map_rows(X, fn, *more)

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predictive means of rows X, with standard deviations or the covariance if asked for."""
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        mean = self._map(X, means_at)
        if return_std:
            return mean, self._map(X, deviations_at)
        return (mean, self._map(X, covariances_at)) if return_cov else mean

    def predict_interval(self, X: Any, level: float = 0.95, noise: Any = True) -> Any:
        """Bounds (n, 2), or (n, T, 2), that hold y, or with noise=False f(x), with probability `level`.

        The noise is that of `White` in the kernel and of `alpha`. Where alpha has a variance for each fitted row, give
        the variances of the rows X as `noise`, one or one for each, in the units of alpha: they take its place.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level is a probability between 0 and 1, not {level!r}.")
        said = isinstance(noise, (bool, np.bool_))
        if said and noise and np.size(self.alpha) > 1:
            raise ParameterError(
                "alpha has a variance for each fitted row, and the noise of these rows is not known: give "
                "noise=variances, one or one for each row of X, or noise=False for the interval of f(x)."
            )
        given = np.ravel((self.alpha if noise else 0.0) if said else noise).astype(np.float64)
        if not (len(given) and np.isfinite(given).all() and (given >= 0).all()):
            raise ParameterError("noise is True, False, or variances, which are finite and not negative.")
        return self._map(X, intervals_at, float(ndtri(0.5 + 0.5 * level)), not said or bool(noise), given)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Any:
        """Functions drawn from the process at rows X: (n, n_samples), or (n, T, n_samples)."""
        require_table(X, "sample_y")
        rng = streams(random_state, 1)[0]
        mean, covariance = (to_numpy(a) for a in self.predict(X, return_cov=True))
        if mean.ndim == 1:
            return draws(mean, covariance, n_samples, rng)
        return np.stack([draws(mean[:, t], covariance[..., t], n_samples, rng) for t in range(mean.shape[1])], axis=1)

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> float | tuple[float, Array]:
        """The evidence at logarithms theta of the kernel's parameters (None: where the fit ended), and its gradient.

        With clone_kernel=False, `kernel_` takes these parameters.
        """
        if theta is None:
            if eval_gradient:
                raise ParameterError("Gradient can only be evaluated for theta!=None")
            return self._after_fit().log_marginal_likelihood_value_
        self._after_fit()
        if self.inducing is not None:
            raise ParameterError("With inducing points the rows are not kept: the bound of other theta needs a fit.")
        search = searched(self.kernel_)
        kernel = search.kernel_at(theta)
        if not clone_kernel:
            self.kernel_ = search.at(theta).shown
        alpha = np.asarray(self.alpha, np.float64).ravel()
        Y = self.y_train_ if self.y_train_.ndim == 2 else self.y_train_[:, None]
        X = full_rows(self.X_train_)
        H = columns_of(X, self._mean.basis)
        targets = np.hstack([Y, H])
        found = evidence(kernel, X, targets, H.shape[1], alpha if len(alpha) > 1 else alpha[0], eval_gradient)
        value = np.float64(found.value)
        return (value, search.slope(found.gradient)) if eval_gradient else value


def default_kernel(kernel: Any) -> Any:
    """The kernel that was given, or 1.0 * RBF(1.0)."""
    return theirs.ConstantKernel() * theirs.RBF() if kernel is None else kernel
