"""Clusters: centres, medoids, modes, cuts of graphs; at once, in batches or row by row, with and without labels."""

from didact.cluster.kmeans import KMeans, k_means
from didact.cluster.medoids import KMedoids
from didact.cluster.mini_batch import MiniBatchKMeans
from didact.cluster.modes import KModes
from didact.cluster.online import OnlineKMeans
from didact.cluster.quantizer import VectorQuantizer
from didact.cluster.seeded import SeededKMeans
from didact.cluster.seeding import kmeans_plusplus
from didact.cluster.spectral import SpectralClustering, spectral_clustering

__all__ = [
    "KMeans",
    "KMedoids",
    "KModes",
    "MiniBatchKMeans",
    "OnlineKMeans",
    "SeededKMeans",
    "SpectralClustering",
    "VectorQuantizer",
    "k_means",
    "kmeans_plusplus",
    "spectral_clustering",
]
