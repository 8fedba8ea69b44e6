"""Sizes that trade speed for speed, with their measurements (two cores, AVX-512)."""

GRAM_TILE = 512  # rows of a tile of a Gram matrix: a product of 512 × 30 × n stays in the second cache
LEAST_PIECES = 16  # of 64 rows or more, so that many threads have work
LOOPED_COLUMNS = 100  # up to which a compiled loop makes values of a Gaussian kernel quicker than BLAS
COLUMNS_PER_NUMBER = 2  # other than zero: 100 of 202 take 4.0 ns a value as well as all of them, 48 of 402 3.3 for 7.2
TILED_COLUMNS = 500  # up to which a tile of 512 stays in the second cache
LOOPED_SUMS = 4  # sums of such values up to which the loop is quicker
MIRRORED = 1000, 30_000  # rows of which values for both orders are computed once: fewer gain little, more take 16 MB
LEAST_TILE, MOST_TILE = 256, 512  # columns of the Gram matrix that a thread works on at a time, in the first cache
LOOK_SECONDS = 0.1  # after which Python looks at the clock and for Ctrl-C, at the latest after a working set
WORKING_SET = 512  # variables of a working set of support vector machines: its Gram matrix has 2 MB
SHRINK_EVERY = 8  # working sets between two attempts to leave out rows that stay at their bounds
SHRINK_SHARE = 0.8  # rows are left out if at most this share stays
PULL_TILE = 128  # rows of a tile of a likelihood's gradient: six matrices of 128 × 1,500 stay in the second cache
SOLVE_TILE = 256  # rows and columns of a triangular solve: as quick as BLAS for 1,500 rows and 700 columns, 128 are not
CLOSE_PRODUCTS = 1 << 18  # multiplications up to which distances are computed one by one, without a copy of the rows
WORTH_POOL = 2048  # rows of all pairs of classes from which they are worth a second thread: waking it takes 0.3 ms
DENSE_ENTRIES = 1 << 17  # entries up to which sparse rows are made dense: a sparse product takes longer to begin
