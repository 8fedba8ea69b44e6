r"""Permutation importances from the rows out of bag.

For every tree the rows that it has not seen are predicted twice, as they are and with the values of feature j shuffled
among them; the importance of j is the mean increase of the error over the trees. It needs no held-out data and, unlike
the decrease of impurity, does not favour features of many values. Breiman (2001), doi:10.1023/A:1010933404324.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.random import seed_sequence
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.tree import apply


class PermutationImportances(NamedTuple):
    """Increase of the error by feature: one column a tree, their mean and standard deviation."""

    importances: Array
    importances_mean: Array
    importances_std: Array


def permutation_importances(
    trees: Any, X: Any, outside: Callable[[int], Array], errors: Callable[[Array, Array], Array], weights: Array | None,
    random_state: Any,
) -> PermutationImportances:  # fmt: skip
    """Importances of all features; errors(values, rows) is the loss of predicting these values for these rows."""
    seeds = seed_sequence(random_state).spawn(len(trees))

    def one(k: int) -> Array:
        tree, rows, rng = trees[k], outside(k), np.random.default_rng(seeds[k])
        found = np.zeros(X.shape[1])
        block = X[rows].toarray() if hasattr(X, "toarray") else X[rows].copy()
        w = None if weights is None else weights[rows]
        if len(rows) == 0 or (w is not None and w.sum() == 0):
            return found
        before = np.average(errors(tree.value[apply(tree, block)], rows), weights=w)
        for j in np.unique(tree.feature[tree.feature >= 0]):
            column = block[:, j].copy()
            block[:, j] = rng.permutation(column)
            found[j] = np.average(errors(tree.value[apply(tree, block)], rows), weights=w) - before
            block[:, j] = column
        return found

    table = np.stack(parallel_map(one, range(len(trees))), axis=1)
    return PermutationImportances(table, table.mean(axis=1), table.std(axis=1))
