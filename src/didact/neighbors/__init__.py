"""Nearest neighbours: the search itself and the models that it serves; editing; smoothers."""

from didact.neighbors.classification import KNeighborsClassifier, RadiusNeighborsClassifier
from didact.neighbors.condensed import CondensedNearestNeighbor
from didact.neighbors.edit import edit_distance, edit_distances
from didact.neighbors.edited import EditedNearestNeighbors
from didact.neighbors.nearest import NearestNeighbors
from didact.neighbors.neighbors_smoother import KNeighborsSmoother
from didact.neighbors.regression import KNeighborsRegressor, RadiusNeighborsRegressor
from didact.neighbors.regressogram import Regressogram
from didact.neighbors.smoothers import RunningLine, RunningMean, RunningMedian

__all__ = [
    "CondensedNearestNeighbor",
    "EditedNearestNeighbors",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KNeighborsSmoother",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "Regressogram",
    "RunningLine",
    "RunningMean",
    "RunningMedian",
    "edit_distance",
    "edit_distances",
]
