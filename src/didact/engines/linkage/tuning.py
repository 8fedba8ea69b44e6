"""Thresholds that trade speed for speed, from benchmarks on two cores; they change no answer."""

STEP_NUMBERS = 1 << 15  # numbers of one step, coordinates or distances, that are worth another thread
FETCH = 8  # what a distance from memory costs, beside a coordinate in a vector
PAIR_WORK = 4  # what a coordinate costs in a call for each pair
CALL_STEPS = 1024  # steps after which a loop returns to Python, where Ctrl-C is heard
EDGE_ROWS = 256  # of a table in which the shortest edges between components are looked for
TRIANGLE_ROWS = 64  # of a piece
SILHOUETTE_ROWS = 128  # of a piece
