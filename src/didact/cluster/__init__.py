"""Clusters: centres, medoids, modes; learnt at once, in batches or row by row, with and without some labels."""

from didact.cluster.kmeans import KMeans, k_means
from didact.cluster.seeding import kmeans_plusplus

__all__ = ["KMeans", "k_means", "kmeans_plusplus"]
