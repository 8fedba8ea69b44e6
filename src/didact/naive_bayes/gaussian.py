r"""Gaussian naive Bayes: within a class every column is normal by itself, :math:`N(\mu_{kj}, \sigma_{kj}^2)`.

Zhang (2004), The optimality of naive Bayes.
"""

from functools import partial
from typing import Any

import numpy as np

from didact.core.overflow import refuse_overflow
from didact.core.parameters import array_like, at_least, attr, none, param
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.engines.components.scores import diagonal_joint
from didact.naive_bayes.base import _NaiveBayes
from didact.parts.statistics.components import Components
from didact.parts.statistics.row_components import variance_rows


def total_variance(S: Components) -> Array:
    """The variance of each column, all classes together."""
    return S.total / np.maximum(np.broadcast_to(S.present, S.mean.shape).sum(axis=0), np.finfo(float).tiny)


def gaussian_table(S: Components, smoothing: float) -> tuple[Array, Array]:
    """Means and variances of each class; a column without a value in a class gets those of all."""
    total, tiny = total_variance(S), np.finfo(float).tiny
    middle = (S.present * S.mean).sum(axis=0) / np.maximum(S.present.sum(axis=0), tiny)
    variance = np.where(S.present > 0, S.covariances(), total) + smoothing * float(np.max(total, initial=0.0))
    return np.where(S.present > 0, S.mean, middle), np.maximum(variance, tiny**0.5)


def moment_tables(S: Components) -> tuple[Array, ...]:
    """What of the moments has to be finite."""
    with np.errstate(all="ignore"):
        return S.mean, S.scatter, total_variance(S)


class GaussianNB(_NaiveBayes):
    r"""Naive Bayes with a normal distribution for each column and class.

    .. math:: \log P(k, x) = \log P(k)
        - \tfrac12\sum_j\Big(\log 2\pi\sigma_{kj}^2 + \frac{(x_j-\mu_{kj})^2}{\sigma_{kj}^2}\Big)

    Notes
    -----
    Cost: one pass, O(n p) and K small products a block; prediction O(n p K). Missing values are left out of the sums,
    and of a row's probability. Shape of computation: reduce.

    References
    ----------
    Chan, Golub, LeVeque (1983), doi:10.1080/00031305.1983.10483115.

    Examples
    --------
    >>> from didact.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[-1.0], [-2.0], [1.0], [2.0]], ["low", "low", "high", "high"])
    >>> model.predict([[-0.8], [float("nan")]]).tolist()
    ['low', 'high']
    """

    priors: Any = param(None, [array_like, none], "Probabilities of the classes; None: from the data.")
    var_smoothing: float = param(
        1e-9, at_least(0), "Part of the largest variance of all columns added to each variance."
    )

    _attrs = [
        attr("class_prior_", "(n_classes,)", "Probability of each class."),
        attr("theta_", "(n_classes, n_features)", "Means."),
        attr("var_", "(n_classes, n_features)", "Variances, with epsilon_ added."),
        attr("epsilon_", "float", "What was added to the variances."),
    ]

    def _statistic(self, rows: Rows, first: bool) -> Components:
        S = rows.reduce(variance_rows, "diagonal")
        refuse_overflow(rows, tuple(moment_tables(S)))
        return S

    def _learn(self, S: Components, dtype: Any) -> None:
        self.epsilon_ = self.var_smoothing * float(np.max(total_variance(S), initial=0.0))
        tables = *gaussian_table(S, self.var_smoothing), np.exp(self._log_prior(self.priors, uniform=False))
        self.theta_, self.var_, self.class_prior_ = (table.astype(dtype, copy=False) for table in tables)

    @property
    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior_)

    @property
    def _joint(self) -> Any:
        return partial(diagonal_joint, log_prior=self._log_priors, mean=self.theta_, variance=self.var_)

    def _draw_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        return self.theta_[codes] + np.sqrt(self.var_[codes]) * rng.standard_normal((len(codes), self.n_features_in_))
