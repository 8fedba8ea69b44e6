"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# passes
RUN_BYTES = 1 << 15  # run of consecutive rows that stay together: long enough for sequential reads of memory
POOL_BYTES = 1 << 18  # rows that are shuffled together: two pools fit a second-level cache
FEW_ROWS = 1 << 14  # rows up to which every row is its own run: a plain permutation
SEGMENT = 1 << 27  # entries of X in one call of a compiled loop, some tenths of a second
WORTH_THREADS = 1 << 15  # entries of X, times outputs, in a pass that threads share: a hand-over is as dear as 5,000
FEW_OUTPUTS = 4  # for which a compiled pass each is quicker than products with all of them

# voted_perceptron
FIRST_ROOM = 64  # capacity of a store at first, in vectors; doubled when full
VOTES_AT_ONCE = 1024  # vectors whose votes are counted at once
