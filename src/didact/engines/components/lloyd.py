"""k-means as a start of components: the engine is in `engines.centroids`."""

from didact.engines.centroids.lloyd import assign, clusters_of, kmeans, lloyd
from didact.engines.centroids.starts import plus_plus

__all__ = ["assign", "clusters_of", "kmeans", "lloyd", "plus_plus"]
