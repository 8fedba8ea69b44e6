"""What two sets of columns have in common: canonical correlations."""

from didact.core.handed_on import hand_on
from didact.cross_decomposition.cca import CCA

__all__ = ["CCA"]
__getattr__, __dir__ = hand_on(__name__)
