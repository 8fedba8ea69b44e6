r"""EM for any model with a hidden choice among K components: the user writes densities and estimates, this the rest.

.. math:: \ell(\theta) = \sum_i w_i\log\sum_k p(x_i, k\mid\theta)\ \ge\
    J(q,\theta) = \sum_i w_i\sum_k q_{ik}\,\big(\log p(x_i, k\mid\theta) - \log q_{ik}\big)

with equality at :math:`q_{ik} = p(k\mid x_i,\theta)`: the E step takes this q, and the M step the θ of greatest J. So ℓ
never falls; hard assignments maximise J over q with a single 1 in each row, and J never falls.

Dempster, Laird, Rubin (1977), doi:10.1111/j.2517-6161.1977.tb01600.x.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy
from sklearn.base import DensityMixin

from didact.core.backend import like, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Estimator, report_convergence, warn_convergence
from didact.core.overflow import refuse_overflow
from didact.core.parameters import at_least, attr, has, is_bool, none, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.core.validation import require_table
from didact.engines.components.low_rank import Whitener, low_rank_of
from didact.engines.components.mixture import GaussianFamily, fit_mixture, gaussians, logs, responsibilities
from didact.engines.components.posterior import log_density, most_probable, posterior
from didact.engines.components.scores import wide_joint
from didact.engines.components.starts import row_shares
from didact.parts.statistics.components import Components, components
from didact.parts.statistics.moments import Sums

LOWERED = (
    "Step {} would have lowered the log-likelihood, which no M step does, and was not taken: check that maximize gives "
    "the parameters of greatest likelihood under log_joint, and that statistics sums rows times R."
)
SHARP = 4  # power of the random shares of a start: the first components differ


class OwnFamily(NamedTuple):
    """A user's model as the engine takes it."""

    model: Any

    def scores(self, theta: Any) -> tuple[Any, tuple[Any, ...]]:
        """The function of rows that gives log p(x, k), and its arguments."""
        return joint_of, (self.model, theta)

    def statistic(self, X: Any, R: Any, w: Any, theta: Any) -> Any:
        """The user's sums for rows with responsibilities."""
        R = to_numpy(R) if w is None else to_numpy(R) * to_numpy(w)[:, None]
        found = self.model.statistics(to_numpy(X), R)
        if hasattr(found, "merge"):
            return found
        return Sums(tuple(found) if isinstance(found, (tuple, list)) else (found,))

    def maximize(self, theta: Any, S: Any) -> Any:
        """The user's M step."""
        return self.model.maximize(*S.parts) if isinstance(S, Sums) else self.model.maximize(S)

    def log_prior(self, theta: Any) -> float:
        """The user's log prior, if there is one."""
        return float(self.model.log_prior(theta)) if hasattr(self.model, "log_prior") else 0.0


def joint_of(X: Any, model: Any, theta: Any) -> Any:
    """log p(x, k | θ) of a user's model, (n, K)."""
    found = np.asarray(model.log_joint(np.asarray(to_numpy(X), np.float64), theta), np.float64)
    if found.ndim != 2 or len(found) != X.shape[0]:
        raise InputError(f"log_joint must give one row of K numbers for each row of X; got shape {found.shape}.")
    return like(found, X)


class GaussianComponents:
    """Gaussian components with a covariance each, as a model for `ExpectationMaximization`.

    Of n rows and p columns a step takes p³, or np² where n < p/8.

    >>> import numpy as np
    >>> from didact.mixture import GaussianComponents
    >>> GaussianComponents(2).n_components
    2
    """

    def __init__(self, n_components: int = 2, reg_covar: float = 1e-6) -> None:  # the least variance in any direction
        self.n_components, self.reg_covar = n_components, reg_covar

    def log_joint(self, X: Array, theta: tuple[Array, Array, Array]) -> Array:
        """log π_k N(x; μ_k, Σ_k)."""
        found = (low_rank_of(C, self.reg_covar) for C in theta[2] if self.reg_covar > 0)
        thin = [C for C in found if C is not None]
        if len(thin) == len(theta[1]):
            return np.asarray(wide_joint(X, logs(theta[0]), theta[1], thin, [Whitener.of(C) for C in thin]))
        fn, args = GaussianFamily("full").scores(gaussians(*theta, "full"))
        return np.asarray(fn(X, *args))

    def statistics(self, X: Array, R: Array) -> Components:
        """Weights, means and scatters."""
        refuse_square(X.shape[1], "use fewer columns, or GaussianMixture(covariance_type='diag')", 3 * R.shape[1])
        return components(X, R, "full")

    def maximize(self, S: Components) -> tuple[Array, Array, Array]:
        """Shares, means and covariances."""
        return GaussianFamily("full", self.reg_covar).bounded(None, S)


def random_sums(block: Block, family: OwnFamily, seed: int, count: int) -> Any:
    """The sums of one block with random responsibilities."""
    X = np.asarray(to_numpy(block.X), np.float64)
    shares = row_shares(X, seed, count) ** SHARP
    return family.statistic(X, shares / shares.sum(axis=1, keepdims=True), block.weight, None)


def bound_of(X: Any, model: Any, theta: Any, q: Array | None, w: Array | None) -> float:
    """J(q, θ) of rows; q None stands for the posterior."""
    joint = joint_of(X, model, theta)
    q = responsibilities(joint)[0] if q is None else np.asarray(q, np.float64)
    each = (np.where(q > 0, q * joint, 0.0) - xlogy(q, q)).sum(axis=1)
    return float(each.sum() if w is None else np.asarray(w) @ each)


class ExpectationMaximization(DensityMixin, Estimator):
    r"""EM for components of your own: you give densities, sums and estimates, and it iterates, restarts and checks.

    .. math:: r_{ik} = p(k\mid x_i,\theta),\qquad
        \theta \leftarrow \arg\max_\theta\sum_{ik}w_ir_{ik}\log p(x_i, k\mid\theta)

    `model` has three methods and the attribute ``n_components``:

    - ``log_joint(X, theta)`` gives log p(x, k | θ) for each row and component, (n, K);
    - ``statistics(X, R)`` gives the sums over rows that the M step needs, an array or a tuple of arrays that add up
      over blocks of rows (or an object with the method ``merge``), for responsibilities R (n, K) times sample weights;
    - ``maximize(*sums)`` gives θ from these sums: anything, for example a tuple of arrays;
    - and, if it has one, ``log_prior(theta)`` is added to the log-likelihood.

    Notes
    -----
    A start gives the rows random shares in the components, and its M step the first θ. The log-likelihood is checked in
    each step: a step that would lower it by more than rounding is not taken, EM ends, and a warning says so: the M step
    is then not the one that belongs to ``log_joint``. Cost: one pass of your functions a step. Shape of computation:
    iterate.

    References
    ----------
    Dempster, Laird, Rubin (1977), doi:10.1111/j.2517-6161.1977.tb01600.x; Neal, Hinton (1998),
    doi:10.1007/978-94-011-5014-9_12 (the bound); Celeux, Govaert (1992), doi:10.1016/0167-9473(92)90042-E (hard).

    Examples
    --------
    Two kinds of days, with few and with many calls:

    >>> import numpy as np
    >>> from scipy.stats import poisson
    >>> from didact.mixture import ExpectationMaximization
    >>> class Poissons:
    ...     n_components = 2
    ...     def log_joint(self, X, theta):
    ...         return np.log(theta[0]) + poisson.logpmf(X, theta[1])
    ...     def statistics(self, X, R):
    ...         return R.sum(axis=0), R.T @ X[:, 0]
    ...     def maximize(self, weight, total):
    ...         return weight / weight.sum(), total / weight
    >>> X = np.random.default_rng(0).poisson(np.repeat([2.0, 20.0], 100))[:, None]
    >>> model = ExpectationMaximization(Poissons(), random_state=0).fit(X)
    >>> np.sort(model.parameters_[1]).round(1)
    array([ 2.3, 20.3])
    """

    _sparse = False
    _test_clusters = True
    _test_skips = {
        "constant_columns": "random shares of a start come from the values of rows: other rows, another start",
    }
    _test_params = [{"random_state": 0}, {"random_state": 0, "hard": True}]

    model: Any = param(None, [has("log_joint", "statistics", "maximize"), none], "The components; None: two Gaussians.")
    n_init: int = param(1, whole(1), "Number of starts; the best counts.")
    tol: float = param(1e-4, at_least(0), "Gain of the mean log-likelihood of a row at which EM ends.")
    max_iter: int = param(500, whole(1), "Most steps from a start.")
    hard: bool = param(False, is_bool, "Whether rows belong wholly to their most probable component, as in k-means.")
    keep_parameters: bool = param(False, is_bool, "Whether to keep the parameters after each step, in `trace_`.")
    random_state: Any = param(None, random_state, "Seed of the starts.")

    _attrs = [
        attr("parameters_", "object", "The parameters θ of the best start."),
        attr("log_likelihood_", "float", "Mean log-likelihood of a row; if hard, the bound."),
        attr("log_likelihoods_", "ndarray", "The same at the start and after each step: it never falls."),
        attr("converged_", "bool", "Whether the last step gained less than tol."),
        attr("n_iter_", "int", "Steps from the best start."),
        attr("trace_", "list", "Parameters at the start and after each step.", when="keep_parameters"),
    ]

    @property
    def _own(self) -> Any:
        return GaussianComponents() if self.model is None else self.model

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ExpectationMaximization":
        """Fit to rows X; sample_weight counts rows, y is ignored."""
        rows = self._rows(X, None, sample_weight, target="none")
        attributes = lambda theta: {"parameters_": theta}  # noqa: E731
        with FitProgress(self, self.n_init * self.max_iter, X=X, y=y, attributes=attributes) as progress:
            results = [self._run(rows, rng, progress.report) for rng in streams(self.random_state, self.n_init)]
        best, trace = min(results, key=lambda pair: pair[0].value)
        self.parameters_, self.log_likelihood_ = best.x, -float(best.value)
        self.log_likelihoods_, self.converged_ = -np.asarray(best.history), best.converged
        if self.keep_parameters:
            self.trace_ = trace
        self._report(best)
        return self

    def _report(self, best: Any) -> None:
        """Set the number of steps, and say why EM ended before its time."""
        if best.status != "no progress":
            report_convergence(self, best)
            return
        self.n_iter_ = max(1, int(best.n_iter))
        warn_convergence(self, LOWERED.format(best.n_iter + 1))

    def _run(self, rows: Rows, rng: np.random.Generator, report: Any) -> tuple[Any, list[Any]]:
        family, trace = OwnFamily(self._own), []  # type: tuple[OwnFamily, list[Any]]
        total = float(rows.reduce(_weight).parts[0])
        S = rows.reduce(random_sums, family, int(rng.integers(1 << 62)), int(self._own.n_components))
        refuse_overflow(rows, S)

        def keep(state: Any) -> float:
            trace.append(state.x)
            return float(state.value)

        start = family.maximize(None, S)
        how = total, self.tol, self.max_iter, report, self.hard, keep if self.keep_parameters else None
        return fit_mixture(rows, family, start, *how), trace

    def predict(self, X: Any) -> Any:
        """The number of the most probable component of each row."""
        classes = np.arange(self._own.n_components)
        return self._after_fit()._map_rows(X, most_probable, classes, joint_of, self._own, self.parameters_)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each component for each row, (n, K)."""
        return self._after_fit()._map_rows(X, posterior, joint_of, self._own, self.parameters_)

    def score_samples(self, X: Any) -> Any:
        """The log density of each row."""
        return self._after_fit()._map_rows(X, log_density, joint_of, self._own, self.parameters_)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of rows X in memory."""
        require_table(X, "score")
        return float(np.mean(to_numpy(self.score_samples(X))))

    def elbo(self, X: Any, q: Any = None, sample_weight: Any = None) -> float:
        """The lower bound J(q, θ) of the log-likelihood of rows X in memory; q None: the posterior, where it is it."""
        block = self._after_fit()._rows(X, None, sample_weight, target="none", reset=False).whole()
        if q is not None and np.shape(q) != (block.X.shape[0], self._own.n_components):
            raise InputError(f"q must have a row for each row of X and a column for each component, not {np.shape(q)}.")
        return bound_of(block.X, self._own, self.parameters_, q, block.weight)


def _weight(block: Block) -> Sums:
    """The weight of the rows, and a sum that is not finite if some of them are not."""
    total = float(block.X.shape[0] if block.weight is None else to_numpy(block.weight).sum())
    return Sums((total, float(block.X.sum())))
