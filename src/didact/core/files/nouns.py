"""How nouns are named in model files: by a short id with a version, never by the module in which they happen to live.

An id is `kind/Name/version`. Nouns of a public kind (losses, links, distances, …) are found by name in the package of
that kind, all others in the list `PLACES`. A file holds the fields by name. If you add, remove or change a field of a
noun that files contain, give the class `version = 2` (3, …) and add to `UPGRADES` how the older fields become the new
ones, so that old files still open. If you move or rename a class, change its place here, but no id.
"""

import importlib
import re
from collections.abc import Callable
from typing import Any

from didact.core.errors import InputError

KINDS = {
    "loss": "didact.parts.losses",
    "family": "didact.parts.families",
    "link": "didact.parts.links",
    "penalty": "didact.parts.penalties",
    "distance": "didact.parts.distances",
    "window": "didact.parts.windows",
    "distribution": "didact.distributions",
    "kernel": "didact.kernels",
}
PLACES = {
    "categories": "didact.core.categories.Categories",
    "tree": "didact.engines.trees.tree.Tree",
    "tree/linear": "didact.engines.trees.variants.model_tree.LinearTree",
    "tree/multiway": "didact.engines.trees.variants.multiway.MultiwayTree",
    "tree/oblique": "didact.engines.trees.variants.oblique.ObliqueTree",
    "tree/packed": "didact.engines.trees.predict.packed_loops.Packed",
    "tree/bins": "didact.engines.trees.rows.bins.Bins",
    "forest/members": "didact.ensemble.forest_quantiles.Members",
    "neighbors/index": "didact.engines.neighbors.index.Index",
    "neighbors/boxes": "didact.engines.neighbors.partitions.boxes.Boxes",
    "neighbors/balls": "didact.engines.neighbors.partitions.balls.Balls",
    "neighbors/products": "didact.engines.neighbors.products.Centred",
    "neighbors/edit": "didact.engines.neighbors.words.edit_index.EditIndex",
    "neighbors/strings": "didact.engines.neighbors.words.edit_index.Strings",
    "neighbors/alphabet": "didact.engines.neighbors.words.edit_index.Alphabet",
    "neighbors/costs": "didact.engines.neighbors.words.edit_index.Costs",
    "neighbors/edit_distance": "didact.engines.neighbors.words.distances.EditDistance",
    "neighbors/word_function": "didact.engines.neighbors.words.distances.WordFunction",
    "classes/sums": "didact.parts.statistics.class_sums.ClassSums",
    "classes/components": "didact.parts.statistics.components.Components",
    "discriminant/shared": "didact.discriminant_analysis.linear_scores.Shared",
    "discriminant/low_rank": "didact.engines.components.low_rank.LowRank",
    "discriminant/whitener": "didact.engines.components.low_rank.Whitener",
    "naive_bayes/plan": "didact.naive_bayes.mixed.Plan",
    "naive_bayes/mixed": "didact.naive_bayes.mixed.MixedStats",
    "naive_bayes/counts": "didact.parts.statistics.counts.Counts",
    "gram/pairs": "didact.engines.gram.pairwise.PairFunction",
    "process/mean": "didact.gaussian_process.posterior.Mean",
    "process/latent": "didact.gaussian_process.two_class_problems.Latent",
    "process/softmax": "didact.gaussian_process.softmax.SoftmaxLatent",
    "perceptron/voters": "didact.engines.stochastic.voted_perceptron.Voters",
}
UPGRADES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}  # id: from its fields to those of the next version


def noun_id(value: Any) -> str | None:
    """The id under which a noun is written; None for anything else.

    >>> from didact.parts.links import Power
    >>> noun_id(Power(2.0)), noun_id((2.0,))
    ('link/Power/1', None)
    """
    cls = type(value)
    if not (issubclass(cls, tuple) and hasattr(cls, "_fields") and cls.__module__.startswith("didact.")):
        return None
    place = f"{cls.__module__}.{cls.__name__}"
    kinds = [kind for kind, package in KINDS.items() if f"{place}.".startswith(f"{package}.")]
    found = [f"{kind}/{cls.__name__}" for kind in kinds] or [name for name, home in PLACES.items() if home == place]
    return f"{found[0]}/{getattr(cls, 'version', 1)}" if found and _class(found[0]) is cls else None


def noun_of(name: Any, fields: Any) -> Any:
    """The noun of that id with these fields, or None if the id is not known."""
    known = re.fullmatch(r"(\w+(?:/\w+)?)/(\d{1,4})", name) if isinstance(name, str) else None
    cls = _class(known[1]) if known else None
    if known is None or cls is None:
        return None
    version = int(known[2])
    newest = getattr(cls, "version", 1)
    if version > newest:
        raise InputError(f"{name} was written by a newer didact (this one reads up to version {newest}): update didact")
    for step in range(version, newest):
        fields = UPGRADES[f"{known[1]}/{step}"](fields)
    if not isinstance(fields, dict) or set(fields) != set(cls._fields):
        raise InputError(f"{name} must have the fields {', '.join(cls._fields) or '(none)'}")
    return cls(*(fields[name] for name in cls._fields))


def _class(name: str) -> Any:
    """The class of a noun by kind and name, or by its place in the list; None if there is none."""
    kind, _, title = name.partition("/")
    if name in PLACES:
        module, _, title = PLACES[name].rpartition(".")
    elif kind in KINDS and re.fullmatch(r"[A-Z]\w*", title):
        module = KINDS[kind]
    else:
        return None
    cls = getattr(importlib.import_module(module), title, None)
    noun = isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")
    return cls if noun and cls.__module__.startswith(module) else None
