"""Nearest neighbours: the search itself and the models that it serves."""

from didact.neighbors.nearest import NearestNeighbors

__all__ = ["NearestNeighbors"]
