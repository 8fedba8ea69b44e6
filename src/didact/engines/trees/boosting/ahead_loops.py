"""Trees of boosting that are grown one after the other in one compiled call, without the interpreter between them.

When a tree is finished and others are to follow, its nodes are copied away and its leaves go to the passes that find
the next gradients. Waking a team of threads and letting it go costs a good part of a millisecond, as long as sixteen
threads need for a small tree.

A split that was made ahead of its turn and that the tree did not take up is undone: both children get the node's value.

Layout, for trees that follow each other in one call::

    seeds             [ tree 0 | tree 1 | … | last tree ]
    kept, units       [ tree 0 | tree 1 | … ]             all but the last, each as in `NodeTable`
    passes.starts     [ leaf 0 | leaf 1 | … | 0 | 0 … ]   of the tree before; stops, values likewise
"""

from typing import Any, NamedTuple

from didact.core.jit import dispatch, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.boosting.booster_loops import Passes, shorten_steps
from didact.engines.trees.growers.histogram_node_loops import NodeTable
from didact.engines.trees.rows.fixed_point_loops import ZERO, Reading, decoded, targets_of
from didact.engines.trees.splits.histogram_loops import Int

value1 = dispatch("value1")


class TreesAhead(NamedTuple):
    """The trees that are grown in one call, and room for all but the last."""

    seeds: Array  # uint64 (trees)
    kept: NodeTable  # with one more axis in front: (trees − 1, …)
    units: Array  # float64 (trees − 1, channels): what one unit of a tree's sums stands for


@jit_unmanaged
def bounded_value(node: Int, nodes: NodeTable, how: Reading, inverse: Array, criterion: Any, sums: Array) -> float:
    """What a node predicts, within its bounds."""
    here = nodes.at[node]
    decoded(nodes.fixed[node, 0], how, inverse, sums, ZERO)
    return min(max(value1(criterion, sums, 0, targets_of(how, nodes.fixed.shape[2])), here.low), here.high)


@jit_unmanaged(cold=True)
def hand_over(
    tree: Int, count: Int, waiting: Array, nodes: NodeTable, how: Reading, inverse: Array, criterion: Any,
    passes: Passes, ahead: TreesAhead, sums: Array,
) -> None:  # fmt: skip
    """Give the leaves of a finished tree of `count` nodes to the passes before the next one, and keep its nodes."""
    at, leaf = nodes.at, 0
    for k in range(waiting.shape[0]):
        here = at[waiting[k]]
        if here.left >= 0:
            value = bounded_value(waiting[k], nodes, how, inverse, criterion, sums)
            for child in (here.left, here.right):
                passes.starts[leaf], passes.stops[leaf], passes.values[leaf] = at[child].start, at[child].stop, value
                at[child].start = at[child].stop  # now no other leaf has these rows
                leaf += 1
            here.start = here.stop
            here.left = here.right = -1
    for node in range(count):
        here = at[node]
        if here.left < 0 and here.start < here.stop:
            passes.starts[leaf], passes.stops[leaf] = here.start, here.stop
            passes.values[leaf] = bounded_value(node, nodes, how, inverse, criterion, sums)
            leaf += 1
    if passes.steep:
        shorten_steps(passes.values[:leaf], passes.rate, passes.values[:leaf])
    else:
        for k in range(leaf):
            passes.values[k] *= passes.rate
    for k in range(leaf, passes.starts.shape[0]):
        passes.starts[k] = passes.stops[k] = 0
    for node in range(count):
        ahead.kept.at[tree, node] = at[node]
        for c in range(nodes.fixed.shape[2]):
            ahead.kept.fixed[tree, node, 0, c] = nodes.fixed[node, 0, c]
        for word in range(nodes.masks.shape[1]):
            ahead.kept.masks[tree, node, word] = nodes.masks[node, word]
    for c in range(inverse.shape[0]):
        ahead.units[tree, c] = inverse[c]
