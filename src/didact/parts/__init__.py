"""The nouns that models share: losses, links, families, penalties, distances, windows, criteria, statistics."""
