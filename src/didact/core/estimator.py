"""The base of all estimators: a declarative shell around pure functions.

A subclass declares its hyper-parameters with `param` and its fitted attributes with `attr`, and gets from here the
constructor, validation of parameters at `fit`, both sections of its docstring, validation of data (`_rows`,
`_map_rows`), an entry in the registry, callbacks, and the `ConvergenceWarning` of a solver that stopped early.
"""

import dataclasses
import functools
import inspect
import re
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import is_sparse, is_tensor, like, local
from didact.core.categories import learn_categories
from didact.core.compat import bound_threads, declare_machinery, order_parameters
from didact.core.entrance import beside_rows, guard
from didact.core.errors import DidactError, InputError, users_level
from didact.core.frames import column_names
from didact.core.overflow import refuse_extreme
from didact.core.parameters import (
    INSTEAD,
    Attribute,
    attr,
    attributes,
    declared_parameters,
    describe,
    describe_attribute,
    is_precomputed,
)
from didact.core.rows import Batches, BatchRows, ClusterRows, MemoryRows, Rows, batch_columns, blocks_of, is_dask
from didact.core.rows.memory import finite_sum
from didact.core.sparse import check_sparse
from didact.core.threads import blas_for_rows
from didact.core.validation import SQUARES, BlockCheck, check_memory, describe_collection

FIRST_SECTION = re.compile(r"\n(?:Attributes|Notes|References|Examples)\n---")  # follows the generated ones
C = TypeVar("C", bound=type)
_REGISTRY: dict[str, type] = {}
_OF_PAIRS = "metric", "kernel", "affinity", "dissimilarity"  # parameters that may be "precomputed"


@dataclass_transform()
class Estimator(CallbackSupportMixin, BaseEstimator):
    """Base class of didact's estimators. Abstract: subclasses are final and declare parameters with `param`.

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
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _conditional: ClassVar[list[str]] = []  # attributes that not every fit sets: each fit deletes them first
    _attrs: ClassVar[list[Attribute]] = [
        attr("n_features_in_", "int", "Number of columns of X."),
        attr("feature_names_in_", "(n_features_in_,)", "Names of the columns, if all are strings.", "data"),
    ]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        written = "__init__" in vars(cls)
        declare_machinery(cls)
        dataclasses.dataclass(eq=False, repr=False)(cls)
        if not written:
            order_parameters(cls)
        cls._parameter_constraints = {f.name: f.metadata["constraints"] for f in declared_parameters(cls)}
        sometimes = [a for a in attributes(cls) if a.when is not None and a not in Estimator._attrs]
        cls._conditional = [name for attribute in sometimes for name in attribute.names.split(", ")]
        cls.__init__ = _explaining(cls.__init__)  # type: ignore[method-assign]
        guard(cls)
        home = next((base for base in cls.__mro__ if "score" in vars(base)), cls)
        if home.__module__.startswith("sklearn."):  # the method of a mixin
            score = vars(home)["score"]
            plain = score in (ClassifierMixin.score, RegressorMixin.score)
            cls.score = beside_rows(_of_tensors(score) if plain else score)
        for name in ("fit", "partial_fit", "fit_transform"):
            method, checked = vars(cls).get(name), _fit_context(prefer_skip_nested_validation=True)
            if method is not None and hasattr(method, "fn"):  # made by available_if, which holds the function
                method.fn = checked(_finite(method.fn))
            elif method is not None:
                setattr(cls, name, checked(_finite(method)))
        bound_threads(cls)
        cls.__doc__ = _documented(cls)
        if not cls.__name__.startswith("_") and cls.__module__.startswith("didact."):
            _REGISTRY[f"{cls.__module__}.{cls.__qualname__}"] = cls

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

    def _after_fit(self) -> Self:
        """The model itself, once it is fitted; else scikit-learn's `NotFittedError`."""
        check_is_fitted(self)
        return self

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


def report_convergence(model: Any, result: Any) -> None:
    """Store the number of iterations, and warn once if the solver stopped before convergence."""
    model.n_iter_ = max(1, int(result.n_iter))
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


def _explaining(init: Callable[..., None]) -> Callable[..., None]:
    """The constructor, with an error that names the substitute for technical parameters of other libraries."""
    allowed = set(inspect.signature(init).parameters)

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in kwargs.keys() - allowed:
            if name in INSTEAD:
                raise TypeError(f"{type(self).__name__} takes no {name!r}: {INSTEAD[name]}.")
        init(self, *args, **kwargs)

    return __init__


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
    """A fit that raises a clear error if numbers overflow, in its coefficients or in a library that it calls.

    Attributes that only some fits set are deleted first, so that nothing of an earlier fit remains.
    """
    forgets = fit.__name__ == "fit"

    @functools.wraps(fit)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        for name in self._conditional if forgets else ():
            vars(self).pop(name, None)
        for name in self._parameter_constraints:
            check_sparse(getattr(self, name), name)
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


def _documented(cls: type) -> str:
    """The class docstring with generated Parameters and Attributes sections, placed before the first other section."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    entries = {
        "Parameters": [describe(field) for field in declared_parameters(cls)],
        "Attributes": [describe_attribute(attribute) for attribute in attributes(cls)],
    }
    sections = "".join(
        f"\n{heading}\n{'-' * len(heading)}\n" + "\n".join(found) + "\n"
        for heading, found in entries.items()
        if found and f"\n{heading}\n---" not in text
    )
    first = FIRST_SECTION.search(text)
    at = first.start() if first else len(text)
    return f"{text[:at]}{'' if first else chr(10)}{sections}{text[at:]}"
