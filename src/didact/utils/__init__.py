"""Tools for writing estimators; validation, tags, checks: scikit-learn's, handed on."""

from typing import TYPE_CHECKING

from didact.core.handed_on import hand_on

if TYPE_CHECKING:
    from sklearn.utils import *  # noqa: F403

_INNER = (
    "arrayfuncs",
    "class_weight",
    "deprecation",
    "discovery",
    "estimator_checks",
    "extmath",
    "fixes",
    "graph",
    "metadata_routing",
    "metaestimators",
    "multiclass",
    "murmurhash",
    "optimize",
    "parallel",
    "random",
    "sparsefuncs",
    "sparsefuncs_fast",
    "stats",
    "validation",
)
__getattr__, __dir__ = hand_on(__name__, *_INNER)
