"""What the axis-parallel trees share: parameters, limits, growth, and what a fitted tree can be asked."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import local
from didact.core.categories import Categories
from didact.core.errors import ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import array_like, at_least, attr, between, none, one_of, param, random_state, share, whole
from didact.core.random import seed_sequence
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.engines.trees.growers.blocks import learn_bins_rows
from didact.engines.trees.growers.forest import code_table, exact_table, grow_from
from didact.engines.trees.growers.passes import Collection
from didact.engines.trees.limits import Limits
from didact.engines.trees.pruning import prune_cost_complexity, pruning_path
from didact.engines.trees.rows.bins import Coded, bin_codes, learn_bins
from didact.engines.trees.rows.targets import Targets
from didact.engines.trees.tree import Tree, apply, decision_path, importances, pruned, stages
from didact.parts.statistics.weights import in_cases
from didact.tree.size import TreeSize

BINS = 255  # of max_bins="auto" where not every midpoint is tried
FEW = 1 << 17  # distinct values of a column up to which max_bins="auto" tries every midpoint


def count_of(share: Any, n: int) -> int:
    """A count as it is, a share of n rounded up."""
    return int(share) if isinstance(share, Integral) else int(np.ceil(share * n))


def feature_count(max_features: Any, p: int) -> int:
    """How many features are drawn per node."""
    if max_features is None:
        return p
    if isinstance(max_features, str):
        return max(1, int(np.sqrt(p) if max_features == "sqrt" else np.log2(p)))
    return min(int(max_features), p) if isinstance(max_features, Integral) else max(1, int(max_features * p))


def few_values(X: Any) -> bool:
    """Whether no column has more distinct values than exact growth is meant for."""
    if X.shape[0] <= FEW:
        return True
    columns = X.tocsc() if sp.issparse(X) else X
    return all(
        len(np.unique(columns[:, [j]].data if sp.issparse(columns) else columns[:, j])) <= FEW
        for j in range(X.shape[1])
    )


def monotone_signs(given: Any, p: int, outputs: int, classes: int, categories: Categories | None) -> Array | None:
    """The monotone constraints, checked; None if there are none."""
    signs = np.zeros(p) if given is None else np.asarray(given)
    several = "multiple output" if outputs > 1 else "multiclass classification" if classes > 2 else None
    if several is not None and signs.any():
        raise ParameterError(f"Monotonicity constraints are not supported with {several}: it has no order.")
    if signs.ndim == 1 and len(signs) != p:
        raise ParameterError(f"monotonic_cst has shape {len(signs)} but the input data X has {p} features.")
    if signs.shape != (p,) or not np.isin(signs, (-1, 0, 1)).all():
        raise ParameterError(
            f"monotonic_cst must be None or an array-like of -1, 0 or 1, one for each of the {p} features; got "
            f"{signs.tolist()}."
        )
    if not signs.any():
        return None
    if categories is not None and signs[categories.mask].any():
        raise ParameterError("Categorical features cannot have monotonic constraints: they have no order.")
    return signs.astype(np.int8)


def bin_counts(categories: Categories | None) -> Array | None:
    """The number of categories of each column, 0 for numbers; None if there are no categories."""
    return None if categories is None else np.maximum(categories.counts, categories.mask)


def weights_in_cases(w: Array | None) -> tuple[Array | None, float]:
    """Weights (or None) in units of a case, so that multiples of the same weights give the same sums; and the unit."""
    return (None, 1.0) if w is None else in_cases(w)


def growth_limits(params: dict[str, Any], n: int, p: int, weight: float, random_splits: bool) -> Limits:
    """The limits that the parameters of a tree set to its growth on n rows of this weight in all and p features."""
    leaf, drawn = count_of(params["min_samples_leaf"], n), feature_count(params["max_features"], p)
    return Limits(
        max_depth=1 << 30 if params["max_depth"] is None else int(params["max_depth"]),
        max_leaf_nodes=int(params["max_leaf_nodes"] or 0),
        min_samples_split=max(2, count_of(params["min_samples_split"], n), 2 * leaf),
        min_samples_leaf=leaf,
        min_weight_leaf=float(params["min_weight_fraction_leaf"] * weight),
        min_gain=float(params["min_impurity_decrease"] * weight),
        max_features=0 if drawn >= p else drawn,
        random_splits=random_splits,
    )


def growth_table(
    X: Any,
    weights: Array | None,
    signs: Array | None,
    random_splits: bool,
    max_bins: Any,
    categories: Categories | None,
) -> Any:
    """The rows as growers read them: sorted, or coded where there are bins."""
    if isinstance(X, Coded):
        return code_table(X.codes, X.bins, signs, random_splits)
    if max_bins is None or (max_bins == "auto" and few_values(X)):
        return exact_table(X, None if categories is None else categories.mask, signs, random_splits)
    bins = learn_bins(X, weights, BINS if max_bins == "auto" else int(max_bins), bin_counts(categories))
    return code_table(bin_codes(X, bins), bins, signs, random_splits)


class _TreeModel(TreeSize, Estimator):
    """Base of the decision trees. Abstract."""

    _missing = True
    _test_skips: ClassVar[dict[str, str]] = {"text_refused/category": "Columns of categories are read as they are."}

    splitter: str = param(
        "best", one_of("best", "random"), "Whether to take the best threshold of a feature or a random one."
    )
    max_depth: int | None = param(None, [whole(1), none], "Most tests between the root and a leaf; None: no limit.")
    min_samples_split: Any = param(
        2, [whole(2), share()], "Rows that a node needs to be split; a float is a share of all rows."
    )
    min_samples_leaf: Any = param(
        1, [whole(1), share("neither")], "Rows that a leaf needs; a float is a share of all rows."
    )
    min_weight_fraction_leaf: float = param(0.0, between(0, 0.5), "Share of the total weight that a leaf needs.")
    max_features: Any = param(
        None,
        [whole(1), share(), one_of("sqrt", "log2"), none],
        "Features drawn at each node: a number (at most all), a share, the root or logarithm of all; None: all.",
    )
    random_state: Any = param(None, random_state, "Seed of the draws of features and random thresholds.")
    max_leaf_nodes: int | None = param(
        None, [whole(2), none], "Most leaves; the node of largest gain is then split first."
    )
    min_impurity_decrease: float = param(
        0.0, at_least(0), "A split must lower the impurity by this, times its share of all weight."
    )
    ccp_alpha: float = param(0.0, at_least(0), "Price of a leaf in cost-complexity pruning after growth.")
    monotonic_cst: Any = param(
        None, [array_like, none], "For each feature 1 if the prediction may only rise with it, −1 only fall, 0 free."
    )
    max_bins: Any = param(
        "auto",
        [one_of("auto"), whole(2), none],
        "None: every midpoint; a number: columns are cut into at most so many bins first; 'auto': every midpoint up to "
        "131,072 distinct values in a column (rows of batches or of a cluster), else 255 bins.",
    )
    categorical_features: Any = param(
        "from_dtype",
        [one_of("from_dtype"), array_like, none],
        "Columns that are categories: those of a category type, or a mask, positions or names.",
    )

    _attrs = [
        attr("tree_", "Tree", "The arrays of the tree, with scikit-learn's names."),
        attr("feature_importances_", "(n_features,)", "Share of each feature in the decrease of impurity."),
        attr("max_features_", "int", "Features drawn at each node."),
        attr("n_outputs_", "int", "Number of outputs."),
        attr("categories_", "Categories or None", "Values of the categorical columns."),
    ]

    def _stages(self) -> Iterator[tuple[float, dict[str, Any]]]:
        """The impurity and the tree after each split."""
        for impurity, split in stages(self.tree_, self.max_leaf_nodes is not None):
            yield impurity, {"tree_": pruned(self.tree_, split)}

    def _limits(self, n: int, p: int, weight: float) -> Limits:
        """The limits on growth in rows, weight and score."""
        self.max_features_ = feature_count(self.max_features, p)
        return growth_limits(self.get_params(deep=False), n, p, weight, self.splitter == "random")

    def _signs(self, p: int, outputs: int, classes: int) -> Array | None:
        """The monotone constraints, checked."""
        return monotone_signs(self.monotonic_cst, p, outputs, classes, self.categories_)

    def _collection(self, rows: Rows) -> Collection | None:
        """A collection to be read as bins; None for rows in memory, and where every midpoint is to be tried."""
        if rows.n_rows is not None or self.max_bins is None or self.criterion == "absolute_error":
            return None
        bins, n = learn_bins_rows(
            rows, BINS if self.max_bins == "auto" else int(self.max_bins), bin_counts(self.categories_)
        )
        return None if self.max_bins == "auto" and n <= FEW else Collection(rows, bins, n)

    def _seed(self) -> int:
        return int(seed_sequence(self.random_state).generate_state(1, np.uint64)[0])

    def _grow(self, X: Any, targets: Targets, weight: float, classes: int) -> Tree:
        """The tree of rows in memory."""
        kept = X.shape[0] if targets.keep is None else int(targets.keep.sum())
        limits = self._limits(kept, X.shape[1], weight)
        signs = self._signs(X.shape[1], targets.outputs, classes)
        seed = self._seed()
        table = growth_table(X, targets.weights, signs, self.splitter == "random", self.max_bins, self.categories_)
        tree = grow_from(table, targets, limits, seed, signs)
        return prune_cost_complexity(tree, self.ccp_alpha)

    def apply(self, X: Any, check_input: bool = True) -> Any:
        """The number of the leaf in which each row ends."""
        return self._after_fit()._map_rows(X, _leaves, self.tree_)

    def decision_path(self, X: Any, check_input: bool = True) -> Any:
        """The nodes that each row passes: a sparse matrix of zeros and ones, one column a node."""
        return self._after_fit()._map_rows(X, _path, self.tree_)

    @property
    def feature_importances_(self) -> Array:
        """The share of each feature in the decrease of impurity."""
        check_is_fitted(self)
        return importances(self.tree_, self.n_features_in_)

    def cost_complexity_pruning_path(self, X: Any, y: Any = None, sample_weight: Any = None) -> Bunch:
        """The values of ccp_alpha at which a smaller subtree becomes the best, and the impurities of these subtrees.

        They are attributes and keys, `ccp_alphas` and `impurities`, of what is returned.
        """
        whole_tree = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        return Bunch(**pruning_path(whole_tree.tree_)._asdict())


def _leaves(X: Any, tree: Tree) -> Array:
    return apply(tree, local(X)).astype(np.int64)


def _path(X: Any, tree: Tree) -> Any:
    return decision_path(tree, local(X))
