"""Classes of scikit-learn that compute here where they can: ``didact.accelerate.proxies.Ridge`` and so on.

A proxy is a subclass of scikit-learn's class with its constructor, so that `isinstance`, `clone`, searches and
pipelines see what they expect. Its `fit` builds our model with the same parameters and fits it; methods and fitted
attributes are then that model's. If our model refuses the parameters or the data, scikit-learn's own `fit` runs on the
proxy itself and everything is inherited. Errors in the data are therefore reported in scikit-learn's words.

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
from didact.core.jit.garbage import no_collection

INNER = "_didact_model"  # our fitted model, in the instance's dictionary
FOREIGN = "_didact_foreign"  # names of what a fit by scikit-learn left in the instance's dictionary
SETTINGS = ("_sklearn_output_config", "_metadata_request", "_skl_callbacks")  # that both models share
SHORT = "scikit-learn's {}, computed by didact where it can."  # its own text stands in its own documentation
FITS = ("fit", "partial_fit")


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

    def __sklearn_is_fitted__(self) -> bool:
        if INNER in vars(self):
            return True
        inherited = getattr(super(), "__sklearn_is_fitted__", None)
        return inherited() if inherited else any(v.endswith("_") and not v.startswith("__") for v in vars(self))


class Shared:
    """A method or property of scikit-learn's class: that of our model where it holds the fit, else the inherited."""

    def __init__(self, name: str, inherited: Any) -> None:
        self.name, self.inherited = name, inherited
        self.__doc__ = getattr(inherited, "__doc__", None)

    def __get__(self, model: Any, owner: type) -> Any:
        inner = None if model is None else vars(model).get(INNER)
        if inner is None or not hasattr(type(inner), self.name):
            return self.inherited.__get__(model, owner) if hasattr(self.inherited, "__get__") else self.inherited
        share_settings(model, inner)
        found = getattr(inner, self.name)
        return Call(model, self.name).timed(found) if inspect.ismethod(found) else found

    def __set__(self, model: Any, value: Any) -> None:
        if hasattr(self.inherited, "__set__"):
            self.inherited.__set__(model, value)
        else:
            vars(model)[self.name] = value


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


def fitted(model: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Fit our model and put it into the proxy; or the reason why scikit-learn has to do it."""
    state = vars(model)
    before = state.get(INNER)
    goes_on = method != "fit" or bool(state.get("warm_start"))
    if goes_on and FOREIGN in state:
        return "it goes on from a fit by scikit-learn"
    try:
        inner = before if goes_on and before is not None else translated(model)
        share_settings(model, inner)
        getattr(inner, method)(*args, **kwargs)
    except Exception as error:
        if method != "fit" and before is not None:  # what was learnt so far cannot be handed over
            raise
        state.pop(INNER, None)
        return str(error).strip().partition("\n")[0] or type(error).__name__
    for name in state.pop(FOREIGN, ()):
        state.pop(name, None)
    state[INNER] = inner
    return None


def fitting(name: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    """The proxy's `fit` or `partial_fit`, with the signature of scikit-learn's."""

    @functools.wraps(theirs)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        type(self).ours()  # imported outside the time that is measured
        with Call(self, name) as call:
            reason = fitted(self, name, args, kwargs)
            if reason is None:
                call.compare(args, kwargs)
                return self
            call.left(reason)
            before = set(vars(self))
            theirs(self, *args, **kwargs)
            vars(self).setdefault(FOREIGN, set()).update(set(vars(self)) - before - {FOREIGN})
            return self

    return fit


def proxy_class(name: str) -> type:
    """The proxy of one class."""
    theirs = getattr(importlib.import_module(f"sklearn.{MODULES[name]}"), name)
    theirs = vars(theirs).get("theirs", theirs)  # while the proxies are enabled, the public name is a proxy
    ours = functools.partial(getattr_of, f"didact.{MODULES[name]}", name)
    space = {"theirs": theirs, "ours": staticmethod(ours), "__module__": __name__, "__doc__": SHORT.format(name)}
    made = ProxyType(name, (Proxy, theirs), space)
    for attribute in {name for cls in theirs.__mro__[:-1] for name in vars(cls)}:
        inherited = next(vars(cls)[attribute] for cls in theirs.__mro__ if attribute in vars(cls))
        if attribute in FITS:
            checked = hasattr(inherited, "check")  # made by available_if, which holds the function
            method = fitting(attribute, inherited.fn if checked else inherited)
            setattr(made, attribute, type(inherited)(method, inherited.check, attribute) if checked else method)
        elif not attribute.startswith("_") and not hasattr(BaseEstimator, attribute) and is_shared(inherited):
            setattr(made, attribute, Shared(attribute, inherited))
    return made


def is_shared(inherited: Any) -> bool:
    """Whether a class attribute is a method or property that reads the fit."""
    name = getattr(inherited, "__name__", "")
    if name.startswith("fit_") or name == "set_output" or type(inherited).__name__ == "RequestMethod":
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
    theirs = getattr(theirs, "theirs", theirs)

    @functools.wraps(theirs)
    def function(*args: Any, **kwargs: Any) -> Any:
        with Call(None, name) as call:
            try:
                return getattr_of(f"didact.{MODULES[name]}", name)(*args, **kwargs)
            except Exception as error:
                call.left(str(error).strip().partition("\n")[0] or type(error).__name__)
            return theirs(*args, **kwargs)

    function.__module__, function.__doc__ = __name__, SHORT.format(name)
    function.theirs = theirs  # type: ignore[attr-defined]
    return function


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = proxy_class(name) if name in CLASSES.get(MODULES[name], ()) else proxy_function(name)
    setattr(sys.modules[__name__], name, made)
    return made


def __dir__() -> list[str]:
    return sorted(MODULES)


__all__ = [*(n for names in CLASSES.values() for n in names), *(n for names in FUNCTIONS.values() for n in names)]
