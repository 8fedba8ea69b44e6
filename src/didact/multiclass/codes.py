r"""Code matrices: one row of −1, 0, +1 for each class, one column for each two-class learner; 0 means "don't care".

A learner with the column w separates the classes with :math:`w_k = +1` from those with :math:`w_k = -1`. The distance
of two rows is :math:`d(u, v) = \sum_l (1 - u_l v_l)/2`, the Hamming distance in which a 0 counts one half. With least
distance d between rows, any :math:`\lfloor (d-1)/2\rfloor` wrong learners are corrected.

Dietterich, Bakiri (1995), doi:10.1613/jair.105; Allwein, Schapire, Singer (2000), Reducing multiclass to
binary, JMLR 1.
"""

from itertools import combinations
from typing import Any

import numpy as np

from didact.core.errors import ParameterError
from didact.core.parameters import none, whole
from didact.core.random import streams
from didact.core.typing import Array
from didact.core.validation.entrance import entrance

MOST_CLASSES = 12  # of an exhaustive code: 2047 learners
RESTARTS, SWEEPS = 8, 20
KINDS = ("one_vs_rest", "one_vs_one", "exhaustive", "random", "sparse", "optimized")


@entrance(n_classes=whole(1), n_learners=[whole(1), none])
def code_matrix(kind: str, n_classes: int, n_learners: int | None = None, random_state: Any = None) -> Array:
    r"""A code matrix of the given kind, int8 of shape (n_classes, n_learners).

    Cost: K·L numbers; "optimized" tries some thousand changes of single entries.

    Parameters
    ----------
    kind : {"one_vs_rest", "one_vs_one", "exhaustive", "random", "sparse", "optimized"}
        K columns with one +1; K(K−1)/2 columns with a +1, a −1 and zeros; all :math:`2^{K-1}-1` ways to part the
        classes; random signs; random signs and, half of the time, zeros; signs that make rows, and columns, as
        different as possible in Hamming distance.
    n_classes : int
        Number K of classes, at least 2.
    n_learners : int, optional
        Number L of columns of the last three kinds; by default ⌈1.5 K⌉.
    random_state : int, RandomState or Generator, optional
        Seed of the last three kinds.

    Returns
    -------
    ndarray of shape (n_classes, n_learners)
        The code.

    References
    ----------
    Dietterich, Bakiri (1995), doi:10.1613/jair.105.

    Examples
    --------
    >>> from didact.multiclass import code_matrix
    >>> code_matrix("exhaustive", 3)
    array([[-1, -1, -1],
           [-1,  1,  1],
           [ 1, -1,  1]], dtype=int8)
    """
    if kind not in KINDS:
        raise ParameterError(f"A code is one of {', '.join(map(repr, KINDS))} or a matrix, not {kind!r}.")
    if n_classes < 2:
        raise ParameterError(f"A code needs at least 2 classes, not {n_classes}.")
    if kind == "one_vs_rest":
        return np.asarray(2 * np.eye(n_classes) - 1, np.int8)
    if kind == "one_vs_one":
        return _pairs(n_classes)
    if kind == "exhaustive":
        return _exhaustive(n_classes)
    learners = n_learners or int(np.ceil(1.5 * n_classes))
    rng = streams(random_state, 1)[0]
    return _optimized(n_classes, learners, rng) if kind == "optimized" else _drawn(n_classes, learners, kind, rng)


def checked_code(code: Any, n_classes: int) -> Array:
    """A code matrix of the user's, as int8, if it can tell the classes apart."""
    W = np.asarray(code)
    if W.ndim != 2 or len(W) != n_classes or not W.shape[1]:
        raise ParameterError(f"The code must have a row for each of the {n_classes} classes; its shape is {W.shape}.")
    if not np.isin(W, (-1, 0, 1)).all():
        raise ParameterError("The entries of a code are −1, +1, and 0 for don't care.")
    W = W.astype(np.int8)
    one_sided = np.flatnonzero((W.max(axis=0) < 1) | (W.min(axis=0) > -1))
    if len(one_sided):
        raise ParameterError(f"Column {one_sided[0]} of the code has no class on one of its sides.")
    if len(np.unique(W, axis=0)) < n_classes:
        raise ParameterError("Two classes have the same row in the code, so nothing could tell them apart.")
    return W


def row_distances(W: Array) -> Array:
    """The Hamming distances of all rows, in which a 0 counts one half."""
    W = W.astype(np.float64)
    return (W.shape[1] - W @ W.T) / 2


def column_distances(W: Array) -> Array:
    """How different the learners are: the distance of two columns, or of one and the negative of the other."""
    W = W.astype(np.float64)
    return (len(W) - np.abs(W.T @ W)) / 2


def _pairs(n_classes: int) -> Array:
    pairs = list(combinations(range(n_classes), 2))
    W = np.zeros((n_classes, len(pairs)), np.int8)
    for column, (i, j) in enumerate(pairs):
        W[i, column], W[j, column] = 1, -1
    return W


def _exhaustive(n_classes: int) -> Array:
    """Column b has the binary digits of b below a first row of −1: a column and its negative are the same learner."""
    if n_classes > MOST_CLASSES:
        raise ParameterError(
            f"An exhaustive code for {n_classes} classes has 2^{n_classes - 1} − 1 learners; it is allowed up to "
            f"{MOST_CLASSES} classes. Use 'optimized' or 'random'."
        )
    numbers = np.arange(1, 2 ** (n_classes - 1))
    digits = (numbers >> np.arange(n_classes - 1)[::-1, None]) & 1
    return np.vstack([np.full((1, len(numbers)), -1), 2 * digits - 1]).astype(np.int8)


def _drawn(n_classes: int, learners: int, kind: str, rng: np.random.Generator) -> Array:
    """Random columns with classes on both sides; drawn anew until no two rows are equal, where that can be."""
    possible = 2**learners >= n_classes
    while True:
        columns: list[Array] = []
        while len(columns) < learners:
            column = rng.choice([-1, 1], size=n_classes)
            if kind == "sparse" and n_classes > 2:
                column *= rng.integers(0, 2, size=n_classes)
            if column.max() == 1 and column.min() == -1:
                columns.append(column)
        W = np.asarray(columns, np.int8).T
        if not possible:
            raise ParameterError(f"{learners} learners cannot tell {n_classes} classes apart: raise code_size.")
        if len(np.unique(W, axis=0)) == n_classes:
            return W


def _optimized(n_classes: int, learners: int, rng: np.random.Generator) -> Array:
    """The best of several local searches: larger least distance of rows, then of columns."""
    found = [_improved(_drawn(n_classes, learners, "random", rng)) for _ in range(RESTARTS)]
    return max(found, key=lambda W: (_least(row_distances(W)), _least(column_distances(W)), -_crowding(W)))


def _least(distances: Array) -> float:
    return float(distances[~np.eye(len(distances), dtype=bool)].min(initial=np.inf))


def _crowding(W: Array) -> float:
    """Σ e^(−distance) over pairs of rows and of columns: ruled by the nearest pairs, and smooth enough to descend."""
    rows, columns = row_distances(W), column_distances(W)
    return float(np.exp(-rows).sum() - len(rows) + np.exp(-columns).sum() - len(columns))


def _improved(W: Array) -> Array:
    """Flip single entries as long as that lowers the crowding."""
    value = _crowding(W)
    for _ in range(SWEEPS):
        before = value
        for place in np.ndindex(*W.shape):
            W[place] *= -1
            column = W[:, place[1]]
            new = _crowding(W) if column.max() != column.min() else np.inf
            if new < value - 1e-12:
                value = new
            else:
                W[place] *= -1
        if value == before:
            break
    return W
