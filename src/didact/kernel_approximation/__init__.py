"""Explicit features whose inner products approximate a kernel: landmarks and random cosines."""

from didact.core.handed_on import hand_on
from didact.kernel_approximation.nystroem import Nystroem
from didact.kernel_approximation.random_features import RBFSampler

__all__ = ["Nystroem", "RBFSampler"]
__getattr__, __dir__ = hand_on(__name__)
