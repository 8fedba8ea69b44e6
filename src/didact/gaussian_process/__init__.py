"""Gaussian processes: regression and classification with kernels, whose parameters the evidence chooses."""

from didact.gaussian_process.classification import GaussianProcessClassifier
from didact.gaussian_process.regression import GaussianProcessRegressor

__all__ = ["GaussianProcessClassifier", "GaussianProcessRegressor"]
