r"""Gaussian naive Bayes: within a class every column is normal by itself, :math:`N(\mu_{kj}, \sigma_{kj}^2)`.

Zhang (2004), The optimality of naive Bayes.
"""

from typing import Any

import numpy as np

from didact.core.parameters import array_like, at_least, attr, none, param
from didact.engines.components.scores import diagonal_joint
from didact.naive_bayes.base import Array, _NaiveBayes
from didact.parts.statistics.class_sums import ClassMoments, moments_by_class, spread


def gaussian_table(S: ClassMoments, place: Array, K: int, smoothing: float) -> tuple[Array, Array]:
    """Means and variances of each class; a column without a value in a class gets the variance of all."""
    present = np.broadcast_to(S.present, S.mean.shape)
    total = S.total_variance
    variance = np.divide(S.scatter, present, out=np.zeros_like(S.scatter), where=present > 0)
    variance = np.where(present > 0, variance, total) + smoothing * float(np.max(total, initial=0.0))
    return spread(S.mean, place, K), np.maximum(spread(variance, place, K), np.finfo(float).tiny ** 0.5)


def moment_tables(S: ClassMoments) -> tuple[Array, ...]:
    """What of the moments has to be finite."""
    with np.errstate(all="ignore"):
        return S.mean, S.scatter, S.total_variance


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

    _summary = staticmethod(moments_by_class)
    _joint = staticmethod(diagonal_joint)
    _joint_attributes = ("_log_priors", "theta_", "var_")
    _tables_of_numbers = ("theta_", "var_", "class_prior_")

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

    def _sums_of_columns(self, stats: ClassMoments) -> tuple[Array, ...]:
        return moment_tables(stats)

    def _finish(self, place: Array) -> None:
        self.epsilon_ = self.var_smoothing * float(np.max(self._stats.total_variance, initial=0.0))
        self.theta_, self.var_ = gaussian_table(self._stats, place, len(self.classes_), self.var_smoothing)
        self.class_prior_ = np.exp(self._log_prior(self.priors, uniform=False))

    @property
    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior_)

    def _priors(self) -> Array:
        return self._log_priors

    def _draw_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        return self.theta_[codes] + np.sqrt(self.var_[codes]) * rng.standard_normal((len(codes), self.n_features_in_))
