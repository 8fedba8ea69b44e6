"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# lloyd
GROUP_CENTRES = 12  # centres of a group with a bound of its own: the products of four rows with them stay in registers
ONE_GROUP = 24  # centres up to which a single bound for all but the nearest is best
MOST_GROUPS = 16
SPAN_NUMBERS, MOST_SPAN = 1 << 14, 1024  # of rows that are looked at before they are compared: half the second cache
SCORED_NUMBERS = (
    2304  # of a tile's rows and their copies, which scores follow: copying 180 rows of 16 took twice as long
)
PIECE_ROWS = 2048  # least rows of a piece, which has sums of its own
MOST_LLOYD_PIECES = 64
SMALL_RUN = 1 << 23  # products of an iteration up to which whole runs are shared out among threads, not their rows

# starts
SAMPLE_ROWS = 1 << 16  # of rows that are not in memory, from which starts are drawn
SAMPLE_EACH = 64  # rows of the sample for each centre, if that is more
SEED_TILE = 512  # rows whose products with all candidates are in the first cache
SEED_PIECE = 1 << 14  # rows that are copied at a time
SEED_WORK = 1 << 28  # products after which Python looks for Ctrl-C
