r"""Generalized linear models whose penalty is chosen on held-out folds.

For every fold and every share ρ of the L1 penalty the objective of `glm_base`,

.. math:: \frac{1}{2W}\sum_{i\in\text{train}} w_i\,d(y_i, \mu_i)
          + \alpha\Big(\frac{1-\rho}{2}\|b\|_2^2+\rho\|b\|_1\Big),

is minimised along α from large to small, each fit starting from the one before. The pair (α, ρ) with the least mean
deviance on the held-out rows is fitted to all rows. The grid starts at the least α for which all coefficients are zero,
:math:`\max_j |\nabla_j| / \rho` with the gradient of the loss at the constant model.

Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models via coordinate descent,
doi:10.18637/jss.v033.i01.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import check_scoring

from didact.core.backend import to_numpy
from didact.core.estimator import how_it_went
from didact.core.parameters import above, array_like, at_least, attr, between, is_bool, one_of, param, splitter, whole
from didact.core.rows import MemoryRows
from didact.core.typing import Array
from didact.engines.linear.fit import fit_linear
from didact.engines.linear.objective import LinearObjective
from didact.linear_model.glm import GeneralizedLinearRegressor
from didact.linear_model.glm_base import _GLM, check_target, combined_offset, target_sums
from didact.linear_model.inference.from_models import no_inference
from didact.linear_model.regularization_path import (
    CALLBACKS,
    CHOICE,
    IN_MEMORY,
    Fit,
    FitOne,
    Fits,
    _PathCV,
    averaged,
    numbers,
    score,
    scoring_param,
    split,
    tabulate,
)
from didact.parts.families import FAMILIES, Family, Multinomial
from didact.parts.links import LINKS
from didact.parts.noun import Link

SPAN = 1e-4  # the least automatic α relative to the largest, with an L1 part
FITTED = ("coef_", "intercept_", "loss_", "dispersion_", "n_iter_")
RIDGE_SPAN = (1.0, -5.0)  # powers of ten between which automatic α lie without one


def steepest(objective: LinearObjective, start: Array) -> float:
    """The largest |∂f/∂b_j| at b = 0 and the best constant term: what an L1 penalty has to outweigh."""
    table = objective.table(np.zeros(objective.size))
    if objective.fit_intercept and objective.several:
        weight, total, _ = objective.rows.reduce(target_sums).parts
        table[:, -1] = np.log(np.maximum(total / weight, np.finfo(float).tiny))
    elif objective.fit_intercept:
        constant = objective.on_columns(np.asarray([], dtype=np.intp))
        table[:, -1] = fit_linear(constant, 0.0, "newton", 1e-10, 100, start[-1:]).x
    slopes = objective.table(objective.value_gradient(objective.vector(table))[1])
    return float(np.max(np.abs(slopes[:, :-1]), initial=0.0))


def mean_deviance(loss: Any, family: Any, estimated: bool, y: Array, mu: Array, w: Any) -> float:
    """Weighted mean deviance of rows; −2 log-likelihood where the family's own parameter differs from fit to fit."""
    y, mu = np.asarray(y, np.float64), np.asarray(mu, np.float64)
    w = np.ones(len(y)) if w is None else np.asarray(w, np.float64)
    with np.errstate(over="ignore"):  # held-out rows may lie where the deviance is infinite
        if estimated:
            total = -2.0 * float(loss.family.log_likelihood(y, mu, w).sum())
        else:
            total = float(w @ family.deviance(y, mu))
    return total / max(float(w.sum()), np.finfo(float).tiny)


class GeneralizedLinearRegressorCV(RegressorMixin, _PathCV):
    r"""Generalized linear model with the penalty chosen on held-out folds.

    .. math:: (\hat\alpha, \hat\rho) = \arg\min_{\alpha, \rho}\;\frac1F\sum_f
              \frac{\sum_{i\in f} w_i\,d(y_i, \mu_i(\alpha, \rho))}{\sum_{i\in f} w_i}

    Notes
    -----
    Cost: n_folds × n_l1_ratios × n_alphas warm fits. A number of `alphas` stands for a grid from the least α that makes
    all coefficients zero down to its 10⁻⁴-fold, or from 10 to 10⁻⁵ without an L1 part. Deviances and scores weigh rows
    by `sample_weight`. Of equal scores the first wins. Where the family's own parameter is estimated, `deviance_path_`
    holds −2 × the mean log-likelihood.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), doi:10.18637/jss.v033.i01.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import GeneralizedLinearRegressorCV
    >>> X = np.linspace(0, 2, 40)[:, None]
    >>> model = GeneralizedLinearRegressorCV(family="poisson", alphas=[0.001, 10]).fit(X, np.floor(np.exp(X[:, 0])))
    >>> model.alpha_
    0.001
    """

    _single = GeneralizedLinearRegressor
    _tensors = True
    _test_params = [
        {"alphas": 3, "cv": 3},
        {"family": "poisson", "alphas": 3, "l1_ratio": (0.5, 1.0), "cv": 3, "tol": 1e-8},
    ]
    _test_skips = {"row_order:family": CHOICE, "collections": IN_MEMORY, "callbacks:family": CALLBACKS}

    family: Any = param(
        "gaussian", [one_of(*FAMILIES), Family, Multinomial], "Distribution of y: a name, or one such as Tweedie(1.2)."
    )
    link: Any = param("auto", [one_of("auto", *LINKS), Link], "Link between mean and Xb; 'auto' is the canonical one.")
    dispersion: Any = param(
        "auto",
        [one_of("auto", "estimate"), above(0)],
        "The negative binomial's overdispersion or the beta's precision: estimated if the family is given by name "
        "('auto'), always ('estimate'), or this number.",
    )
    alphas: Any = param(30, [whole(1), array_like], "Strengths of the penalty to try, or how many to place.")
    l1_ratio: Any = param(0.0, [between(0, 1), array_like], "Share ρ of the L1 penalty, or several to choose from.")
    cv: Any = param(None, splitter, "Folds: a number, a splitter or a list of splits; None: five.")
    scoring: Any = scoring_param(None, "What to choose by; None: the mean deviance.")
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is not penalised.")
    solver: str = param("auto", one_of("auto", "newton-cholesky", "lbfgs"), "How to solve; 'auto' goes by the size.")
    max_iter: int = param(1000, whole(1), "Most iterations of a fit.")
    tol: float = param(1e-6, at_least(0), "Largest entry of the mean gradient at which a fit ends.")

    _attrs = [
        attr("alpha_, l1_ratio_", "float", "The chosen pair."),
        attr("alphas_", "(n_alphas,) or (n_l1_ratios, n_alphas)", "What was tried, for each of several l1_ratio."),
        attr("deviance_path_", "(n_l1_ratios, n_alphas, n_folds)", "Mean deviance on held-out rows; NaN: not fitted."),
        attr("scores_", "(n_l1_ratios, n_alphas, n_folds)", "Scores on the held-out rows.", when="scoring"),
        attr("coef_", "(n_features,)", "Coefficients, fitted to all rows; (n_classes, n_features) for a multinomial."),
        attr("intercept_", "float", "Constant term; (n_classes,) for a multinomial."),
        attr("loss_", "GLMLoss", "The family, with its parameter if that was estimated, and link."),
        attr("dispersion_", "float", "The dispersion φ, as in `GeneralizedLinearRegressor`."),
        attr("n_iter_", "int", "Iterations of the solver."),
    ]

    def _model(self) -> tuple[Any, Link | None]:
        return self._plain(l1_ratio=0.0)._model()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags = self._plain(l1_ratio=0.0).__sklearn_tags__().target_tags
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None, exposure: Any = None) -> Any:
        """Fit to rows X with targets y, after choosing the penalty; offset and exposure as in the model itself."""
        rows = self._fold_rows(X, y, sample_weight, offset, exposure)
        ratios = numbers(self.l1_ratio, "l1_ratio", 0, 1)
        grid = self._grid(rows, ratios)
        folds = split(self.cv, rows, rows.columns.y)
        orders = list(np.argsort(-grid, axis=1, kind="stable"))
        fits = self._walk(self._fold(rows, grid, ratios), folds, orders, X, y)
        self._choose(fits, len(folds), grid, ratios)
        best = self._plain(alpha=self.alpha_, l1_ratio=self.l1_ratio_).fit(
            X, y, sample_weight, offset=offset, exposure=exposure
        )
        self.__dict__.update({name: getattr(best, name) for name in FITTED} | how_it_went(best))
        return self

    def _fold_rows(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any) -> MemoryRows:
        family, link = self._model()
        target = "outputs" if isinstance(family, Multinomial) else "numeric"
        rows = self._rows(X, y, sample_weight, offset=combined_offset(offset, exposure, link), target=target)
        return self._foldable(rows, plain="GeneralizedLinearRegressor(alpha=…)").prepared(check_target, family)

    _target_rows = _GLM._target_rows

    def _grid(self, rows: MemoryRows, ratios: Array) -> Array:
        """Strengths (n_l1_ratios, n_alphas)."""
        if not isinstance(self.alphas, Integral):
            alphas = numbers(self.alphas, "alphas", 0)
            grid = np.tile(alphas, (len(ratios), 1))
        else:
            ridge = 10.0 ** np.linspace(*RIDGE_SPAN, self.alphas)
            top = 0.0
            if ratios.any():
                top = max(steepest(*self._plain(l1_ratio=0.0)._objective(rows, *self._model())), np.finfo(float).eps)
            grid = np.stack([top / r * np.geomspace(1, SPAN, self.alphas) if r > 0 else ridge for r in ratios])
        self.alphas_ = grid[0] if np.ndim(self.l1_ratio) == 0 else grid
        return grid

    def _fold(self, rows: MemoryRows, grid: Array, ratios: Array) -> Callable[[Array, Array], FitOne]:
        """A function of (training, validation) rows that returns how to fit and score one (ρ, α) on them."""
        family, link = self._model()
        scorer = None if self.scoring is None else check_scoring(self._plain(l1_ratio=0.0), scoring=self.scoring)

        def prepare(train: Array, test: Array) -> FitOne:
            base, first = self._plain(l1_ratio=0.0)._objective(rows.some(train), family, link)
            X, y, w, offset, _ = rows.some(test).columns

            def fit(ratio: int, strength: int, start: Any) -> Fit:
                model = self._plain(alpha=grid[ratio, strength], l1_ratio=ratios[ratio])
                objective = base._replace(alpha=model.alpha * (1 - model.l1_ratio))
                result = model._minimise(objective, first if start is None else start, None)
                estimated = model._estimates(family)
                if estimated:
                    objective, result = model._alternate(objective, result, None)
                model.__dict__.update(model._fitted(objective, result.x), n_features_in_=rows.n_features)
                mu = model.predict(X, offset=offset)
                deviance = mean_deviance(model.loss_, family, estimated, *map(_local, (y, mu, w)))
                judged = -deviance if scorer is None else score(scorer, _Shifted(model, offset), X, y, w)
                return Fit(result, deviance, judged)

            return fit

        return prepare

    def _choose(self, fits: Fits, folds: int, grid: Array, ratios: Array) -> None:
        scores, self.deviance_path_ = (
            tabulate(fits, (folds, *grid.shape), part).transpose(1, 2, 0)
            for part in (lambda f: f.score, lambda f: f.kept)
        )
        if self.scoring is not None:
            self.scores_ = scores
        r, a = np.unravel_index(np.argmax(averaged(scores, axis=2)), grid.shape)
        self.alpha_, self.l1_ratio_ = float(grid[r, a]), float(ratios[r])

    inference = no_inference("GeneralizedLinearRegressor(alpha=0)")

    def predict(self, X: Any, offset: Any = None, exposure: Any = None) -> Any:
        """The mean of y for rows X, with their offset or exposure; (n, K) probabilities for a multinomial."""
        return _GLM.predict(self, X, offset=offset, exposure=exposure)

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None, exposure: Any = None
    ) -> float:
        """D²: the share of the deviance of a constant (and the rows' offset or exposure) that the model explains."""
        return _GLM.score(self, X, y, sample_weight, offset=offset, exposure=exposure)


class _Shifted:
    """A fitted model that predicts held-out rows with their own offsets: what a scorer is shown."""

    def __init__(self, model: Any, offset: Any):
        self.model, self.offset = model, offset

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def predict(self, X: Any) -> Any:
        """Means of the held-out rows."""
        return self.model.predict(X, offset=self.offset)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D² of the held-out rows."""
        return self.model.score(X, y, sample_weight, offset=self.offset)


def _local(values: Any) -> Any:
    return None if values is None else to_numpy(values)
