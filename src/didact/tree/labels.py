"""Labels of one or several outputs as codes, and the weights of classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from didact.core.errors import ParameterError

Array = np.ndarray[Any, Any]


def encode(y: Array) -> tuple[Array, list[Array]]:
    """Codes (n, outputs) and the sorted labels of each output."""
    columns = y.T if y.ndim == 2 else y[None, :]
    found = [np.unique(column, return_inverse=True) for column in columns]
    return np.stack([codes for _, codes in found], axis=1), [values for values, _ in found]


def weigh_classes(class_weight: Any, codes: Array, classes: Sequence[Array], weights: Array | None) -> Array | None:
    """Weights of the rows times those of their classes (the product over the outputs)."""
    if class_weight is None:
        return weights
    given = class_weight if isinstance(class_weight, list) else [class_weight] * len(classes)
    if len(given) != len(classes):
        raise ParameterError(f"class_weight has {len(given)} entries, but y has {len(classes)} outputs.")
    total = np.ones(len(codes)) if weights is None else weights.astype(np.float64)
    start = total
    for column, labels, one in zip(codes.T, classes, given, strict=True):
        total = total * _factors(one, column, labels, start)[column]
    return total


def _factors(class_weight: Any, codes: Array, labels: Array, weights: Array) -> Array:
    """One factor per class: given, or inversely proportional to the classes' weights."""
    if isinstance(class_weight, str):
        sums = np.bincount(codes, weights, minlength=len(labels))
        return weights.sum() / (len(labels) * np.maximum(sums, np.finfo(float).tiny))
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ParameterError(f"class_weight names {unknown[0]!r}, which is not among the labels of y.")
    return np.asarray([class_weight.get(label, 1.0) for label in labels.tolist()], np.float64)
