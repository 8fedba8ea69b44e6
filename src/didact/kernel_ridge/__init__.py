"""Ridge regression in the features of a kernel."""

from didact.core.handed_on import hand_on
from didact.kernel_ridge.kernel_ridge import KernelRidge

__all__ = ["KernelRidge"]
__getattr__, __dir__ = hand_on(__name__)
