"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# index
BOX_LEAF = 128  # rows
BALL_LEAF = 32  # distances of whole rows cost more than those that are gathered column by column
SORT_FROM = 1024  # neighbours from which on all rows are sorted, as short lists are no longer short
BRUTE_QUERIES = 32  # queries for which no tree is grown
TREE_ROWS = 1000  # rows below which a tree is as good as anything
TREE_COLUMNS = 64  # columns from which on a tree is not even tried for the Euclidean distance
SAMPLED_ROWS = 32  # rows whose
SAMPLED_NEIGHBORS = 10  # nearest are looked at
VISITED_SHARE = 0.2  # of the leaves: a row in a leaf costs 3 to 5 times as much as one in a product

# products
PRODUCT_QUERIES = 512  # of a block of products: with 384 rows 0.75 MB in float32, which stays in the second-level cache
PRODUCT_ROWS = 384
PRODUCT_WORK = 4e9  # operations of one piece: 0.1 s
PRODUCT_ENTRIES = 1 << 22  # candidates of all queries of a piece
CANDIDATES = 512  # at least this many rows may stay in question for a query

# sparse_products
SPARSE_ENTRIES = 4_000_000  # of a dense block of queries
SPARSE_QUERIES = 64

# tables
TABLE_QUERIES = 128  # of a block of a table
TABLE_ROWS = 2048
TABLE_ENTRIES = 1 << 21  # of a table with all rows

# partitions.walk
UNSORTED_QUERIES = 64  # queries that are taken as they come
WALK_PIECES = 64  # at most this many pieces of work
SHORT_WALK = 16  # queries in a piece, at the least
LONG_WALK = 256  # and at the most

# partitions.boxes
SUBTREE_LEVELS = 7  # of a subtree that one thread grows: it stays in the cache; those above are grown node by node

# edit_index
EDIT_PAIRS = 1 << 20  # pairs of words that one call of a loop compares

# rows_loops
CACHED_ROWS = 256  # rows that stay in the cache while all queries pass

# products_loops
CANDIDATE_STRIP = 64  # values that are compared at once

# condensing_loops
CONDENSING_LEAF = 512  # the most rows in a leaf

# condensing
CONDENSING_WORK = 1 << 28  # multiply-adds of one call of a loop: below 0.2 s, so that it can be interrupted
