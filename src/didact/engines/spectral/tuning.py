"""Thresholds of the eigenproblems that trade speed for speed; results do not depend on them."""

DENSE_ROWS = 1000  # as fast by the tridiagonal form as by Lanczos (two cores, flat spectrum, 10 pairs: 0.067, 0.060 s)
DENSE_SHARE = 0.05  # of the pairs; of 2,000 rows 200 pairs took 0.45 s at once, 7.3 s by Lanczos
LANCZOS_ENTRIES = 1 << 18  # of a dense matrix whose products with a vector are a piece: a tenth of a millisecond
FILLED_DEGREE = 64  # neighbours of a row from which the factors of a sparse Laplacian are as good as dense
ELIMINATED_WIDTH = 300  # of a graph, up to which elimination finds paths sooner than Dijkstra's algorithm
PATH_SOURCES = 8  # nodes whose paths are a piece of work: some milliseconds for 4,000 nodes
WEIGHT_ROWS = 64  # rows whose weights are a piece of work
LOCAL_NUMBERS = 1 << 18  # in the small matrices of a piece of neighbourhoods
STRESS_POINTS = 32  # points whose moves are a piece of work
STRESS_TILE = 512  # points whose distances from one are computed together: they stay in the first cache
STRESS_PAIRS = 1 << 15  # pairs that are a piece of work
POWER_STEPS = 20_000  # of a power iteration for one vector; λ₂/λ₁ = 0.998 needs as many for full precision
NARROW_COLUMNS = 1000  # columns, or rows, up to which all pairs of the covariance are quick: 0.2 s
