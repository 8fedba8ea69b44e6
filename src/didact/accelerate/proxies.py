"""Classes of scikit-learn that compute here where they can: ``didact.accelerate.proxies.Ridge`` and so on.

A proxy is a subclass of scikit-learn's class with its constructor, so that `isinstance`, `clone`, searches and
pipelines see what they expect. Its methods that fit build our model with the same parameters and fit it; methods and
fitted attributes are then that model's. If our model refuses the parameters or the data, scikit-learn's own method runs
on the proxy itself and everything is inherited. Errors in the data are therefore reported in scikit-learn's words, but
for those of malformed matrices, which would end the process there.

Every proxy is an attribute of this module, made on first use. A pickle, a worker process or cloudpickle finds it here
by name, also where nothing was enabled.
"""

import functools
import importlib
import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from didact.accelerate.names import CLASSES, FUNCTIONS, MODULES
from didact.accelerate.record import Call
from didact.core.errors import Malformed
from didact.core.jit.garbage import no_collection
from didact.core.sparse import check_sparse

INNER = "_didact_model"  # our fitted model, in the instance's dictionary
NAMES = "_didact_names"  # what the last fit left in the instance's dictionary, by us or by scikit-learn
INSIDE = "_didact_inside"  # there while scikit-learn computes: what it asks of the model is its own
SETTINGS = ("_sklearn_output_config", "_metadata_request", "_skl_callbacks")  # that both models share
SHORT = "scikit-learn's {}, computed by didact where it can."  # its own text stands in its own documentation
GOES_ON = ("partial_fit", "sparsify", "densify")  # methods that change a fit
CHANGES = ("fit", "fit_transform", "fit_predict", *GOES_ON)  # methods that leave another fit behind
ASKED = ("_compute_partial_dependence_recursion",)  # internals that scikit-learn's own functions ask of its models


class Refusal(Exception):
    """Why a case is left to scikit-learn."""


class ProxyType(ABCMeta):
    """The type of proxies: a model of scikit-learn's class, or of ours, is an instance, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        line = subclass.__mro__
        if cls in line or "theirs" not in vars(cls):
            return cls in line
        ours = f"didact.{MODULES[cls.__name__]}"  # by name: asking for a type imports nothing
        return cls.theirs in line or any(  # type: ignore[attr-defined]
            one.__name__ == cls.__name__ and one.__module__.startswith(ours) for one in line
        )


class Proxy(BaseEstimator):
    """What all proxies share; `theirs` is scikit-learn's class, `ours()` imports and returns the one that computes."""

    theirs: ClassVar[type]
    ours: ClassVar[Callable[[], type]]

    def __getattr__(self, name: str) -> Any:
        inner = vars(self).get(INNER)
        if inner is None or name.startswith("_"):
            where = "" if inner is None else " (it was fitted by didact, which has no such internals)"
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{where}")
        return getattr(inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """A parameter goes to both models, so that predictions follow `set_params`; a fitted attribute to ours."""
        inner = vars(self).get(INNER)
        if inner is not None and name in vars(inner):
            setattr(inner, name, value)
        if inner is None or name not in vars(inner) or name in vars(self):
            super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """The state without what a copy makes anew."""
        state = dict(super().__getstate__())
        state.pop(INSIDE, None)
        for name in (*state.get(NAMES, ()), NAMES) if INNER in state else ():
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if INNER in vars(self):
            hold(self, vars(self)[INNER])

    def __sklearn_is_fitted__(self) -> bool:
        if INNER in vars(self):
            return True
        inherited = getattr(super(), "__sklearn_is_fitted__", None)
        return inherited() if inherited else any(v.endswith("_") and not v.startswith("__") for v in vars(self))


class Shared:
    """A method or property of scikit-learn's class: that of our model where it can, else the inherited."""

    def __init__(self, name: str, inherited: Any) -> None:
        self.name, self.inherited = name, inherited
        self.__doc__ = getattr(inherited, "__doc__", None)

    def __get__(self, model: Any, owner: type) -> Any:
        state = {} if model is None else vars(model)
        inner = None if INSIDE in state else state.get(INNER)
        if inner is not None and hasattr(type(inner), self.name):
            share_settings(model, inner)
            found = getattr(inner, self.name)
            return Call(model, self.name).timed(found) if inspect.ismethod(found) else found
        inherited = self.inherited.__get__(model, owner) if hasattr(self.inherited, "__get__") else self.inherited
        if INSIDE in state:
            return inherited
        if isinstance(self.inherited, staticmethod) and inherited.__name__ in MODULES:
            return getattr(sys.modules[__name__], inherited.__name__)
        return without_ours(model, self.name, inherited) if inspect.ismethod(inherited) else inherited

    def __set__(self, model: Any, value: Any) -> None:
        if hasattr(self.inherited, "__set__"):
            self.inherited.__set__(model, value)
        else:
            vars(model)[self.name] = value


def without_ours(model: Any, name: str, inherited: Callable[..., Any]) -> Callable[..., Any]:
    """A method where no fit of ours is: that of our model, not fitted, if it does without; else the inherited one."""

    @functools.wraps(inherited)
    def method(*args: Any, **kwargs: Any) -> Any:
        with Call(model, name) as call:
            if NAMES in vars(model):
                call.left("the fit was left to scikit-learn")
            else:
                try:
                    return getattr(translated(model), name)(*args, **kwargs)
                except Malformed:
                    raise
                except Exception as error:
                    call.left(sentence(error))
            return theirs_alone(model, inherited, args, kwargs)

    return method


def share_settings(model: Any, inner: Any) -> None:
    """Output containers, metadata requests and callbacks are set on the proxy and hold for our model."""
    vars(inner).update({key: vars(model)[key] for key in SETTINGS if key in vars(model)})


def translated(model: Any) -> Any:
    """Our model with the parameters of a proxy, not fitted; models among them are translated, too."""
    if "theirs" not in vars(type(model)):
        raise Refusal("a subclass of scikit-learn's class may change how it computes")
    ours = type(model).ours()
    known, defaults = inspect.signature(ours).parameters, inspect.signature(type(model)).parameters
    given = model.get_params(deep=False)
    for name in given.keys() - known.keys():
        if given[name] is not defaults[name].default and given[name] != defaults[name].default:
            raise Refusal(f"the parameter {name}={given[name]!r} is not covered")
    inner = ours(**{name: own(value) for name, value in given.items() if name in known})
    share_settings(model, inner)
    return inner


def own(value: Any) -> Any:
    """The value of a parameter for our model: a proxy is replaced by the model that it stands for."""
    return translated(value) if isinstance(value, Proxy) and "theirs" in vars(type(value)) else value


def sentence(error: Exception) -> str:
    """The reason that an error gives, in one line."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def fitted(model: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str | None, Any]:
    """Fit our model, put it into the proxy: None and what it returned; or why scikit-learn has to do it, and None."""
    state = vars(model)
    before = state.get(INNER)
    goes_on = method in GOES_ON or bool(state.get("warm_start"))
    if goes_on and before is None and NAMES in state:
        return "it goes on from a fit by scikit-learn", None
    try:
        inner = before if goes_on and before is not None else translated(model)
        share_settings(model, inner)
        found = getattr(inner, method)(*args, **kwargs)
    except Malformed:
        raise
    except Exception as error:
        if method in GOES_ON and before is not None:  # what was learnt so far cannot be handed over
            raise
        return sentence(error), None
    hold(model, inner)
    return None, model if found is inner else found


def hold(model: Any, inner: Any) -> None:
    """Put our fitted model into the proxy, and its fitted attributes, so that `vars(model)` has them."""
    forget(model)
    names = {name for name in vars(inner) if name.endswith("_") and not name.startswith("_")}
    vars(model).update({name: vars(inner)[name] for name in names} | {INNER: inner, NAMES: names})


def forget(model: Any) -> None:
    """Take the last fit out of the proxy."""
    for name in (*vars(model).get(NAMES, ()), NAMES, INNER):
        vars(model).pop(name, None)


def refuse_malformed(*values: Any) -> None:
    """Let no malformed matrix come to scikit-learn, whose loops follow any index."""
    for name, value in zip(("X", "y", *["an argument"] * len(values)), values):
        check_sparse(value, name)


def theirs_alone(model: Any, inherited: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What scikit-learn's method returns, with nothing of ours on its way."""
    refuse_malformed(*args)
    refuse_malformed(None, None, *kwargs.values())
    vars(model)[INSIDE] = True
    try:
        return inherited(*args, **kwargs)
    finally:
        vars(model).pop(INSIDE, None)


def changing(name: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    """The proxy's `fit`, `fit_transform`, `partial_fit` …, with the signature of scikit-learn's."""

    @functools.wraps(theirs)
    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        if INSIDE in vars(self):
            return theirs(self, *args, **kwargs)
        type(self).ours()  # imported outside the time that is measured
        with Call(self, name) as call:
            reason, found = fitted(self, name, args, kwargs)
            if reason is None:
                call.compare(args, kwargs)
                return found
            call.left(reason)
            refuse_malformed(None, None, *self.get_params(deep=False).values())
            if INNER in vars(self):
                forget(self)
            before = set(vars(self))
            try:
                return theirs_alone(self, functools.partial(theirs, self), args, kwargs)
            finally:
                vars(self).setdefault(NAMES, set()).update(set(vars(self)) - before - {NAMES})

    return change


def proxy_class(name: str) -> type:
    """The proxy of one class."""
    theirs = getattr(importlib.import_module(f"sklearn.{MODULES[name]}"), name)
    ours = functools.partial(getattr_of, f"didact.{MODULES[name]}", name)
    space = {"theirs": theirs, "ours": staticmethod(ours), "__module__": __name__, "__doc__": SHORT.format(name)}
    made = ProxyType(name, (Proxy, theirs), space)
    for attribute in {name for cls in theirs.__mro__[:-1] for name in vars(cls)}:
        inherited = next(vars(cls)[attribute] for cls in theirs.__mro__ if attribute in vars(cls))
        if attribute in CHANGES:
            checked = hasattr(inherited, "check")  # made by available_if, which holds the function
            method = changing(attribute, inherited.fn if checked else inherited)
            setattr(made, attribute, type(inherited)(method, inherited.check, attribute) if checked else method)
        elif attribute in ASKED or (
            attribute[0] != "_" and not hasattr(BaseEstimator, attribute) and is_shared(inherited)
        ):
            setattr(made, attribute, Shared(attribute, inherited))
    return made


def is_shared(inherited: Any) -> bool:
    """Whether a class attribute is a method or property that reads the fit."""
    if getattr(inherited, "__name__", "").startswith("set_") or type(inherited).__name__ == "RequestMethod":
        return False
    return inspect.isfunction(inherited) or (hasattr(inherited, "__get__") and not isinstance(inherited, type))


def getattr_of(module: str, name: str) -> Any:
    """A name of a module, which is imported now."""
    with no_collection():
        found = importlib.import_module(module)
    return getattr(found, name)


def proxy_function(name: str) -> Callable[..., Any]:
    """A function of scikit-learn that computes here where it can."""
    theirs = getattr_of(f"sklearn.{MODULES[name]}", name)

    @functools.wraps(theirs)
    def function(*args: Any, **kwargs: Any) -> Any:
        with Call(None, name) as call:
            try:
                return getattr_of(f"didact.{MODULES[name]}", name)(*args, **kwargs)
            except Malformed:
                raise
            except Exception as error:
                call.left(sentence(error))
            refuse_malformed(*args, *kwargs.values())
            return theirs(*args, **kwargs)

    function.__module__, function.__doc__ = __name__, SHORT.format(name)
    function.theirs = theirs  # type: ignore[attr-defined]
    return function


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = proxy_class(name) if name in CLASSES.get(MODULES[name], ()) else proxy_function(name)
    return vars(sys.modules[__name__]).setdefault(name, made)  # that of another thread, if it was first


def __dir__() -> list[str]:
    return sorted(MODULES)


__all__ = [*(n for names in CLASSES.values() for n in names), *(n for names in FUNCTIONS.values() for n in names)]
