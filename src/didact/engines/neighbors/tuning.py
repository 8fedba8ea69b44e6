"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# index
BOX_LEAF = 128  # rows
BALL_LEAF = 32  # rows; fewer, as a call per pair costs more than sums column by column
SORT_FROM = 1024  # neighbours above which all rows are sorted: insertion into sorted lists would be slower
BRUTE_QUERIES = 32  # queries below which growing a tree does not pay
TREE_ROWS = 1000  # rows up to which a tree is used without a trial
TREE_COLUMNS = 64  # columns above which no tree is tried for the Euclidean distance
SAMPLED_ROWS = 32  # rows that are searched for on trial
SAMPLED_NEIGHBORS = 10  # and their number of neighbours
VISITED_SHARE = 0.2  # share of leaves up to which a tree pays: a row costs 3 to 5 times as much as in a product

# products
PRODUCT_QUERIES = 512  # in a block of products: by 384 rows 0.75 MB in float32, which fits the second-level cache
PRODUCT_ROWS = 384
BLOCKS_AT_ONCE = 2  # of products: as fast on one thread from 1 to 4, and threads meet at the lock half as often
PRODUCT_WORK = 4e9  # operations in one piece: 0.1 s
PRODUCT_ENTRIES = 1 << 22  # capacity for candidates of all queries of a piece
CANDIDATES = 512  # capacity for candidates of a query, at least

# sparse_products
SPARSE_ENTRIES = 4_000_000  # entries of a dense block of queries
SPARSE_QUERIES = 64

# tables
TABLE_QUERIES = 128  # in a block of a table
TABLE_ROWS = 2048
TABLE_ENTRIES = 1 << 21  # entries of a table with all rows

# partitions.walk
UNSORTED_QUERIES = 64  # queries up to which they are not sorted
WALK_PIECES = 64  # pieces of work, at most
SHORT_WALK = 16  # queries in a piece, at least
LONG_WALK = 256  # and at most

# partitions.boxes
SUBTREE_LEVELS = 7  # levels of the subtrees that one thread grows within its cache; above, node by node

# words.edit_index
EDIT_PAIRS = 1 << 20  # pairs of words compared in one call of a loop
EDIT_WORDS = 4096  # compared with one word in one call

# rows_loops
CACHED_ROWS = 256  # rows of a tile, which stays in the cache while all queries are compared with it

# products_loops
CANDIDATE_STRIP = 64  # values that are compared at once

# condensing_loops
CONDENSING_LEAF = 512  # the most rows in a leaf

# condensing
CONDENSING_WORK = 1 << 28  # multiply-adds of one call of a loop: below 0.2 s, so that it can be interrupted

# dense.cores
CROWD_LEAF = 32  # rows
CROWD_PIECES = 10  # levels of the tree above the pieces of work
BLOCK_PAIRS = 1 << 22  # neighbours that are kept at a time, 64 MB
