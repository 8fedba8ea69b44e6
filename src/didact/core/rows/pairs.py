"""Dense tables with an entry for each pair of rows: how far they are from symmetric, in tiles on all threads."""

import numpy as np

from didact.core.threads import parallel_map
from didact.core.typing import Array

PAIR_TILE = 128  # rows and columns that are compared at once: both halves stay near the core


def asymmetry(A: Array) -> tuple[float, int, int]:
    """The largest |A[i, j] − A[j, i]| of a square table, with i and j."""

    def below(a: int) -> tuple[float, int, int]:
        found = 0.0, 0, 0
        for b in range(a, len(A), PAIR_TILE):
            apart = A[a : a + PAIR_TILE, b : b + PAIR_TILE] - A[b : b + PAIR_TILE, a : a + PAIR_TILE].T
            np.abs(apart, out=apart)
            if (most := float(apart.max())) > found[0]:
                i, j = np.unravel_index(int(apart.argmax()), apart.shape)
                found = most, a + int(i), b + int(j)
        return found

    return max(parallel_map(below, range(0, len(A), PAIR_TILE)), key=lambda found: found[0], default=(0.0, 0, 0))
