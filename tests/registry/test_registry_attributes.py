"""Fitted attributes: what a model has after a fit is what its class declares, and nothing else meets a user."""

import pytest
from registry_cases import all_instances, label, problem
from sklearn.base import clone

from didact.core.parameters import attributes, is_set

MODELS = all_instances()


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
