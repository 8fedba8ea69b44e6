"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# posterior
POSTERIOR_ROWS = 1024
MANY_POSTERIOR_ROWS = 8192  # of a block if there are many: fewer blocks for which threads need the interpreter

# mixture
SUM_BYTES = 1 << 26  # of the sums that all pieces of an E step hold together
COMPILED_WORK = 1 << 21  # products of a step, of which a compiled pass is worth loading

# starts
START_ROWS = 1 << 15  # different rows that a start looks at

# leaps
LEAP_STATISTICS = 10  # that are combined: of 5 × 60 values with gaps 5 took 348 steps of EM, 10 took 259, 20 took 201
LEAP_NUMBERS = 1 << 24  # that they may hold: 128 MB, and as much for their images
