"""Hidden factors behind many columns: factor analysis and probabilistic PCA; parts and sources: NMF and ICA."""

from didact.decomposition.factor_analysis import FactorAnalysis
from didact.decomposition.nmf import NMF, non_negative_factorization
from didact.decomposition.probabilistic_pca import ProbabilisticPCA

__all__ = ["NMF", "FactorAnalysis", "ProbabilisticPCA", "non_negative_factorization"]
