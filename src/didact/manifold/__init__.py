"""Embeddings: a few coordinates for each row that keep distances, paths, neighbours or a graph."""

from didact.core.handed_on import hand_on
from didact.manifold.classical_mds import ClassicalMDS
from didact.manifold.elastic import ElasticEmbedding
from didact.manifold.isomap import Isomap
from didact.manifold.locally_linear import LocallyLinearEmbedding, locally_linear_embedding
from didact.manifold.mds import MDS, smacof
from didact.manifold.parametric import ParametricEmbedding
from didact.manifold.spectral_embedding import SpectralEmbedding, spectral_embedding
from didact.manifold.trust import trustworthiness
from didact.manifold.tsne import TSNE

__all__ = [
    "MDS",
    "TSNE",
    "ClassicalMDS",
    "ElasticEmbedding",
    "Isomap",
    "LocallyLinearEmbedding",
    "ParametricEmbedding",
    "SpectralEmbedding",
    "locally_linear_embedding",
    "smacof",
    "spectral_embedding",
    "trustworthiness",
]
__getattr__, __dir__ = hand_on(__name__)
