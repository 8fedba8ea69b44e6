"""didact: the classical machine-learning methods in one package, behind scikit-learn's interface.

Submodules load on first use, so that ``import didact`` stays quick.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_SUBMODULES = frozenset(
    {
        "core",
        "parts",
        "engines",
        "distributions",
        "kernels",
        "optimize",
        "linear_model",
        "svm",
        "kernel_ridge",
        "kernel_approximation",
        "gaussian_process",
        "naive_bayes",
        "neighbors",
        "discriminant_analysis",
        "cluster",
        "mixture",
        "decomposition",
        "manifold",
        "cross_decomposition",
        "multiclass",
        "decision",
        "feature_extraction",
        "ensemble",
        "tree",
        "impute",
        "preprocessing",
        "datasets",
        "plot",
        "study",
        "cli",
        "accelerate",
        # scikit-learn's, so far: `didact.core.handed_on`
        "base",
        "calibration",
        "callback",
        "compose",
        "covariance",
        "dummy",
        "exceptions",
        "experimental",
        "feature_selection",
        "frozen",
        "inspection",
        "isotonic",
        "metrics",
        "model_selection",
        "multioutput",
        "neural_network",
        "pipeline",
        "random_projection",
        "semi_supervised",
        "utils",
    }
)
_NAMES = {
    "save": "didact.core.files.persistence",
    "load": "didact.core.files.persistence",
    "set_threads": "didact.core.threads",
    "set_notices": "didact.core.jit.notice",
    "show_versions": "didact.core.versions",
    "warm": "didact.core.jit.warming",
    "Batches": "didact.core.rows",
    "EarlyStopping": "didact.core.progress",
    "ProgressLog": "didact.core.progress",
    "trace": "didact.core.progress.trace",
}
_THEIRS = ("clone", "config_context", "get_config", "set_config")  # scikit-learn's
__all__ = ["__version__", *_NAMES, *_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"didact.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    if name in _THEIRS:
        return getattr(importlib.import_module("sklearn"), name)
    raise AttributeError(f"module 'didact' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_THEIRS})
