"""Meta-estimators: what they share of base models, tags, metadata routing, and fits on the thread pool.

A meta-estimator takes rows in memory and validates them once; the base models then get plain arrays. It handles sample
weights itself; all other metadata go where the base model requests them (scikit-learn's metadata routing).
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn._config import config_context, get_config
from sklearn.base import MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils._metadata_requests import _raise_for_params
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object, process_routing
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.rows.memory import refuse_non_finite
from didact.core.threads import parallel_map
from didact.core.typing import Array

T = TypeVar("T")
R = TypeVar("R")

# Why some registry checks cannot hold for meta-estimators.
IN_MEMORY = {
    "collections": "Its base models are fitted to parts of the rows in memory; other collections are refused in words."
}
DRAWS = "Every base model sees its own random draw of the rows: other rows, or another order, make other draws."
RANDOM_ROWS = {"weights_equal_repetition": DRAWS, "row_order": DRAWS}
WEIGHTED_SPLITS = {  # for models that leave out rows of weight 0 before they draw
    "weights_equal_repetition/repeated": DRAWS,
    "row_order": DRAWS,
    "check_sample_weight_equivalence_on_dense_data": DRAWS,
    "check_sample_weight_equivalence_on_sparse_data": DRAWS,
}
WEIGHTED_DRAWS = {**WEIGHTED_SPLITS, "weights_equal_repetition/zero": DRAWS}


class OfModels(MetaEstimatorMixin):
    """Mixin for estimators that hold one kind of base model; stands left of `Estimator` among the bases.

    Base models from other libraries check NaN and infinity themselves: their tags, for example a pipeline's, say too
    little about it.
    """

    _kernels: ClassVar[bool] = False  # whether X may be a precomputed kernel: folds then select rows and columns
    _default: ClassVar[Any]  # the class of the base model where the user gives none
    _regressors: ClassVar[bool] = False  # whether the base models of a classifier may be regressors

    def _base(self) -> Any:
        """The base model, not fitted: what the user gave, or the default."""
        return self._default() if self.estimator is None else self.estimator

    def _bases(self) -> list[Any]:
        """All base models, not fitted."""
        return [self._base()]

    @property
    def _sparse(self) -> bool:
        return all(get_tags(model).input_tags.sparse for model in self._bases())

    @property
    def _missing(self) -> bool:
        return all(model._missing for model in self._bases() if isinstance(model, Estimator))

    @property
    def _infinite(self) -> bool:
        return all(model._infinite for model in self._bases() if isinstance(model, Estimator))

    @property
    def _pairwise(self) -> bool:
        """Whether X holds similarities or distances between rows, because the base model expects them."""
        return any(get_tags(model).input_tags.pairwise for model in self._bases())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._missing and all(get_tags(m).input_tags.allow_nan for m in self._bases())
        tags.input_tags.pairwise = self._kernels and self._pairwise
        return tags

    def get_metadata_routing(self) -> Any:
        """Metadata routing: what `fit` gets, other than sample weights, goes to the base models."""
        how = MethodMapping().add(caller="fit", callee="fit")
        if hasattr(self, "partial_fit"):
            how.add(caller="partial_fit", callee="partial_fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self._base(), method_mapping=how)

    def _training(self, X: Any, y: Any, sample_weight: Any, target: str, reset: bool = True) -> tuple[Any, Any, Any]:
        """Validated X, y and weights (or None) in memory; NaN is refused unless the base model accepts it."""
        name = type(self).__name__
        self._check_bases()
        rows = self._rows(X, y, sample_weight, target=target, reset=reset).require_memory(
            f"{name} needs all rows in memory, not Batches or Dask collections: pass a sample of them."
        )
        finite_first(rows.X, rows.names, self._missing)
        if self._pairwise and reset and rows.X.shape[0] != rows.X.shape[1]:
            raise InputError(f"A precomputed kernel has as many columns as rows; the shape of X is {rows.X.shape}.")
        return rows.X, rows.columns.y, rows.columns.weight

    def _check_bases(self) -> None:
        """Refuse unsuitable base models: regressors in a classifier, and kernels where only rows are selected."""
        name = type(self).__name__
        wrong = [model for model in self._bases() if is_regressor(model)]
        if wrong and is_classifier(self) and not self._regressors:
            raise ParameterError(f"{name} needs classifiers, but {type(wrong[0]).__name__} is a regressor.")
        if self._pairwise and not self._kernels:
            raise ParameterError(
                f"{name} cannot select rows of a precomputed kernel or distance matrix: let the base model compute it."
            )

    def _coded(self, y: Any, least: int = 2) -> tuple[Array, Array]:
        """The sorted labels and the code of every row; fewer than `least` classes are refused."""
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < least:
            name = type(self).__name__
            raise InputError(f"{name} needs at least 2 classes, but y has one class only: {classes[:1].tolist()[0]!r}.")
        return classes, codes

    def _map_rows(self, X: Any, fn: Callable[..., Any], *args: Any) -> Any:
        """``fn(X, *args)`` on new data of any kind; values that the base models cannot read are refused first."""
        rows = self._rows(X, target="none", reset=False)
        return self._numbers_like(X, rows.map(checked_call, fn, rows.names, rows.missing, *args))

    def _arrays(self, X: Any) -> Any:
        """New rows X in memory, validated, as the base models get them."""
        check_is_fitted(self)
        rows = self._rows(X, target="none", reset=False).require_memory(
            "This needs all rows in memory, not Batches or Dask collections: pass some at a time."
        )
        finite_first(rows.X, rows.names, rows.missing)
        return rows.X

    def _routed(self, params: dict[str, Any], method: str = "fit", callee: str | None = None) -> dict[str, Any]:
        """The metadata that a method passes on to the base models, to their method `callee` or that of its own name."""
        _raise_for_params(params, self, method)
        return dict(process_routing(self, method, **params).estimator[callee or method])


class OfFolds:
    """Mixin for estimators that choose something on folds: metadata go to the splitter `cv`, and to the scorer.

    Sample weights are used by the model itself and by the scores that it computes.
    """

    cv: Any

    def get_metadata_routing(self) -> Any:
        """Metadata routing: what `fit` gets beside weights goes to the splitter, what `score` gets to the scorer."""
        splits, scores = MethodMapping().add(caller="fit", callee="split"), MethodMapping()
        router = MetadataRouter(owner=self).add_self_request(self).add(splitter=self.cv, method_mapping=splits)
        if callable(scoring := getattr(self, "scoring", None)):
            router.add(scorer=scoring, method_mapping=scores.add(caller="score", callee="score"))
        return router

    def _split_params(self, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        """The metadata that the splitter asks for; anything but None means that metadata routing is on."""
        _raise_for_params(params, self, "fit")
        if not params:
            return {}
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return dict(process_routing(self, "fit", **weights, **params).splitter.split)

    def _score_params(self, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        """The metadata that the scorer asks for."""
        _raise_for_params(params, self, "score")
        if not params:
            return {}
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return dict(process_routing(self, "score", **weights, **params).scorer.score)


class OfSeveral(OfModels, _BaseComposition):
    """Mixin for estimators that hold a list `estimators` of (name, model) pairs; their parameters nest by name."""

    estimators: Any

    def _models(self) -> list[tuple[str, Any]]:
        """The pairs that the user gave, or the default."""
        raise NotImplementedError

    def _checked_models(self) -> list[tuple[str, Any]]:
        """The pairs, once it is checked that they are pairs of names and models."""
        pairs = list(self._models())
        if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            raise ParameterError("estimators must be a list of (name, model) pairs, with at least one of them.")
        self._validate_names([name for name, _ in pairs])
        return pairs

    def _base(self) -> Any:
        return self._models()[0][1]

    def _bases(self) -> list[Any]:
        return [model for _, model in self._models()]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters; those of an inner model are prefixed with its name."""
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Any:
        """Set parameters, also those of an inner model, prefixed with its name."""
        self._set_params("estimators", **params)
        return self

    def get_metadata_routing(self) -> Any:
        """Metadata routing: what `fit` gets, other than sample weights, goes to the models by their names."""
        how = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, model in self._models():
            router.add(**{name: model}, method_mapping=how)
        return router

    def _routed_each(self, fit_params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The metadata for the fit of each model, by name."""
        _raise_for_params(fit_params, self, "fit")
        found = process_routing(self, "fit", **fit_params)
        return {name: dict(found[name].fit) for name, _ in self._models()}


def finite_first(X: Any, names: Any, missing: bool) -> None:
    """Refuse NaN and infinity, and name the columns, whose names the base models do not know."""
    with np.errstate(all="ignore"):
        total = 0.0 if missing else X.sum()
    if not np.isfinite(total):
        refuse_non_finite(X, names)


def checked_call(X: Any, fn: Callable[..., Any], names: Any, missing: bool, *args: Any) -> Any:
    """fn(X, *args) for a block, once its values are checked."""
    finite_first(X, names, missing)
    return fn(X, *args)


def takes_weights(model: Any) -> bool:
    """Whether a model's fit takes sample_weight, by itself or by routing."""
    if has_fit_parameter(model, "sample_weight"):
        return True
    routing = get_config()["enable_metadata_routing"]
    return bool(routing and get_routing_for_object(model).consumes("fit", ("sample_weight",)))


def fit_model(model: Any, X: Any, y: Any, w: Any = None, params: dict[str, Any] | None = None) -> Any:
    """The model, fitted to the rows, with weights if there are any; what its own `fit` returns does not matter."""
    if w is None:
        model.fit(X, y, **(params or {}))
        return model
    if not takes_weights(model):
        raise ParameterError(f"{type(model).__name__} cannot weigh rows: its fit takes no sample_weight.")
    model.fit(X, y, sample_weight=w, **(params or {}))
    return model


def part_of(X: Any, index: Array, pairwise: bool) -> Any:
    """The rows of an index; of a kernel matrix between all rows, the kernel matrix between these."""
    return X[index][:, index] if pairwise else X[index]


def row_params(rows: Any, index: Array, params: dict[str, Any]) -> dict[str, Any]:
    """Metadata of some rows: values with one entry per row are indexed, all others stay as they are."""
    n = rows.shape[0]
    return {
        key: np.asarray(value)[index] if np.ndim(value) and np.shape(value)[0] == n else value
        for key, value in params.items()
    }


def seeded(model: Any, generator: np.random.Generator) -> Any:
    """A clone of a model whose parameters `random_state`, nested ones too, are seeds drawn from the generator."""
    model = clone(model)
    names = [name for name in sorted(model.get_params()) if f"__{name}".endswith("__random_state")]
    return model.set_params(**{name: int(generator.integers(2**31 - 1)) for name in names}) if names else model


def check_parameters(model: Any) -> None:
    """Refuse invalid parameters of a model before it is fitted."""
    model._validate_params()


def fit_each(fit: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """`fit` on every item, on the library's threads, under scikit-learn's settings of the calling thread."""
    config = get_config()

    def under_settings(item: T) -> R:
        with config_context(**config):
            return fit(item)

    return parallel_map(under_settings, items)


def margins(model: Any, X: Any) -> Array:
    """A signed score of the second of two classes: decision values, 2p − 1, or ±1."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64).ravel()
    if hasattr(model, "predict_proba"):
        return 2.0 * np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1] - 1.0
    if hasattr(model, "classes_"):
        return np.where(np.asarray(model.predict(X)) == model.classes_[1], 1.0, -1.0)
    return 2.0 * np.asarray(model.predict(X), dtype=np.float64).ravel() - 1.0  # a regression on 0 and 1
