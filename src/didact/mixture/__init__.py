"""Mixtures: Gaussian and Bernoulli components, EM for components of one's own, and how many of them."""

from didact.core.handed_on import hand_on
from didact.mixture.bernoulli_mixture import BernoulliMixture
from didact.mixture.expectation_maximization import ExpectationMaximization, GaussianComponents
from didact.mixture.gaussian_mixture import GaussianMixture
from didact.mixture.selection import ComponentPath, component_path

__all__ = [
    "BernoulliMixture",
    "ComponentPath",
    "ExpectationMaximization",
    "GaussianComponents",
    "GaussianMixture",
    "component_path",
]
__getattr__, __dir__ = hand_on(__name__)
