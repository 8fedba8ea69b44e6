"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# running
RUNNING_WINDOWS = 16384  # windows in one piece of work

# local_regression
LOCAL_WORK = 5_000_000  # weights evaluated in one piece of work
HELD_DISTANCES = 1_000_000  # distances in memory at once
HELD_QUERIES = 4096  # most queries in one piece of work
QUERY_PIECES, FEW_LOCAL = 128, 16  # pieces of work for queries of several features; queries that are worth one
TREE_LEAVES = 4096  # leaves of a tree of moments that one piece of work computes
LONG_WINDOW = 512  # points from which on windows of one feature may be long enough for moments
TREE_SHARE = 8  # a k-d tree finds the neighbours if they are at most an eighth of all points
TREE_FEATURES = 10  # and there are at most so many features

# local_moments_loops
MOMENT_LEAF = 16  # points of a leaf
QUERY_GROUP = 32  # queries that share moments
FRINGE = 64  # points by which the windows of a group may differ at either end
FEW_POINTS = 256  # points that are summed one by one

# kernel_sums
KERNEL_LEAF = 256  # points in a leaf: a visit to one costs as much as a hundred points
QUERY_BLOCK = 32  # queries in a block
FEW_QUERIES = 64  # queries that are not sorted into blocks
KERNEL_VALUES = 2_000_000  # values that are worth a piece of work: some milliseconds
KERNEL_PIECES = 256  # most pieces, as long as they have
LONG_VALUES = 100_000_000  # no more values than that

# mean_shift
SHIFT_LEAF = 32  # rows in a leaf
