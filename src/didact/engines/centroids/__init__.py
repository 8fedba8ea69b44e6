"""Centroids: Lloyd's iterations with bounds, starts, medoids, and centres that learn row by row."""
