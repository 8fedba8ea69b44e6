r"""Trees with oblique splits :math:`w^Tx \le t`, each a fitted linear discriminant.

At a node every class is set against the others by Fisher's direction
:math:`w = (S_W + \lambda D)^{-1}(\mu_1 - \mu_0)`, where :math:`S_W` is the scatter within the two groups and D the
diagonal of variances; for numbers the direction is that of ridge regression, and Fisher's between the targets above
and below their mean. The principal axes of each group, which are the edges of a box that was turned, are tried, too. On
each projection, and on each feature alone, the best threshold is searched; an oblique split is taken only where it
beats the best single feature. The directions are then fitted anew to the half of the rows next
to the cut, where its place is decided, as long as that helps. Directions are derived features: feature p + k of a node
is the k-th direction, so that growth, pruning and prediction are those of any binary tree.

Cost: a node of n rows p² n for the scatter, p³ for the solves and n log n for each of p + K + K p projections.
Murthy, Kasif, Salzberg (1994), A system for induction of oblique decision trees, doi:10.1613/jair.63; López-Chau et al.
(2013), Fisher's decision tree, doi:10.1016/j.eswa.2013.05.044; Wickramarachchi et al. (2016), HHCART: an oblique
decision tree, doi:10.1016/j.csda.2015.11.006.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.typing import Array
from didact.engines.trees.outline import Halfspace, Place, missing_as, outline
from didact.engines.trees.rows.targets import HUGE
from didact.engines.trees.tree import Tree, TreeBuilder, apply
from didact.engines.trees.tuning import PROJECTED_ROWS
from didact.engines.trees.variants.oblique_loops import best_projected_cut

Cut = tuple[float, int, float]  # score, column and threshold

SAME = 1e-10  # projections that differ by less, relative to their size, are equal
ROUNDS = 5  # in which the direction of a node is fitted anew to the rows next to its cut
NO_VARIANCE = 1e-290  # variance of a column that does not vary: shares of less would underflow
AXES = 8  # principal axes of a group that are tried


class ObliqueTree(NamedTuple):
    """A binary tree on the features and, behind them, on projections; missing values count as `centres`."""

    tree: Tree
    directions: Array  # (m, p)
    centres: Array  # (p,)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.tree.n_leaves

    @property
    def max_depth(self) -> int:
        """Edges from the root to the deepest leaf."""
        return self.tree.max_depth

    def apply(self, X: Array) -> Array:
        """The leaf of every row."""
        X = without_gaps(X, self.centres)
        step = max(1, PROJECTED_ROWS // (1 + len(self.directions)))
        parts = [
            apply(self.tree, np.column_stack([block, block @ self.directions.T]))
            for block in (X[k : k + step] for k in range(0, len(X), step))
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.int32)

    def values(self, X: Array) -> Array:
        """The value of the leaf of each row."""
        return self.tree.value[self.apply(X), 0]

    def outline(self) -> list[Place]:
        """The nodes with the conditions of their branches, for rules and pictures."""
        p = len(self.centres)
        centres = tuple(self.centres.tolist())

        def named(condition: Any) -> Any:
            if condition.feature < p:
                return missing_as(condition, self.centres)
            weights = tuple(self.directions[condition.feature - p].tolist())
            return Halfspace(weights, condition.low, condition.high, centres)

        return [
            place._replace(branches=tuple((named(c), child) for c, child in place.branches))
            for place in outline(self.tree)
        ]

    def check(self) -> None:
        """Raise a ValueError unless the arrays fit together."""
        self.tree.check()
        p = len(self.centres)
        if self.directions.shape[1:] != (p,) or self.tree.feature.max(initial=0) >= p + len(self.directions):
            raise ValueError("the directions of a tree do not fit its nodes")


class ObliqueGrowth(NamedTuple):
    """Limits of growth."""

    max_depth: float
    min_rows_split: int
    min_rows_leaf: int
    min_gain: float
    ridge: float


def column_means(X: Array, w: Array) -> Array:
    """The weighted mean of the known values of each column; 0 where there is none."""
    known = ~np.isnan(X)
    weight = w @ known
    return np.divide(w @ np.where(known, X, 0.0), weight, out=np.zeros(X.shape[1]), where=weight > 0)


def without_gaps(X: Array, centres: Array) -> Array:
    """X as float64 with centres in place of missing values."""
    X = np.ascontiguousarray(X, np.float64)
    return np.where(np.isnan(X), centres, X) if np.isnan(X).any() else X


def shrunk_powers(X: Array) -> Array:
    """A power of two for each column by which it is divided so that no square overflows; 1 for ordinary columns."""
    most = np.max(np.abs(X), axis=0, initial=0.0, where=~np.isnan(X))
    return np.where(most > HUGE, np.exp2(np.ceil(np.log2(np.maximum(most, 1.0)) - 1)), 1.0)


def fisher(X: Array, w: Array, group: Array, ridge: float) -> Array:
    """The direction that separates the rows of a group from the others, of unit length."""
    sides = [np.average(X[side], axis=0, weights=w[side]) for side in (group, ~group)]
    centred = X - np.where(group[:, None], sides[0], sides[1])
    return _solved(centred.T @ (centred * w[:, None]) / w.sum(), X, w, sides[0] - sides[1], ridge)


def least_squares(X: Array, w: Array, y: Array, ridge: float) -> Array:
    """The direction of the ridge regression of y, of unit length."""
    centred, y = X - np.average(X, axis=0, weights=w), y - np.average(y, weights=w)
    scatter = centred.T @ (centred * w[:, None]) / w.sum()
    return _solved(scatter, X, w, centred.T @ (w * y) / w.sum(), ridge)


def _solved(scatter: Array, X: Array, w: Array, right: Array, ridge: float) -> Array:
    mean = np.average(X, axis=0, weights=w)
    variance = np.average((X - mean) ** 2, axis=0, weights=w)
    still = variance <= np.maximum((1e-12 * np.abs(mean)) ** 2, NO_VARIANCE)
    matrix = scatter + np.diag(np.where(still, 1.0, (ridge + 1e-10) * variance))
    matrix[still], matrix[:, still], right = 0.0, 0.0, np.where(still, 0.0, right)
    matrix[still, still] = 1.0
    scale = 1.0 / np.sqrt(np.diagonal(matrix))  # units of the columns do not count
    direction = scale * linalg.solve(matrix * scale * scale[:, None], scale * right, assume_a="pos")
    direction /= max(float(np.abs(direction).max()), np.finfo(float).tiny)
    return direction / max(float(np.linalg.norm(direction)), np.finfo(float).tiny)


def principal(X: Array, w: Array) -> list[Array]:
    """The principal axes of some rows: the edges of a box that was turned."""
    centred = X - np.average(X, axis=0, weights=w)
    values, vectors = np.linalg.eigh(centred.T @ (centred * w[:, None]))
    # Along an axis without extent the rows say nothing, and rounding would choose the axis.
    used = vectors.T[values > 1e-10 * values[-1]][::-1]
    return [v * np.sign(v[np.argmax(np.abs(v))]) for v in used[:AXES]]


def directions(X: Array, w: Array, target: Array, labels: bool, ridge: float) -> list[Array]:
    """Candidate directions of a node: discriminants, then principal axes of the groups."""
    if labels:
        present = np.unique(target)
        groups = [target == k for k in present]
        found = [fisher(X, w, group, ridge) for group in (groups[1:] if len(present) == 2 else groups)]
    else:
        above = target > np.average(target, weights=w)
        groups = [above, ~above]
        found = [least_squares(X, w, target, ridge), fisher(X, w, above, ridge)]
    return found + [v for group in groups for v in principal(X[group], w[group])]


def grow_oblique(
    X: Array, w: Array, target: Array, sums: Array, criterion: Any, growth: ObliqueGrowth
) -> tuple[Tree, Array]:
    """The tree and its directions. X has no missing values; `sums` is what each row adds to the sums of a node."""
    p, builder = X.shape[1], TreeBuilder()
    found: list[Array] = []
    n, base = sums.shape[1] - (not criterion.labels), _bases(criterion, sums, w)
    waiting = [(-1, False, np.arange(len(X)), 0)]
    while waiting:
        parent, is_left, rows, depth = waiting.pop()
        total = sums[rows].sum(axis=0)
        impurity = float(criterion.impurities(total[None], base[rows].sum(keepdims=True))[0])
        weight = float(w[rows].sum())
        node = builder.add(parent, is_left, impurity, len(rows), weight, criterion.values(total[None])[0])
        if depth >= growth.max_depth or len(rows) < growth.min_rows_split or impurity <= 1e-12 * (1 + abs(total).max()):
            continue
        Z, paths = _projections(X[rows], w[rows], target[rows], criterion.labels, growth.ridge)
        cut = _search(Z, sums[rows], criterion, n, growth.min_rows_leaf)
        if paths and cut is not None:
            Z, paths, cut = _refined(X[rows], w[rows], target[rows], sums[rows], criterion, n, growth, Z, paths, cut)
        parts = base[rows].sum() - impurity * weight
        if cut is None or cut[0] - parts < max(growth.min_gain, 1e-12 * abs(parts)):
            continue
        _, column, threshold = cut
        builder.split(node, column if column < p else p + len(found), threshold)
        if column >= p:
            found.append(paths[column - p])
        left = Z[:, column] <= threshold
        waiting += [(node, False, rows[~left], depth + 1), (node, True, rows[left], depth + 1)]
    return builder.build()._replace(n_features=p + len(found)), np.stack(found) if found else np.zeros((0, p))


def _bases(criterion: Any, sums: Array, w: Array) -> Array:
    """w·b(y) of every row: what the score of a pure node would be."""
    if criterion.labels:
        return np.array([criterion.base2(0.0, weight) for weight in w])
    return np.array([criterion.base2(s, weight) for s, weight in sums])


def _projections(X: Array, w: Array, target: Array, labels: bool, ridge: float) -> tuple[Array, list[Array]]:
    """The features and, if there are rows enough to fit them, the projections; and their directions."""
    varying = np.count_nonzero(np.ptp(X, axis=0))
    if w.sum() < 2 * varying or varying < 2:
        return X, []
    paths = directions(X, w, target, labels, ridge)
    return np.column_stack([X, X @ np.stack(paths).T]), paths


def _refined(X: Array, w: Array, target: Array, sums: Array, criterion: Any, n: int, growth: ObliqueGrowth, Z: Array,
             paths: list[Array], cut: Cut) -> tuple[Array, list[Array], Cut]:  # fmt: skip
    """Directions fitted anew to the half of the rows next to the best cut, as long as that makes it better."""
    for _ in range(ROUNDS):
        near = _nearest_half(np.abs(Z[:, cut[1]] - cut[2]), w)
        if w[near].sum() < 2 * np.count_nonzero(np.ptp(X[near], axis=0)) or np.ptp(target[near]) == 0:
            break
        more = directions(X[near], w[near], target[near], criterion.labels, growth.ridge)
        closer = _search(X @ np.stack(more).T, sums, criterion, n, growth.min_rows_leaf)
        if closer is None or closer[0] <= cut[0] + 1e-9 * abs(cut[0]):
            break
        cut = closer[0], Z.shape[1] + closer[1], closer[2]
        Z, paths = np.column_stack([Z, X @ np.stack(more).T]), paths + more
    return Z, paths, cut


def _nearest_half(far: Array, w: Array) -> Array:
    """The rows of least distance that have half of the weight."""
    order = np.argsort(far, kind="stable")
    below = np.cumsum(w[order])
    limit = far[order[np.searchsorted(below, 0.5 * below[-1] * (1 - 1e-9))]]
    return far <= limit * (1 + 1e-9)


def _search(Z: Array, sums: Array, criterion: Any, n: int, least: int) -> Cut | None:
    """Score, column and threshold of the best cut; of equals the first column, so that single features go first."""
    best: Cut | None = None
    for column in range(Z.shape[1]):
        z = np.ascontiguousarray(Z[:, column])
        order = np.argsort(z, kind="stable")
        gap = SAME * max(abs(z[order[0]]), abs(z[order[-1]]))
        score, place = best_projected_cut(criterion, z, order, sums, n, least, gap)
        if place >= 0 and (best is None or score > best[0] + 1e-9 * abs(best[0])):
            low, high = z[order[place]], z[order[place + 1]]
            best = (score, column, float(low + (high - low) / 2))
    return best
