"""Eigenvectors and singular vectors: principal components, kernels' components, embeddings of graphs."""
