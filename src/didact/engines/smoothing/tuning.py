"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# running
RUNNING_WINDOWS = 16384  # windows that one piece of work looks at

# local_regression
LOCAL_WORK = 5_000_000  # weights that one piece of work evaluates
HELD_DISTANCES = 1_000_000  # distances that are held at once, for
HELD_QUERIES = 4096  # query points at most
TREE_LEAVES = 4096  # leaves of a tree of moments that are made at once
LONG_WINDOW = 512  # points from which on windows of one feature can be long enough for moments
TREE_SHARE = 8  # a tree finds neighbours up to an eighth of all points, in up to
TREE_FEATURES = 10

# local_moments_loops
MOMENT_LEAF = 16  # points of a leaf
QUERY_GROUP = 32  # queries that share moments
FRINGE = 64  # points by which the windows of a group may differ at either end
FEW_POINTS = 256  # points that are summed one by one

# kernel_sums
KERNEL_LEAF = 256  # points in a leaf: a visit to one costs as much as a hundred points
QUERY_BLOCK = 32  # queries in a block
FEW_QUERIES = 64  # queries that are not sorted into blocks
KERNEL_VALUES = 100_000_000  # values that one piece of work takes at the most
