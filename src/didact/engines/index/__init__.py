"""The neighbour index: brute force, k-d tree and ball tree behind `build`, `nearest` and `within`."""

from didact.engines.index.index import Index, build

__all__ = ["Index", "build"]
