"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# growers.histogram
BUNDLE_FROM = 20_000  # rows from which it is tried to join columns
CODES_PER_THREAD = 200_000  # of the rows, for each thread that helps to grow a tree
# Trees of boosting that are grown in one call if nobody looks at predictions between them: 100 trees of 500,000 × 20
# take two threads 1.01 s one by one, 0.98 s in two calls.
TREES_AHEAD = 64
NODES_AHEAD = 1 << 16  # nodes for which there is room then, of all these trees
HISTOGRAMS = 64  # kept at a time without a limit of leaves

# growers.growth
PER_THREAD = 1 << 18  # rows × features for each thread that grows a tree
LARGE_NODE = 1 << 13  # rows from which threads may share the features of a node

# growers.binned
CACHE = 1 << 18  # bytes of codes that stay near a core
COMMON = 0.5  # share of the rows from which one code of a column is common

# growers.blocks
FIRST_LEAVES = 1024  # leaves for which there is room at first

# predict.coded_walk
FOREST_ROWS = 65_536  # most that go through all trees together: a large forest comes from memory once for all of them
NEAR_NODES = 512  # nodes of subtrees that lie together

# predict.packed
PACK_ROWS = 1024  # rows that go through all trees together
TASK_ROWS = 16_384  # rows of one task

# predict.shap
SHAP_ROWS = 256  # rows of a piece of work

# predict.small_trees
TABLES = 1 << 25  # most bytes of the tables of categories
FEW_TO_WALK = 64  # rows below which walking is quicker than tests for a whole block
RUNS = 16  # most runs of codes that are tested one by one; a table is as fast from there on

# rows.bins
CODED_ROWS = 16_384  # rows coded by one task
TURNED_ROWS = 8192  # rows whose columns one task writes

# rows.bundles
FEW_CODES = 128  # codes of a column up to which it is tried to join it
TRIED_ROWS = 10_000  # rows by which columns that go together are found
LATEST = 32  # groups of features that one more may join
TRIES = 3  # of them that are tried on all rows
LEAST_SAVED = 0.1  # share of the columns that must be saved
PACKED_ROWS = 8192  # rows whose codes one task brings together

# tree
WALK_ROWS = 16_384  # rows of a piece of a walk: some milliseconds

# variants.oblique
PROJECTED_ROWS = 1 << 21  # projections that are computed at once
