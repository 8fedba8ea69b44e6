"""What two sets of columns have in common: canonical correlations."""

from didact.cross_decomposition.cca import CCA

__all__ = ["CCA"]
