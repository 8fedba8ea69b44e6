r"""Hebbian learning: a layer of linear units whose weights grow where input and answer go together.

Hebb: :math:`\Delta w = \eta\,y\,x` with the answer :math:`y = w^Tx`. Alone it grows without bound, since
:math:`E\,\Delta w = \eta\,Cw` for the covariance C of the rows: the length has to be kept in check. Normalised after
every step, the rule is power iteration on single rows; Oja's :math:`\Delta w = \eta\,y\,(x - y\,w)` is the same to
first order in η and uses nothing but what the unit itself knows. Both end at the first principal direction. Sanger's
units each learn from what those before them leave, so that they end at the leading principal directions in order.

Hebb (1949), doi:10.4324/9781410612403; Oja (1982), doi:10.1007/BF00275687; Sanger (1989),
doi:10.1016/0893-6080(89)90044-0.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import float_type, is_tensor, like, read_only, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Ended, Estimator, remember, warn_convergence
from didact.core.parameters import above, at_least, attr, is_bool, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import Block, Rows
from didact.core.rows.memory import finite_sum
from didact.core.typing import Array
from didact.engines.stochastic.hebbian_loops import HEBB, OJA, SANGER, hebbian_steps
from didact.parts.statistics.components import Components, components

RULES = {"hebb": HEBB, "oja": OJA, "sanger": SANGER}


def spread(block: Block) -> Components:
    """How many rows of one block there are, their mean, and the sum of their squared distances to it."""
    found = components(block.X, None, "spherical")
    return found if finite_sum(block.X) else found._replace(mean=np.nan * found.mean)  # refused, by name


def taken(seen: Components, center: bool) -> tuple[Array, float]:
    """What is subtracted from each row, and the mean squared length of what is left."""
    mean, square = seen.mean[0], float(seen.scatter[0, 0]) / max(float(seen.weight[0]), 1.0)
    return (mean, square) if center else (np.zeros_like(mean), square + float(mean @ mean))


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

    _attrs = [
        attr(
            "components_",
            "(n_components, n_features)",
            "Weights of the units, about of length 1 but for Hebb's rule; signs are arbitrary.",
        ),
        attr("mean_", "(n_features,)", "What is subtracted from each row: the mean of the rows, 0 without `center`."),
        attr("scale_", "float", "Mean squared length of the rows, less their mean; the unit of 1/rates."),
        attr("n_samples_seen_", "int", "Rows that the mean and the scale are of."),
        attr("n_iter_", "int", "Passes over the rows."),
        attr("t_", "float", "1 + the number of steps."),
    ]
    _hidden = [
        attr("_weights", "(n_components, n_features)", "Weights in float64."),
        attr("_seen.mean", "(1, n_features)", "Mean of the rows so far."),
    ]

    def fit(self, X: Any, y: Any = None) -> "HebbianLayer":
        """Learn from rows X, pass after pass, until the weights settle."""
        rows, seed = self._rows(X, target="none"), seed_sequence(self.random_state)
        seen, W = rows.reduce(spread), first_weights(self.rule, self.n_components, rows.n_features, seed)
        n, values = int(seen.weight[0]), list[float]()
        with FitProgress(self, self.max_iter, X=X, y=y, attributes=lambda W: self._fitted(W, rows, seen)) as progress:
            for epoch in range(1, self.max_iter + 1):
                before = W.copy()
                values.append(self._pass(rows, W, seen, 1 + (epoch - 1) * n, seed))
                done = self.tol is not None and moved(before, W) <= self.tol
                if progress.report(epoch, values[-1], W) or done:
                    break
        self._store(W, rows, seen, epoch, 1 + epoch * n)
        self._report("converged" if done else "stopped" if progress.stopped else "iteration limit", values)
        return self

    def _report(self, status: str, values: list[float]) -> None:
        remember(self, Ended(status, history=values))
        if status == "iteration limit" and self.tol is not None:
            warn_convergence(self, "The weights still change after max_iter passes: raise max_iter, power_t or tol.")

    def partial_fit(self, X: Any, y: Any = None) -> "HebbianLayer":
        """Make one pass over more rows, from where the last one ended."""
        first = not hasattr(self, "components_")
        rows, seed = self._rows(X, target="none", reset=first), seed_sequence(self.random_state)
        new = rows.reduce(spread)
        if first:
            seen, t, W = new, 1, first_weights(self.rule, self.n_components, rows.n_features, seed)
        else:
            seen, t, W = self._seen.merge(new), int(self.t_), self._weights.copy()
        self._pass(rows, W, seen, t, seed)
        self._store(W, rows, seen, 1, t + int(new.weight[0]))
        return self

    def _pass(self, rows: Rows, W: Array, seen: Components, t: int, seed: Any) -> float:
        """One pass that begins with step t; minus the mean squared answer of a unit, as a share of the scale."""
        mean, scale = taken(seen, self.center)
        if not W.shape[1] == len(mean) == rows.n_features:
            raise InputError(f"Weights {W.shape} and a mean {mean.shape} are not of these rows: fit the model anew.")
        total, begin = 0.0, t
        for block in rows.stream():
            X = read_only(to_numpy(block.X) if is_tensor(block.X) else block.X)
            key = (*seed.spawn_key, t)
            generator = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))
            order = generator.permutation(len(X)) if self.shuffle else np.arange(len(X))
            total += hebbian_steps(RULES[self.rule], X, order, mean, scale, self.eta0, self.power_t, float(t), W)
            t += len(X)
        return -total / max((t - begin) * len(W) * scale, np.finfo(float).tiny)

    def _fitted(self, W: Array, rows: Rows, seen: Components) -> dict[str, Any]:
        mean, scale = taken(seen, self.center)
        dtype = float_type(rows)
        return {"components_": W.astype(dtype), "mean_": mean.astype(dtype), "scale_": scale}

    def _store(self, W: Array, rows: Rows, seen: Components, epochs: int, t: int) -> None:
        n = int(seen.weight[0])
        self.__dict__.update(self._fitted(W, rows, seen), n_samples_seen_=n, n_iter_=epochs, t_=float(t))
        self._weights, self._seen = W, seen

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Any:
        """The answers of the units to rows X, (n, n_components)."""
        return self._after_fit()._map_rows(X, answers, self.components_, self.mean_)
