"""Quantile regression forests: which training targets share the leaves of a new row.

Meinshausen (2006), Quantile regression forests, Journal of Machine Learning Research 7, 983–999.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import local, of_types
from didact.core.errors import InputError, ParameterError
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.predict.quantile_loops import leaf_quantiles
from didact.engines.trees.tree import Tree, apply


class Members(NamedTuple):
    """The training rows in the nodes of all trees, one tree after the other: members of node k are starts[k] …"""

    offsets: Array  # where the nodes of each tree begin
    starts: Array
    ranks: Array  # of the targets
    weights: Array
    values: Array  # distinct targets

    def of(self, trees: Array) -> "Members":
        """The members of some of the trees."""
        ends = np.append(self.offsets[1:], len(self.starts) - 1)
        parts = [self.starts[self.offsets[k] : ends[k] + 1] for k in trees]  # where the members of each node begin
        sizes = [np.diff(part) for part in parts]
        rows = np.concatenate([np.arange(part[0], part[-1]) for part in parts])
        offsets = np.cumsum([0, *map(len, sizes)])[:-1]
        starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
        return Members(
            offsets=offsets, starts=starts, ranks=self.ranks[rows], weights=self.weights[rows], values=self.values
        )

    def check(self) -> None:
        """Refuse inconsistent arrays, because compiled code trusts their indices."""
        whole = of_types(self, (np.int64, np.int64, np.int32, np.float64, np.float64))
        lines = whole and all(part.ndim == 1 for part in self) and len(self.starts) > 0 and self.starts[0] == 0
        fits = lines and len(self.ranks) == len(self.weights) == self.starts[-1] and (np.diff(self.starts) >= 0).all()
        if not fits or (len(self.ranks) and (self.ranks.min() < 0 or self.ranks.max() >= len(self.values))):
            raise ParameterError(
                "The model file is damaged: the arrays of the rows in a forest's leaves do not fit together. "
                "Fit the model anew."
            )


def collect(trees: list[Tree], X: Any, y: Array, weights: Any) -> Members:
    """Members of all leaves; weights(k) are the weights of the rows in tree k."""
    values, ranks = np.unique(y, return_inverse=True)

    def one(k: int) -> tuple[Array, Array, Array]:
        w = weights(k)
        rows = np.flatnonzero(w > 0)
        leaves = apply(trees[k], X[rows])
        order = np.argsort(leaves, kind="stable")
        return np.bincount(leaves, minlength=trees[k].node_count), ranks[rows[order]], w[rows[order]]

    counts, found, shares = zip(*parallel_map(one, range(len(trees))), strict=True)
    offsets = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])])[:-1]
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return Members(
        offsets=offsets.astype(np.int64), starts=starts.astype(np.int64), ranks=np.concatenate(found).astype(np.int32),
        weights=np.concatenate(shares).astype(np.float64), values=values,
    )  # fmt: skip


def quantiles_of(X: Any, trees: list[Tree], members: Members, quantiles: Array) -> Array:
    """Conditional quantiles of the rows of a block, (n, quantiles)."""
    X = local(X)
    rooms = np.diff(np.append(members.offsets, len(members.starts) - 1))
    if len(trees) != len(rooms) or members.offsets[0] != 0 or any(t.node_count != r for t, r in zip(trees, rooms)):
        raise InputError("The members of a forest's leaves are not those of its trees.")
    order = np.argsort(quantiles, kind="stable")
    out = np.empty((X.shape[0], len(quantiles)))

    def piece(start: int) -> None:
        block = X[start : start + 2048]
        leaves = np.stack([apply(tree, block) for tree in trees], axis=1) + members.offsets
        found = np.empty((len(leaves), len(quantiles)))
        leaf_quantiles(leaves, *members[1:], quantiles[order], found)
        out[start : start + 2048, order] = found

    parallel_map(piece, range(0, X.shape[0], 2048))
    return out
