"""Hyper-parameters and fitted attributes, declared once; the base class writes their sections of the docstring.

    alpha: float = param(1.0, at_least(0), "Strength of the L2 penalty.")
    _attrs = [attr("coef_", "(n_features,)", "Coefficients.")]

Constraints are scikit-learn's own, so that its error messages and checks apply; of a list, any one may hold.
"""

import dataclasses
import textwrap
from numbers import Integral, Real
from typing import Any, NamedTuple

from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

WIDTH = 100  # of a line of documentation

# Technical parameters of other libraries, and what replaces them here.
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


def is_precomputed(value: Any) -> bool:
    """Whether the value of a parameter says that X holds distances, kernels or affinities of all pairs of rows."""
    return isinstance(value, str) and value.startswith("precomputed")


def at_least(low: float, kind: type = Real) -> Any:
    """A number of at least `low`."""
    return Interval(kind, low, None, closed="left")


def at_least_or_infinite(low: float) -> Any:
    """A real number of at least `low`, or infinity."""
    return Interval(Real, low, None, closed="both")


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
    """A float from 0 to 1, for parameters whose integers are counts."""
    return Interval(RealNotInt, 0, 1, closed=closed)


def multiple() -> Any:
    """A float above 0, which may be above 1, for parameters whose integers are counts."""
    return Interval(RealNotInt, 0, None, closed="neither")


def whole(low: int) -> Any:
    """A whole number of at least `low`."""
    return Interval(Integral, low, None, closed="left")


def one_of(*options: str) -> Any:
    """One of these strings."""
    constraint = StrOptions(set(options))
    constraint.listed = options  # in the order of the declaration, which a set forgets
    return constraint


def has(*methods: str) -> Any:
    """An object with these methods."""
    return HasMethods(list(methods))


is_bool: Any = "boolean"
is_callable: Any = callable
array_like: Any = "array-like"
sparse_matrix: Any = "sparse matrix"
splitter: Any = "cv_object"
random_state: Any = "random_state"
none: Any = None


TYPE_NAMES: dict[Any, list[str]] = {
    None: ["None"],
    Real: ["float"],
    Integral: ["int"],
    callable: ["callable"],
    "boolean": ["bool"],
    "array-like": ["array-like"],
    "sparse matrix": ["sparse matrix"],
    "cv_object": ["int", "cross-validation generator", "iterable", "None"],
    "verbose": ["int", "bool"],
    "random_state": ["int", "RandomState instance", "None"],
}
MOST_OPTIONS = 12  # that a docstring lists: the names of metrics and scores stand in the text of their parameter


def describe(field: "dataclasses.Field[Any]") -> str:
    """The numpydoc entry of a parameter."""
    kinds = dict.fromkeys(kind for constraint in field.metadata["constraints"] for kind in _kinds(constraint))
    *others, last = sorted(kinds, key="None".__eq__)
    kind = ", ".join(others) + " or " + last if others else last
    return f"{field.name} : {kind}, default={field.default!r}\n{_indented(field.metadata['doc'])}"


def _kinds(constraint: Any) -> list[str]:
    """What a constraint allows, in scikit-learn's words."""
    if isinstance(constraint, Interval):
        kind = "int" if constraint.type is Integral else "float"
        low, high = (f"{end:g}" if end is not None else None for end in (constraint.left, constraint.right))
        if low is None and high is None:
            return [kind]
        opening, closing = (
            "[" if constraint.closed in ("left", "both") else "(",
            "]" if constraint.closed in ("right", "both") else ")",
        )
        return [f"{kind} in the interval {opening}{low or '-inf'}, {high or 'inf'}{closing}"]
    if isinstance(constraint, StrOptions):
        listed = getattr(constraint, "listed", sorted(constraint.options))
        return ["{" + ", ".join(map(repr, listed)) + "}" if len(listed) <= MOST_OPTIONS else "str"]
    if isinstance(constraint, HasMethods):
        methods = constraint.methods
        return ["estimator object" if "fit" in methods else f"object with {' and '.join(methods)}"]
    return TYPE_NAMES.get(constraint) or [constraint.__name__]


class Attribute(NamedTuple):
    """A fitted attribute, or several with the same line of documentation ("a_, b_")."""

    names: str
    kind: str
    doc: str
    when: Any = None


def attr(names: str, kind: str, doc: str, when: Any = None) -> Attribute:
    """Declare a fitted attribute, in the list `_attrs` of its class or of a base.

    `kind` is its type; "(n, p)" is short for "ndarray of shape (n, p)". `when` is the condition under which a fit sets
    it: the name of a parameter ("oob_score": neither None nor False), an equation ("solver='svd'", "solver!='lsqr'"),
    or, if `doc` states the condition in words, a method of the model ("_searches"), a function of the model, or "data"
    if the data decide.
    """
    return Attribute(names, kind, doc, when)


CLASSES = attr("classes_", "(n_classes,)", "Labels, sorted.")  # default for classifiers


# How a fit went: what every class with `n_iter_` has besides.
HOW_IT_WENT = [
    attr(
        "fit_status_",
        "str",
        "Why the fit ended: 'converged', 'iteration limit', 'time limit', 'stopped' (by a callback, or because the "
        "validation no longer improved), 'no progress', 'diverged' or 'not finite'.",
        "data",
    ),
    attr("optimality_", "float", "What was compared with the tolerance in the end; where the solver has it.", "data"),
    attr(
        "objective_history_",
        "(n_values,)",
        "The objective at the start, if it was known, and after each iteration; where the solver has it.",
        "data",
    ),
]


def attributes(cls: type, listed: str = "_attrs") -> list[Attribute]:
    """The declared attributes of a class: its own, then those of its bases that it does not redeclare.

    `listed` is "_attrs", or "_hidden" for what partial_fit and predictions keep beside them, which is not documented.
    Classes that count iterations have `HOW_IT_WENT`, too.
    """
    found: dict[str, Attribute] = {}
    for base in cls.__mro__:
        known = [CLASSES] if base is ClassifierMixin and listed == "_attrs" else ()
        for attribute in vars(base).get(listed, known):
            found.setdefault(attribute.names, attribute)
    names = {name for attribute in found.values() for name in attribute.names.split(", ")}
    iterates = listed == "_attrs" and "n_iter_" in names
    more = [attribute for attribute in HOW_IT_WENT if iterates and attribute.names not in names]
    return [*found.values(), *more]


def is_set(attribute: Attribute, model: Any) -> bool | None:
    """Whether a fitted model must have the attribute, by its `when`; None if the data decide."""
    if attribute.when == "data":
        return None
    if attribute.when is None or callable(attribute.when):
        return attribute.when is None or bool(attribute.when(model))
    name, equals, value = attribute.when.partition("=")
    given = getattr(model, name.removesuffix("!"))
    if name.startswith("_"):
        return bool(given())
    if not equals:
        return given is not None and given is not False
    return bool((isinstance(given, str) and repr(given) == value) != name.endswith("!"))


def describe_attribute(attribute: Attribute) -> str:
    """The numpydoc entry of an attribute."""
    kind, doc, when = attribute.kind, attribute.doc, attribute.when
    if "(" in kind and "shape" not in kind:
        kind = kind.replace("(", "ndarray of shape (", 1)
    if isinstance(when, str) and when != "data" and not when.startswith("_"):
        doc += f" {'Not' if '!=' in when else 'Only'} with `{when.replace('!', '')}`."
    return f"{attribute.names} : {kind}\n{_indented(doc)}"


def _indented(doc: str) -> str:
    return "    " + (doc if len(doc) <= WIDTH else "\n    ".join(textwrap.wrap(doc, WIDTH)))


def declared_parameters(cls: type) -> list["dataclasses.Field[Any]"]:
    """The declared parameters of a class, in order."""
    return [f for f in dataclasses.fields(cls) if f.init]
