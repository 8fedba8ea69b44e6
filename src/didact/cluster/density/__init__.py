"""Clusters as crowded places: dense rows that hang together, components of graphs and of level sets, modes."""
