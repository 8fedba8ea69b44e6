r"""Two small models from the history of neural networks: a neuron that computes, and a layer that learns.

* McCulloch and Pitts: a neuron fires if no inhibitory input is active and :math:`\sum_j w_jx_j \ge \theta`. It has no
  rule of learning; its weights and threshold are set by hand.
* Hebb: what fires together wires together, :math:`\Delta w = \eta\,y\,x` with the answer :math:`y = w^Tx`. Alone it
  grows without end. Oja's :math:`\Delta w = \eta\,y\,(x - y\,w)` keeps the length at 1 and ends at the first principal
  direction of the rows; Sanger's form of it finds as many directions as there are neurons.

McCulloch, Pitts (1943), doi:10.1007/BF02478259; Hebb (1949), doi:10.4324/9781410612403; Oja (1982),
doi:10.1007/BF00275687; Sanger (1989), doi:10.1016/0893-6080(89)90044-0.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import float_type, is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import above, array_like, at_least, is_bool, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import Rows
from didact.core.rows.memory import refuse_non_finite
from didact.engines.hebbian_loops import hebb, oja
from didact.engines.sgd_passes import fixed
from didact.parts.statistics import Sums

Array = np.ndarray[Any, Any]

NO_TARGET = {"missing_refused": "There is no target, so none can be missing; missing features are refused."}


def fires(X: Any, weights: Array, threshold: float, inhibitory: Array) -> Any:
    """1 for each row whose weighted sum reaches the threshold while no inhibitory input is above 0, else 0."""
    xp = namespace(X)
    excited = X @ like(weights.astype(float_type(X)), X) >= threshold
    if len(inhibitory):
        excited &= ~xp.any(X[:, inhibitory] > 0, axis=1)
    return xp.astype(excited, xp.int64)


def column_sums(X: Any, y: Any, w: Any) -> Sums:
    """Sums of the columns: a look at the rows that finds what is missing."""
    return Sums((to_numpy(namespace(X).sum(X, axis=0)),))


class McCullochPittsNeuron(Estimator):
    r"""The neuron of McCulloch and Pitts: it fires if no inhibitory input is active and :math:`w^Tx \ge \theta`.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        Weights of the inputs; those of inhibitory inputs are 0.

    Notes
    -----
    Nothing is learnt: `fit` checks the input and the shapes. An inhibitory input is active above 0, and one of them is
    enough to silence the neuron. Cost of a row: one multiply-add per input. `gate` builds logic gates; XOR needs a
    network of them.

    References
    ----------
    McCulloch, Pitts (1943), doi:10.1007/BF02478259.

    Examples
    --------
    >>> from didact.linear_model import McCullochPittsNeuron
    >>> neuron = McCullochPittsNeuron(threshold=2).fit([[0, 0]])
    >>> neuron.predict([[0, 0], [0, 1], [1, 0], [1, 1]]).tolist()
    [0, 0, 0, 1]
    """

    _test_skips = NO_TARGET
    _sparse = False

    weights: Any = param(None, [array_like, none], "Weights of the inputs; None: 1 for each.")
    threshold: float = param(1.0, [at_least(0), above(-np.inf)], "Sum θ from which on the neuron fires.")
    inhibitory: Any = param(None, [array_like, none], "Numbers of the columns that silence the neuron; None: no one.")

    @classmethod
    def gate(cls, name: str, inputs: int = 2) -> "McCullochPittsNeuron":
        """A logic gate: "and", "or", "nor", "not" (of one input) or "and not" (the first, but not the last input).

        >>> McCullochPittsNeuron.gate("not").predict([[0], [1]]).tolist()
        [1, 0]
        """
        inputs = 1 if name == "not" else inputs
        gates: dict[str, dict[str, Any]] = {
            "and": {"threshold": float(inputs)},
            "or": {"threshold": 1.0},
            "nor": {"threshold": 0.0, "inhibitory": list(range(inputs))},
            "not": {"threshold": 0.0, "inhibitory": [0]},
            "and not": {"threshold": float(inputs - 1), "inhibitory": [inputs - 1]},
        }
        if name not in gates:
            raise ParameterError(f"There is no gate {name!r}; there are {', '.join(map(repr, gates))}.")
        return cls(**gates[name]).fit(np.zeros((1, inputs)))

    def fit(self, X: Any, y: Any = None) -> "McCullochPittsNeuron":
        """Check the input; nothing is learnt."""
        rows = self.rows(X, target="none")
        rows.reduce(column_sums)
        p = rows.n_features
        weights = np.ones(p) if self.weights is None else np.array(self.weights, np.float64)
        if weights.shape != (p,):
            raise ParameterError(f"weights has shape {weights.shape}, but there are {p} inputs.")
        self._silent = np.asarray([] if self.inhibitory is None else self.inhibitory, np.int64)
        if len(self._silent) and not (self._silent.min() >= 0 and self._silent.max() < p):
            raise ParameterError(f"inhibitory names column {self._silent.max()}, but there are {p} inputs, from 0 on.")
        weights[self._silent] = 0.0
        self.weights_ = weights
        return self

    def predict(self, X: Any) -> Any:
        """1 where the neuron fires, else 0."""
        return self.map_rows(X, fires, "weights_", "threshold", "_silent")


def answers(X: Any, components: Array) -> Any:
    """The answers Wx of a layer of linear neurons."""
    return X @ like(components.T.astype(float_type(X)), X)


class HebbianLayer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""A layer of linear neurons y = Wx that learns by Hebb's rule, with decay or in Oja's form.

    .. math:: \Delta w = \eta\,(y\,x - \delta w) \quad\text{(Hebb)}, \qquad
              \Delta w_k = \eta\,y_k\Big(x - \sum_{l\le k} y_lw_l\Big) \quad\text{(Oja, Sanger)}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights of the neurons; with rule="oja", close to the first principal directions of the rows.
    n_iter_ : int
        Passes over the rows.

    Notes
    -----
    Without a target: weights grow where input and answer go together. Rows are taken as they are: centre them first for
    principal components. In pass e the rate is eta0/e^power_t; pairs η, x with η‖x‖² above 1 run away. Hebb's rule
    alone grows without end (δ above the variance of the answer makes the weights vanish): one pass is what it is for.
    The order of rows matters; `Batches` and Dask collections are taken block after block. Cost of a pass: n p k.
    Shape of computation: stream.

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

    _test_params = [{"shuffle": False, "power_t": 0.0, "random_state": 0}]
    _test_skips = {
        **NO_TARGET,
        "row_order": "Weights change row by row, so that the order of the rows matters.",
        "constant_columns": "Rows are taken as they are, not centred, so that constant columns count.",
    }
    _sparse = False

    n_components: int = param(1, whole(1), "Number of neurons.")
    rule: str = param("oja", one_of("oja", "hebb"), "Rule of learning.")
    eta0: float = param(0.01, above(0), "Rate of the first pass.")
    power_t: float = param(0.5, at_least(0), "Exponent with which the rate falls from pass to pass.")
    decay: float = param(0.0, at_least(0), "Decay δ of the weights in Hebb's rule.")
    max_iter: int = param(1000, whole(1), "Most passes over the rows.")
    tol: float | None = param(1e-3, [at_least(0), none], "Largest change of a weight in a pass at which the fit ends.")
    shuffle: bool = param(True, is_bool, "Whether to shuffle the rows before each pass.")
    random_state: Any = param(None, random_state, "Seed of the first weights and of the shuffling.")

    def fit(self, X: Any, y: Any = None) -> "HebbianLayer":
        """Learn from rows X, pass after pass, until the weights settle."""
        rows = self.rows(X, target="none")
        W, done = self._start(rows.n_features), False
        with FitProgress(self, self.max_iter, X=X, y=y, attributes=lambda w: {"components_": w.copy()}) as progress:
            for epoch in range(1, self.max_iter + 1):
                before, self.n_iter_ = W.copy(), epoch
                value = self._pass(rows, W, epoch)
                stop = progress.report(epoch, value, W)
                done = self.tol is not None and bool(np.max(np.abs(W - before)) <= self.tol)
                if done or stop:
                    break
        self.components_ = W.astype(float_type(rows))
        if not (done or progress.stopped or self.tol is None):
            self.warn_convergence("The weights still change after max_iter passes: raise max_iter or power_t.")
        return self

    def partial_fit(self, X: Any, y: Any = None) -> "HebbianLayer":
        """Make one pass over more rows."""
        first = not hasattr(self, "components_")
        rows = self.rows(X, target="none", reset=first)
        W = self._start(rows.n_features) if first else self.components_.astype(np.float64)
        self.n_iter_ = 1 if first else self.n_iter_ + 1
        self._pass(rows, W, self.n_iter_)
        self.components_ = W.astype(float_type(rows))
        return self

    def _start(self, p: int) -> Array:
        if self.n_components > p:
            raise ParameterError(f"n_components is {self.n_components}, but there are {p} features.")
        W = np.random.default_rng(seed_sequence(self.random_state)).normal(size=(self.n_components, p))
        return W / np.linalg.norm(W, axis=1, keepdims=True)

    def _pass(self, rows: Rows, W: Array, epoch: int) -> float:
        """One pass; the mean of what it lowers."""
        eta, total, size = self.eta0 / epoch**self.power_t, 0.0, 0
        seed = seed_sequence(self.random_state)
        for number, (X, *_) in enumerate(rows.stream()):
            key = (*seed.spawn_key, epoch, number)
            generator = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))
            X = fixed(to_numpy(X) if is_tensor(X) else X)
            order = generator.permutation(len(X)) if self.shuffle else np.arange(len(X))
            y = np.empty(len(W))
            if self.rule == "oja":
                total += oja(X, order, eta, W, np.empty(W.shape[1]), y)
            else:
                total += hebb(X, order, eta, self.decay, W, y)
            size += len(X)
            if not np.isfinite(W).all():
                refuse_non_finite(X, rows.names)
                raise InputError("The weights grew beyond all bounds: scale the columns, lower eta0 or use rule='oja'.")
        return total / size

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Any:
        """The answers of the neurons to rows X, (n, n_components)."""
        return self.map_rows(X, answers, "components_")
