"""Labels of one or several outputs as codes, and the weights of classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.parts.statistics.counts import Counts
from didact.parts.statistics.counts import weigh_classes as class_factors


def encode(y: Array) -> tuple[Array, list[Array]]:
    """Codes (n, outputs) and the sorted labels of each output."""
    columns = y.T if y.ndim == 2 else y[None, :]
    found = [np.unique(column, return_inverse=True) for column in columns]
    return np.stack([codes for _, codes in found], axis=1), [values for values, _ in found]


def weigh_classes(class_weight: Any, codes: Array, classes: Sequence[Array], weights: Array | None) -> Any:
    """Weights of the rows times those of their classes (the product over the outputs)."""
    if class_weight is None:
        return weights
    given = class_weight if isinstance(class_weight, list) else [class_weight] * len(classes)
    if len(given) != len(classes):
        raise ParameterError(
            "number of elements in class_weight should match number of outputs. "
            f"It has {len(given)}, and y has {len(classes)}."
        )
    total = np.ones(len(codes)) if weights is None else weights.astype(np.float64)
    start = total
    for column, labels, one in zip(codes.T, classes, given, strict=True):
        factors = class_factors(one, Counts(labels, np.bincount(column, start, len(labels))))
        total = total if factors is None else total * factors[column]
    if not total.any():  # several outputs, each with some rows of weight
        raise ParameterError(f"class_weight={class_weight!r} leaves no row with a positive weight.")
    return total
