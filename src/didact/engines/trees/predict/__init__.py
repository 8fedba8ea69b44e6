"""Rows down many trees, and what a prediction is made of.

There are five ways from a row to its leaf, each the quickest somewhere:

- `tree_loops.apply_rows` walks one tree, a row after the other: the leaves of single trees, out-of-bag rows of a
  forest, and any tree of a pack or forest whose leaves themselves are asked for. The branch is
  guessed wrong at most levels.
- `packed` walks eight rows side by side down trees in one array: the values of boosted trees for fewer than 64 rows, or
  for trees of more than 256 leaves. About 2 ns a row, tree and level.
- `small_trees` makes every test of a tree for a block of 1,024 rows instead of walking: boosted trees of at most 256
  leaves, missing values and categories included, for 64 rows and more. About 1 ns a row and tree of 31 leaves.
- `coded_walk` walks sixteen coded rows side by side: forests without categories, for rows without missing values; large
  trees stay in the cache, as a node has four or eight bytes. Less than 1 ns a row and level; coding is paid once a row.
- `growers.node_loops.end_nodes` walks rows that are codes down a tree that is still growing, in blocks that are not in
  memory.

All give the same leaf, which the tests hold against slow twins.
"""
