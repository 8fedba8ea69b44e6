"""The distributions with SciPy's of the same kind, points of their support, and their conjugate priors."""

import numpy as np
from scipy import stats

from didact import distributions as d

COUNTS = np.arange(0.0, 12.0)
REAL = np.linspace(-4.0, 5.0, 19)
POSITIVE = np.linspace(0.05, 6.0, 15)
UNIT = np.linspace(0.02, 0.98, 13)

# name: (ours, SciPy's, points)
SINGLE = {
    "Bernoulli": (d.Bernoulli(0.3), stats.bernoulli(0.3), np.array([0.0, 1.0])),
    "Binomial": (d.Binomial(11, 0.35), stats.binom(11, 0.35), COUNTS),
    "BetaBinomial": (d.BetaBinomial(11, 2.0, 3.5), stats.betabinom(11, 2.0, 3.5), COUNTS),
    "Poisson": (d.Poisson(2.7), stats.poisson(2.7), COUNTS),
    "NegativeBinomial": (d.NegativeBinomial(2.5, 0.4), stats.nbinom(2.5, 0.4), COUNTS),
    "Gaussian": (d.Gaussian(0.7, 2.25), stats.norm(0.7, 1.5), REAL),
    "StudentT": (d.StudentT(4.5, 0.3, 1.7), stats.t(4.5, 0.3, 1.7), REAL),
    "Laplace": (d.Laplace(0.4, 1.3), stats.laplace(0.4, 1.3), REAL),
    "Gamma": (d.Gamma(2.5, 1.5), stats.gamma(2.5, scale=1 / 1.5), POSITIVE),
    "InverseGamma": (d.InverseGamma(3.5, 2.0), stats.invgamma(3.5, scale=2.0), POSITIVE),
    "Exponential": (d.Exponential(0.8), stats.expon(scale=1 / 0.8), POSITIVE),
    "BetaPrime": (d.BetaPrime(2.0, 4.5, 1.5), stats.betaprime(2.0, 4.5, scale=1.5), POSITIVE),
    "Beta": (d.Beta(2.5, 1.5), stats.beta(2.5, 1.5), UNIT),
    "Uniform": (d.Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0), REAL),
    "Pareto": (d.Pareto(1.5, 4.5), stats.pareto(4.5, scale=1.5), 1.5 + POSITIVE),
}
# Without a counterpart in SciPy: checked by integration alone.
OTHERS = {
    "DoubleLomax": d.DoubleLomax(0.3, 3.5, 1.2),
    "ParetoUniform": d.ParetoUniform(0.5, 2.0, 3.5),
}
DISCRETE = ("Bernoulli", "Binomial", "BetaBinomial", "Poisson", "NegativeBinomial")
# name: known parameters of from_natural, sufficient, log_partition and log_base
FAMILIES = {
    "Bernoulli": [{}] * 4,
    "Binomial": [{"n": 11}, {}, {"n": 11}, {"n": 11}],
    "Poisson": [{}] * 4,
    "Gaussian": [{}] * 4,
    "Laplace": [{"location": 0.4}, {"location": 0.4}, {}, {}],
    "Gamma": [{}] * 4,
    "InverseGamma": [{}] * 4,
    "Exponential": [{}] * 4,
    "Beta": [{}] * 4,
}
# name: known parameters of the likelihood, prior of the others
CONJUGATE = {
    "Bernoulli": ({}, d.Beta(2.0, 3.0)),
    "Binomial": ({"n": 11}, d.Beta(2.0, 3.0)),
    "Poisson": ({}, d.Gamma(2.5, 1.5)),
    "Exponential": ({}, d.Gamma(2.5, 1.5)),
    "Gamma": ({"shape": 2.5}, d.Gamma(2.0, 1.2)),
    "InverseGamma": ({"shape": 3.5}, d.Gamma(2.0, 1.2)),
    "Gaussian": ({"variance": 2.25}, d.Gaussian(-0.4, 3.0)),
    "Laplace": ({"location": 0.4}, d.InverseGamma(3.0, 2.0)),
    "Uniform": ({"low": -1.0}, d.Pareto(0.5, 1.5)),
}
OF_THE_VARIANCE = ({"mean": 0.7}, d.InverseGamma(3.0, 2.0))  # the Gaussian's other prior
ESTIMATED = tuple(name for name in SINGLE if name not in ("BetaBinomial", "NegativeBinomial", "BetaPrime", "Pareto"))
KNOWN = {"Binomial": {"n": 11}}


PRIORS = [(name, *case) for name, case in CONJUGATE.items()] + [("Gaussian", *OF_THE_VARIANCE)]
