"""Embeddings: a few coordinates for each row that keep distances, paths, neighbours or a graph."""

from didact.manifold.elastic import ElasticEmbedding
from didact.manifold.isomap import Isomap
from didact.manifold.locally_linear import LocallyLinearEmbedding, locally_linear_embedding
from didact.manifold.spectral_embedding import SpectralEmbedding, spectral_embedding
from didact.manifold.trust import trustworthiness
from didact.manifold.tsne import TSNE

__all__ = [
    "TSNE",
    "ElasticEmbedding",
    "Isomap",
    "LocallyLinearEmbedding",
    "SpectralEmbedding",
    "locally_linear_embedding",
    "spectral_embedding",
    "trustworthiness",
]
