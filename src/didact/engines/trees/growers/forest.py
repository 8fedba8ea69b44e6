"""Growing one tree, or the trees of a forest, one a task, from codes or sorted columns that all of them share."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from didact.core.threads import one_blas_thread, parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.trees.growers.binned import coded, grow_from_bins, grow_random_cuts, random_cuts
from didact.engines.trees.growers.binned_loops import CodedColumns
from didact.engines.trees.growers.exact import Presorted, grow_exact, presort
from didact.engines.trees.limits import Limits
from didact.engines.trees.pruning import prune_cost_complexity
from didact.engines.trees.rows.bins import Bins, bin_codes, value_bins
from didact.engines.trees.rows.targets import Targets
from didact.engines.trees.splits.random_cut_loops import RandomCuts
from didact.engines.trees.tree import Tree, weighed

GrowthTable = CodedColumns | RandomCuts | Presorted


def exact_table(X: Any, categorical: Array | None, monotone: Array | None, random_splits: bool) -> GrowthTable:
    """All rows for trees of every midpoint: as codes where values recur often enough, which is faster, else sorted."""
    found = None if random_splits or (categorical is not None and categorical.any()) else value_bins(X)
    return presort(X, categorical) if found is None else coded(bin_codes(X, found[0]), found[0], monotone, found[1])


def code_table(codes: Array, bins: Bins, monotone: Array | None, random_splits: bool) -> GrowthTable:
    """The codes (n, p) of all rows as trees of random cuts read them, or those of best cuts."""
    return random_cuts(codes, bins, monotone) if random_splits else coded(codes, bins, monotone)


def grow_from(
    table: GrowthTable, targets: Targets, limits: Limits, seed: int = 0, monotone: Array | None = None
) -> Tree:
    """Grow one tree; rows of weight 0 are left out. All draws follow from the seed."""
    if isinstance(table, Presorted):
        tree = grow_exact(table, targets, limits, seed, monotone)
    elif isinstance(table, RandomCuts):
        tree = grow_random_cuts(table, targets, limits, seed)
    else:
        tree = grow_from_bins(table, targets, limits, seed)
    return tree._replace(n_features=len(table.categorical))


class Recipe(NamedTuple):
    """What all trees of a forest share."""

    table: GrowthTable
    targets: Callable[[Array | None], Targets]  # from the weights of the rows of one tree
    weights: Array | None  # of the rows, before any draw
    n_rows: int
    draws: int  # rows drawn with replacement for each tree; 0: all rows as they are
    limits: Limits  # min_weight_leaf and min_gain are shares of a tree's total weight
    ccp_alpha: float
    monotone: Array | None
    unit: float = 1.0  # weight of a case
    drawn_from: Array | None = None  # the rows that have weight; None: all

    @property
    def drawn(self) -> tuple[Any, ...]:
        """What the draws of rows depend on, beside the seed: their arguments in `draw`."""
        return (self.n_rows, self.draws) if self.drawn_from is None else (self.n_rows, self.draws, self.drawn_from)


def draw(seed: int, n: int, draws: int, rows: Array | None = None) -> Array:
    """The row numbers of the bootstrap sample of the tree with this seed, drawn from n rows or from some of them."""
    index = np.random.default_rng(seed).integers(0, n if rows is None else len(rows), draws)
    return index if rows is None else rows[index]


def draw_counts(seed: int, n: int, draws: int, rows: Array | None = None) -> Array:
    """How often each of the n rows is in the bootstrap sample of the tree with this seed."""
    return np.bincount(draw(seed, n, draws, rows), minlength=n)


def grow_one(recipe: Recipe, seed: int) -> Tree:
    """The tree with this seed."""
    w = recipe.weights
    if recipe.draws:
        counts = draw_counts(seed, *recipe.drawn).astype(np.float64)
        w = counts if w is None else counts * w
    targets = recipe.targets(w)
    total = float(recipe.n_rows if targets.weights is None else targets.weights.sum())
    limits = recipe.limits._replace(
        min_weight_leaf=recipe.limits.min_weight_leaf * total, min_gain=recipe.limits.min_gain * total
    )
    tree = grow_from(recipe.table, targets, limits, seed, recipe.monotone)
    return weighed(prune_cost_complexity(tree, recipe.ccp_alpha), recipe.unit)


def grow_forest(recipe: Recipe, seeds: Sequence[int], report: Callable[[int], bool]) -> list[Tree]:
    """One tree for each seed, side by side on the pool; report(number of trees) may ask to stop."""
    if not recipe.draws:  # the targets of all trees are the same, but for buffers
        with one_blas_thread:  # its threads would spin while trees grow
            same = recipe.targets(recipe.weights)
        recipe = recipe._replace(targets=lambda _: same._replace(stat=same.of_thread(1)))
    trees: list[Tree] = []
    step = 4 * thread_count()
    for start in range(0, len(seeds), step):
        for tree in parallel_map(lambda seed: grow_one(recipe, seed), seeds[start : start + step]):
            trees.append(tree)
            if report(len(trees)):
                return trees
    return trees
