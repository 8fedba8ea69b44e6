"""Thresholds that trade speed for speed, from benchmarks on two cores; they change answers by rounding at most."""

# lloyd
ASSIGNED_ROWS = 4096  # rows of an assignment at once

# posterior
POSTERIOR_ROWS = 1024
