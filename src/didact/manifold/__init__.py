"""Embeddings: a few coordinates for each row that keep distances, paths, neighbours or a graph."""

__all__: list[str] = []
