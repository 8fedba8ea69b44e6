"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# passes
RUN_BYTES = 1 << 15  # neighbouring rows that stay together: long enough for memory to be read in line
POOL_BYTES = 1 << 18  # rows that are shuffled among each other: two pools stay in a second-level cache
FEW_ROWS = 1 << 14  # up to which every row is a run of its own: a plain permutation
SEGMENT = 1 << 27  # entries of X in one call of a compiled loop, some tenths of a second

# voted_perceptron
FIRST_ROOM = 64  # vectors, doubled when they are there
VOTES_AT_ONCE = 1024  # vectors whose votes are counted at once
