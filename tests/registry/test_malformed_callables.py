"""Malformed sparse matrices kill no public callable, and none follows their indices: `malformed_callables.py`."""

import inspect

import pytest
from malformed_callables import GIVEN, arguments, offered, wrong

from didact.core.errors import ParameterError

COUNTS = {"int", "int | None"}
FUNCTIONS = {name: thing for name, thing in offered().items() if inspect.isfunction(thing)}


def test_no_public_callable_follows_the_indices_of_a_malformed_matrix():
    number, found = wrong()
    assert number > 2000
    assert found == [], "\n".join(found)


def test_what_is_needed_by_public_functions_has_a_value_to_give():
    """So that a call fails for the matrix, and for nothing else; a new name goes into GIVEN."""
    for name, function in FUNCTIONS.items():
        assert set(arguments(function)[1]) <= set(GIVEN), name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_counts_of_public_functions_are_whole_numbers(name):
    function = FUNCTIONS[name]
    for argument, parameter in inspect.signature(function).parameters.items():
        if str(getattr(parameter.annotation, "__name__", parameter.annotation)) in COUNTS:
            with pytest.raises((ParameterError, ValueError), match=rf"'?{argument}'? .*(int|whole number)"):
                function(**arguments(function)[1] | {argument: 2.5})
