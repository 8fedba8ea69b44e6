"""Classes with scikit-learn's names take its parameters and arguments of methods, by the same positions and defaults.

Changing the import is all that a program has to do. What differs on purpose stands in the tables below, with reasons.
"""

import inspect

import pytest
from registry_cases import all_instances
from sklearn.utils.discovery import all_estimators

THEIRS = {cls.__name__: cls for _, cls in all_estimators()}
OURS = {}
for model in all_instances():
    theirs = THEIRS.get(type(model).__name__)
    if theirs is not None and theirs.__module__.split(".")[1] == type(model).__module__.split(".")[1]:
        OURS[type(model).__name__] = type(model)

# Defaults of our own, documented in the class as better.
PRECISE = "A tighter tolerance, by which weighted rows equal repeated rows, and the steps that it may need."
BY_SIZE = "The solver goes by the size of the data; all find the same optimum."
OWN_DEFAULTS = {
    "tol": PRECISE,
    "max_iter": PRECISE,
    "solver": BY_SIZE,
    "leaf_size": "Our index is fastest with larger leaves; the neighbours are the same.",
    "estimator": "Required there; here there is a default.",
    "l1_ratios": "scikit-learn's default is a warning that (0.0,) will be it.",
    "scoring": "scikit-learn's default is a warning that 'neg_log_loss' will be it.",
    "init": "scikit-learn's default is a warning that 'classical_mds' will be it.",
    "alphas": "scikit-learn's default is a warning that 100 will be it.",
    "use_legacy_attributes": "scikit-learn's default is a warning that False will be it.",
}
# Public names of scikit-learn's classes that are no methods or attributes for users.
INTERNAL = {
    "param": "a variable left over in the body of the class",
    "unused_param": "a variable left over in the body of the class",
    "loss_functions": "a table of its compiled losses",
}

NAMES = sorted(OURS)
POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def arguments(function, *kinds):
    """The parameters of a function by name, of some kinds; `self` apart."""
    found = inspect.signature(function).parameters.values()
    return {p.name: p for p in found if p.name != "self" and (not kinds or p.kind in kinds)}


def same(ours, theirs):
    """Whether two defaults are equal; NaN equals itself."""
    return ours is theirs or ours == theirs or (ours != ours and theirs != theirs)


@pytest.mark.parametrize("name", NAMES)
def test_constructor(name):
    ours, theirs = arguments(OURS[name]), arguments(THEIRS[name])
    assert theirs.keys() - ours.keys() == set()
    assert list(arguments(OURS[name], POSITIONAL)) == list(arguments(THEIRS[name], POSITIONAL))
    other = {p for p in theirs if not same(ours[p].default, theirs[p].default)}
    assert other - OWN_DEFAULTS.keys() == set()


@pytest.mark.parametrize("name", NAMES)
def test_methods(name):
    missing, wrong = set(), {}
    for method in dir(THEIRS[name]):
        theirs = getattr(THEIRS[name], method)
        if (
            method.startswith("_")
            or method.endswith("_")
            or (method.startswith("set_") and method.endswith("_request"))
        ):
            continue
        if not hasattr(OURS[name], method):
            missing.add(method)
        elif callable(theirs) and not inspect.isclass(theirs) and not callable_as(getattr(OURS[name], method), theirs):
            wrong[method] = str(inspect.signature(theirs)), str(inspect.signature(getattr(OURS[name], method)))
    assert (missing - INTERNAL.keys(), wrong) == (set(), {})


def callable_as(ours, theirs):
    """Whether ours can be called in every way in which theirs can; what ours has beyond them goes behind."""
    mine, other = arguments(ours), arguments(theirs)
    by_position = list(arguments(theirs, POSITIONAL))
    names_fit = other.keys() <= mine.keys() or inspect.Parameter.VAR_KEYWORD in {p.kind for p in mine.values()}
    kinds_fit = all(
        any(p.kind is q.kind for q in mine.values())
        for p in other.values()
        if p.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    )
    defaults_fit = all(
        same(mine[p].default, other[p].default) or other[p].default is inspect.Parameter.empty or p in OWN_DEFAULTS
        for p in other.keys() & mine.keys()
    )
    extra_go_behind = list(arguments(ours, POSITIONAL))[: len(by_position)] == by_position
    return names_fit and kinds_fit and defaults_fit and extra_go_behind
