r"""Bayes' rule over a list of hypotheses: which of them generated the data, and what comes next.

.. math:: P(h_k \mid d) = \frac{P(h_k)\prod_i P(d_i \mid h_k)}{\sum_j P(h_j)\prod_i P(d_i \mid h_j)}
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from didact.core.errors import InputError, ParameterError
from didact.core.typing import Array
from didact.core.validation.entrance import entrance


class Posterior(NamedTuple):
    """The hypotheses with their probabilities given the data, as `posterior` returns them.

    Examples
    --------
    >>> from didact.distributions import posterior
    >>> coins = posterior(["fair", "bent"], [0.5, 0.5], [[0.5, 0.5], [0.25, 0.75]], [1, 1])
    >>> coins.map, coins.probabilities.round(3).tolist()
    ('bent', [0.308, 0.692])
    """

    hypotheses: tuple[Any, ...]
    probabilities: Array
    log_likelihoods: Array
    log_evidence: float
    likelihood: Any

    @property
    def evidence(self) -> float:
        """P(d), the probability of the data averaged over the prior."""
        return float(np.exp(self.log_evidence))

    @property
    def map(self) -> Any:
        """The most probable hypothesis, the first of ties."""
        return self.hypotheses[int(np.argmax(self.probabilities))]

    @property
    def ml(self) -> Any:
        """The hypothesis of greatest likelihood, the first of ties."""
        return self.hypotheses[int(np.argmax(self.log_likelihoods))]

    def predict(self, x: Any, how: str = "average") -> float:
        """P(next is x | d): averaged over all hypotheses, or by the "map" or "ml" hypothesis alone."""
        each = np.array([_likelihood(self.likelihood, k, h, x) for k, h in enumerate(self.hypotheses)])
        if how == "average":
            return float(self.probabilities @ each)
        if how not in ("map", "ml"):
            raise ParameterError(f"how must be 'average', 'map' or 'ml', not {how!r}.")
        return float(each[int(np.argmax(self.probabilities if how == "map" else self.log_likelihoods))])


@entrance()
def posterior(
    hypotheses: Sequence[Any],
    prior: Sequence[float],
    likelihood: Callable[[Any, Any], float] | Any,
    data: Sequence[Any],
) -> Posterior:
    r"""The probabilities of hypotheses after some independent observations.

    .. math:: P(h_k \mid d) \propto P(h_k)\prod_i P(d_i \mid h_k)

    Cost O(hypotheses × observations), in logarithms.

    Parameters
    ----------
    hypotheses : sequence
        The hypotheses, anything; exactly one of them is true.
    prior : sequence of float
        Their probabilities before the data, which add up to 1.
    likelihood : callable or array-like of shape (n_hypotheses, n_values)
        likelihood(h, x) is P(x | h); a table is indexed by the number of the hypothesis and by x, a number from 0.
    data : sequence
        The observations.

    Returns
    -------
    Posterior
        `probabilities`, `map`, `ml`, `evidence` and `predict(x)`.

    References
    ----------
    Russell, Norvig (2020), Artificial Intelligence: A Modern Approach, chapter 21.

    Examples
    --------
    >>> from didact.distributions import posterior
    >>> limes = [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> bags = posterior(limes, [0.1, 0.2, 0.4, 0.2, 0.1], lambda p, x: p if x == "lime" else 1 - p, ["lime"] * 10)
    >>> bags.map, round(bags.predict("lime"), 6)
    (1.0, 0.973031)
    """
    hypotheses, weights = tuple(hypotheses), np.asarray(prior, np.float64)
    if weights.shape != (len(hypotheses),) or (weights < 0).any() or not np.isclose(weights.sum(), 1.0):
        raise ParameterError(f"prior must be {len(hypotheses)} probabilities that add up to 1.")
    if not callable(likelihood):
        likelihood = np.asarray(likelihood, np.float64)
        if likelihood.ndim != 2 or len(likelihood) != len(hypotheses):
            raise ParameterError(
                f"A table of likelihoods has a row for each of the {len(hypotheses)} hypotheses and a column for each "
                f"value, not the shape {likelihood.shape}."
            )
    table = [[_likelihood(likelihood, k, h, x) for x in data] for k, h in enumerate(hypotheses)]
    with np.errstate(divide="ignore"):
        logs = np.log(np.asarray(table, np.float64).reshape(len(hypotheses), -1)).sum(axis=1)
        joint = np.log(weights) + logs
    evidence = float(special.logsumexp(joint))
    if not np.isfinite(evidence):
        raise InputError("The data are impossible under every hypothesis that the prior allows.")
    return Posterior(
        hypotheses=hypotheses,
        probabilities=np.exp(joint - evidence),
        log_likelihoods=logs,
        log_evidence=evidence,
        likelihood=likelihood,
    )


def _likelihood(likelihood: Any, k: int, hypothesis: Any, x: Any) -> float:
    value = float(likelihood(hypothesis, x) if callable(likelihood) else likelihood[k, _column(x, likelihood.shape[1])])
    if not value >= 0:
        raise InputError(f"The likelihood of {x!r} under {hypothesis!r} is {value}, which is no probability.")
    return value


def _column(x: Any, n_values: int) -> int:
    if not isinstance(x, (int, float, np.number)) or not 0 <= x < n_values or x != int(x):
        raise InputError(f"The table of likelihoods has the values 0 … {n_values - 1}, and an observation is {x!r}.")
    return int(x)
