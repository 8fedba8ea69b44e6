"""The distances: nouns of four kinds, and `distance_named` for scikit-learn's names of them.

Those that loops compute column by column stand in `columns`, those that need whole rows in `rows`,
those that are another distance between transformed rows in `mapped`, those that Python computes table by
table in `functions`.
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
    "Scaled",
    "SquaredEuclidean",
    "UserMetric",
    "distance_named",
    "weighted",
]
