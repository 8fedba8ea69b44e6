r"""Bagging: the same model on many random draws of the rows (and of the columns), combined by mean, vote or median.

Learner l is fitted to a draw of the rows: with replacement (a bootstrap sample holds :math:`1-(1-1/n)^n \approx 63\,\%`
of the rows) or without. For learners of variance σ² and pairwise covariance c the mean of L of them has the variance
:math:`\sigma^2/L + (1-1/L)\,c`: what varies independently from draw to draw averages out. Rows that a learner has not
seen (out of bag) test it.

Breiman (1996), Bagging predictors, doi:10.1007/BF00058655; Ho (1998), The random subspace method,
doi:10.1109/34.709601.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from didact.core.errors import ParameterError, users_level
from didact.core.estimator import Estimator
from didact.core.meta import OfModels, fit_each, fit_model, row_params, seeded, takes_weights
from didact.core.parameters import attr, has, is_bool, is_callable, none, param, random_state, share, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.typing import Array
from didact.ensemble.combine import NO_OOB_SCORE
from didact.ensemble.members import OfLearners
from didact.ensemble.warm_start import check_additions


def draw(seed: int, n: int, p: int, rows: int, columns: int, bootstrap: bool, bootstrap_features: bool,
         w: Array | None) -> tuple[Array, Array, np.random.Generator]:  # fmt: skip
    """Column numbers and row numbers of one learner, and a generator for what else it draws."""
    rng = np.random.default_rng(seed)
    if w is not None:
        index = rng.choice(n, rows, replace=bootstrap, p=w / w.sum())
    else:
        index = rng.integers(n, size=rows) if bootstrap else rng.permutation(n)[:rows]
    features = rng.integers(p, size=columns) if bootstrap_features else np.sort(rng.permutation(p)[:columns])
    return features, index, rng


def fit_draw(
    base: Any, X: Any, y: Array, found: tuple[Array, Array, Any], params: dict[str, Any], pairwise: bool
) -> tuple[Any, Array]:
    """The base model on the rows and columns that were drawn, and these columns; of a kernel they are those rows.

    Repeated rows become weights where the base model takes them. A draw of one class alone is answered by that class
    if the base model refuses it.
    """
    features, index, rng = found
    model, counts = seeded(base, rng), None
    if takes_weights(model):
        index, counts = np.unique(index, return_counts=True)
        counts = None if counts.max() == 1 else counts.astype(np.float64)
    if pairwise:
        features = index
    part = X[index] if len(features) == X.shape[1] and (np.diff(features) == 1).all() else X[index][:, features]
    try:
        return fit_model(model, part, y[index], counts, row_params(X, index, params)), features
    except ValueError:
        if not is_classifier(base) or np.ptp(y) == 0 or np.ptp(y[index]) > 0:
            raise
        return DummyClassifier().fit(part, y[index]), features


class Asked(NamedTuple):
    """A fitted base model together with the metadata that its methods are called with."""

    model: Any
    params: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.model, name)
        return partial(found, **self.params) if callable(found) and not name.startswith("_") else found


class _Bagging(OfLearners, OfModels, Estimator):
    """What the bagging of classifiers and of regressors share."""

    _kernels = True

    estimator: Any = param(None, [has("fit", "predict"), none], "Base model; None: a decision tree.")
    n_estimators: int = param(10, whole(1), "Number of base models.")
    max_samples: Any = param(
        None,
        [whole(1), share(), none],
        "Rows to draw: a number, a share, or None for as many as there are.",
    )
    max_features: Any = param(1.0, [whole(1), share()], "Columns to draw: a number or a share.")
    bootstrap: bool = param(True, is_bool, "Whether rows are drawn with replacement.")
    bootstrap_features: bool = param(False, is_bool, "Whether columns are drawn with replacement.")
    oob_score: Any = param(
        False, [is_bool, is_callable], "Whether to test on the rows out of bag; a function(y, prediction) is the score."
    )
    warm_start: bool = param(False, is_bool, "Whether to add base models to those of the last fit.")
    random_state: Any = param(None, random_state, "Seed of the draws and of the base models.")

    _attrs = [
        attr(
            "estimators_features_", "list of arrays", "Columns of each base model; its rows, of a precomputed kernel."
        ),
        attr("estimators_samples_", "list of arrays", "The rows of each base model; drawn again when asked for."),
    ]

    def get_metadata_routing(self) -> Any:
        """Metadata routing: what `fit` and the predictions get, other than sample weights, goes to the base models."""
        how = MethodMapping().add(caller="fit", callee="fit")
        for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            how.add(caller=method, callee=self._callee(method))
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self._base(), method_mapping=how)

    def _callee(self: Any, method: str) -> str:
        """The method of the base models whose metadata a method of ours passes on: as in scikit-learn."""
        base = self._base()
        if method == "decision_function" or (method == "predict_log_proba" and hasattr(base, method)):
            return method
        return "predict_proba" if self.combine == "mean" and hasattr(base, "predict_proba") else "predict"

    def _asked(self, method: str, params: dict[str, Any]) -> list[Any]:
        """The fitted base models, with the metadata for the method of theirs that ours calls, if there are any."""
        self._after_fit()
        asked = self._routed(params, method, self._callee(method)) if params else {}
        return [Asked(model, asked) for model in self.estimators_] if asked else self.estimators_

    def _fit_draws(self, X: Any, y: Array, w: Any, fit_params: dict[str, Any]) -> None:
        """Draw, fit, and set estimators_ and estimators_features_."""
        params, base = self._routed(fit_params), self._base()
        self._plan(X, w)
        have = len(self.estimators_) if self.warm_start and hasattr(self, "estimators_") else 0
        check_additions(self.n_estimators, have)
        old = self._seeds[:have] if have else np.empty(0, np.uint32)
        self._seeds: Array = np.append(old, seed_sequence(self.random_state).generate_state(self.n_estimators)[have:])
        draws = [self._draw(seed) for seed in self._seeds[have:]]
        with FitProgress(self, X=X, y=y):
            new = fit_each(lambda found: fit_draw(base, X, y, found, params, self._pairwise), draws)
        self.estimators_ = [*(self.estimators_[:have] if have else []), *(model for model, _ in new)]
        features = self.estimators_features_[:have] if have else []
        self.estimators_features_: list[Array] = [*features, *(columns for _, columns in new)]

    def _stages(self) -> Iterator[tuple[None, dict[str, Any]]]:
        """The base models after each that was added."""
        for k in range(1, len(self.estimators_) + 1):
            yield None, {name: getattr(self, name)[:k] for name in ("estimators_", "estimators_features_", "_seeds")}

    def _plan(self, X: Any, w: Any) -> None:
        n, p = X.shape
        size = n if w is None else np.count_nonzero(w)
        rows = n if self.max_samples is None else self.max_samples
        rows = rows if isinstance(rows, (int, np.integer)) else max(1, int(rows * size))
        columns = self.max_features
        columns = columns if isinstance(columns, (int, np.integer)) else max(1, int(columns * p))
        if self._pairwise and (columns != p or self.bootstrap_features):
            raise ParameterError("Columns of a precomputed kernel cannot be drawn: set max_features=1.0.")
        if columns > p:
            raise ParameterError(f"max_features={columns} is more than the {p} columns of X.")
        if not self.bootstrap and rows > size:
            raise ParameterError(f"max_samples={rows} rows cannot be drawn without replacement from so few rows.")
        if self.oob_score and not self.bootstrap and rows == n:
            raise ParameterError("No row is out of bag: draw with bootstrap=True, or fewer rows with max_samples.")
        if w is not None and not self.bootstrap and rows == size:
            warnings.warn(
                f"When fitting {type(self).__name__} with sample_weight it is recommended to use bootstrap=True: "
                "without replacement all rows are drawn, whatever their weights.",
                UserWarning,
                stacklevel=users_level(),
            )
        self._draws = [n, p, int(rows), int(columns), self.bootstrap, self.bootstrap_features]
        self._weights = w

    def _draw(self, seed: int) -> tuple[Array, Array, Any]:
        n, p, rows, columns, bootstrap, bootstrap_features = self._draws
        return draw(int(seed), n, p, rows, columns, bootstrap, bootstrap_features, self._weights)

    @property
    def estimators_samples_(self) -> list[Array]:
        """The row numbers that each base model was fitted to; drawn again when asked for."""
        return [self._draw(seed)[1] for seed in self._seeds]

    def _score_out_of_bag(self, X: Any, y: Array) -> None:
        """Test on the rows out of bag if asked for."""
        if self.oob_score:
            self._test_out_of_bag(X, y)

    def _test_out_of_bag(self, X: Any, y: Array) -> None:
        """Set the score and the predictions out of bag."""
        raise NotImplementedError

    def _out_of_bag(self, X: Any, each: Callable[[Any, Any], Array]) -> Array:
        """each(model, rows) of every model on the rows that it has not seen, (L, n) or (L, n, K); NaN elsewhere."""
        columns = []
        for model, features, seed in zip(self.estimators_, self.estimators_features_, self._seeds, strict=True):
            out = np.ones(X.shape[0], dtype=bool)
            out[self._draw(seed)[1]] = False
            found = each(model, X[out][:, features])
            full = np.full((X.shape[0], *found.shape[1:]), np.nan)
            full[out] = found
            columns.append(full)
        return np.asarray(columns)

    def _warn_of_gaps(self, known: Array) -> None:
        if not known.all():
            warnings.warn(
                NO_OOB_SCORE.format(np.count_nonzero(~known)), UserWarning, stacklevel=users_level(),
            )  # fmt: skip
