"""What a user meets on a model: attributes that its class declares, scikit-learn's methods, and documented ones."""

import inspect

import pytest
from registry_cases import all_instances, label, problem
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.discovery import all_estimators

from didact.core.files.shapes import check_shapes, forms
from didact.core.parameters import attributes, is_set

MODELS = all_instances()
CLASSES = list({type(model): None for model in MODELS})

SKLEARN = {name for _, cls in [*all_estimators(), ("", CallbackSupportMixin)] for name in dir(cls) if name[0] != "_"}


def public(model):
    """The names of fitted attributes that a user meets: a trailing underscore, none before."""
    return {name for name in dir(model) if name.endswith("_") and not name.startswith("_") and hasattr(model, name)}


@pytest.mark.parametrize("model", [pytest.param(model, id=label(model)) for model in MODELS])
def test_attributes_are_declared_and_declared_ones_are_set(model):
    fitted = clone(model).fit(*problem(model))
    found = public(fitted)
    expected = {name: is_set(one, fitted) for one in attributes(type(model)) for name in one.names.split(", ")}
    undeclared = found - expected.keys()
    missing = {name for name, there in expected.items() if there is True} - found
    unexpected = {name for name, there in expected.items() if there is False} & found
    assert (undeclared, missing, unexpected) == (set(), set(), set())
    check_shapes(fitted)  # they have the shapes that are declared, which files are held to


@pytest.mark.parametrize("cls", CLASSES)
def test_declared_shapes_are_read(cls):
    """What names a shape can be compared with one; what partial_fit keeps in dictionaries and nouns, too."""
    for one in (*attributes(cls), *attributes(cls, "_hidden")):
        assert forms(one.kind) or "(" not in one.kind, one


@pytest.mark.parametrize("cls", CLASSES)
def test_completion_shows_no_plumbing(cls):
    """Beside parameters and attributes: scikit-learn's methods, and documented ones that no class of core brings in."""
    declared = {*cls._parameter_constraints, *(n for one in attributes(cls) for n in one.names.split(", "))}
    own = {name for name in dir(cls()) if not name.startswith("_")} - declared - SKLEARN
    plumbing = set()
    for name in own:
        home = next(base for base in cls.__mro__ if name in vars(base))
        if home.__module__.startswith("didact.core") or not inspect.getdoc(getattr(cls, name)):
            plumbing.add(name)
    assert plumbing == set()
