"""Few components behind many columns: principal components, factors, sources, and parts that add up."""

from didact.core.handed_on import hand_on
from didact.decomposition.factor_analysis import FactorAnalysis
from didact.decomposition.fast_ica import FastICA, fastica
from didact.decomposition.incremental_pca import IncrementalPCA
from didact.decomposition.kernel_pca import KernelPCA
from didact.decomposition.likelihood_ica import MaximumLikelihoodICA
from didact.decomposition.nmf import NMF, non_negative_factorization
from didact.decomposition.pca import PCA
from didact.decomposition.probabilistic_pca import ProbabilisticPCA

__all__ = [
    "NMF",
    "PCA",
    "FactorAnalysis",
    "FastICA",
    "IncrementalPCA",
    "KernelPCA",
    "MaximumLikelihoodICA",
    "ProbabilisticPCA",
    "fastica",
    "non_negative_factorization",
]
__getattr__, __dir__ = hand_on(__name__)
