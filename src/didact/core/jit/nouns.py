"""How a noun enters a loop: its scalar method is found when the loop is compiled."""

from collections.abc import Callable
from typing import Any

Method = tuple[Callable[..., Any], str, bool]
announced: list[Method] = []  # what `dispatch` has made; `compiler` makes it known to Numba
listeners: list[Callable[[Method], None]] = []


def dispatch(name: str, inline: bool = False) -> Callable[..., Any]:
    """A function f(noun, *args) for use in loops that calls the noun's scalar method `name`.

    The method is resolved when the loop is compiled. A noun is a NamedTuple whose class defines the method in plain
    Python on scalars, or a function under `numba.njit`, which is then called itself. Code for nouns from outside
    didact, and for functions, is compiled anew in each process: the disk cache could not know when they change.
    With `inline` the method becomes part of the loop; a call hands over each field of each noun, one by one.

    >>> from typing import NamedTuple
    >>> from didact.core.jit import dispatch
    >>> class Line(NamedTuple):
    ...     slope: float
    ...     def value1(self, z):
    ...         return self.slope * z
    >>> value1 = dispatch("value1")
    >>> value1(Line(2.0), 3.0)
    6.0
    """

    def call(noun: Any, *args: Any) -> Any:
        method = getattr(type(noun), name, None)
        return noun(*args) if method is None else method(noun, *args)

    announced.append((call, name, inline))
    for listener in listeners:
        listener((call, name, inline))
    return call


def method_of(function: Any) -> str | None:
    """The name of the method that a function made by `dispatch` calls; None for any other thing."""
    return next((name for call, name, _ in announced if call is function), None)
