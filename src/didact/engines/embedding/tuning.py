"""Thresholds of embeddings that trade speed for speed; measured on two cores with AVX2."""

LEAF_POINTS = 16  # most points of a leaf of the partition
GROUP_POINTS = 64  # points, at most, that go through the partition together
REBUILD = 10  # steps after which the points are divided anew
TASKS = 256  # most tasks of a step, a power of 2
TASK_POINTS = 64  # fewest points of a task
WORK = 3e8  # interactions in one call of the compiled descent: some tenths of a second on one core
TILE_NUMBERS = 1 << 24  # of a tile of pairs on a device
LOOK_ROWS = 20_000  # most points whose divergence is summed over all pairs
DENSE_SPRINGS = 2000  # most points whose springs are factorised
