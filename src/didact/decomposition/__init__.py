"""Hidden factors behind many columns: factor analysis and probabilistic PCA."""

from didact.decomposition.factor_analysis import FactorAnalysis
from didact.decomposition.probabilistic_pca import ProbabilisticPCA

__all__ = ["FactorAnalysis", "ProbabilisticPCA"]
