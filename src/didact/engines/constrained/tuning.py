"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# quadratic_program
SINGLE_WORK = 1e6  # multiply–adds of an iteration from which single precision pays

# active_set
ACTIVE_ROUNDS = 8  # rounds after which the interior-point method continues
FIRST_MET = 5.0  # rows met within this multiple of the step to the first violated one enter together
FEW_VIOLATED = 1 / 16  # violated rows, relative to the number of variables, up to which all of them enter
MOST_VIOLATED = 1.25  # violated rows, relative to the number of variables, above which the method does not start
SINGLE_VARIABLES = 100  # variables from which single precision pays

# saddle
PARALLEL_FROM = 1e8  # multiply–adds of RᵀR from which its rows are cut into pieces
SADDLE_PIECES = 8  # most pieces, whatever the number of threads, so that rounding does not depend on it

# quantile_program
PIECE_NUMBERS, MOST_PIECES = 1 << 17, 64  # numbers of a table that are worth a task; tasks of a pass
STEP_ROWS = 1 << 14  # rows of which a task moves the point: a dozen vectors of them stay in the second cache
