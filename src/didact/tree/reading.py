"""Fitted trees in words: which trees a model holds, what its features, classes and categories are called."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from didact.core.errors import InputError
from didact.core.typing import Array
from didact.engines.trees.outline import Among, Condition, Halfspace, Interval, Place, among_columns, outline
from didact.engines.trees.tree import rows_of

MOST_LISTED = 6  # categories of a set that are named one by one


class Words(NamedTuple):
    """Names of the features, of the classes of each output (None for numbers) and of each feature's categories.

    `missing` are the features of which a sentence says where missing values belong.
    """

    features: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...] | None
    categories: tuple[Any, ...]
    decimals: int
    missing: frozenset[int] = frozenset()

    def number(self, x: float) -> str:
        """A number with the decimals that were asked for."""
        return f"{x:.{self.decimals}f}"

    def subject(self, condition: Condition) -> str:
        """What a condition is about: a feature, or a weighted sum of features."""
        if not isinstance(condition, Halfspace):
            return self.features[condition.feature]
        order = np.argsort(-np.abs(condition.weights), kind="stable")
        terms = [f"{condition.weights[j]:+.3g}·{self.features[j]}" for j in order if condition.weights[j] != 0]
        text = " ".join(terms[:4]) + (" …" if len(terms) > 4 else "")
        return text.removeprefix("+")

    def demand(self, condition: Condition, ascii_only: bool = False) -> str:
        """What a condition asks of its subject."""
        if isinstance(condition, Among):
            return self._category(condition)
        at_most = "<=" if ascii_only else "≤"
        low, high = condition.low, condition.high
        if low == np.inf and not ascii_only:
            return "is missing"
        if np.isinf(low) and np.isinf(high) and not ascii_only:
            return "is there"
        if np.isinf(low):
            return f"{at_most} {self.number(high)}"
        return f"> {self.number(low)}" if np.isinf(high) else f"in ({self.number(low)}, {self.number(high)}]"

    def _category(self, condition: Among) -> str:
        values = self.categories[condition.feature]
        every = frozenset(range(len(values) if values is not None else max(condition.codes, default=0) + 1))
        codes, others = condition.codes, condition.others
        if others and values is not None:
            codes, others = every - codes, False
            if len(codes) > MOST_LISTED and len(every - codes) <= len(codes):
                codes, others = every - codes, True
        names = [str(k if values is None else values[k]) for k in sorted(codes)]
        if len(names) == 1:
            return f"{'≠' if others else '='} {names[0]}"
        return f"{'not in' if others else 'in'} {{{', '.join(names)}}}"

    def sentence(self, condition: Condition) -> str:
        """The whole condition, and that a missing value meets it, if that is to be said."""
        sentence = f"{self.subject(condition)} {self.demand(condition)}"
        if isinstance(condition, Interval) and np.isfinite(condition.low) and np.isfinite(condition.high):
            name = self.features[condition.feature]
            sentence = f"{self.number(condition.low)} < {name} ≤ {self.number(condition.high)}"
        told = condition.feature in self.missing and not sentence.endswith(" is missing")
        return f"{sentence} or missing" if told and getattr(condition, "missing", False) else sentence

    def answer(self, place: Place) -> str:
        """What a leaf predicts: a class or a number for each output, or a linear function."""
        if place.linear:
            constant, *coefficients = place.linear
            terms = [
                f"{'−' if c < 0 else '+'} {self.number(abs(c))}·{name}"
                for c, name in zip(coefficients, self.features, strict=True)
                if round(c, self.decimals)
            ]
            return " ".join([self.number(round(constant, self.decimals) + 0.0), *terms])
        if self.classes is not None:
            likely = place.value.argmax(axis=1)
            return ", ".join(names[k] for names, k in zip(self.classes, likely, strict=True))
        return ", ".join(self.number(float(v)) for v in place.value[:, 0])


class Held(NamedTuple):
    """A tree of a model, the model that grew it and, of a draw, its columns and classes by number (None: all)."""

    tree: Any
    owner: Any
    columns: Array | None = None
    classes: Array | None = None

    def values(self, n_classes: int) -> Array:
        """The values of all nodes as a table, with a column for every class."""
        found = np.asarray(self.tree.value).reshape(len(self.tree.value), -1)
        return found if self.classes is None else _among(found, self.classes, n_classes)


def read(model: Any, feature_names: Any, class_names: Any, decimals: int) -> tuple[list[list[Place]], Words]:
    """The outlines of a model's trees, one or several, and the words for them."""
    check_is_fitted(model)
    trees = trees_of(model)
    n = int(model.n_features_in_)
    names = feature_names if feature_names is not None else getattr(model, "feature_names_in_", None)
    names = [f"feature_{j}" for j in range(n)] if names is None else [str(name) for name in names]
    if len(names) != n:
        raise InputError(f"feature_names must contain {n} elements, got {len(names)}.")
    categories = getattr(model, "categories_", None)
    words = Words(
        tuple(names), _classes(model, class_names), (None,) * n if categories is None else categories.values, decimals
    )
    return [_places(model, held, n) for held in trees], words


def trees_of(model: Any) -> list[Held]:
    """The trees of a decision tree, a forest or a bag."""
    if hasattr(model, "tree_"):
        return [Held(model.tree_, model)]
    if hasattr(model, "trees_"):
        return [Held(tree, model) for tree in model.trees_]
    members = np.ravel(getattr(model, "estimators_", []))
    if not len(members) or not all(hasattr(member, "tree_") for member in members):
        raise InputError(f"{type(model).__name__} holds no trees that can be read: pass a decision tree or a forest.")
    columns = getattr(model, "estimators_features_", [None] * len(members))
    return [
        Held(member.tree_, member, drawn, _classes_seen(model, member))
        for member, drawn in zip(members, columns, strict=True)
    ]


def rows_in_memory(model: Any, X: Any) -> Array:
    """Rows as the trees of a model read them."""
    rows = model._after_fit()._map_rows(X, rows_of) if hasattr(model, "_map_rows") else rows_of(X).astype(np.float32)
    if not isinstance(rows, np.ndarray):
        raise InputError("Trees are read beside rows in memory: pass one batch after the other.")
    return rows


def _classes_seen(model: Any, member: Any) -> Array | None:
    """The numbers of the classes in a member's draw of the rows; None if all were in it."""
    if not is_classifier(model) or isinstance(model.classes_, list) or len(member.classes_) == len(model.classes_):
        return None
    return np.asarray(member.classes_, np.int64)


def _among(table: Array, columns: Array, width: int) -> Array:
    """The columns of a table at their places among others, which are 0."""
    full = np.zeros((len(table), width))
    full[:, columns] = table
    return full


def _places(model: Any, held: Held, n_features: int) -> list[Place]:
    """The nodes of one tree, in terms of the columns and classes of the whole model."""
    edges = getattr(held.owner, "bin_edges_", None)
    own = getattr(held.owner, "categories_", None) if held.owner is not model else None
    places = [_unbinned(place, edges, None if own is None else own.values) for place in outline(held.tree)]
    if held.classes is not None:
        places = [p._replace(value=_among(p.value, held.classes, len(model.classes_))) for p in places]
    if held.columns is None:
        return places
    return [among_columns(place, np.asarray(held.columns), n_features) for place in places]


def _classes(model: Any, class_names: Any) -> tuple[tuple[str, ...], ...] | None:
    if not is_classifier(model):
        return None
    several = isinstance(model.classes_, list)
    known = model.classes_ if several else [model.classes_]
    if class_names is None or class_names is True or class_names is False:
        return tuple(tuple(str(c) for c in names) for names in known)
    given = class_names if several else [class_names]
    if len(given) != len(known):
        raise InputError(f"class_names has {len(given)} lists, but the tree has {len(known)} outputs.")
    for names, own in zip(given, known, strict=True):
        if len(names) != len(own):
            raise InputError(f"class_names has {len(names)} entries, but the tree has {len(own)} classes.")
    return tuple(tuple(str(c) for c in names) for names in given)


def _unbinned(place: Place, edges: Any, categories: Any) -> Place:
    """The node with bounds in place of the codes of bins, and a bag's own numbers in place of its member's codes."""
    branches = []
    for condition, child in place.branches:
        cuts = edges[condition.feature] if edges is not None and isinstance(condition, Among) else None
        if isinstance(condition, Among) and cuts is not None:
            (k,) = condition.codes
            low, high = (-np.inf if k == 0 else cuts[k - 1]), (np.inf if k == len(cuts) else cuts[k])
            condition = Interval(condition.feature, float(low), float(high), condition.missing)
        elif isinstance(condition, Among) and categories is not None:
            seen = categories[condition.feature]
            condition = condition._replace(codes=frozenset(_whole(seen[k]) for k in condition.codes if k < len(seen)))
        branches.append((condition, child))
    return place._replace(branches=tuple(branches))


def _whole(number: Any) -> Any:
    return int(number) if float(number).is_integer() else float(number)
