"""Nearest neighbours: the search itself and the models that it serves; smoothers."""

from didact.neighbors.nearest import NearestNeighbors
from didact.neighbors.neighbors_smoother import KNeighborsSmoother
from didact.neighbors.regressogram import Regressogram
from didact.neighbors.smoothers import RunningLine, RunningMean, RunningMedian

__all__ = [
    "KNeighborsSmoother",
    "NearestNeighbors",
    "Regressogram",
    "RunningLine",
    "RunningMean",
    "RunningMedian",
]
