"""Gaussian processes: regression and classification with kernels, whose parameters the evidence chooses."""

from didact.core.handed_on import hand_on
from didact.gaussian_process.classification import GaussianProcessClassifier
from didact.gaussian_process.regression import GaussianProcessRegressor

__all__ = ["GaussianProcessClassifier", "GaussianProcessRegressor"]
__getattr__, __dir__ = hand_on(__name__)
