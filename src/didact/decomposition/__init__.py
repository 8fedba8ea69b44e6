"""Few components behind many columns: principal components, factor analysis and probabilistic PCA."""

from didact.decomposition.factor_analysis import FactorAnalysis
from didact.decomposition.incremental_pca import IncrementalPCA
from didact.decomposition.kernel_pca import KernelPCA
from didact.decomposition.pca import PCA
from didact.decomposition.probabilistic_pca import ProbabilisticPCA

__all__ = ["PCA", "FactorAnalysis", "IncrementalPCA", "KernelPCA", "ProbabilisticPCA"]
