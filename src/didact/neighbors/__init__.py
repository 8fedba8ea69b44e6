"""Neighbours and windows: the search itself, and the models that look at the rows around a place."""

from didact.neighbors.histogram_density import HistogramDensity
from didact.neighbors.kernel_density import KernelDensity
from didact.neighbors.kernel_density_classifier import KernelDensityClassifier
from didact.neighbors.kernel_smoother import KernelSmoother
from didact.neighbors.nearest import NearestNeighbors
from didact.neighbors.neighbors_density import KNeighborsDensity

__all__ = [
    "HistogramDensity",
    "KNeighborsDensity",
    "KernelDensity",
    "KernelDensityClassifier",
    "KernelSmoother",
    "NearestNeighbors",
]
