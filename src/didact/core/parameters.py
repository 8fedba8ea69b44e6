"""Hyper-parameters declared once: default, constraint and one line of documentation.

    alpha: float = param(1.0, at_least(0), "Strength of the L2 penalty.")

Constraints compile to scikit-learn's own, so that its error texts and checks hold; a list means any of them.
"""

import dataclasses
import textwrap
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions, make_constraint

# Machinery flags of other libraries, and what serves the purpose here.
INSTEAD = {
    "n_jobs": "threads are set once for the library: didact.set_threads(n)",
    "verbose": "progress comes from callbacks: model.set_callbacks(didact.ProgressLog())",
    "copy_X": "inputs are never changed, so there is nothing to copy",
    "precompute": "the solver decides that from the shape of the data",
    "gcv_mode": "the decomposition follows from the shape of the data: p × p, or n × n for no more rows than columns",
    "cache_size": "the solver decides that from the memory at hand",
    "selection": "coordinates of the working set are visited in turn",
    "penalty": "use C (inf: no penalty) and l1_ratio (0: L2, 1: L1)",
    "multi_class": "several classes are fitted jointly; wrap in didact.multiclass.OneVsRestClassifier for the other",
}


def param(default: Any, constraint: Any, doc: str) -> Any:
    """Declare a hyper-parameter; `constraint` is one of the helpers below or a list of them (any may hold)."""
    constraints = constraint if isinstance(constraint, list) else [constraint]
    return dataclasses.field(default=default, metadata={"constraints": constraints, "doc": doc})


def at_least(low: float, kind: type = Real) -> Any:
    """A number of at least `low`."""
    return Interval(kind, low, None, closed="left")


def above(low: float) -> Any:
    """A real number greater than `low`; infinity is allowed."""
    return Interval(Real, low, None, closed="neither")


def above_or_infinite(low: float) -> Any:
    """A real number greater than `low`, or infinity."""
    return Interval(Real, low, None, closed="right")


def between(low: float, high: float, closed: str = "both") -> Any:
    """A real number from `low` to `high`."""
    return Interval(Real, low, high, closed=closed)


def share(closed: str = "right") -> Any:
    """A float from 0 to 1, beside whole numbers that mean counts."""
    return Interval(RealNotInt, 0, 1, closed=closed)


def whole(low: int) -> Any:
    """A whole number of at least `low`."""
    return Interval(Integral, low, None, closed="left")


def one_of(*options: str) -> Any:
    """One of these strings."""
    return StrOptions(set(options))


def has(*methods: str) -> Any:
    """An object with these methods."""
    return HasMethods(list(methods))


is_bool: Any = "boolean"
is_callable: Any = callable
array_like: Any = "array-like"
splitter: Any = "cv_object"
random_state: Any = "random_state"
none: Any = None


def describe(field: "dataclasses.Field[Any]") -> str:
    """The numpydoc entry of one parameter."""
    kinds = " or ".join(str(make_constraint(c)) for c in field.metadata["constraints"])
    entry = f"{field.name} : {kinds}, default={field.default!r}"
    return entry + "\n" + textwrap.indent(textwrap.fill(field.metadata["doc"], 100), "    ")


def declared_parameters(cls: type) -> list["dataclasses.Field[Any]"]:
    """The declared parameters of a class, in order."""
    return [f for f in dataclasses.fields(cls) if f.init]
