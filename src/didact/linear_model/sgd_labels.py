"""Labels for models that learn one class against the rest: class numbers, class weights, first calls of partial_fit."""

from typing import Any

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.core.validation import all_classes
from didact.linear_model.sgd_base import Seen, refuse_early_stopping, seen
from didact.parts.statistics.counts import Counts, label_codes, weigh_classes


def outputs(classes: Array) -> Array:
    """The class that each weight vector tells from the rest: one vector for two classes, else one for each."""
    return np.array([1]) if len(classes) == 2 else np.arange(len(classes))


def encode(block: Block, classes: Array, factors: Array | None) -> Block:
    """A block with class numbers for labels, and class weights folded into w."""
    w = block.weight
    codes = np.asarray(label_codes(np.asarray(block.y), classes))
    if factors is not None:
        w = factors[codes] if w is None else w * factors[codes]
    return Block(block.X, codes.astype(np.float64), w)


def labelled(model: Any, rows: Rows) -> tuple[Rows, Seen]:
    """Rows with class numbers and class weights, and what there is in them; sets classes_."""
    total = rows.reduce(seen, True)
    labels: Any = total.labels
    model.classes_ = labels.values
    labels.require_two(type(model).__name__)
    factors = weigh_classes(model.class_weight, labels)
    if factors is not None:
        total = total._replace(weight=float(labels.weights @ factors))
    return rows.prepared(encode, model.classes_, factors), total


def labelled_part(model: Any, rows: Rows, classes: Any) -> Rows:
    """Rows of partial_fit with class numbers and class weights; the first call sets classes_."""
    refuse_early_stopping(model)
    if isinstance(model.class_weight, str):
        raise ParameterError(
            "class_weight 'balanced' is not supported for partial_fit. In order to use 'balanced' weights, use "
            "compute_class_weight('balanced', classes=classes, y=y). In place of y you can use a large enough sample "
            "of the full training set target to properly estimate the class frequency distributions. Pass the "
            "resulting weights as the class_weight parameter."
        )
    model.classes_ = all_classes(model, classes)
    if len(model.classes_) < 2:
        raise InputError(f"{type(model).__name__} needs at least 2 classes, but classes names one class.")
    factors = weigh_classes(model.class_weight, Counts(model.classes_, np.ones(len(model.classes_))))
    return rows.prepared(encode, model.classes_, factors)
