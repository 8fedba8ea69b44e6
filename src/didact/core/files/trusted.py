"""Which types a model file may name: known classes of didact and scikit-learn, arrays, and a few pure functions.

The names are compared with lists that do not depend on the file; nothing that a file names is imported, except modules
of didact itself and those of scikit-learn whose names they hand on. Types whose arrays compiled code uses unchecked,
such as scikit-learn's trees, neighbours, support vectors and clusters, are left out on purpose: a forged file could
crash the process.
"""

import importlib
import inspect
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

# Parts of scikit-learn whose compiled predictions trust sizes that a file may have forged, and scikit-learn's tests.
UNCHECKED = (
    *("neighbors", "svm", "cluster", "tree", "semi_supervised", "manifold", "_hist_gradient_boosting", "_gb"),
    *("_forest", "_iforest", "_weight_boosting", "tests", "externals", "_testing", "_mocking"),
)
_UNCHECKED = re.compile(rf"(sklearn|scipy\.sparse)\.(.*\.)?({'|'.join(UNCHECKED)})\.")
PRODUCT_PACKAGES = ("cli", "study", "serve", "lab")
REDUCTIONS = frozenset(f"numpy.{name}" for name in ("mean", "median", "sum", "min", "max"))


def untrusted(part: bytes) -> tuple[list[str], list[str]]:
    """Types named by a part that skops wrote: those that skops does not trust by itself, and those that nobody does."""
    import skops.io

    names = skops.io.get_untrusted_types(data=part)
    with zipfile.ZipFile(io.BytesIO(part)) as archive:
        every = set(_named(json.loads(archive.read("schema.json"))))
    return names, sorted({*strangers(names), *(name for name in every if _UNCHECKED.match(name))})


def _named(node: Any) -> Iterator[str]:
    """The full names of all types in a schema of skops, also of those that skops trusts by itself."""
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    if isinstance(node, dict) and {"__module__", "__class__"} <= node.keys():
        yield f"{node['__module__']}.{node['__class__']}"
    for part in parts:
        yield from _named(part)


def strangers(names: Iterable[str]) -> list[str]:
    """The names that belong to no known estimator or function, sorted."""
    from sklearn.base import BaseEstimator

    ours = {name for name in names if (cls := _class(name)) is not None and issubclass(cls, BaseEstimator)}
    return sorted(set(names) - _known() - ours)


def public_name(cls: type) -> str:
    """The name of a class as users know it: in the public package of didact that exports it, if one does."""
    package = ".".join(cls.__module__.split(".")[:2])
    shown = package.startswith("didact.") and getattr(importlib.import_module(package), cls.__name__, None) is cls
    return f"{package if shown else cls.__module__}.{cls.__qualname__}"


def public_names(part: bytes) -> bytes:
    """A part of a file with classes of didact renamed to their public names, so that their modules may move."""
    with zipfile.ZipFile(io.BytesIO(part)) as archive:
        members = [(item, archive.read(item)) for item in archive.infolist()]
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for item, data in members:
            shown = json.dumps(_shown(json.loads(data))).encode() if item.filename == "schema.json" else data
            archive.writestr(item, shown)
    return written.getvalue()


def _shown(node: Any) -> Any:
    """A schema of skops in which classes of didact stand under their public packages."""
    if isinstance(node, list):
        return [_shown(part) for part in node]
    if not isinstance(node, dict):
        return node
    node = {key: _shown(part) for key, part in node.items()}
    if {"__module__", "__class__"} <= node.keys() and (cls := _class(f"{node['__module__']}.{node['__class__']}")):
        node["__module__"] = public_name(cls).rpartition(".")[0]
    return node


def _class(name: str) -> type | None:
    """The class of didact with this full name; None if there is none, or if it belongs to the packages of `PRODUCT`."""
    module_name, _, class_name = name.rpartition(".")
    if not re.fullmatch(r"didact(\.(?!__)\w+)+", module_name) or module_name.split(".")[1] in PRODUCT_PACKAGES:
        return None
    try:
        cls = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError:
        return None
    return cls if isinstance(cls, type) and f"{cls.__module__}.".startswith(f"{module_name}.") else None


@cache
def _known() -> frozenset[str]:
    """The names that didact trusts beyond skops's own list, spelled as skops writes them."""
    import scipy.sparse
    import sklearn.feature_selection
    import sklearn.metrics
    import sklearn.metrics.pairwise
    from sklearn._loss.loss import BaseLoss
    from sklearn.base import BaseEstimator
    from sklearn.calibration import _CalibratedClassifier
    from sklearn.gaussian_process.kernels import Kernel
    from sklearn.metrics._scorer import _BaseScorer, _PassthroughScorer
    from sklearn.model_selection._split import BaseCrossValidator, BaseShuffleSplit, _RepeatedSplits
    from sklearn.neural_network._stochastic_optimizers import BaseOptimizer
    from sklearn.utils import Bunch
    from sklearn.utils._metadata_requests import MetadataRequest, MethodMetadataRequest

    # The list is enumerated from base classes, not from the file: a file can only choose among these names.
    families = (
        BaseEstimator,
        BaseCrossValidator,
        BaseShuffleSplit,
        _RepeatedSplits,
        Kernel,
        BaseLoss,
        BaseOptimizer,
        _BaseScorer,
    )
    single = (_CalibratedClassifier, _PassthroughScorer, Bunch, MetadataRequest, MethodMetadataRequest)
    sparse = (cls for cls in vars(scipy.sparse).values() if isinstance(cls, type) and hasattr(cls, "tocsr"))
    classes = [*single, *(cls for family in families for cls in _descendants(family)), *sparse]
    functions = [
        function
        for module in (sklearn.metrics, sklearn.metrics.pairwise, sklearn.feature_selection)
        for function in vars(module).values()
        if inspect.isfunction(function) and not function.__name__.startswith("_")
    ]
    names = (f"{thing.__module__}.{thing.__name__}" for thing in (*classes, *functions))
    theirs = {name for name in names if re.match(r"(sklearn|scipy\.sparse)\.", name) and not _UNCHECKED.match(name)}
    return frozenset(theirs | REDUCTIONS | {"numpy.dtype"})


def _descendants(cls: Any) -> Iterator[Any]:
    yield cls
    for child in cls.__subclasses__():
        yield from _descendants(child)
