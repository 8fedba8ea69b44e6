"""What classes with scikit-learn's names take of it: parameters of its machinery, foreign solvers, deprecated forms.

A program that changes its import keeps running: `complete` gives a class the parameters that scikit-learn's has and
ours has no use for, with one line of documentation from the table below, and a constructor that takes by position what
scikit-learn's takes by position. All other parameters, and all of our own, go by keyword.
"""

import ast
import functools
import inspect
import warnings
from collections.abc import Callable
from copy import copy
from numbers import Integral, Real
from typing import Any

from didact.core.compat.signatures import SIGNATURES
from didact.core.errors import users_level
from didact.core.parameters import array_like, declared_parameters, is_bool, none, one_of, param, random_state
from didact.core.threads import threads_for

# Parameter: default, constraint, what it does here.
MACHINERY: dict[str, tuple[Any, Any, str]] = {
    "n_jobs": (
        None,
        [Integral, none],
        "Most threads for this model; None: as many as `didact.set_threads` allows, -1: all cores, -2: all but one.",
    ),
    "verbose": (0, "verbose", "Whether to print lines on the progress of the fit; 2 and more: a line for each step."),
    "random_state": (None, random_state, "No effect: nothing here is random."),
    "copy_X": (True, is_bool, "No effect: inputs are never changed, so there is nothing to copy."),
    "precompute": (
        False,
        [is_bool, one_of("auto"), array_like],
        "No effect: whether to work from cross-products follows from the shape of the data.",
    ),
    "selection": ("cyclic", one_of("cyclic", "random"), "No effect: coordinates of the working set come in turn."),
    "gcv_mode": (
        None,
        [one_of("auto", "svd", "eigen"), none],
        "No effect: the decomposition is p × p, or n × n for no more rows than columns.",
    ),
    "dual": (False, is_bool, "No effect: the dual problem has the same solution."),
    "intercept_scaling": (1, Real, "No effect: constant terms are not penalised, with solver='liblinear' neither."),
    "breadth_first": (True, is_bool, "No effect: the order in which nodes are visited changes no density."),
}

# Solvers of scikit-learn, by what finds the same optimum here.
FOREIGN = {
    "newton-cholesky": "newton",
    "newton-cg": "auto",
    "liblinear": "auto",
    "sag": "auto",
    "saga": "auto",
}
LOGISTIC_SOLVERS = "auto", "newton-cholesky", "lbfgs", "newton-cg", "liblinear", "sag", "saga"
SAME_OPTIMUM = "Other solvers of scikit-learn find the same optimum: they go by the size, too."
UNPENALISED = (
    f"{SAME_OPTIMUM} So does 'liblinear', which there also penalises the constant term and fits one class "
    "against the others: here it does neither."
)


# What scikit-learn's solvers say at max_iter, which programs may filter by.
LIMITS = {
    "newton-cholesky": "Newton solver did not converge after {} iterations.",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge.",
    "saga": "The max_iter was reached which means the coef_ did not converge.",
}


def limit_reached(solver: str, n_iter: int) -> str:
    """The sentence of a logistic regression that reached max_iter, in the words that go with the solver's name."""
    name = "lbfgs" if solver == "auto" else solver
    usual = f"{name} failed to converge after {n_iter} iteration(s). Increase the number of iterations."
    return LIMITS.get(solver, usual).format(n_iter)


def own_solver(name: str) -> str:
    """The engine's name of a solver that goes by scikit-learn's."""
    return FOREIGN.get(name, name)


def deprecated(sentence: str) -> None:
    """Say, as scikit-learn does, that a form is deprecated."""
    warnings.warn(sentence, FutureWarning, stacklevel=users_level())


def theirs(cls: type) -> tuple[list[str], list[str]] | None:
    """What scikit-learn's class takes by position, and of its machinery; None if it has no class of this name."""
    for base in cls.__mro__:
        package, _, module = base.__module__.partition(".")
        entry = SIGNATURES.get(module.partition(".")[0], {}).get(base.__name__) if package == "didact" else None
        if entry is not None:
            positional, _, machinery = entry.partition("*")
            return positional.split(), machinery.split()
    return None


def declare_machinery(cls: type) -> None:
    """Declare the parameters of scikit-learn's machinery that neither the class nor a base declares itself."""
    _, machinery = theirs(cls) or ([], [])
    declared = dict(vars(cls).get("__annotations__", {}))
    inherited = getattr(cls, "__dataclass_fields__", {})
    for name, _, default in (entry.partition("=") for entry in machinery):
        if name not in declared and name not in inherited:
            usual, constraint, doc = MACHINERY[name]
            declared[name] = Any
            setattr(cls, name, param(ast.literal_eval(default) if default else usual, constraint, doc))
    cls.__annotations__ = declared


def order_parameters(cls: type) -> None:
    """Give a class with scikit-learn's name a constructor that takes by position what scikit-learn's does."""
    positional, _ = theirs(cls) or (None, None)
    if positional is None:
        return
    fields: dict[str, Any] = vars(cls)["__dataclass_fields__"]
    cls.__dataclass_fields__ = {name: fields[name] for name in (*positional, *fields)}  # type: ignore[attr-defined]
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [inspect.Parameter("self", kinds[0])]
        + [
            inspect.Parameter(f.name, kinds[f.name not in positional], default=f.default, annotation=f.type)
            for f in declared_parameters(cls)
        ]
    )

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__() {error}") from None
        bound.apply_defaults()
        vars(self).update({name: value for name, value in bound.arguments.items() if name != "self"})

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__  # type: ignore[misc]


def bound_threads(cls: type) -> None:
    """Have every public method of a class with the parameter `n_jobs` keep to that many threads."""
    if "n_jobs" not in getattr(cls, "__dataclass_fields__", {}):
        return
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        function = getattr(method, "fn", method)  # available_if holds the function
        ours = inspect.isfunction(function) and function.__module__.startswith("didact.")
        if (
            not ours
            or name.startswith("_")
            or inspect.isgeneratorfunction(inspect.unwrap(function))
            or hasattr(function, "bounded")
        ):
            continue
        if function is method:
            setattr(cls, name, _bounded(function))
        else:
            method = copy(method)
            method.fn = _bounded(function)
            setattr(cls, name, method)


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def within(self: Any, *args: Any, **kwargs: Any) -> Any:
        with threads_for(self.n_jobs):
            return function(self, *args, **kwargs)

    within.bounded = True  # type: ignore[attr-defined]
    return within
