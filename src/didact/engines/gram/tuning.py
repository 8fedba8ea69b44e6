"""Sizes that trade speed for speed, with their measurements (two cores, AVX-512)."""

GRAM_TILE = 512  # rows of a tile of a Gram matrix: a product of 512 × 30 × n stays in the second cache
UPDATE_PIECE = 1 << 17  # numbers added below which one thread is faster than two
WORKING_SET = 512  # variables of a working set of support vector machines: its Gram matrix has 2 MB
SHRINK_EVERY = 8  # working sets between two attempts to leave out rows that stay at their bounds
SHRINK_SHARE = 0.8  # rows are left out if at most this share stays
PULL_TILE = 128  # rows of a tile of a likelihood's gradient: six matrices of 128 × 1,500 stay in the second cache
DENSE_ENTRIES = 1 << 17  # entries up to which sparse rows are made dense: a sparse product takes longer to begin
