"""What the registry checks share: all instances of all estimators, data that suit each, and how to compare fits.

What depends on the parameters is checked for every instance, what does not for one of each class, and all that the one
entrance for data does for a few representatives. DIDACT_STRICT=1 in the environment runs everything for every instance.
"""

import contextlib
import copy
import functools
import importlib
import inspect
import os
import pkgutil
import zlib

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

import didact
from didact.core.backend import to_numpy
from didact.core.estimator import instances, registry

PRODUCT = ("study", "cli", "serve", "lab")
STRICT = os.environ.get("DIDACT_STRICT") == "1"
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples")

# One for each shape of computation, and for each way in which the entrance for data differs.
REPRESENTATIVES = {
    "Ridge()": "reduce",
    "LogisticRegression()": "iterate",
    "SGDClassifier(shuffle=False)": "stream",
    "RandomForestRegressor(n_estimators=10,random_state=0)": "map, missing values, categories",
    "KNeighborsClassifier()": "pairs",
    "GaussianClassifier()": "missing values, no sparse rows",
    "HistGradientBoostingRegressor(early_stopping=False,max_iter=6,min_samples_leaf=1)": "infinite values",
    "BaggingClassifier(random_state=0)": "made of models",
}


@functools.cache
def _instances():
    for module in pkgutil.iter_modules(didact.__path__):
        if module.ispkg and module.name not in PRODUCT:
            importlib.import_module(f"didact.{module.name}")
    return tuple(model for cls in registry().values() for model in instances(cls))


def all_instances():
    """One instance per estimator and parameter set, after importing every package that holds estimators."""
    return list(_instances())


def one_of_each(models):
    """The first instance of each class: for what does not depend on parameters."""
    return list(models) if STRICT else list({type(model): model for model in reversed(models)}.values())[::-1]


def representatives(models):
    """A few instances: for what the one entrance does with all kinds of input."""
    return [model for model in models if STRICT or label(model) in REPRESENTATIVES]


def dealt(model, kinds):
    """One of some kinds, about as often each: always the same for a class, and another for another class."""
    kinds = list(kinds)
    return kinds[zlib.crc32(type(model).__name__.encode()) % len(kinds)]


def at_defaults():
    """One instance per estimator at its defaults: what a user meets first.

    A class whose defaults refuse the data of most checks says so under "defaults" in `_test_skips`: it comes with the
    first of its parameter sets.
    """
    first = {type(model): model for model in reversed(all_instances())}
    return [model if "defaults" in model._test_skips else cls() for cls, model in reversed(first.items())]


@functools.cache
def label(model):
    """The estimator with its non-default parameters, without spaces."""
    return repr(model).replace(" ", "").replace("\n", "")


@functools.cache
def _defaults(cls):
    return cls().get_params(deep=False)


def excuse(model, check):
    """The reason on the class why a check fails, if there is one: it then has to fail.

    `_test_skips` has the check's name as its key ("callbacks/stop"), or the name of its group ("callbacks") if all the
    group's checks fail. At the end ":parameter" says that it holds only for instances in which that parameter is not at
    its default, and ":parameter=value" for which value.
    """
    params, defaults = model.get_params(deep=False), _defaults(type(model))
    where = [k for k, v in params.items() if v is not defaults[k] and v != defaults[k]]
    where += [f"{k}={v}" for k, v in params.items() if v is None or isinstance(v, (str, int, float))]
    for name in (check, check.partition("/")[0]):
        for key in (name, *(f"{name}:{place}" for place in where)):
            if key in model._test_skips:
                return model._test_skips[key]
    return None


def over_registry(models, check):
    """Parametrise a test over instances; where the class excuses the check, with a reason, it has to fail."""
    cases = []
    for model in models:
        reason = excuse(model, check)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        cases.append(pytest.param(model, id=label(model), marks=marks))
    return pytest.mark.parametrize("model", cases)


def takes(model, parameter, method="fit"):
    """Whether a method of the model has this parameter."""
    return parameter in inspect.signature(getattr(model, method)).parameters


def precise(model):
    """The model with a tolerance of 1e-10, where it has one."""
    return clone(model).set_params(tol=1e-10) if "tol" in model.get_params() else clone(model)


def problem(model, n=240, p=5, seed=0):
    """Rows and a target that suit the model: labels of three classes, or numbers in its family's domain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + np.linspace(-0.5, 0.5, p)
    eta = X @ rng.uniform(-0.6, 0.6, size=p) + 0.3
    if getattr(model, "_test_clusters", False):  # three groups of rows, so that what EM ends at is well determined
        X += 5.0 * (np.arange(n)[:, None] % 3 == np.arange(p) % 3)
    if getattr(model, "_test_sources", False):  # mixtures of columns far from Gaussian, which can be told apart
        X = X**3 @ (np.eye(p) + 0.3 * np.tri(p, k=-1))
    if get_tags(model).input_tags.positive_only:  # counts and categories
        X = np.floor(np.abs(2 * X))
    if is_classifier(model):
        classes = 3 if get_tags(model).classifier_tags.multi_class else 2
        cuts = np.quantile(eta, np.arange(1, classes) / classes)
        return X, np.array(["one", "three", "two"])[np.searchsorted(cuts, eta + rng.normal(size=n))]
    mean = np.exp(np.clip(eta, -4, 3))
    candidates = [
        eta + rng.normal(size=n),
        1.0 + rng.poisson(mean),
        1 / (1 + np.exp(-eta - rng.normal(size=n))),
        (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(float),
        np.column_stack([eta + rng.normal(size=n), rng.normal(size=n) - 2 * eta]),
        rng.multinomial(5, [0.2, 0.3, 0.5], size=n).astype(float),
    ]
    possible = domain(model)
    return X, next(y for y in candidates if possible(y))


def domain(model):
    """A function that says whether the model can be fitted to a target."""
    family = model._model()[0] if hasattr(model, "_model") else None
    if family is not None:
        return lambda y: bool(np.all(family.in_domain(y)))
    if not get_tags(model).target_tags.single_output:
        return lambda y: y.ndim == 2
    positive = get_tags(model).target_tags.positive_only
    return lambda y: not positive or bool((y > 0).all())


_FITS, _STATES = {}, {}


def fitted(model, tight=False):
    """A copy of the model as fitted to its `problem`, with a tolerance of 1e-10 if `tight`; it is fitted once."""
    return copy.deepcopy(_fitted(model, tight))


def fitted_state(model, tight=False):
    """The `state` of the fitted model for the rows that it was fitted to; nobody can change the arrays."""
    key = label(model), tight
    if key not in _STATES:
        found = state(_fitted(model, tight), problem(model)[0])
        _STATES[key] = {name: np.array(value) for name, value in found.items()}
        for value in _STATES[key].values():
            value.flags.writeable = False
    return dict(_STATES[key])


def _fitted(model, tight):
    key = label(model), tight and "tol" in model.get_params()
    if key not in _FITS:
        _FITS[key] = (precise(model) if tight else clone(model)).fit(*problem(model))
    return _FITS[key]


def target_columns(y):
    """The columns of a frame that hold a target, by name, and what to ask the frame for to get them back."""
    if y.ndim == 1:
        return {"target": y}, "target"
    columns = {f"target{k}": column for k, column in enumerate(y.T)}
    return columns, list(columns)


def answer(model):
    """The name of the method that says something of new rows; a search for neighbours has `kneighbors` alone.

    What knows its own rows alone is fitted to those anew: `fit_predict`, `fit_transform`.
    """
    return next(method for method in (*METHODS, "kneighbors", "fit_predict", "fit_transform") if hasattr(model, method))


def outputs(model, X):
    """What the fitted model says of the rows X, by method, as arrays."""
    methods = [method for method in METHODS if hasattr(model, method)] or [answer(model)]
    found = {method: getattr(model, method)(X) for method in methods}
    return {method: to_numpy(value[0] if isinstance(value, tuple) else value) for method, value in found.items()}


def numbers(model):
    """The fitted attributes of float type."""
    fitted = {k: v for k, v in vars(model).items() if k.endswith("_") and not k.startswith("_")}
    arrays = {k: np.asarray(v) for k, v in fitted.items() if isinstance(v, (float, np.ndarray, np.floating))}
    return {k: v for k, v in arrays.items() if v.dtype.kind == "f"}


def coefficients(model):
    """Coefficients and intercepts, where the model has them."""
    return {k: v for k, v in numbers(model).items() if k in ("coef_", "intercept_")}


def state(model, X):
    """Coefficients and outputs together: what two equal fits have in common."""
    return coefficients(model) | outputs(model, X)


@contextlib.contextmanager
def about(what):
    """An error in here says of which input it speaks."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"This was with {what}.")
        raise


def renumbered(labels):
    """Labels of clusters in the order of their first rows: what a clustering says, whatever its numbers are."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return first.argsort().argsort()[codes]


def assert_same(got, expected, rtol, atol=0.0):
    """Two states are equal to rtol of the size of each array; labels are equal.

    Clusters of a fit's own rows are equal as sets: rounding may decide which of them a random start meets first.
    """
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        if name == "fit_predict":
            assert got[name].dtype == value.dtype
            np.testing.assert_array_equal(renumbered(got[name]), renumbered(value), err_msg=name)
            continue
        if value.dtype.kind != "f":
            np.testing.assert_array_equal(got[name], value, err_msg=name)
            continue
        scale = np.max(np.abs(value[np.isfinite(value)]), initial=0.0)  # the logarithm of a share can be −∞
        np.testing.assert_allclose(got[name], value, rtol=rtol, atol=max(atol, rtol * scale), err_msg=name)


def assert_identical(got, expected):
    """Two states are equal bit for bit."""
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(got[name], value, err_msg=name)
