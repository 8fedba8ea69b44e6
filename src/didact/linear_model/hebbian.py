r"""Hebbian learning: a layer of linear units whose weights grow where input and answer go together.

Hebb: :math:`\Delta w = \eta\,y\,x` with the answer :math:`y = w^Tx`. Alone it grows without bound, since
:math:`E\,\Delta w = \eta\,Cw` for the covariance C of the rows: the length has to be kept in check. Normalised after
every step, the rule is power iteration on single rows; Oja's :math:`\Delta w = \eta\,y\,(x - y\,w)` is the same to
first order in η and uses nothing but what the unit itself knows. Both end at the first principal direction. Sanger's
units each learn from what those before them leave, so that they end at the leading principal directions in order.

Hebb (1949), doi:10.4324/9781410612403; Oja (1982), doi:10.1007/BF00275687; Sanger (1989),
doi:10.1016/0893-6080(89)90044-0.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import float_type, is_tensor, like, to_numpy
from didact.core.errors import ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import above, at_least, is_bool, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import Block, Rows
from didact.engines.stochastic.hebbian_loops import HEBB, OJA, SANGER, learn
from didact.engines.stochastic.passes import fixed

Array = np.ndarray[Any, Any]

RULES = {"hebb": HEBB, "oja": OJA, "sanger": SANGER}


class Spread(NamedTuple):
    """How many rows there are, their mean, and the sum of their squared distances to it."""

    rows: int
    mean: Array
    square: float

    def merge(self, other: "Spread") -> "Spread":
        """Both sets of rows together (Chan's rule)."""
        rows = self.rows + other.rows
        d = other.mean - self.mean
        part = other.rows / max(rows, 1)
        return Spread(rows, self.mean + part * d, self.square + other.square + self.rows * part * float(d @ d))

    def taken(self, center: bool) -> tuple[Array, float]:
        """What is subtracted from each row, and the mean squared length of what is left."""
        n = max(self.rows, 1)
        if center:
            return self.mean, self.square / n
        return np.zeros_like(self.mean), self.square / n + float(self.mean @ self.mean)


def spread(block: Block) -> Spread:
    """The spread of one block."""
    X = block.X
    X = np.asarray(to_numpy(X), np.float64)
    if not len(X):
        return Spread(0, np.zeros(X.shape[1]), 0.0)
    mean = X.mean(axis=0)
    return Spread(len(X), mean, float(np.sum((X - mean) ** 2)))


def answers(X: Any, components: Array, mean: Array) -> Any:
    """The answers W(x − mean) of a layer of linear units."""
    return (X - like(mean, X)) @ like(components.T, X)


def first_weights(rule: str, units: int, n_features: int, seed: Any) -> Array:
    """Random weights of length 1, for Sanger's rule orthogonal to each other."""
    W = np.random.default_rng(seed).normal(size=(units, n_features))
    if rule != "sanger":
        return W / np.linalg.norm(W, axis=1, keepdims=True)
    if units > n_features:
        raise ParameterError(f"n_components is {units}, but {n_features} features have no more directions than that.")
    return np.ascontiguousarray(np.linalg.qr(W.T)[0].T)


def moved(before: Array, after: Array) -> float:
    """The largest change of a weight, where w and −w are the same direction."""
    changes = np.max(np.abs(after - before), axis=1), np.max(np.abs(after + before), axis=1)
    return float(np.max(np.minimum(*changes)))


class HebbianLayer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""A layer of linear units :math:`y_k = w_k^Tx` that learns without a target, by the rule of Hebb, Oja or Sanger.

    .. math:: \text{Hebb:}\ \ w \leftarrow \frac{w + \eta\,y\,x}{\|w + \eta\,y\,x\|}, \qquad
              \text{Oja:}\ \ \Delta w = \eta\,y\,(x - y\,w), \qquad
              \text{Sanger:}\ \ \Delta w_k = \eta\,y_k\Big(x - \sum_{l\le k} y_l w_l\Big)

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights of the units, of length 1 or, but for Hebb's rule, close to it. Signs are arbitrary.
    mean_ : ndarray of shape (n_features,)
        What is subtracted from each row: the mean of the rows seen, 0 without `center`.
    scale_ : float
        Mean squared length of the rows seen, less their mean; rates are measured in 1/scale_.
    n_samples_seen_ : int
        Rows that the mean and the scale are of.
    n_iter_ : int
        Passes over the rows.
    t_ : float
        1 + the number of steps.

    Notes
    -----
    What fires together wires together: weights grow where input and answer have the same sign. Hebb's rule alone grows
    without bound, so its weights are put back to length 1 after every step. Units of Hebb and Oja do not know of each
    other: all of them end at the first principal direction. Sanger's end at the leading ones in order (his *generalized
    Hebbian algorithm*); with one unit it is Oja's rule.

    The step of row t is eta0/(t^power_t · scale_), and at most 1/(2‖x‖²), so that neither large numbers nor a wild row
    make the weights run away. With ``power_t=0`` the weights go on moving around their goal, the less the smaller eta0;
    ``tol`` then wants ``shuffle=False``. The order of rows matters. `Batches` and Dask collections are taken block by
    block, in order, each shuffled by itself; one pass more before the first finds mean and scale. `partial_fit` takes
    those of the rows seen so far. Directions whose variances hardly differ are told apart slowly: PCA is exact and
    faster, this shows how a network can learn it. Cost of a pass: 2·n·p·k multiply-adds. Shape of computation: stream.

    References
    ----------
    Hebb (1949), doi:10.4324/9781410612403; Oja (1982), doi:10.1007/BF00275687; Sanger (1989),
    doi:10.1016/0893-6080(89)90044-0.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import HebbianLayer
    >>> X = np.outer(np.sin(np.arange(200.0)), [3.0, 4.0])
    >>> layer = HebbianLayer(random_state=0).fit(X)
    >>> np.abs(layer.components_).round(3)
    array([[0.6, 0.8]])
    """

    _test_params = [
        {"rule": rule, "shuffle": False, "power_t": 0.0, "eta0": 0.1, "random_state": 0, "max_iter": 100_000}
        for rule in RULES
    ]
    _test_skips = {
        "row_order": "Weights change row by row, so that the order of the rows matters.",
        "constant_columns": "One more column is one more random first weight, and directions end with either sign.",
    }
    _sparse = False

    n_components: int = param(1, whole(1), "Number of units.")
    rule: str = param("sanger", one_of("hebb", "oja", "sanger"), "Rule of learning.")
    center: bool = param(True, is_bool, "Whether to subtract the mean of the rows, as principal directions want.")
    eta0: float = param(1.0, above(0), "First rate, in units of 1/scale_.")
    power_t: float = param(0.5, at_least(0), "Exponent with which the rate falls from row to row.")
    max_iter: int = param(1000, whole(1), "Most passes over the rows.")
    tol: float | None = param(1e-3, [at_least(0), none], "Largest change of a weight in a pass at which the fit ends.")
    shuffle: bool = param(True, is_bool, "Whether to shuffle the rows before each pass.")
    random_state: Any = param(None, random_state, "Seed of the first weights and of the shuffling.")

    def fit(self, X: Any, y: Any = None) -> "HebbianLayer":
        """Learn from rows X, pass after pass, until the weights settle."""
        rows, seed = self.rows(X, target="none"), seed_sequence(self.random_state)
        seen, W = rows.reduce(spread), first_weights(self.rule, self.n_components, rows.n_features, seed)
        with FitProgress(self, self.max_iter, X=X, y=y, attributes=lambda W: self._fitted(W, rows, seen)) as progress:
            for epoch in range(1, self.max_iter + 1):
                before = W.copy()
                value = self._pass(rows, W, seen, 1 + (epoch - 1) * seen.rows, seed)
                done = self.tol is not None and moved(before, W) <= self.tol
                if progress.report(epoch, value, W) or done:
                    break
        self._store(W, rows, seen, epoch, 1 + epoch * seen.rows)
        if not (done or progress.stopped or self.tol is None):
            self.warn_convergence("The weights still change after max_iter passes: raise max_iter, power_t or tol.")
        return self

    def partial_fit(self, X: Any, y: Any = None) -> "HebbianLayer":
        """Make one pass over more rows, from where the last one ended."""
        first = not hasattr(self, "components_")
        rows, seed = self.rows(X, target="none", reset=first), seed_sequence(self.random_state)
        new = rows.reduce(spread)
        if first:
            seen, t, W = new, 1, first_weights(self.rule, self.n_components, rows.n_features, seed)
        else:
            last = Spread(self.n_samples_seen_, self._state["mean"], float(self._state["square"]))
            seen, t, W = last.merge(new), int(self.t_), self._state["W"].copy()
        self._pass(rows, W, seen, t, seed)
        self._store(W, rows, seen, 1, t + new.rows)
        return self

    def _pass(self, rows: Rows, W: Array, seen: Spread, t: int, seed: Any) -> float:
        """One pass that begins with step t; minus the mean squared answer of a unit, as a share of the scale."""
        mean, scale = seen.taken(self.center)
        total, begin = 0.0, t
        for block in rows.stream():
            X = fixed(to_numpy(block.X) if is_tensor(block.X) else block.X)
            key = (*seed.spawn_key, t)
            generator = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))
            order = generator.permutation(len(X)) if self.shuffle else np.arange(len(X))
            total += learn(RULES[self.rule], X, order, mean, scale, self.eta0, self.power_t, float(t), W)
            t += len(X)
        return -total / max((t - begin) * len(W) * scale, np.finfo(float).tiny)

    def _fitted(self, W: Array, rows: Rows, seen: Spread) -> dict[str, Any]:
        mean, scale = seen.taken(self.center)
        dtype = float_type(rows)
        return {"components_": W.astype(dtype), "mean_": mean.astype(dtype), "scale_": scale}

    def _store(self, W: Array, rows: Rows, seen: Spread, epochs: int, t: int) -> None:
        self.__dict__.update(self._fitted(W, rows, seen), n_samples_seen_=seen.rows, n_iter_=epochs, t_=float(t))
        self._state = {"W": W, "mean": seen.mean, "square": np.array(seen.square)}

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Any:
        """The answers of the units to rows X, (n, n_components)."""
        return self.fitted().map_rows(X, answers, self.components_, self.mean_)
