"""Trees of clusters: minimum spanning trees, chains of nearest neighbours, graphs, divisions; cuts of the trees."""
