"""Nearest neighbours: the search itself and the models that it serves."""

from didact.neighbors.classification import KNeighborsClassifier, RadiusNeighborsClassifier
from didact.neighbors.condensed import CondensedNearestNeighbor
from didact.neighbors.edit import edit_distance, edit_distances
from didact.neighbors.edited import EditedNearestNeighbors
from didact.neighbors.nearest import NearestNeighbors
from didact.neighbors.regression import KNeighborsRegressor, RadiusNeighborsRegressor

__all__ = [
    "CondensedNearestNeighbor",
    "EditedNearestNeighbors",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "edit_distance",
    "edit_distances",
]
