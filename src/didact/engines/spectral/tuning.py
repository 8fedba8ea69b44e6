"""Thresholds of the eigenproblems that trade speed for speed; results do not depend on them."""

DENSE_ROWS = 1000  # as fast by the tridiagonal form as by Lanczos (two cores, flat spectrum, 10 pairs: 0.067, 0.060 s)
DENSE_SHARE = 0.05  # of the pairs; of 2,000 rows 200 pairs took 0.45 s at once, 7.3 s by Lanczos
FILLED_DEGREE = 64  # neighbours of a row from which the factors of a sparse Laplacian are as good as dense
PATH_SOURCES = 8  # nodes whose paths are a piece of work: some milliseconds for 4,000 nodes
WEIGHT_ROWS = 64  # rows whose weights are a piece of work
LOCAL_NUMBERS = 1 << 18  # in the small matrices of a piece of neighbourhoods
