"""The nouns that models share: losses, links, families, penalties, statistics."""
