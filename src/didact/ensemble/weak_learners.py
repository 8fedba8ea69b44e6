"""How a boosting round gets its learner: by weights, by drawing rows with these weights, or from columns read once.

A learner is a function (weights, generator) → (fitted model, its predictions for the training rows). When the base
model is a decision tree of this library, its columns are sorted or coded once for all rounds.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from didact.core.errors import ParameterError
from didact.core.meta import check_parameters, fit_model, row_params, seeded, takes_weights
from didact.core.random import seed_sequence
from didact.core.typing import Array
from didact.engines.trees.growers.forest import grow_from
from didact.engines.trees.pruning import prune_cost_complexity
from didact.engines.trees.rows.targets import label_targets, value_targets
from didact.parts.criteria.impurity import CLASSIFICATION, REGRESSION
from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor
from didact.tree.tree_base import feature_count, growth_limits, growth_table, monotone_signs

Learner = Callable[[Array, np.random.Generator], tuple[Any, Array]]


def learner(base: Any, X: Any, y: Array, weighting: str, params: dict[str, Any]) -> Learner:
    """The learner of a base model on these rows; weighting is "auto", "reweight" or "resample".

    The base model gets weights that sum to 1: they say how much rows matter beside each other, and count nothing.
    """
    weigh = takes_weights(base)
    if weighting == "reweight" and not weigh:
        raise ParameterError(
            f"{type(base).__name__} doesn't support sample_weight: use weighting='resample', which draws rows instead."
        )
    if _is_plain_tree(base):
        grow = _tree_grower(base, X, y)
        return grow if weighting != "resample" else lambda w, rng: grow(_draw_counts(w, rng), rng)
    if weighting == "resample" or not weigh:
        if get_tags(base).input_tags.pairwise:
            raise ParameterError(
                "Rows of a precomputed kernel cannot be drawn: use weighting='reweight' and a base model that takes "
                "sample_weight, or let the base model compute the kernel."
            )
        return lambda w, rng: _drawn(base, X, y, w, rng, params)
    return lambda w, rng: _weighted(base, X, y, w, rng, params)


def predicted(model: Any, X: Any) -> Array:
    """A learner's predictions; trees are asked without another check of X."""
    if not _is_plain_tree(model):
        return np.asarray(model.predict(X))
    leaf = model.tree_.apply(X)
    if isinstance(model, DecisionTreeClassifier):
        return model.classes_[model.tree_.value[:, 0].argmax(axis=1)][leaf]
    return model.tree_.value[:, 0, 0][leaf]


def _weighted(base: Any, X: Any, y: Array, w: Array, rng: Any, params: dict[str, Any]) -> tuple[Any, Array]:
    model = fit_model(seeded(base, rng), X, y, w, params)
    return model, predicted(model, X)


def _drawn(base: Any, X: Any, y: Array, w: Array, rng: Any, params: dict[str, Any]) -> tuple[Any, Array]:
    index = rng.choice(len(y), len(y), p=w / w.sum())
    model = fit_model(seeded(base, rng), X[index], y[index], None, row_params(X, index, params))
    return model, predicted(model, X)


def _draw_counts(w: Array, rng: Any) -> Array:
    """How often each row is in a draw of n rows with these probabilities."""
    return np.bincount(rng.choice(len(w), len(w), p=w / w.sum()), minlength=len(w)).astype(np.float64)


def _is_plain_tree(model: Any) -> bool:
    """Whether the model is a tree of ours, without classes weighed and columns named as categories."""
    if type(model) not in (DecisionTreeClassifier, DecisionTreeRegressor):
        return False
    named = model.categorical_features is not None and not isinstance(model.categorical_features, str)
    return getattr(model, "class_weight", None) is None and not named


def _tree_grower(base: Any, X: Any, y: Array) -> Learner:
    """Trees from columns that are sorted or coded once; the same trees as `fit` grows."""
    check_parameters(base)
    (n, p), params = X.shape, base.get_params(deep=False)
    classes = int(y.max()) + 1 if isinstance(base, DecisionTreeClassifier) else 0
    about: dict[str, Any] = {"n_features_in_": p, "n_outputs_": 1, "categories_": None}
    about["max_features_"] = feature_count(base.max_features, p)
    if classes:
        about |= {"classes_": np.arange(classes), "n_classes_": classes}
    signs = monotone_signs(base.monotonic_cst, p, 1, classes, None)
    random_splits = base.splitter == "random"
    table = growth_table(X, None, signs, random_splits, base.max_bins, None)

    def grow(w: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        model = seeded(base, rng)
        if classes:
            targets = label_targets(y, classes, w, CLASSIFICATION[base.criterion]())
        else:
            targets = value_targets(y, w, REGRESSION[base.criterion]())
        kept = n if targets.keep is None else int(targets.keep.sum())
        limits = growth_limits(params, kept, p, float(w.sum()), random_splits)
        seed = int(seed_sequence(model.random_state).generate_state(1, np.uint64)[0])
        tree = prune_cost_complexity(grow_from(table, targets, limits, seed, signs), base.ccp_alpha)
        for name, value in (about | {"tree_": tree}).items():
            setattr(model, name, value)
        return model, predicted(model, X)

    return grow
