"""Embeddings: a few coordinates for each row that keep distances, paths, neighbours or a graph."""

from didact.manifold.isomap import Isomap
from didact.manifold.locally_linear import LocallyLinearEmbedding, locally_linear_embedding
from didact.manifold.spectral_embedding import SpectralEmbedding, spectral_embedding

__all__ = ["Isomap", "LocallyLinearEmbedding", "SpectralEmbedding", "locally_linear_embedding", "spectral_embedding"]
