"""Distances: nouns of four kinds, and `distance_named`, which finds them by scikit-learn's names.

`columns` has those that loops compute column by column, `rows` those that need whole rows, `mapped` those that are
another distance between transformed rows (`units`: rows too small), and `functions` those that Python computes, a
whole table at a time.
"""

from didact.parts.distances.columns import (
    Canberra,
    Chebyshev,
    Distance,
    Euclidean,
    Hamming,
    Manhattan,
    Minkowski,
)
from didact.parts.distances.functions import KernelDistance, Precomputed, UserMetric
from didact.parts.distances.mapped import Correlation, Cosine, Mahalanobis, Scaled, SquaredEuclidean, weighted
from didact.parts.distances.names import NAMES, distance_named
from didact.parts.distances.rows import BINARY, Binary, BrayCurtis, Gower, Haversine, Jaccard, NanEuclidean
from didact.parts.distances.units import Resized, resized

__all__ = [
    "BINARY",
    "NAMES",
    "Binary",
    "BrayCurtis",
    "Canberra",
    "Chebyshev",
    "Correlation",
    "Cosine",
    "Distance",
    "Euclidean",
    "Gower",
    "Hamming",
    "Haversine",
    "Jaccard",
    "KernelDistance",
    "Mahalanobis",
    "Manhattan",
    "Minkowski",
    "NanEuclidean",
    "Precomputed",
    "Resized",
    "Scaled",
    "SquaredEuclidean",
    "UserMetric",
    "distance_named",
    "resized",
    "weighted",
]
