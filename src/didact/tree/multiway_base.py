"""What ID3 and C4.5 share: fitting by a rule, pruning, and class probabilities from a tree with n-way splits."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, refuse_no_rows
from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.parameters import array_like, attr, between, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import row_uniforms, seed_sequence
from didact.core.typing import Array
from didact.engines.trees.pruning import NO_VALIDATION_ROWS
from didact.engines.trees.variants.c45 import Cases, Rule, grow_c45, pack_c45
from didact.engines.trees.variants.c45_prune import cut_back, prune_c45_by_error, prune_pessimistic
from didact.engines.trees.variants.multiway import NO_TEST, class_fractions, multiway_importances
from didact.parts.statistics.counts import label_codes, label_counts
from didact.parts.statistics.weights import in_cases
from didact.tree.labels import weigh_classes
from didact.tree.size import TreeSize


def binned(X: Array, edges: list[Any] | None) -> Array:
    """Numbers as the code of their bin, k for edges[k−1] < x ≤ edges[k]; columns without edges as they are."""
    X = np.asarray(X, np.float64)
    if edges is None:
        return X
    columns = [
        x if e is None else np.where(np.isnan(x), np.nan, np.searchsorted(e, x))
        for x, e in zip(X.T, edges, strict=True)
    ]
    return np.stack(columns, axis=1)


def probabilities(X: Any, tree: Any, edges: Any) -> Any:
    """Class probabilities of the rows of a block."""
    return class_fractions(binned(X, edges), tree).astype(float_type(X))


def labels(X: Any, tree: Any, edges: Any, classes: Array) -> Any:
    """The most probable class of each row; of equals the first in sorted order."""
    return classes[class_fractions(binned(X, edges), tree).argmax(axis=1)]


class _MultiwayClassifier(TreeSize, ClassifierMixin, Estimator):
    """Base of ID3Classifier and C45Classifier. Abstract."""

    _sparse = False
    _missing = True
    _test_skips: ClassVar[dict[str, str]] = {
        "text_refused/category": "Columns of a category type are read as they are.",
    }

    categorical_features: Any = param(
        "from_dtype",
        [one_of("from_dtype"), array_like, none],
        "Columns that are categories: those of a category type, or a mask, positions or names.",
    )
    max_depth: int | None = param(None, [whole(1), none], "Most tests between the root and a leaf; None: no limit.")
    validation_fraction: float = param(
        1 / 3, between(0, 1, "neither"), "Share of the rows that reduced-error pruning holds out."
    )
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )
    random_state: Any = param(None, random_state, "Seed of the draw of held-out rows.")

    _attrs = [
        attr(
            "tree_", "MultiwayTree", "Arrays `feature`, `threshold`, `first`, `children` and `value` (class weights)."
        ),
        attr("bin_edges_", "list of ndarray or None", "Cuts of the columns that ID3 has binned.", when="data"),
        attr("feature_importances_", "(n_features,)", "Information that the splits on each feature gain, of sum 1."),
        attr("categories_", "Categories or None", "Values of the categorical columns, in the order of their codes."),
    ]

    bin_edges_: ClassVar[Any] = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Grow the tree from rows X with labels y, then prune it; weights count cases as the notes say."""
        rows = self._rows(X, y, sample_weight, target="labels", categories=self.categorical_features)
        self.classes_ = rows.reduce(label_counts).values
        with FitProgress(self, X=X, y=y):
            X, y, w = rows.gather(np.float64)
            codes = label_codes(y, self.classes_)
            w = weigh_classes(self.class_weight, codes[:, None], [self.classes_], w)
            self._fit_tree(X, codes, in_cases(w)[0])
        return self

    def _stages(self) -> Iterator[tuple[None, dict[str, Any]]]:
        """The tree after each split, in the order of its nodes."""
        numbers = np.arange(self.tree_.node_count)
        for last in np.flatnonzero(self.tree_.feature != NO_TEST):
            yield None, {"tree_": cut_back(self.tree_, (self.tree_.feature != NO_TEST) & (numbers <= last))}

    def _fit_tree(self, X: Array, codes: Array, w: Array) -> None:
        n_categories = np.zeros(X.shape[1], np.int64)
        if self.categories_ is not None:
            n_categories = np.maximum(self.categories_.counts, self.categories_.mask)
        X, n_categories = self._as_categories(X, w, n_categories)
        held = np.zeros(len(X), bool)
        if self.pruning == "reduced_error":
            held = row_uniforms(seed_sequence(self.random_state), 0, len(X)) < self.validation_fraction
            if held.all() or not held.any():
                raise InputError(
                    f"Of {len(X)} rows, {held.sum()} fall into the held-out set that reduced-error pruning needs "
                    "beside the training set: bring more rows, or change validation_fraction or random_state."
                )
        train = ~held
        cases = Cases(
            columns=np.ascontiguousarray(X[train].T),
            codes=codes[train],
            weights=w[train],
            n_classes=len(self.classes_),
            n_categories=n_categories,
        )
        nodes = grow_c45(cases, self._rule())
        if self.pruning == "pessimistic":
            prune_pessimistic(nodes, cases, self.confidence, self.subtree_raising)
        self.tree_ = pack_c45(nodes)
        if held.any():
            self.tree_ = prune_c45_by_error(self.tree_, X[held], codes[held], w[held])

    def _as_categories(self, X: Array, w: Array, n_categories: Array) -> tuple[Array, Array]:
        return X, n_categories

    def _rule(self) -> Rule:
        raise NotImplementedError

    def prune(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Prune the fitted tree by its errors on held-out rows X with labels y."""
        check_is_fitted(self)
        refuse_no_rows(X, NO_VALIDATION_ROWS)
        X, y, w = self._rows(X, y, sample_weight, target="labels", reset=False).gather(np.float64)
        if not np.isin(y, self.classes_).all():
            raise InputError("The held-out labels have a class that was not there at fit.")
        codes = label_codes(y, self.classes_)
        self.tree_ = prune_c45_by_error(self.tree_, binned(X, self.bin_edges_), codes, in_cases(w)[0])
        return self

    def predict(self, X: Any) -> Any:
        """The most probable label of each row."""
        return self._after_fit()._map_rows(X, labels, self.tree_, self.bin_edges_, self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Fractions of the classes (n, K) in the leaves that each row arrives in."""
        return self._after_fit()._map_rows(X, probabilities, self.tree_, self.bin_edges_)

    @property
    def feature_importances_(self) -> Array:
        """The information that the splits on each feature gain, scaled to sum 1."""
        check_is_fitted(self)
        return multiway_importances(self.tree_, self.n_features_in_)
