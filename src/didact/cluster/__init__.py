"""Clusters: centres, medoids, modes, trees; learnt at once, in batches or row by row, with and without labels."""

from didact.cluster.agglomerative import AgglomerativeClustering, linkage_tree, ward_tree
from didact.cluster.divisive import DivisiveClustering
from didact.cluster.kmeans import KMeans, k_means
from didact.cluster.medoids import KMedoids
from didact.cluster.mini_batch import MiniBatchKMeans
from didact.cluster.modes import KModes
from didact.cluster.online import OnlineKMeans
from didact.cluster.quantizer import VectorQuantizer
from didact.cluster.seeded import SeededKMeans
from didact.cluster.seeding import kmeans_plusplus

__all__ = [
    "AgglomerativeClustering",
    "DivisiveClustering",
    "KMeans",
    "KMedoids",
    "KModes",
    "MiniBatchKMeans",
    "OnlineKMeans",
    "SeededKMeans",
    "VectorQuantizer",
    "k_means",
    "kmeans_plusplus",
    "linkage_tree",
    "ward_tree",
]
