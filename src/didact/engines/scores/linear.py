"""Answers of linear models, X·coefᵀ + intercept, as numbers, decisions or labels; labels as codes for their fits."""

from typing import Any

import numpy as np

from didact.core.backend import float_type, is_sparse, is_tensor, like, namespace, to_numpy
from didact.core.rows import Block, Rows
from didact.core.sparse.coefficients import sparse_scores
from didact.core.typing import Array
from didact.engines.scores.score_loops import AS_CODES, AS_SCORES, score_rows
from didact.engines.scores.score_tables import exactly, in_memory, line_tables
from didact.parts.statistics.counts import label_codes, label_counts, labels_of, weigh_classes


def encode(block: Block, classes: Array, class_weights: Array | None) -> Block:
    """A block with class codes for labels (0.0 and 1.0 if there are two) and class weights folded into w."""
    X, w = block.X, block.weight
    two = len(classes) == 2 and class_weights is None and not is_tensor(X)
    codes = label_codes(block.y, classes, np.float64 if two else np.int64)
    xp = namespace(X, codes)
    if is_tensor(X):
        codes = xp.asarray(codes, device=X.device)
    if class_weights is not None:
        each = like(class_weights, X)[codes]
        w = each if w is None else w * each
    if len(classes) == 2:
        codes = xp.astype(codes, X.dtype if is_tensor(X) else xp.float64, copy=False)
    return block._replace(y=codes, weight=w)


def encoded_rows(rows: Rows, class_weight: Any, name: str) -> tuple[Rows, float, Array]:
    """Rows with class codes and class weights, their total weight and the labels, for the model of that name."""
    counts = rows.reduce(label_counts)
    counts.require_two(name)
    factors = weigh_classes(class_weight, counts)
    weight = float(counts.weights.sum() if factors is None else counts.weights @ factors)
    return rows.prepared(encode, counts.values, factors), weight, counts.values


def linear_scores(X: Any, coef: Array, intercept: Any) -> Any:
    """X·coef + intercept for rows of any kind; coef is (p,) or (k, p), which may be sparse."""
    dtype = float_type(X)
    if is_sparse(coef):
        return sparse_scores(X, coef, intercept, dtype)
    tables = line_tables(np.atleast_2d(coef), intercept) if in_memory(X) else None
    if tables is not None:
        found = score_rows(X, tables, AS_SCORES)[0]
        return found if np.ndim(coef) == 2 else found[:, 0]
    X = exactly(X)
    coef, intercept = (like(np.asarray(part, float_type(X)), X) for part in (coef, intercept))
    found = X @ (coef if coef.ndim == 1 else coef.T) + intercept
    return found.astype(dtype, copy=False) if isinstance(found, np.ndarray) else found


def decision(X: Any, coef: Array, intercept: Array) -> Any:
    """Decision values: (n,) for two classes, (n, K) for more."""
    scores = linear_scores(X, coef, intercept)
    return scores[:, 0] if coef.shape[0] == 1 else scores


def class_answers(X: Any, coef: Array, intercept: Array, answer: int) -> Any:
    """Codes, probabilities or their logarithms in one compiled pass, for dense rows in memory; else None."""
    if is_sparse(coef) or not in_memory(X):
        return None
    tables = line_tables(coef, intercept, classes=2)
    found, lost = (None, ()) if tables is None else score_rows(X, tables, answer)
    return None if len(lost) else found


def predict_labels(X: Any, coef: Array, intercept: Array, classes: Array) -> Any:
    """The most probable label of each row."""
    found = class_answers(X, coef, intercept, AS_CODES)
    if found is not None:
        return labels_of(found, classes)
    scores = decision(X, coef, intercept)
    if is_tensor(X) and classes.dtype.kind in "biuf":
        return namespace(X).asarray(classes, device=X.device)[codes_of_scores(scores)]
    return labels_of_scores(scores, classes)


def codes_of_scores(scores: Any) -> Any:
    """The number of the class with the highest score; of two classes the second where the only score is positive."""
    xp = namespace(scores)
    return xp.astype(scores > 0, xp.int64) if scores.ndim == 1 else xp.argmax(scores, axis=1)


def labels_of_scores(scores: Any, classes: Array) -> Array:
    """The class with the highest score of each row, as an array on the host."""
    return np.asarray(classes[to_numpy(codes_of_scores(scores))])
