"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

TABLE_NUMBERS = 1 << 15  # of a table that stays in the second cache; with larger ones BLAS is quicker
FEW_NUMBERS = 1 << 15  # of rows that are scored by array code, in some ten microseconds
