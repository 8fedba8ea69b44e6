r"""Stochastic ascent of the likelihood of independent sources, a row at a time.

.. math:: W \leftarrow W + \alpha\big((1 - 2g(Wx))x^T + (W^T)^{-1}\big)

for logistic sources; for a density of the user's :math:`(\log p)'(Wx)` stands in place of 1 − 2g(Wx), on blocks of some
rows. The rate falls as 1/√pass, and the answer is a mean of the iterates after each pass, in which later ones count
more: the iterates themselves come to rest only slowly. Rows come in random order, which also helps with rows that are
near in time and alike.

Bell, Sejnowski (1995), doi:10.1162/neco.1995.7.6.1129.
"""

from typing import Any

import numpy as np

from didact.core.backend import read_only, to_numpy
from didact.core.errors import InputError
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.engines.factors.source_loops import ascend_rows
from didact.engines.factors.sources import Contrast, likelihood_state, score_of
from didact.engines.linear.pass_loops import number_column
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.result import Result

FAR = "Stochastic ascent left all bounds with learning_rate={}: take a smaller one."
LARGEST_WEIGHT = 1e100  # number of W
LATE = 5  # pass t counts in the mean of iterates by about t to the power of 4
BATCH = 16  # rows of a step with a density of the user's


def stochastic_ascent(
    rows: Rows, W: Array, contrast: Contrast, rate: float, rng: np.random.Generator, tol: float, max_iter: int,
    report: Report,
) -> Result:  # fmt: skip
    """Passes over rows in random order until the largest slope of the likelihood, at the mean, is within tol."""
    passes, new = 0, W.copy()

    def step(state: Any) -> Any:
        nonlocal passes
        passes += 1
        for block in rows.stream():
            X, w = np.asarray(to_numpy(block.X), np.float64), block.weight
            w = None if w is None else np.asarray(to_numpy(w), np.float64) / max(float(w.max()), 1e-300)
            one = one_pass if contrast.fun == "logistic" else users_pass
            if not one(X, w, rng.permutation(len(X)), new, rate / np.sqrt(passes), contrast):
                raise InputError(FAR.format(rate))
        mean = state.x + LATE / (passes + LATE - 1) * (new - state.x)
        return likelihood_state(rows, mean, contrast)

    return iterate(likelihood_state(rows, W, contrast), step, tol, max_iter, report)


def one_pass(X: Array, w: Any, order: Array, W: Array, rate: float, contrast: Contrast) -> bool:
    """The rule for logistic sources, row by row, in place; whether W is still a matrix of finite numbers."""
    K = len(W)
    done = ascend_rows(read_only(X), order, number_column(w), rate, W, np.zeros((K, 2 * K)), np.zeros(K))
    return bool(done and np.abs(W).max() < LARGEST_WEIGHT)


def users_pass(X: Array, w: Any, order: Array, W: Array, rate: float, contrast: Contrast) -> bool:
    """The rule for a density of the user's, some rows at a time."""
    for first in range(0, len(order), BATCH):
        some = order[first : first + BATCH]
        score = score_of(contrast, W @ X[some].T) * (1.0 if w is None else w[some])
        if not np.abs(W).max() < LARGEST_WEIGHT or np.linalg.matrix_rank(W) < len(W):
            return False
        total = len(some) if w is None else w[some].sum()
        W += rate * (score @ X[some] + total * np.linalg.inv(W).T)
    return bool(np.abs(W).max() < LARGEST_WEIGHT)
