"""What forests share: parameters, growth of many trees, packed prediction, and what a fitted forest can be asked."""

import warnings
from collections.abc import Callable, Iterator
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import local
from didact.core.beside import beside
from didact.core.errors import InputError, ParameterError, users_level
from didact.core.estimator import Estimator
from didact.core.parameters import (
    array_like,
    at_least,
    attr,
    between,
    is_bool,
    is_callable,
    multiple,
    none,
    one_of,
    param,
    random_state,
    share,
    whole,
)
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import Rows
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.growers.blocks import coded_rows, learn_bins_rows
from didact.engines.trees.growers.forest import Recipe, draw, draw_counts, grow_forest
from didact.engines.trees.predict.coded_walk import CodedTrees, code_trees, predict_coded
from didact.engines.trees.tree import Tree, apply, decision_path, importances
from didact.ensemble.combine import NO_OOB_SCORE, nan_median
from didact.ensemble.members import TEMPLATE
from didact.ensemble.warm_start import check_additions
from didact.tree.tree_base import (
    BINS,
    bin_counts,
    feature_count,
    growth_limits,
    growth_table,
    monotone_signs,
    weights_in_cases,
)

READS_ALL = {"text_refused/category": "Columns of a category type are read as they are."}


class ForestPack(NamedTuple):
    """Trees for fast prediction: on codes where that is possible, and as they are for rows with missing values."""

    coded: CodedTrees | None
    trees: tuple[Tree, ...]
    values: tuple[Array, ...]

    @classmethod
    def of(cls, trees: list[Tree], values: list[Array], n_features: int) -> "ForestPack":
        """Pack trees with these values of their nodes."""
        return cls(code_trees(trees, n_features, values), tuple(trees), tuple(values))

    def mean(self, X: Any) -> Array:
        """The mean of the trees' values, (n, columns)."""
        found = None if self.coded is None else predict_coded(self.coded, X)
        if found is None:
            found = np.zeros((X.shape[0], self.values[0].shape[1]))
            for tree, value in zip(self.trees, self.values, strict=True):
                found += value[apply(tree, X)]
            found /= len(self.trees)
        return found

    def each(self, X: Any) -> Array:
        """The values of all trees, (n, trees, columns)."""
        return np.stack([value[apply(tree, X)] for tree, value in zip(self.trees, self.values, strict=True)], axis=1)


class _Forest(Estimator):
    """Base of the forests. Abstract."""

    _missing = True
    _random_splits: ClassVar[bool] = False
    _tree_model: ClassVar[Any]
    _test_skips: ClassVar[dict[str, str]] = READS_ALL | {
        "weights_equal_repetition/repeated": "Trees are grown from draws of the rows, repeated ones drawn otherwise.",
        "row_order": "Trees are grown from draws of the rows by their numbers.",
        "check_sample_weight_equivalence_on_dense_data": "Repeated rows are drawn otherwise than weighted ones.",
        "check_sample_weight_equivalence_on_sparse_data": "Repeated rows are drawn otherwise than weighted ones.",
    }

    n_estimators: int = param(100, whole(1), "Number of trees.")
    max_depth: int | None = param(None, [whole(1), none], "Most tests between a root and a leaf; None: no limit.")
    min_samples_split: Any = param(
        2, [whole(2), share()], "Rows that a node needs to be split; a float is a share of all rows."
    )
    min_samples_leaf: Any = param(
        1, [whole(1), share("neither")], "Rows that a leaf needs; a float is a share of all rows."
    )
    min_weight_fraction_leaf: float = param(0.0, between(0, 0.5), "Share of a tree's weight that a leaf needs.")
    max_features: Any = param(
        "sqrt",
        [whole(1), share(), one_of("sqrt", "log2"), none],
        "Features drawn at each node: a number, a share, the root or logarithm of all; None: all.",
    )
    max_leaf_nodes: int | None = param(None, [whole(2), none], "Most leaves of a tree; the best splits come first.")
    min_impurity_decrease: float = param(
        0.0, at_least(0), "A split must lower the impurity by this, times its share of all weight."
    )
    bootstrap: bool = param(True, is_bool, "Whether each tree sees a draw of the rows with replacement, or all rows.")
    oob_score: Any = param(
        False, [is_bool, is_callable], "Whether to test on the rows out of bag; a function(y, prediction) is the score."
    )
    random_state: Any = param(None, random_state, "Seed of the draws of rows, features and thresholds.")
    warm_start: bool = param(False, is_bool, "Whether to add trees to those of the last fit.")
    ccp_alpha: float = param(0.0, at_least(0), "Price of a leaf in cost-complexity pruning of each tree.")
    max_samples: Any = param(
        None, [whole(1), multiple(), none], "Rows drawn for a tree: a number or a share; None: all."
    )
    monotonic_cst: Any = param(
        None, [array_like, none], "For each feature 1 if the prediction may only rise with it, −1 only fall, 0 free."
    )
    max_bins: Any = param(
        "auto",
        [one_of("auto"), whole(2), none],
        "Most bins of a column ('auto': 255; a column of fewer distinct values loses nothing); None: every midpoint.",
    )
    categorical_features: Any = param(
        "from_dtype",
        [one_of("from_dtype"), array_like, none],
        "Columns that are categories: those of a category type, or a mask, positions or names.",
    )

    _attrs = [
        TEMPLATE,
        attr("trees_", "list of Tree", "The arrays of the trees."),
        attr("estimators_", "list of models", "The trees as models of their own; made when first asked for."),
        attr("estimators_samples_", "list of arrays", "Row numbers that each tree was grown from, as often as drawn."),
        attr("feature_importances_", "(n_features,)", "Mean share of each feature in the decrease of impurity."),
        attr("n_outputs_", "int", "Number of outputs."),
        attr("categories_", "Categories or None", "Values of the categorical columns."),
    ]

    def _recipe(
        self, X: Any, weights: Array | None, targets: Callable[[Any], Any], outputs: int, classes: int
    ) -> Recipe:
        """What all trees share: codes, limits, draws. A row of weight 0 is not there: it is never drawn nor counted."""
        p, (weights, unit) = X.shape[1], weights_in_cases(weights)
        rows = None if weights is None or (weights > 0).all() else np.flatnonzero(weights)
        n = X.shape[0] if rows is None else len(rows)
        signs = monotone_signs(self.monotonic_cst, p, outputs, classes, self.categories_)
        most = None if self.max_bins is None else self._most_bins()
        table = growth_table(X, weights, signs, self._random_splits, most, self.categories_)
        limits = growth_limits(self.get_params(deep=False), n, p, 1.0, self._random_splits)
        return Recipe(
            table=table,
            targets=targets,
            weights=weights,
            n_rows=X.shape[0],
            draws=self._draws(n),
            limits=limits,
            ccp_alpha=float(self.ccp_alpha),
            monotone=signs,
            unit=unit,
            drawn_from=rows,
        )

    def _most_bins(self) -> int:
        return BINS if self.max_bins == "auto" else int(self.max_bins)

    def _gathered(self, rows: Rows) -> tuple[Any, Any, Any]:
        """X, y and weights of all rows; a collection's as codes, one byte a value, unless every midpoint is wanted."""
        if rows.n_rows is not None or self.max_bins is None:
            return rows.whole()[:3]
        return coded_rows(rows, learn_bins_rows(rows, self._most_bins(), bin_counts(self.categories_))[0], every=True)

    def _draws(self, n: int) -> int:
        """Rows drawn for each tree; 0 without bootstrap."""
        if not self.bootstrap:
            if self.max_samples is not None:
                raise ParameterError(
                    "`max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set "
                    "`max_sample=None`."
                )
            if self.oob_score:
                raise ParameterError("Out of bag estimation only available if bootstrap=True.")
            return 0
        if self.max_samples is None:
            return n
        if isinstance(self.max_samples, Integral):
            return int(self.max_samples)
        return max(1, round(n * self.max_samples))

    def _fit_trees(self, recipe: Recipe, X: Any, y: Any) -> None:
        """Grow the trees that are missing, on top of those of the last fit with warm_start."""
        self._drawn = recipe.drawn
        have = len(self.trees_) if self.warm_start and hasattr(self, "trees_") else 0
        check_additions(self.n_estimators, have)
        seeds = [int(s) for s in seed_sequence(self.random_state).generate_state(self.n_estimators, np.uint64)]
        with FitProgress(self, self.n_estimators - have, X=X, y=y) as progress:
            new = grow_forest(recipe, seeds[have:], lambda k: progress.report(have + k))
        self.trees_: list[Tree] = [*self.trees_[:have], *new] if have else new
        old = self._seeds[:have] if have else []
        self._seeds: list[int] = [*old, *seeds[have : have + len(new)]]

    def _stages(self) -> Iterator[tuple[None, dict[str, Any]]]:
        """The trees after each that was added."""
        for k in range(1, len(self.trees_) + 1):
            yield None, {"trees_": self.trees_[:k], "_seeds": self._seeds[:k]}

    @property
    def _pack(self) -> Any:
        """All trees packed for prediction."""
        check_is_fitted(self)
        return beside(
            self,
            lambda: ForestPack.of(self.trees_, self._leaf_values(), self.n_features_in_),
            self.trees_,
            self.combine,
        )

    def _leaf_values(self) -> list[Array]:
        """What each tree's nodes add to the prediction, (nodes, columns)."""
        return [tree.value.reshape(tree.node_count, -1) for tree in self.trees_]

    @property
    def estimator(self) -> Any:
        """A tree of the kind that the forest grows, not fitted."""
        return self._tree_model(splitter="random" if self._random_splits else "best")

    @property
    def estimator_(self) -> Any:
        """A tree with the forest's parameters, not fitted."""
        check_is_fitted(self)
        kind, own = self._tree_model, self.get_params(deep=False)
        shared = {k: v for k, v in own.items() if k in kind._parameter_constraints and k != "class_weight"}
        shared["splitter"] = "random" if self._random_splits else "best"
        shared["max_bins"] = None if self.max_bins is None else self._most_bins()
        return kind(**shared)

    @property
    def estimators_(self) -> list[Any]:
        """The trees as models of their own, with the forest's parameters; made when first asked for."""
        check_is_fitted(self)
        return beside(self, self._members_of_trees, self.trees_, name="estimators_")

    def _members_of_trees(self) -> list[Any]:
        template = self.estimator_
        names = ("n_features_in_", "feature_names_in_", "n_outputs_", "categories_", "classes_", "n_classes_")
        known = {name: getattr(self, name) for name in names if hasattr(self, name)}
        known["max_features_"] = feature_count(self.max_features, self.n_features_in_)
        found = []
        for tree, seed in zip(self.trees_, self._seeds, strict=True):
            model = copy(template).set_params(random_state=int(seed) % 2**32)  # as many bits as parameters may have
            model.__dict__.update(known | {"tree_": tree})
            found.append(model)
        return found

    @property
    def estimators_samples_(self) -> list[Array]:
        """The row numbers that each tree was grown from, repeated ones as often as they were drawn."""
        check_is_fitted(self)
        n, draws, *rows = self._drawn
        kind = np.int32 if n < 1 << 31 else np.int64
        if not draws:
            return [(rows[0] if rows else np.arange(n)).astype(kind) for _ in self._seeds]
        return [draw(seed, n, draws, *rows).astype(kind) for seed in self._seeds]

    def __len__(self) -> int:
        """The number of trees."""
        check_is_fitted(self)
        return len(self.trees_)

    def __getitem__(self, index: Any) -> Any:
        """One tree as a model, or several by a slice."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        """The trees as models."""
        return iter(self.estimators_)

    @property
    def feature_importances_(self) -> Array:
        """The mean share of each feature in the decrease of impurity."""
        check_is_fitted(self)
        found = [importances(t, self.n_features_in_) for t in self.trees_ if t.node_count > 1]
        mean = np.mean(found, axis=0) if found else np.zeros(self.n_features_in_)
        return mean / mean.sum() if mean.sum() > 0 else mean

    def apply(self, X: Any) -> Any:
        """The number of the leaf in which each row ends in each tree, (n, trees)."""
        return self._after_fit()._map_rows(X, _all_leaves, self.trees_)

    def decision_path(self, X: Any) -> Any:
        """The nodes that each row passes in all trees, side by side, and where the columns of each tree begin."""
        paths = self._after_fit()._map_rows(X, _all_paths, self.trees_)
        return paths, np.concatenate([[0], np.cumsum([t.node_count for t in self.trees_])])

    def _out_of_bag(self, k: int) -> Array:
        """The rows that tree k has not seen."""
        return np.flatnonzero(draw_counts(self._seeds[k], *self._drawn) == 0)

    def _oob_means(self, X: Any, values: list[Array]) -> tuple[Array, Array]:
        """The mean of the nodes' values in the trees that have not seen a row, and how many these are."""
        total, count = np.zeros((X.shape[0], *values[0].shape[1:])), np.zeros(X.shape[0])

        def one(k: int) -> tuple[Array, Array]:
            rows = self._out_of_bag(k)
            return rows, values[k][apply(self.trees_[k], X[rows])]

        for start in range(0, len(values), 16):
            for rows, found in parallel_map(one, range(start, min(start + 16, len(values)))):
                total[rows] += found
                count[rows] += 1
        return total / np.maximum(count, 1)[:, None, None], count

    def _oob_medians(self, X: Any, values: list[Array]) -> tuple[Array, Array]:
        """The median of the nodes' values in the trees that have not seen a row, and how many these are."""
        out = np.zeros((len(values), X.shape[0]), dtype=bool)
        for k, unseen in enumerate(out):
            unseen[self._out_of_bag(k)] = True

        def block(start: int) -> Array:
            part, unseen = X[start : start + 4096], out[:, start : start + 4096]
            found = np.full((*unseen.shape, *values[0].shape[1:]), np.nan)
            for k, rows in enumerate(unseen):
                found[k, rows] = values[k][apply(self.trees_[k], part[rows])]
            return np.nan_to_num(nan_median(found))

        return np.concatenate(parallel_map(block, range(0, X.shape[0], 4096))), out.sum(axis=0)

    def _with_prediction(self, count: Array) -> Array:
        """Which rows with weight have an out-of-bag prediction; a warning if some have none."""
        weighed = np.isin(np.arange(len(count)), self._drawn[2]) if len(self._drawn) > 2 else np.ones(len(count), bool)
        without = int((weighed & (count == 0)).sum())
        if without:
            warnings.warn(
                NO_OOB_SCORE.format(without), UserWarning, stacklevel=users_level(),
            )  # fmt: skip
        return weighed & (count > 0)

    def _require_bootstrap(self, X: Any) -> None:
        check_is_fitted(self)
        if self._drawn[1] == 0:
            raise ParameterError("There are no rows out of bag without bootstrap=True.")
        if X.shape[0] != self._drawn[0]:
            raise InputError(f"Give the {self._drawn[0]} rows of the fit, in their order; got {X.shape[0]}.")


def _all_leaves(X: Any, trees: Any) -> Array:
    X = local(X)
    return np.stack([apply(tree, X) for tree in trees], axis=1).astype(np.int64)


def _all_paths(X: Any, trees: Any) -> Any:
    X = local(X)
    return sp.hstack([decision_path(tree, X) for tree in trees], format="csr")
