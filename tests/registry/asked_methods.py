"""What a fitted model can be asked: all public methods that take rows, a target or nothing, found by inspection."""

import copy
import functools
import inspect
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from sklearn.base import BaseEstimator

# What is no question to a fitted model: names of others for `fit`, the parameters, pictures, and rows of scikit-learn.
PLUMBING = ("set_", "fit", "plot_", "get_params", "get_metadata_routing", "get_feature_names_out", "indexed_rows")
COMPUTED = property, functools.cached_property
OWN_ROWS = "()"  # behind the name of a method that is asked without rows: about those of the fit
CUBIC, SOME = ("fit", "sample_y"), 500  # processes take the cube of the rows: so many are enough
LONG = "n_estimators", "max_iter"
MANY = 3000  # rows: there the compiled ways begin


def questions(model):
    """The names of the methods that `ask` can call, as the class and its parameters have them; `fit` if it goes on."""
    cls, found = type(model), []
    for name in dir(cls):
        how = inspect.getattr_static(cls, name)
        if name.startswith(("_", *PLUMBING)) or isinstance(how, (*COMPUTED, classmethod, staticmethod)):
            continue
        with suppress(AttributeError):  # the parameters take it away
            method = getattr(model, name)
            if inspect.isroutine(method) and _required(method) <= KNOWN.keys():
                found.append(name)
                own = inspect.signature(method).parameters.get("X")
                found += [name + OWN_ROWS] * (own is not None and own.default is None)
    return found + ["fit"] * ("warm_start" in model.get_params(deep=False))


def computed(model):
    """The names of attributes that are computed when they are read."""
    cls = type(model)
    names = [name for name in dir(cls) if isinstance(inspect.getattr_static(cls, name), COMPUTED)]
    return [name for name in names if not name.startswith("_")]


def entrances(model):
    """The ways in beside `fit` that the class has of its own, for a model without a fit."""
    own = [name for name in ("partial_fit", "fit_predict", "fit_transform", "fit_resample") if hasattr(model, name)]
    return [name for name in own if inspect.unwrap(getattr(type(model), name)).__module__.startswith("didact.")]


def ask(model, name, X, y, weight=None):
    """What the method answers to rows X (with targets y); one that changes the model gets a copy of it."""
    if name in CUBIC and isinstance(X, np.ndarray) and len(X) > SOME:
        X, y = X[:SOME], y[:SOME]
    own, name = name.endswith(OWN_ROWS), name.removesuffix(OWN_ROWS)
    method = getattr(copy.deepcopy(model) if name in CHANGING else model, name)
    parameters = inspect.signature(method).parameters
    asked = [p for p in parameters if (p in KNOWN and p not in GIVEN_TO_SOME) or p in GIVEN_TO_SOME.get(name, ())]
    arguments = {p: KNOWN[p](model, name, X, y) for p in asked}
    if own:
        del arguments["X"]
    if weight is not None and "sample_weight" in parameters:
        arguments["sample_weight"] = weight
    if name == "fit":
        own = method.__self__
        long = {k: v for k, v in own.get_params().items() if k in LONG and isinstance(v, int) and v > 1000}
        own.set_params(**dict.fromkeys(long, 1000), warm_start=True)  # a file may ask for a million trees
    answer = method(**arguments)
    return list(answer) if isinstance(answer, Iterator) else None if isinstance(answer, BaseEstimator) else answer


def _required(method):
    """The parameters that have no default."""
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    parameters = inspect.signature(method).parameters.values()
    return {p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind not in kinds}


def _rows(model, name, X, y):
    """The rows; those that the model itself makes of them, for what leads back."""
    back = {"inverse_transform": "transform", "decode": "encode"}.get(name)
    with suppress(Exception):
        return getattr(model, back)(X) if back else X
    return X


CHANGING = ("partial_fit", "fit", "prune", "densify", "sparsify")
KNOWN = {
    "X": _rows,
    "codes": _rows,
    "y": lambda model, name, X, y: y,
    "label": lambda model, name, X, y: model.classes_[0],
    "columns": lambda model, name, X, y: [0],
    "values": lambda model, name, X, y: [0.0],
    "n_clusters": lambda model, name, X, y: 2,
    "n_samples": lambda model, name, X, y: MANY,
    "size": lambda model, name, X, y: 10,
    "classes": lambda model, name, X, y: getattr(model, "classes_", None),
}
GIVEN_TO_SOME = {"n_samples": ("sample",), "size": ("sample_coef", "sample_y")}
