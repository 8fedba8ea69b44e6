"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# quadratic_program
SINGLE_WORK = 1e6  # multiply–adds of an iteration from which single precision pays

# active_set
ACTIVE_ROUNDS = 8  # after which the interior-point method goes on
FIRST_MET = 5.0  # rows that are met within this multiple of the way to the first of them enter together
FEW_VIOLATED = 1 / 16  # violated rows, relative to the number of variables, up to which all of them enter
MOST_VIOLATED = 1.25  # violated rows, relative to the number of variables, from which there is no use in starting
SINGLE_VARIABLES = 100  # variables from which single precision pays

# saddle
PARALLEL_FROM = 1e8  # multiply–adds of RᵀR from which its rows are cut into pieces
SADDLE_PIECES = 8  # at most, whatever the number of threads: the sum does not depend on it
