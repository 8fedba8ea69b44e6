"""The base of everything public that has parameters: models of tables, of sequences and graphs, agents, environments.

A subclass declares its parameters with `param` and its fitted attributes with `attr`. It gets from here the
constructor, both sections of its docstring, validation of parameters where a fit begins, callbacks, and equality; it
can be shown, copied and saved. A class without `fit` is a model as it is made: a filter with given matrices, a network
built by hand. `Estimator` adds what fits to rows need.
"""

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.compat import bound_threads, declare_machinery, order_parameters
from didact.core.parameters import (
    INSTEAD,
    Attribute,
    attributes,
    declared_parameters,
    describe,
    describe_attribute,
)
from didact.core.sparse import check_sparse
from didact.core.validation.entrance import guard

FIRST_SECTION = re.compile(r"\n(?:Attributes|Notes|References|Examples)\n---")  # follows the generated ones
FITS = "fit", "partial_fit", "fit_transform"


@dataclass_transform()
class Declared(CallbackSupportMixin, BaseEstimator):
    """Base class of what has parameters. Abstract: subclasses are final and declare parameters with `param`.

    Two objects are equal if they are of one class and all parameters and fitted attributes are equal.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _conditional: ClassVar[list[str]] = []  # attributes that not every fit sets: each fit deletes them first
    _attrs: ClassVar[list[Attribute]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        written = "__init__" in vars(cls)
        declare_machinery(cls)
        dataclasses.dataclass(eq=False, repr=False)(cls)
        if not written:
            order_parameters(cls)
        cls._parameter_constraints = {f.name: f.metadata["constraints"] for f in declared_parameters(cls)}
        sometimes = (attribute.names for attribute in attributes(cls) if attribute.when is not None)
        cls._conditional = [name for names in sometimes for name in names.split(", ")]
        cls.__init__ = _explaining(cls.__init__)  # type: ignore[method-assign]
        guard(cls)
        for name in FITS:
            method, checked = vars(cls).get(name), _fit_context(prefer_skip_nested_validation=True)
            if method is not None and hasattr(method, "fn"):  # made by available_if, which holds the function
                method.fn = checked(cls._guarded(method.fn))
            elif method is not None:
                setattr(cls, name, checked(cls._guarded(method)))
        bound_threads(cls)
        cls.__doc__ = _documented(cls)

    @classmethod
    def _guarded(cls, fit: Callable[..., Any]) -> Callable[..., Any]:
        """A method that fits, with what has to happen before and after it."""
        return _sound(fit)

    def _after_fit(self) -> Self:
        """The model itself, once it is fitted, else scikit-learn's `NotFittedError`; one without a fit always is."""
        if hasattr(self, "fit"):
            check_is_fitted(self)
        else:
            self._validate_params()
        return self

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, others = _values(self.__dict__), _values(other.__dict__)
        return mine.keys() == others.keys() and all(_equal(mine[name], others[name]) for name in mine)

    def __hash__(self) -> int:
        return hash(type(self))  # parameters may change


def _values(state: dict[str, Any]) -> dict[str, Any]:
    """Parameters and fitted attributes, without callbacks and other settings of the machinery."""
    return {name: value for name, value in state.items() if not name.startswith("_")}


def _equal(a: Any, b: Any) -> bool:
    """Whether two values are equal, arrays inside them entry by entry, where NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if sp.issparse(a):
        return bool(a.shape == b.shape and (a != b).nnz == 0)
    if isinstance(a, np.ndarray):
        if a.dtype == object or b.dtype == object:
            return a.shape == b.shape and all(map(_equal, a.ravel(), b.ravel()))
        return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc")
    return bool(a == b) or (isinstance(a, (float, np.floating)) and bool(np.isnan(a) and np.isnan(b)))


def _sound(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A method that fits and refuses parameters that are malformed matrices.

    A `fit` also deletes attributes that only some fits set first, so that nothing of an earlier fit remains.
    """
    forgets = fit.__name__ == "fit"

    @functools.wraps(fit)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        for name in self._conditional if forgets else ():
            vars(self).pop(name, None)
        for name in self._parameter_constraints:
            check_sparse(getattr(self, name), name)
        return fit(self, *args, **kwargs)

    return checked


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
