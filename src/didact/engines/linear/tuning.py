"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# lasso
FIRST_COLUMNS = 100  # columns that may enter the working set at once, or its size times `growth` if that is more

# proximal_newton
FIRST_FEATURES = 200  # features in the first working set; up to this many, all are in play

# lasso_gram
NEWTON_SWEEPS = (
    8  # a Newton step on k coefficients (a Cholesky factor) takes the time of about k / NEWTON_SWEEPS sweeps
)

# fit
NEWTON_SIZE = 300  # most parameters for which the full curvature matrix is worth a pass
NEWTON_SIZE_MULTI = 150  # the same with several outputs
THINNING = 16  # of the rows one in so many gives the start
MANY_ROWS = 50_000  # from which such a start pays
DENSE_CURVATURE = 2000  # most features for a dense preconditioner

# design
COLUMN_RANGES = 16  # pieces of work of a product with all columns, at most
SHORT_COLUMN = 64  # entries of a sparse column, on average, up to which a copy by columns is made
