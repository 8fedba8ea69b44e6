"""Hidden factors behind many columns: factor analysis and probabilistic PCA; parts and sources: NMF and ICA."""

from didact.decomposition.factor_analysis import FactorAnalysis
from didact.decomposition.fast_ica import FastICA, fastica
from didact.decomposition.likelihood_ica import MaximumLikelihoodICA
from didact.decomposition.nmf import NMF, non_negative_factorization
from didact.decomposition.probabilistic_pca import ProbabilisticPCA

__all__ = [
    "NMF",
    "FactorAnalysis",
    "FastICA",
    "MaximumLikelihoodICA",
    "ProbabilisticPCA",
    "fastica",
    "non_negative_factorization",
]
