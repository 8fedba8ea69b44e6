"""Learning row by row in the features of a kernel: scores and steps of one row after the other, computed in blocks.

f = Σ_j c_j k(·, x_j). For a block of rows one product gives their scores f so far, and one their Gram matrix; then each
row in turn takes its step, which changes its own coefficient and the scores of the rows after it in the block. That is
exactly the order of single steps, at the price of matrix products. Explicit features z(x) do with their weights what
coefficients do: f = z(x)ᵀu. A pass takes one evaluation of the kernel for each row and row with a coefficient.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from didact.core.backend import rows_at
from didact.core.errors import InputError
from didact.core.typing import AnyArray, Array
from didact.engines.gram.features import HELD, FeatureMap
from didact.engines.gram.rows import add_noise, kernel_block, own_noise
from didact.engines.gram.systems import INFINITE_KERNEL, own_gram

BLOCK = 256  # rows whose scores come from one product
CACHED = 6000  # rows up to which the whole Gram matrix is kept: 288 MB

RowRule = Callable[[int, Array], tuple[Array | None, float]]
Find = Callable[[Array, Array], Array]


class FunctionSpace(Protocol):
    """Where a function lives: in coefficients of rows or in weights of features, of which some columns have scores."""

    coef: Array
    scored: int

    def scores(self, rows: Array) -> Array:
        """f of some rows, by number."""

    def square(self, rows: Array) -> Array:
        """Their Gram matrix."""

    def add(self, rows: Array, steps: Array, shrink: float) -> None:
        """f·shrink + Σ steps·k(·, rows)."""


class RowSpace:
    """A function with coefficients (n, d) of rows X; the first `scored` columns have scores."""

    def __init__(self, kernel: Any, X: AnyArray, coef: Array, scored: int):
        self.kernel, self.X, self.coef, self.scored = kernel, X, coef, scored
        self.noise = own_noise(kernel, X)

    def gram(self, a: Array, b: Array) -> Array:
        """Values of the kernel for rows by number."""
        found = np.asarray(kernel_block(self.kernel, self.X[a], self.X[b]), np.float64)
        if not np.isfinite(found.sum()):
            raise InputError(INFINITE_KERNEL)
        return add_noise(found, self.noise, a, b)

    def scores(self, rows: Array) -> Array:
        """From the rows that have coefficients."""
        active = np.flatnonzero(self.coef.any(axis=1))
        if not len(active):
            return np.zeros((len(rows), self.scored))
        return self.gram(rows, active) @ self.coef[active, : self.scored]

    def square(self, rows: Array) -> Array:
        """Values of the kernel."""
        return self.gram(rows, rows)

    def add(self, rows: Array, steps: Array, shrink: float) -> None:
        """To the coefficients of the rows themselves."""
        if shrink != 1.0:
            self.coef *= shrink
        self.coef[rows] += steps


class TableSpace(RowSpace):
    """A function on the rows of a given Gram matrix: the scores of all rows are kept up to date."""

    def __init__(self, K: Array, coef: Array, scored: int):
        super().__init__(None, None, coef, scored)
        self.K, self.fit = K, K @ coef[:, :scored]

    def gram(self, a: Array, b: Array) -> Array:
        """Entries of the matrix."""
        return self.K[np.ix_(a, b)]

    def scores(self, rows: Array) -> Array:
        """Those that are kept."""
        return self.fit[rows]

    def add(self, rows: Array, steps: Array, shrink: float) -> None:
        """To coefficients and scores; the matrix is symmetric."""
        super().add(rows, steps, shrink)
        changed = steps.any(axis=1)
        if shrink != 1.0:
            self.fit *= shrink
        self.fit += self.K[rows[changed]].T @ steps[changed, : self.scored]


class FeatureSpace:
    """A function with weights (m, d) of features of rows X."""

    def __init__(self, features: FeatureMap, X: AnyArray, coef: Array, scored: int):
        self.features, self.X, self.coef, self.scored = features, X, coef, scored
        small = 8 * X.shape[0] * features.size <= HELD
        self.known: tuple[Any, Any] = (None, np.asarray(features(X)) if small else None)
        self.all = small

    def scores(self, rows: Array) -> Array:
        """Products of features and weights."""
        return self._of(rows) @ self.coef[:, : self.scored]

    def square(self, rows: Array) -> Array:
        """Products of features."""
        Z = self._of(rows)
        return Z @ Z.T

    def add(self, rows: Array, steps: Array, shrink: float) -> None:
        """To the weights."""
        self.coef *= shrink
        self.coef += self._of(rows).T @ steps

    def scatter(self, rows: Array, w: Array) -> Array:
        """ZᵀΩZ of some rows."""
        Z = self._of(rows)
        return Z.T @ (w[:, None] * Z)

    def _of(self, rows: Array) -> Array:
        if self.all:
            return self.known[1][rows]
        if self.known[0] is not rows:
            self.known = rows, np.asarray(self.features(rows_at(self.X, rows)))
        return self.known[1]


def row_space(kernel: Any, X: AnyArray, coef: Array, scored: int, again: bool) -> RowSpace:
    """A function on rows: with the whole Gram matrix if it is small and will be used again."""
    if again and X.shape[0] <= CACHED:
        return TableSpace(own_gram(kernel, X), coef, scored)
    return RowSpace(kernel, X, coef, scored)


def on_mistakes(
    space: FunctionSpace, order: Array, wrong: Callable[[Array, Array], Array], step: Callable[[int, Array], Array]
) -> None:
    """One pass in which only some rows take steps: wrong(rows, scores) finds them, so that others cost no turn."""
    for start in range(0, len(order), BLOCK):
        rows = order[start : start + BLOCK]
        F, K = space.scores(rows), space.square(rows)
        steps, t = np.zeros((len(rows), space.coef.shape[1])), 0
        while t < len(rows):
            bad = wrong(rows[t:], F[t:])
            t += int(bad.argmax()) if bad.any() else len(rows) - t
            if t < len(rows):
                steps[t] = step(start + t, F[t])
                F[t + 1 :] += K[t + 1 :, t, None] * steps[t, : space.scored]
                t += 1
        space.add(rows, steps, 1.0)


def row_by_row(space: FunctionSpace, order: Array, rule: RowRule) -> None:
    """One pass: rule(row, its scores) says what the row adds (None: nothing), and by what all before it shrinks."""
    for start in range(0, len(order), BLOCK):
        rows = order[start : start + BLOCK]
        F, K = space.scores(rows), space.square(rows)
        steps, shrink = np.zeros_like(F), 1.0
        for t, row in enumerate(rows.tolist()):
            step, keep = rule(row, F[t])
            if keep != 1.0:
                F[t + 1 :] *= keep
                steps[:t] *= keep
                shrink *= keep
            if step is not None:
                steps[t] = step
                F[t + 1 :] += K[t + 1 :, t, None] * step
        space.add(rows, steps, shrink)
