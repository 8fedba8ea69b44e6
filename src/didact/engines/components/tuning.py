"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# posterior
POSTERIOR_ROWS = 1024
MANY_POSTERIOR_ROWS = 8192  # of a block if there are many: fewer blocks for which threads need the interpreter

# score_tables
TABLE_NUMBERS = 1 << 15  # of a table that stays in the second cache; with larger ones BLAS is quicker
