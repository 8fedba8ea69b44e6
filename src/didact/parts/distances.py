"""The distances: nouns of four kinds, and `distance_named` for scikit-learn's names of them.

Those that loops compute column by column stand in `column_distances`, those that need whole rows in `row_distances`,
those that are another distance between transformed rows in `mapped_distances`, those that Python computes table by
table in `function_distances`.
"""

from didact.parts.column_distances import (
    Canberra,
    Chebyshev,
    Distance,
    Euclidean,
    Hamming,
    Manhattan,
    Minkowski,
)
from didact.parts.distance_names import NAMES, distance_named
from didact.parts.function_distances import KernelDistance, Precomputed, UserMetric
from didact.parts.mapped_distances import Correlation, Cosine, Mahalanobis, Scaled, SquaredEuclidean, weighted
from didact.parts.row_distances import BINARY, Binary, BrayCurtis, Gower, Haversine, Jaccard, NanEuclidean

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
