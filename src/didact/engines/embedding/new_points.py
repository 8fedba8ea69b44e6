"""Places of new points among those of an embedding that stays as it is."""

import numpy as np

from didact.core.errors import InputError
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.embedding.descent import empty_division, new_lists
from didact.engines.embedding.new_loops import build_division, place_pass

PIECE = 16  # new points that a thread takes at a time


def place_new(Y: Array, rows: Array, P: Array, angle: float, freedom: int) -> Array:
    """Places (m, d) of points with affinities P (m, k) to the points Y[rows]; float64 and int64 arrays."""
    if rows.max(initial=-1) >= len(Y):
        raise InputError(f"Row {rows.max()} is a neighbour, but the embedding has {len(Y)} rows: fit the model anew.")
    tree, out = empty_division(*Y.shape), np.empty((len(rows), Y.shape[1]))
    build_division(Y, tree)
    edges = np.append(np.arange(0, len(rows), PIECE), len(rows))
    share_pieces(
        len(edges) - 1,
        lambda turn: place_pass(turn, edges, Y, tree, rows, P, float(angle), int(freedom), new_lists(Y.shape[1]), out),
    )
    return out
