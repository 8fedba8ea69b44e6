r"""Logistic and softmax regression whose penalty is chosen on held-out folds.

For every fold and every share ρ of the L1 penalty the objective of `logistic`,

.. math:: C\sum_{i\in\text{train}} s_i\,\ell(y_i, z_i) + \frac{1-\rho}{2}\|w\|_2^2 + \rho\|w\|_1,

is minimised along C from small to large, each fit starting from the one before, and scored on the held-out rows. The
pair (C, ρ) with the best mean score is fitted to all rows, starting from the mean of the folds' coefficients.

Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models via coordinate descent,
doi:10.18637/jss.v033.i01.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type
from didact.core.compat import LOGISTIC_SOLVERS, UNPENALISED, deprecated, own_solver
from didact.core.estimator import how_it_went
from didact.core.parameters import array_like, at_least, attr, is_bool, none, one_of, param, splitter, whole
from didact.core.rows import MemoryRows
from didact.core.sparse.coefficients import SparseCoefficients
from didact.core.typing import Array
from didact.engines.linear.fit import fit_linear
from didact.engines.linear.objective import table_of
from didact.engines.scores.linear import encoded_rows
from didact.linear_model.inference.from_models import no_inference
from didact.linear_model.logistic import LogisticAnswers, LogisticRegression, build
from didact.linear_model.logistic_penalty import USE_SEVERAL, penalty_param, shares_to_try
from didact.linear_model.regularization_path import (
    CALLBACKS,
    CHOICE,
    IN_MEMORY,
    Fit,
    FitOne,
    Split,
    _PathCV,
    averaged,
    knowing_labels,
    numbers,
    score,
    scoring_param,
    split,
    tabulate,
    total_weight,
)

WARN_SCORING = (
    "The default value of the parameter 'scoring' will change from None, i.e. accuracy, to 'neg_log_loss' in version "
    "1.11. To silence this warning, explicitly set the scoring parameter: scoring='neg_log_loss' for the new, "
    "scoring='accuracy' or scoring=None for the old default."
)
WARN_LEGACY = (
    "The fitted attributes of LogisticRegressionCV will be simplified in scikit-learn 1.10 to remove redundancy. Set "
    "`use_legacy_attributes=False` to enable the new behavior now, or set it to `True` to silence this warning during "
    "the transition period while keeping the deprecated behavior for the time being."
)


def legacy(model: Any) -> dict[str, Any]:
    """The attributes with an entry for each class (the second one of two), as scikit-learn has had them up to 1.9."""
    if model.use_legacy_attributes == "warn":
        deprecated(WARN_LEGACY)
    labels = model.classes_ if len(model.classes_) > 2 else model.classes_[1:]
    without_share = model.l1_ratios is None or isinstance(model.l1_ratios, str)
    last = (slice(None), slice(None), 0) if without_share else ...
    scores, steps = (np.swapaxes(table, 1, 2)[last] for table in (model.scores_, model.n_iter_))
    paths = np.moveaxis(model.coefs_paths_, (3, 2), (0, 2))
    return {
        "C_": np.full(len(labels), model.C_),
        "l1_ratio_": np.full(len(labels), model.l1_ratio_),
        "scores_": dict.fromkeys(labels, scores),
        "coefs_paths_": {label: path[last] for label, path in zip(labels, paths, strict=True)},
        "n_iter_": steps[None],
    }


class LogisticRegressionCV(LogisticAnswers, SparseCoefficients, ClassifierMixin, _PathCV):
    r"""Logistic or softmax regression with C and the share of the L1 penalty chosen on held-out folds.

    .. math:: (\hat C, \hat\rho) = \arg\max_{C, \rho}\;\frac1F\sum_f \mathrm{score}_f\big(w_f(C, \rho)\big)

    Notes
    -----
    Cost: n_folds × n_l1_ratios × n_Cs warm fits of `LogisticRegression`. The attributes are those that scikit-learn
    has with ``use_legacy_attributes=False``, its coming default. Scores, and `score`, use `scoring` and weigh rows by
    `sample_weight`;
    "balanced" class weights come from all rows. `scoring` is the negative log-loss (in scikit-learn from 1.11 on; there
    the accuracy is the old default, here ``scoring=None``). Of equal scores the first C wins, then the first share.
    For folds by groups pass the list of splits, ``cv=list(GroupKFold().split(X, y, groups))``, or `groups` itself by
    scikit-learn's metadata routing.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), doi:10.18637/jss.v033.i01.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import LogisticRegressionCV
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = LogisticRegressionCV(Cs=[0.01, 1, 100], cv=4).fit(X, (X[:, 0] > 0.1).astype(int))
    >>> model.C_, model.predict([[-1.0], [1.0]]).tolist()
    (100.0, [0, 1])
    """

    _single = LogisticRegression
    _tensors = True
    _test_params = [
        {"Cs": (0.01, 0.1, 1.0), "cv": 3, "tol": 1e-8},
        {"Cs": (0.1, 1.0), "l1_ratios": (0.0, 0.5), "cv": 3, "refit": False},
    ]
    _test_skips = {
        "weights_equal_repetition:refit": CHOICE,
        "row_order:refit": CHOICE,
        "collections": IN_MEMORY,
        "callbacks/iterations": CALLBACKS,
        "callbacks/model": CALLBACKS,
        "callbacks/stop": CALLBACKS,
        "callbacks/limit:tol": CALLBACKS,
        "defaults/check_sparsify_coefficients": "It has classes of fewer rows than there are folds.",
        "defaults/check_classifiers_train:float32": "It compares log P with the logarithm of a P that is rounded to 1.",
        "weight_scale": "C multiplies the sum of losses, as in scikit-learn: twice the weights are twice C.",
    }

    Cs: Any = param(10, [whole(1), array_like], "Values of C, or how many to place from 1e-4 to 1e4.")
    l1_ratios: Any = param(
        (0.0,), [array_like, none, one_of("warn")], "Shares ρ of the L1 penalty to try; None or 'warn': ridge alone."
    )
    penalty: str = penalty_param(USE_SEVERAL, without=False)
    loss: str = param("log", one_of("log", "squared"), "Cross-entropy, or squared error of the probabilities.")
    fit_intercept: bool = param(True, is_bool, "Whether to add constant terms, which are not penalised.")
    cv: Any = param(None, splitter, "Folds: a number, a splitter or a list of splits; None: five, stratified.")
    scoring: Any = scoring_param("neg_log_loss", "What to choose by; None: the accuracy, also 'warn'.", "warn")
    refit: bool = param(True, is_bool, "Whether to fit the best pair to all rows; else the folds' best are averaged.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )
    tol: float = param(1e-6, at_least(0), "Largest entry of the mean gradient at which a fit ends.")
    solver: str = param("auto", one_of(*LOGISTIC_SOLVERS), f"How to solve; 'auto' goes by the size. {UNPENALISED}")
    max_iter: int = param(1000, whole(1), "Most iterations of a fit.")
    parametrization: str = param(
        "symmetric",
        one_of("symmetric", "reference"),
        "For three and more classes: one vector for each class, or K−1 vectors relative to the last class.",
    )
    use_legacy_attributes: Any = param(
        False,
        [is_bool, one_of("warn")],
        "Whether C_, l1_ratio_, scores_, coefs_paths_ and n_iter_ have an entry for each class, as in scikit-learn up "
        "to 1.9; 'warn': the same, with its warning.",
    )

    _attrs = [
        attr("C_, l1_ratio_", "float", "The chosen pair; with ``refit=False`` the means of the folds' own choices."),
        attr("Cs_, l1_ratios_", "ndarray", "What was tried."),
        attr("scores_", "(n_folds, n_l1_ratios, n_Cs)", "Scores on the held-out rows; NaN for fits not made."),
        attr(
            "coefs_paths_", "(…, n_classes or 1, n_features + 1)", "Coefficients, by fold, ratio and C; constants last."
        ),
        attr("n_iter_", "(n_folds, n_l1_ratios, n_Cs)", "Iterations of every fit."),
        attr("coef_", "(n_classes or 1, n_features)", "Coefficients."),
        attr("intercept_", "(n_classes or 1,)", "Constant terms."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "LogisticRegressionCV":
        """Fit to rows X with labels y, after choosing C and the share of the L1 penalty; params go to the splitter."""
        asked = self._split_params(sample_weight, params)
        rows = self._rows(X, y, sample_weight, target="labels")
        rows = self._foldable(rows, plain="LogisticRegression(C=…)")
        self.Cs_, self.l1_ratios_ = self._candidates()
        every, _, self.classes_ = encoded_rows(rows, self.class_weight, "LogisticRegression")
        encoded = every.require_memory("Folds are taken from rows in memory.")
        folds = split(self.cv, rows, rows.columns.y, classifier=True, asked=asked)
        self._store_paths(rows, encoded, folds, X, y)
        coef, intercept = self._fit_best(X, y, sample_weight) if self.refit else self._average_best()
        self.coef_, self.intercept_ = coef.astype(float_type(rows)), intercept.astype(float_type(rows))
        if self.use_legacy_attributes:
            self.__dict__.update(legacy(self))
        return self

    def _candidates(self) -> tuple[Array, Array]:
        Cs = np.logspace(-4, 4, self.Cs) if isinstance(self.Cs, Integral) else numbers(self.Cs, "Cs", 0, above=True)
        return Cs, numbers(shares_to_try(self.penalty, self.l1_ratios), "l1_ratios", 0, 1)

    def _fold(self, rows: MemoryRows, encoded: MemoryRows) -> Callable[[Array, Array], FitOne]:
        """A function of (training, validation) rows that returns how to fit and score one (ρ, C) on them."""
        if self.scoring == "warn":
            deprecated(WARN_SCORING)
        scorer, solver = self._scorer(), own_solver(self.solver)

        def prepare(train: Array, test: Array) -> FitOne:
            part = encoded.some(train)
            weight = total_weight(part)
            X, y, w, *_ = rows.some(test).columns

            def fit(ratio: int, strength: int, start: Any) -> Fit:
                share = float(self.l1_ratios_[ratio])
                model = self._with_classes(C=self.Cs_[strength], l1_ratio=share)
                objective, l1 = build(part, len(self.classes_), weight, model.C, share, self.loss,
                                      self.fit_intercept, self.parametrization)  # fmt: skip
                result = fit_linear(objective, l1, solver, self.tol, self.max_iter, start)
                model.__dict__.update(model._fitted(objective, result.x, l1), n_features_in_=rows.n_features)
                table = table_of(model.coef_, model.intercept_)[:, : rows.n_features + self.fit_intercept]
                return Fit(result, table, score(scorer, model, X, y, w))

            return fit

        return prepare

    def _with_classes(self, C: float, l1_ratio: float) -> LogisticRegression:
        model = self._plain(C=C, l1_ratio=l1_ratio).set_params(warm_start=True)
        model.classes_ = self.classes_
        return model

    def _store_paths(self, rows: MemoryRows, encoded: MemoryRows, folds: list[Split], X: Any, y: Any) -> None:
        shape = (len(folds), len(self.l1_ratios_), len(self.Cs_))
        orders = [np.argsort(self.Cs_, kind="stable")] * shape[1]
        fits = self._walk(self._fold(rows, encoded), folds, orders, X, y)
        self.scores_ = tabulate(fits, shape, lambda f: f.score)
        self.coefs_paths_ = tabulate(fits, shape, lambda f: f.kept)
        self.n_iter_ = np.maximum(np.nan_to_num(tabulate(fits, shape, lambda f: f.result.n_iter)), 1).astype(np.int32)

    def _fit_best(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        """The pair with the best mean score, fitted to all rows from the mean of the folds' coefficients."""
        mean = averaged(self.scores_, axis=0).T  # of equal scores the first C wins, then the first share
        c, r = np.unravel_index(np.argmax(mean), mean.shape)
        self.C_, self.l1_ratio_ = float(self.Cs_[c]), float(self.l1_ratios_[r])
        best = self._with_classes(self.C_, self.l1_ratio_)
        best.coef_, best.intercept_ = self._split(np.nanmean(self.coefs_paths_[:, r, c], axis=0))
        best.fit(X, y, sample_weight)
        self.__dict__.update(how_it_went(best))
        return best.coef_, best.intercept_

    def _average_best(self) -> tuple[Array, Array]:
        """The mean of the folds' own best."""
        scores = np.where(np.isnan(self.scores_), -np.inf, self.scores_).transpose(0, 2, 1)
        fitted = np.flatnonzero(np.isfinite(scores).any(axis=(1, 2)))
        c, r = np.unravel_index([np.argmax(scores[f]) for f in fitted], scores.shape[1:])
        self.C_, self.l1_ratio_ = float(self.Cs_[c].mean()), float(self.l1_ratios_[r].mean())
        return self._split(self.coefs_paths_[fitted, r, c].mean(axis=0))

    def _split(self, table: Array) -> tuple[Array, Array]:
        """Coefficients and intercepts from an entry of coefs_paths_."""
        p = self.n_features_in_
        return table[:, :p], table[:, p] if self.fit_intercept else np.zeros(len(table))

    def _scorer(self) -> Any:
        plain = self.scoring is None or self.scoring == "warn"
        return knowing_labels(get_scorer("accuracy" if plain else self.scoring), self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **score_params: Any) -> float:
        """The value of `scoring` on rows X with labels y; score_params go to the scorer."""
        check_is_fitted(self)
        asked = self._score_params(sample_weight, score_params)
        return score(self._scorer(), self, X, y, sample_weight, **asked)

    inference = no_inference("LogisticRegression(C=inf)")
