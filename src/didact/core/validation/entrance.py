"""The entrance of public functions and methods: what a user gives them is checked before they look at it.

    @entrance(n_clusters=whole(1), n_trials=[whole(1), none])
    def kmeans_plusplus(X, n_clusters, *, n_trials=None): ...

Rows of models come in by `_rows`, and their parameters, declared by `param`, are checked by `fit`; what else their
methods take (targets, levels, labels), and the parameters of nouns, pass `beside_rows`.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from didact.core.errors import ParameterError
from didact.core.sparse import check_sparse

F = TypeVar("F", bound=Callable[..., Any])


def entrance(**constraints: Any) -> Callable[[F], F]:
    """A decorator that refuses malformed sparse matrices, and what constraints (those of `param`) do not allow."""
    listed = {name: given if isinstance(given, list) else [given] for name, given in constraints.items()}

    def decorate(function: F) -> F:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            for name, value in given.items():
                check_sparse(value, name)
            try:
                known = {name: value for name, value in given.items() if name in listed}
                validate_parameter_constraints(listed, known, function.__name__)
            except InvalidParameterError as error:
                raise ParameterError(str(error)) from None
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def beside_rows(method: F) -> F:
    """A method of a model, or the constructor of a noun, that refuses malformed sparse matrices in arguments but X."""
    _, *names = inspect.signature(method).parameters
    if names in ([], ["X"]):
        return method
    first = 1 if names[0] == "X" else 0

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        for k, value in enumerate(args[first:], first):
            check_sparse(value, names[min(k, len(names) - 1)])
        for name, value in kwargs.items():
            if name != "X":
                check_sparse(value, name)
        return method(self, *args, **kwargs)

    return checked  # type: ignore[return-value]


def guard(cls: type) -> None:
    """Have the public methods that a class writes pass `beside_rows`."""
    for name, method in [*vars(cls).items()]:
        if name.startswith("_"):
            continue
        if inspect.isfunction(method):
            setattr(cls, name, beside_rows(method))
        elif isinstance(method, classmethod):
            setattr(cls, name, classmethod(beside_rows(method.__func__)))
