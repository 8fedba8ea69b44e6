"""Clusters: centres, medoids, modes, trees, crowded places, cuts of graphs; at once, in batches or row by row."""

from didact.cluster.agglomerative import AgglomerativeClustering, linkage_tree, ward_tree
from didact.cluster.density.bandwidth import estimate_bandwidth, get_bin_seeds
from didact.cluster.density.connected_components import ConnectedComponents
from didact.cluster.density.dbscan import DBSCAN, dbscan
from didact.cluster.density.level_sets import LevelSetClustering
from didact.cluster.density.mean_shift import MeanShift, mean_shift
from didact.cluster.divisive import DivisiveClustering
from didact.cluster.kmeans import KMeans, k_means
from didact.cluster.medoids import KMedoids
from didact.cluster.mini_batch import MiniBatchKMeans
from didact.cluster.modes import KModes
from didact.cluster.online import OnlineKMeans
from didact.cluster.quantizer import VectorQuantizer
from didact.cluster.seeded import SeededKMeans
from didact.cluster.seeding import kmeans_plusplus
from didact.cluster.spectral import SpectralClustering, spectral_clustering
from didact.core.handed_on import hand_on

__all__ = [
    "DBSCAN",
    "AgglomerativeClustering",
    "ConnectedComponents",
    "DivisiveClustering",
    "KMeans",
    "KMedoids",
    "KModes",
    "LevelSetClustering",
    "MeanShift",
    "MiniBatchKMeans",
    "OnlineKMeans",
    "SeededKMeans",
    "SpectralClustering",
    "VectorQuantizer",
    "dbscan",
    "estimate_bandwidth",
    "get_bin_seeds",
    "k_means",
    "kmeans_plusplus",
    "linkage_tree",
    "mean_shift",
    "spectral_clustering",
    "ward_tree",
]
__getattr__, __dir__ = hand_on(__name__)
