"""The base of all estimators of tables: a declarative shell around pure functions of rows.

To what `Declared` gives, it adds validation of data (`_rows`, `_map_rows`), tags, an entry in the registry, refusal of
numbers that overflow, and the `ConvergenceWarning` of a solver that stopped early.
"""

import functools
import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from didact.core.backend import is_sparse, is_tensor, like, local
from didact.core.categories import learn_categories
from didact.core.declared import Declared
from didact.core.errors import DidactError, InputError, users_level
from didact.core.frames import column_names
from didact.core.overflow import refuse_extreme
from didact.core.parameters import HOW_IT_WENT, Attribute, attr, is_precomputed
from didact.core.rows import Batches, BatchRows, ClusterRows, MemoryRows, Rows, batch_columns, blocks_of, is_dask
from didact.core.rows.memory import finite_sum
from didact.core.threads import blas_for_rows
from didact.core.validation import SQUARES, BlockCheck, check_memory, describe_collection
from didact.core.validation.entrance import beside_rows

C = TypeVar("C", bound=type)
_REGISTRY: dict[str, type] = {}
_OF_PAIRS = "metric", "kernel", "affinity", "dissimilarity"  # parameters that may be "precomputed"


class Estimator(Declared):
    """Base class of estimators of tables. Abstract: subclasses are final. Each is equal to itself alone.

    Class attributes for the tests: `_test_params`, the parameter sets that the registry checks run with, and
    `_test_skips`, the reason for every check that cannot hold.
    """

    _test_params: ClassVar[list[dict[str, Any]]] = [{}]
    _test_skips: ClassVar[dict[str, str]] = {}
    _sparse: ClassVar[bool] = True
    _missing: ClassVar[bool] = False
    _finds_infinity: ClassVar[bool] = False  # whether the fit refuses infinite values by itself where NaN passes
    _infinite: ClassVar[bool] = False  # whether infinite values in X are allowed
    _text_codes: ClassVar[bool] = False  # whether columns of text are categories without being named
    _new_codes: ClassVar[bool] = False  # whether a category that fit has not seen has a code; else it is missing
    _negative_codes: ClassVar[bool] = True  # whether negative numbers can be categories; else they are missing
    _largest_target: ClassVar[float] = SQUARES  # the largest target that the model can compute with
    _tensors: ClassVar[bool] = False  # whether the model computes on a tensor's device; else tensors become arrays
    _attrs: ClassVar[list[Attribute]] = [
        attr("n_features_in_", "int", "Number of columns of X."),
        attr("feature_names_in_", "(n_features_in_,)", "Names of the columns, if all are strings.", "data"),
    ]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._conditional.remove("feature_names_in_")  # which validation keeps or deletes by itself
        home = next((base for base in cls.__mro__ if "score" in vars(base)), cls)
        if home.__module__.startswith("sklearn."):  # the method of a mixin
            score = vars(home)["score"]
            plain = score in (ClassifierMixin.score, RegressorMixin.score)
            cls.score = beside_rows(_of_tensors(score) if plain else score)
        if not cls.__name__.startswith("_") and cls.__module__.startswith("didact."):
            _REGISTRY[f"{cls.__module__}.{cls.__qualname__}"] = cls

    __eq__, __hash__ = object.__eq__, object.__hash__  # as scikit-learn's

    @classmethod
    def _guarded(cls, fit: Callable[..., Any]) -> Callable[..., Any]:
        return super()._guarded(_finite(fit))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.input_tags.allow_nan = self._missing
        tags.input_tags.pairwise = any(is_precomputed(getattr(self, name, None)) for name in _OF_PAIRS)
        return tags

    def _rows(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str = "numeric",
        reset: bool = True,
        categories: Any = None,
        **beside: Any,
    ) -> Rows:
        """The data, validated once, as rows; `beside` holds an offset and then groups, for models that use them.

        `target` is "numeric" (one column), "outputs" (one or several columns), "labels", "label columns" (one or
        several) or "none". `categories` says which columns are categorical: a fit stores them in `categories_`, and
        their values become codes. Missing values pass as NaN if the class has `_missing`.
        """
        # Categories are learnt before validation, which needs them to turn text into numbers.
        if reset and "categorical_features" in self._parameter_constraints:
            self.categories_ = learn_categories(
                categories, blocks_of(X), column_names(X), self._negative_codes, self._text_codes
            )
        known = getattr(self, "categories_", None)
        if isinstance(X, Batches):
            if any(c is not None for c in (y, sample_weight, *beside.values())):
                raise ValueError("With Batches, y and sample_weight come from the batches: call fit(batches) alone.")
            describe_collection(self, next((batch_columns(batch)[0] for batch in X), None), reset)
            check: Any = BlockCheck.of(self, target, 3 + len(beside))
            rows: Rows = BatchRows(X, check)
        elif is_dask(X):
            dtype = describe_collection(self, X, reset)
            check = BlockCheck.of(self, target, 3 + len(beside))
            rows = ClusterRows((X, y, sample_weight, *beside.values()), check, self.n_features_in_, dtype)
        else:
            data = X, y, sample_weight, *beside.values()
            rows = MemoryRows(*check_memory(self, *data, target=target, reset=reset, categories=known))
        rows.names = getattr(self, "feature_names_in_", None)
        rows.missing, rows.numeric = self._missing, isinstance(self, RegressorMixin)
        return rows

    def _map_rows(self, X: Any, fn: Callable[..., Any], *args: Any) -> Any:
        """``fn(X, *args)`` on new data of any kind, as the kind of collection that came in.

        Called as ``self._after_fit()._map_rows(X, fn, self.coef_)``, so that no attribute is read before the fit.
        """
        rows = self._rows(X, target="none", reset=False)
        return self._numbers_like(X, rows.map(fn, *args))

    def _numbers_like(self, X: Any, found: Any) -> Any:
        """A result computed from X: floats become a tensor again if X is one that was computed on as an array."""
        floats = isinstance(found, np.ndarray) and found.dtype.kind == "f"
        return like(found, X) if floats and not self._tensors else found


class Ended(NamedTuple):
    """How a fit went that no solver's `Result` tells."""

    status: str
    optimality: float | None = None
    history: Sequence[float] | None = None


def remember(model: Any, *results: Any) -> None:
    """Store how a fit went: its status, optimality and objective; several results are those of problems side by side.

    A result has a `status`, an `optimality` and a `history`, which may be None. Together, the status is that of the
    first that has not converged, the optimality the largest, and the objective the sum, to which a problem that is
    solved goes on contributing its last value.
    """
    worst = next((one for one in results if one.status != "converged"), results[0])
    found: dict[str, Any] = {"fit_status_": worst.status}
    optimality = [one.optimality for one in results if one.optimality is not None]
    if len(optimality) == len(results):
        found["optimality_"] = float(max(optimality))
    histories = [np.asarray(one.history, np.float64) for one in results if one.history is not None and len(one.history)]
    if len(histories) == len(results):
        length = max(map(len, histories))
        found["objective_history_"] = sum(np.pad(h, (0, length - len(h)), mode="edge") for h in histories)
    vars(model).update(found)


def how_it_went(model: Any) -> dict[str, Any]:
    """What `remember` has stored on a model, for another that is made of its fit."""
    return {
        attribute.names: vars(model)[attribute.names] for attribute in HOW_IT_WENT if attribute.names in vars(model)
    }


def report_convergence(model: Any, result: Any) -> None:
    """Store the number of iterations and how the fit went, and warn once if the solver stopped before convergence."""
    model.n_iter_ = max(1, int(result.n_iter))
    remember(model, result)
    if not result.converged and result.status != "stopped":
        warn_convergence(model, result.message)


def warn_convergence(model: Any, sentence: str) -> None:
    """Warn with a `ConvergenceWarning` that points at the line of the user's own code that led here."""
    warnings.warn(f"{type(model).__name__}: {sentence}", ConvergenceWarning, stacklevel=users_level())


def tagged(**values: Any) -> Callable[[C], C]:
    """A decorator that sets tags of scikit-learn's, as in ``tagged(target_tags__multi_output=True)``."""

    def decorate(cls: C) -> C:
        def tags(self: Any) -> Any:
            found = super(cls, self).__sklearn_tags__()  # type: ignore[arg-type]
            for name, value in values.items():
                group, _, tag = name.partition("__")
                setattr(getattr(found, group), tag, value)
            return found

        cls.__sklearn_tags__ = tags  # type: ignore[attr-defined]
        return cls

    return decorate


def registry() -> dict[str, type]:
    """All public estimators that have been imported, by full name, sorted by class name."""
    return dict(sorted(_REGISTRY.items(), key=lambda entry: (entry[1].__name__, entry[0])))


def instances(cls: Any) -> list[Any]:
    """Instances of an estimator for the registry checks."""
    return [cls(**params) for params in cls._test_params]


def _of_tensors(score: Callable[..., float]) -> Callable[..., float]:
    """A score of scikit-learn's, which reads arrays, of tensors as well: predictions are made where X is."""

    @functools.wraps(score)
    def scored(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        if not any(map(is_tensor, (X, y, sample_weight))):
            return score(self, X, y, sample_weight)
        told = SimpleNamespace(predict=lambda rows: local(self.predict(rows)))
        return score(told, X, local(y), local(sample_weight))

    return scored


def _finite(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A fit that raises a clear error if numbers overflow, in its coefficients or in a library that it calls."""

    @functools.wraps(fit)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get("X")
        try:
            with blas_for_rows(X):
                model = fit(self, *args, **kwargs)
        except (ValueError, ArithmeticError) as error:
            if not isinstance(error, DidactError) and _numerical(error):
                _refuse_extreme(X, error)
            raise
        # Overflow does not always raise: with warnings off it ends as NaN in the coefficients.
        for name in ("coef_", "intercept_"):
            found = vars(self).get(name)
            if isinstance(found, (float, np.ndarray)) and np.isnan(found).any():
                del self.__dict__[name]
                _refuse_extreme(X, None)
                raise InputError(
                    f"The coefficients of {type(self).__name__} are not finite ({name} holds NaN): values of X or "
                    "weights are so large or so small that sums of their products overflow: rescale them."
                )
        return model

    return checked


def _numerical(error: Exception) -> bool:
    """Whether an error is numerical: an ArithmeticError, or one raised inside NumPy or SciPy."""
    if isinstance(error, (ArithmeticError, np.linalg.LinAlgError)):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in ("numpy", "scipy")


def _refuse_extreme(X: Any, error: Exception | None) -> None:
    """Name the columns whose values are too large or too small, if that is why a library failed."""
    values = X if is_sparse(X) else np.asarray(X) if hasattr(X, "__array__") else None
    if values is not None and values.ndim == 2 and values.dtype.kind == "f" and finite_sum(values * 1e-16):
        try:
            refuse_extreme(values, column_names(X))
        except InputError as refusal:
            raise refusal from error
