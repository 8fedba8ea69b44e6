r"""A small model from the history of neural networks: a neuron that computes.

McCulloch and Pitts: a neuron fires if no inhibitory input is active and :math:`\sum_j w_jx_j \ge \theta`. It has no
rule of learning; its weights and threshold are set by hand.

McCulloch, Pitts (1943), doi:10.1007/BF02478259.
"""

from numbers import Real
from typing import Any

import numpy as np

from didact.core.backend import float_type, like, namespace, to_numpy
from didact.core.errors import ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import array_like, attr, none, param
from didact.core.rows import Block
from didact.core.typing import Array
from didact.parts.statistics.moments import Sums


def fires(X: Any, weights: Array, threshold: float, inhibitory: Array) -> Any:
    """1 for each row whose weighted sum reaches the threshold while no inhibitory input is above 0, else 0."""
    xp = namespace(X)
    excited = X @ like(weights.astype(float_type(X)), X) >= threshold
    if len(inhibitory):
        excited &= ~xp.any(X[:, inhibitory] > 0, axis=1)
    return xp.astype(excited, xp.int64)


def column_sums(block: Block) -> Sums:
    """Sums of the columns: a look at the rows that finds what is missing."""
    X = block.X
    return Sums((to_numpy(namespace(X).sum(X, axis=0)),))


class McCullochPittsNeuron(Estimator):
    r"""The neuron of McCulloch and Pitts: it fires if no inhibitory input is active and :math:`w^Tx \ge \theta`.

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

    _test_skips = {
        "constant_columns/constant": "Weights and threshold are given: every input counts.",
        "constant_columns/shift": "Weights and threshold are given: every input counts.",
    }
    _sparse = False

    weights: Any = param(None, [array_like, none], "Weights of the inputs; None: 1 for each.")
    threshold: float = param(1.0, Real, "Sum θ from which on the neuron fires.")
    inhibitory: Any = param(None, [array_like, none], "Numbers of the columns that silence the neuron; None: no one.")

    _attrs = [attr("weights_", "(n_features,)", "Weights of the inputs; those of inhibitory inputs are 0.")]

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
        rows = self._rows(X, target="none")
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
        return self._after_fit()._map_rows(X, fires, self.weights_, self.threshold, self._silent)
