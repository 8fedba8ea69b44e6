"""Ridge regression in the features of a kernel."""

from didact.kernel_ridge.kernel_ridge import KernelRidge

__all__ = ["KernelRidge"]
