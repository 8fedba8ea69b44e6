"""Gaussian classes: linear and quadratic discriminants, and the family of classifiers between them."""

from didact.core.handed_on import hand_on
from didact.discriminant_analysis.gaussian import GaussianClassifier
from didact.discriminant_analysis.kernel import KernelDiscriminantAnalysis
from didact.discriminant_analysis.linear import LinearDiscriminantAnalysis
from didact.discriminant_analysis.quadratic import QuadraticDiscriminantAnalysis

__all__ = [
    "GaussianClassifier",
    "KernelDiscriminantAnalysis",
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
]
__getattr__, __dir__ = hand_on(__name__)
