"""Embeddings that attract neighbours and repel everything else: affinities, forces, descent."""
