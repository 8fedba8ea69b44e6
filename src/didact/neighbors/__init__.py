"""Neighbours and windows: the search itself, and the models that look at the rows around a place."""

from didact.core.handed_on import hand_on
from didact.neighbors.classification import KNeighborsClassifier, RadiusNeighborsClassifier
from didact.neighbors.condensing import CondensedNearestNeighbor
from didact.neighbors.graphs import kneighbors_graph, radius_neighbors_graph
from didact.neighbors.histogram_density import HistogramDensity
from didact.neighbors.kernel_density import KernelDensity
from didact.neighbors.kernel_density_classifier import KernelDensityClassifier
from didact.neighbors.kernel_smoother import KernelSmoother
from didact.neighbors.levenshtein import edit_distance, edit_distances
from didact.neighbors.nearest import NearestNeighbors
from didact.neighbors.neighbors_density import KNeighborsDensity
from didact.neighbors.neighbors_smoother import KNeighborsSmoother
from didact.neighbors.regression import KNeighborsRegressor, RadiusNeighborsRegressor
from didact.neighbors.regressogram import Regressogram
from didact.neighbors.running import RunningLine, RunningMean, RunningMedian
from didact.neighbors.wilson_editing import EditedNearestNeighbors

__all__ = [
    "CondensedNearestNeighbor",
    "EditedNearestNeighbors",
    "HistogramDensity",
    "KNeighborsClassifier",
    "KNeighborsDensity",
    "KNeighborsRegressor",
    "KNeighborsSmoother",
    "KernelDensity",
    "KernelDensityClassifier",
    "KernelSmoother",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "Regressogram",
    "RunningLine",
    "RunningMean",
    "RunningMedian",
    "edit_distance",
    "edit_distances",
    "kneighbors_graph",
    "radius_neighbors_graph",
]
__getattr__, __dir__ = hand_on(__name__)
