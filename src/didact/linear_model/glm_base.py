r"""Generalized linear models: a family of distributions whose mean depends on x through a link.

.. math:: g(E[y\mid x]) = x^Tb + b_0 + o,\qquad
          \min_{b, b_0} \frac{1}{2W}\sum_i w_i\,d(y_i, \mu_i) + \alpha\Big(\frac{1-\rho}{2}\|b\|_2^2+\rho\|b\|_1\Big)

with the family's unit deviance d (for the exponential family, minus twice the log-likelihood up to a constant; the
gradient is :math:`\sum w(\mu-y)x` for the canonical link). Fisher scoring (iteratively reweighted least squares) for
few parameters, L-BFGS for many rows or columns, proximal Newton with an L1 part: see `engines.linear_fit`. The
negative binomial's overdispersion and the beta's precision are estimated by maximum likelihood in turns with the
coefficients, unless given.

McCullagh, Nelder (1989), Generalized Linear Models, doi:10.1007/978-1-4899-3242-6.
"""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, like, namespace, to_host, to_numpy
from didact.core.compat import own_solver
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator, report_convergence
from didact.core.overflow import refuse_overflow
from didact.core.parameters import at_least, attr, between, is_bool, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Batches, Block, Rows, is_dask
from didact.core.rows.memory import column_pass
from didact.core.threads import parallel_parts, parallel_values
from didact.core.typing import Array
from didact.engines.linear.fit import fit_linear
from didact.engines.linear.objective import LinearObjective, linear_predictor, parted, table_of
from didact.engines.loop.result import Result
from didact.engines.smooth.newton import newton_direction
from didact.linear_model.glm_deviance import explained_deviance, pearson_dispersion
from didact.linear_model.inference.from_models import infer_glm, ready
from didact.linear_model.linear_regression import predict as linear_scores
from didact.parts.families import Beta, Family, GLMLoss, Multinomial, NegativeBinomial
from didact.parts.links import Log
from didact.parts.losses.classification import Softmax
from didact.parts.noun import Link
from didact.parts.statistics.moments import Sums, gram

ESTIMATED = {NegativeBinomial: (1e-6, 1e4), Beta: (1e-3, 1e7)}  # families with a parameter beside the mean, its range


def check_target(block: Block, family: Any) -> Block:
    """A block whose targets are possible for the family; multinomial counts become proportions and trials."""
    y, w = block.y, block.weight
    if isinstance(family, Multinomial):
        if y.ndim != 2:
            raise InputError("A multinomial target has one column for each class, (n, K).")
        total = y.sum(axis=1)
        if bool((total <= 0).any()) or bool((y < 0).any()):
            raise InputError("Multinomial rows are counts or proportions: at least 0, with a positive sum.")
        return block._replace(y=y / total[:, None], weight=total if w is None else w * total)
    if y.ndim != 1:
        raise InputError(f"y should be a 1d array, got an array of shape {tuple(y.shape)} instead.")
    if not all(parallel_parts(lambda part: bool(namespace(part).all(family.in_domain(part))), y)):
        raise InputError(
            f"Some value(s) of y are out of the valid range of the loss of the {type(family).__name__} family: "
            f"{family.support}."
        )
    return block


@column_pass
def target_sums(block: Block) -> Sums:
    """Σw and Σwy (per class for a multinomial), and Σw·exp(offset)."""
    y, w, offset = block.y, block.weight, block.offset
    xp = namespace(y)
    if w is None and offset is None:
        return Sums(to_host(np.float64(y.shape[0]), xp.sum(y, axis=0, dtype=xp.float64), np.float64(y.shape[0])))
    ones = xp.ones(y.shape[0], dtype=y.dtype, device=y.device) if w is None else w
    exposure = ones if offset is None else ones * xp.exp(xp.clip(offset, -80.0, 80.0))
    return Sums(to_host(xp.sum(ones, dtype=xp.float64), ones @ y, xp.sum(exposure, dtype=xp.float64)))


def first_guess(block: Block, loss: GLMLoss) -> Sums:
    """Normal equations of the first weighted least squares, from means near y: for fits without intercept."""
    X, y, w, offset = block.X, block.y, block.weight, block.offset
    eta = loss.start(y)
    h = loss.grad_hess(y, eta)[1]
    h = h if w is None else w * h
    target = eta if offset is None else eta - offset
    return Sums((np.asarray(to_numpy(gram(X, h))), np.asarray(to_numpy(X.T @ (h * target)))))


def start_point(objective: LinearObjective, sums: Sums, link: Any) -> Array:
    """Where to start: the constant model, or the first weighted least squares where there is no constant."""
    weight, total, exposure = sums.parts
    x0 = np.zeros(objective.size)
    if objective.several:
        return x0
    if not objective.fit_intercept:
        G, c = objective.rows.reduce(first_guess, objective.loss).parts
        with np.errstate(all="ignore"):
            guess = newton_direction(G + 1e-8 * np.mean(np.diag(G)) * np.eye(len(G)), -c)
        return guess if np.isfinite(guess).all() else x0
    mean = np.asarray([total / (exposure if isinstance(link, Log) else weight)])
    family = objective.loss.family
    x0[-1] = float(link.link(family.inside(0.5 * (mean + family.start(mean))))[0])
    return x0


def profile_likelihood(block: Block, loss: GLMLoss, table: Array, values: Array) -> Sums:
    """Log-likelihood of a block at several values of the family's own parameter, the mean held fixed."""
    y, w = block.y, block.weight
    mu = to_numpy(loss.mean(linear_predictor(block.X, table, block.offset, loss)))
    kind: Any = type(loss.family)
    y, w = to_numpy(y), 1.0 if w is None else to_numpy(w)
    return Sums(tuple(float(kind(v).log_likelihood(y, mu, w).sum()) for v in values))


def estimate_parameter(objective: LinearObjective, x: Array) -> float:
    """The family's own parameter by maximum likelihood at fixed means: a bracket shrunk nine points a pass."""
    low, high = np.log(ESTIMATED[type(objective.loss.family)])
    while high - low > 1e-9:
        grid = np.linspace(low, high, 9)
        values = objective.rows.reduce(profile_likelihood, objective.loss, objective.table(x), np.exp(grid)).parts
        best = int(np.argmax(values))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 8)]
    return float(np.exp(0.5 * (low + high)))


def predict_mean(X: Any, coef: Array, intercept: Any, loss: Any) -> Any:
    """The mean of y for rows X."""
    return parallel_values(loss.mean, linear_scores(X, coef, intercept))


def combined_offset(offset: Any, exposure: Any, link: Link | None) -> Any:
    """offset + log(exposure); an exposure needs the log link."""
    if exposure is None:
        return offset
    if not isinstance(link, Log):
        raise ParameterError("exposure multiplies the mean, which takes the log link: use offset instead.")
    if bool((exposure <= 0).any() if hasattr(exposure, "any") else min(exposure) <= 0):
        raise InputError("exposure must be positive.")
    logs = namespace(exposure).log(exposure if hasattr(exposure, "shape") else np.asarray(exposure, np.float64))
    return logs if offset is None else offset + logs


class _GLM(RegressorMixin, Estimator):
    """Abstract: what the generalized linear models share; a subclass says which family and link."""

    _tensors = True

    alpha: float = param(0.0, at_least(0), "Strength of the penalty.")
    l1_ratio: float = param(0.0, between(0, 1), "Share of the L1 penalty: 0 is ridge, 1 the lasso.")
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is not penalised.")
    solver: str = param("auto", one_of("auto", "newton-cholesky", "lbfgs"), "How to solve; 'auto' goes by the size.")
    max_iter: int = param(1000, whole(1), "Most iterations of the solver.")
    tol: float = param(1e-6, at_least(0), "Largest entry of the mean gradient at which the fit ends.")
    warm_start: bool = param(False, is_bool, "Whether to start from the coefficients of the last fit.")

    _attrs = [
        attr("coef_", "(n_features,)", "Coefficients."),
        attr("intercept_", "float", "Constant term."),
        attr("loss_", "GLMLoss", "The family and link."),
        attr("n_iter_", "int", "Iterations of the solver."),
    ]

    def _model(self) -> tuple[Any, Link | None]:
        """The family and the link."""
        raise NotImplementedError

    def _estimates(self, family: Any) -> bool:
        """Whether the family's own parameter is to be estimated."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = self._model()[0]
        below = np.asarray([-1.0])
        tags.target_tags.positive_only = isinstance(family, Family) and not bool(family.in_domain(below).all())
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None) -> Any:
        """Fit to rows X with targets y; sample_weight counts rows (trials, for a binomial), offset adds to Xb."""
        rows = self._target_rows(X, y, sample_weight, offset, exposure)
        family, link = self._model()
        objective, start = self._objective(rows, family, link)
        with FitProgress(self, self.max_iter, X=X, y=y, attributes=lambda x: self._fitted(objective, x)) as progress:
            result = self._minimise(objective, start, progress.report)
            if self._estimates(family):
                objective, result = self._alternate(objective, result, progress.report)
        self.__dict__.update(self._fitted(objective, result.x))
        self.dispersion_ = self._dispersion(objective, result.x)
        report_convergence(self, result)
        return self

    def _target_rows(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any, reset: bool = True) -> Rows:
        """Rows whose targets are possible for the family."""
        family, link = self._model()
        offset = combined_offset(offset, exposure, link)
        target = "outputs" if isinstance(family, Multinomial) else "numeric"
        return self._rows(X, y, sample_weight, offset=offset, target=target, reset=reset).prepared(check_target, family)

    def _dispersion(self, objective: LinearObjective, x: Array) -> float:
        """The dispersion φ: given, 1 where the family fixes it, or Pearson's estimate."""
        asked, family = getattr(self, "dispersion", "auto"), self._model()[0]
        if type(family) in ESTIMATED or (asked == "auto" and family.fixed_dispersion):
            return 1.0
        return pearson_dispersion(objective, x) if isinstance(asked, str) else float(asked)

    def _objective(self, rows: Rows, family: Any, link: Link | None) -> tuple[LinearObjective, Array]:
        sums = rows.reduce(target_sums)
        weight, total, _ = sums.parts
        if weight <= 0:
            raise InputError("All sample weights are zero.")
        refuse_overflow(rows, total)
        loss = Softmax() if isinstance(family, Multinomial) else GLMLoss(family, link)
        outputs = np.size(total)
        l2 = self.alpha * (1 - self.l1_ratio)
        objective = LinearObjective(
            rows=rows, loss=loss, weight=weight, alpha=l2, fit_intercept=self.fit_intercept, outputs=outputs
        )
        if self.warm_start and np.size(getattr(self, "coef_", ())) == rows.n_features * outputs:
            return objective, objective.vector(table_of(self.coef_, self.intercept_))
        return objective, start_point(objective, sums, link)

    def _minimise(self, objective: LinearObjective, start: Array, report: Any) -> Result:
        solver = own_solver(self.solver)
        warm = self.warm_start and hasattr(self, "coef_")
        return fit_linear(objective, self.alpha * self.l1_ratio, solver, self.tol, self.max_iter, start, warm, report)

    def _alternate(self, objective: LinearObjective, result: Result, report: Any) -> tuple[LinearObjective, Result]:
        """Coefficients and the family's own parameter in turns, until the parameter stands still."""
        before = np.inf
        for _ in range(100):
            value = estimate_parameter(objective, result.x)
            loss = objective.loss._replace(family=type(objective.loss.family)(value))
            objective = objective._replace(loss=loss)
            result = self._minimise(objective, result.x, report)
            if abs(value - before) < 1e-7 * value or result.status == "stopped":
                break
            before = value
        return objective, result

    def _fitted(self, objective: LinearObjective, x: Array) -> dict[str, Any]:
        coef, intercept = parted(objective.identified(x, self.alpha == 0), float_type(objective.rows))
        first = ... if objective.several else 0
        return {"coef_": coef[first], "intercept_": intercept[first], "loss_": objective.loss}

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """The mean of y for rows X, with their offset or exposure; (n, K) probabilities for a multinomial."""
        offset = combined_offset(offset, exposure, self._model()[1])
        if offset is None:
            return self._after_fit()._map_rows(X, predict_mean, self.coef_, self.intercept_, self.loss_)
        eta = self._after_fit()._map_rows(X, linear_scores, self.coef_, self.intercept_)
        if isinstance(eta, Batches):
            raise InputError("Predicting batches with an offset is done batch by batch: predict(X, offset=…) for each.")
        eta = eta + (offset if is_dask(eta) else like(np.asarray(to_numpy(offset), float_type(eta)), eta))
        return eta.map_blocks(self.loss_.mean, dtype=eta.dtype) if is_dask(eta) else self.loss_.mean(eta)

    def inference(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None, exposure: Any = None,
                  covariance: str = "model", groups: Any = None, dispersion: Any = None) -> Any:  # fmt: skip
        """Standard errors, tests and intervals of a fit without penalty, from the rows of the fit: an `Inference`."""
        ready(self, self.alpha > 0, "alpha=0")
        family, link = self._model()
        data = (X, y, sample_weight, combined_offset(offset, exposure, link))
        return infer_glm(self, data, (check_target, family), self._estimates(family), covariance, groups, dispersion)

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> float:
        """D²: the share of the deviance of a constant (and the rows' offset or exposure) that the model explains."""
        check_is_fitted(self)
        rows = self._target_rows(X, y, sample_weight, offset, exposure, reset=False)
        return explained_deviance(rows, self.loss_, table_of(self.coef_, self.intercept_))
