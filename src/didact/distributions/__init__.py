"""Probability distributions as immutable values, with estimators, conjugate priors and predictives; information."""

from didact.distributions import information
from didact.distributions.beta_prime import BetaPrime
from didact.distributions.bounded import Beta, Dirichlet
from didact.distributions.choices import Categorical
from didact.distributions.counts import NegativeBinomial, Poisson
from didact.distributions.discrete import Bernoulli, BetaBinomial, Binomial
from didact.distributions.exponential import Exponential
from didact.distributions.gaussian import Gaussian, NormalInverseGamma
from didact.distributions.heavy import StudentT
from didact.distributions.hypotheses import Posterior, posterior
from didact.distributions.laplace import DoubleLomax, Laplace
from didact.distributions.multinomial import DirichletMultinomial, Multinomial
from didact.distributions.multivariate import MultivariateGaussian
from didact.distributions.positive import Gamma, InverseGamma
from didact.distributions.uniform import Pareto, ParetoUniform, Uniform
from didact.distributions.wishart import MultivariateStudentT, NormalInverseWishart

__all__ = [
    "Bernoulli",
    "Beta",
    "BetaBinomial",
    "BetaPrime",
    "Binomial",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "DoubleLomax",
    "Exponential",
    "Gamma",
    "Gaussian",
    "InverseGamma",
    "Laplace",
    "Multinomial",
    "MultivariateGaussian",
    "MultivariateStudentT",
    "NegativeBinomial",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "Pareto",
    "ParetoUniform",
    "Poisson",
    "Posterior",
    "StudentT",
    "Uniform",
    "information",
    "posterior",
]
