"""The compiled voted perceptron: every weight vector is kept, with the number of rows that it classified correctly.

Layout: vectors are appended until the arrays are full; `last[0]` is the index of the current one::

    voters (capacity, p)        [ w_0 | w_1 | … | w_last | free ]
    biases, votes (capacity,)   [ b_0 | b_1 | … | b_last | free ]
"""

from typing import Any

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array
from didact.engines.stochastic.row_loops import Dense, Sparse, add_row, row_dot, scattered1, scattered_dot


@jit
def vote(
    rows: Any, y: Array, weights: Array, order: Array, begin: int, positive: int, eta: float, fit_intercept: bool,
    voters: Array, biases: Array, votes: Array, last: Array, losses: Array,
) -> int:  # fmt: skip
    """Visit order[begin:]; returns the position to continue at once the store has grown, or len(order) at the end.

    A row on the correct side of the current vector is a vote for it. A row on the wrong side, or on the boundary, is a
    mistake: an updated copy of the vector is appended, with one vote. `losses[0]` sums max(0, −y·z).
    """
    k = last[0]
    for m in range(begin, order.shape[0]):
        i = order[m]
        z = (scattered_dot(rows, i, voters[k]) if scattered1(rows) else row_dot(rows, i, voters[k])) + biases[k]
        side = 1.0 if y[i] == positive else -1.0
        if side * z > 0.0:
            votes[k] += 1.0
            continue
        if k + 1 == voters.shape[0]:  # full: the caller enlarges the arrays and continues with this row
            last[0] = k
            return m
        step = eta * side * (weights[i] if weights.shape[0] > 0 else 1.0)
        for j in range(voters.shape[1]):
            voters[k + 1, j] = voters[k, j]
        k += 1
        add_row(rows, i, step, voters[k])
        biases[k] = biases[k - 1] + (step if fit_intercept else 0.0)
        votes[k] = 1.0
        losses[0] -= side * z
    last[0] = k
    return order.shape[0]


def warm() -> None:
    """Compile for the types that are used most."""
    X, y, none = np.ones((1, 1)), np.ones(1), np.zeros(0)
    indices, indptr = np.zeros(1, np.int32), np.array([0, 1], np.int32)
    for array in (X, y, none, indices, indptr):
        array.flags.writeable = False
    for design in (Dense(X), Sparse(y, indices, indptr)):
        store = np.zeros((2, 1)), np.zeros(2), np.zeros(2), np.zeros(1, np.int64), np.zeros(1)
        vote(design, y, none, np.zeros(1, np.int64), 0, 1, 1.0, True, *store)
